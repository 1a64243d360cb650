//! Measures the cost of every idle service: time until it is ready, time until it has ended, memory and CPU.
//! `--write` puts the figures into the `service.toml` files and into `docs/reference/services.md`.

mod backdrop;
mod figures;
mod measure;
mod page;
mod usage;

use std::path::PathBuf;

use barograph_services::{Flavour, Service, all};
use clap::Parser;
use tokio::runtime::Runtime;

use crate::say::say;
use figures::ServiceFigures;
use measure::Measure;

/// Measures what services cost when idle
#[derive(Parser)]
#[command(name = "cargo xtask bench services")]
struct Options {
    /// Only these services
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Starts of each service in each flavour
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeats: u32,
    /// The program `barograph`, for the services that are this program
    #[arg(long)]
    barograph: Option<PathBuf>,
    /// Folder of a filled data set, for the application
    #[arg(long)]
    data: Option<PathBuf>,
    /// Put the figures into the files of the workspace
    #[arg(long)]
    write: bool,
}

/// Measures the services named in the arguments.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<bool> {
    let options = Options::parse_from(std::iter::once("services").chain(words.iter().copied()));
    Runtime::new()?.block_on(all_services(options))?;
    Ok(true)
}

async fn all_services(options: Options) -> anyhow::Result<()> {
    let machine = figures::machine()?;
    say(&format!("{machine}; {} starts each, medians", options.repeats));
    let measure = Measure {
        repeats: options.repeats,
        barograph: options.barograph,
        data: options.data,
        scratch: tempfile::tempdir()?,
    };
    for service in all() {
        if !options.only.is_empty() && !options.only.iter().any(|name| name == service.name()) {
            continue;
        }
        let Some(measured) = both(&measure, service, &machine).await? else { continue };
        if options.write {
            page::keep(service, &measured)?;
        }
    }
    if options.write { page::write() } else { Ok(()) }
}

/// Measures both flavours; `None` after a message if the service cannot run here.
async fn both(measure: &Measure, service: &Service, machine: &str) -> anyhow::Result<Option<ServiceFigures>> {
    let mut all = Vec::new();
    for flavour in [Flavour::Vanilla, Flavour::Tuned] {
        match measure.service(service, flavour).await? {
            Ok(figures) => {
                say(&format!("{:<11} {:<8} {}", service.name(), flavour.name(), figures::line(&figures)));
                all.push(figures);
            }
            Err(why) => {
                say(&format!("{:<11} skipped: {why}", service.name()));
                return Ok(None);
            }
        }
    }
    let version = measure.version(service)?;
    Ok(Some(ServiceFigures { machine: machine.to_owned(), version, vanilla: all[0], tuned: all[1] }))
}
