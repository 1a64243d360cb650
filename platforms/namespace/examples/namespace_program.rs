//! The program that the tests of this crate start: the relay of a switch, and a driver that opens a site of
//! two hosts with a unit on each and waits to be killed or for its stdin to end.
//!
//! Usage: `relay ...`, or `drive LEDGER ID FOLDER DELAY_MS`

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use barograph_platform::{
    HERE, HostSpec, Ledger, LinkSpec, Platform, Readiness, SiteSpec, Unit, ignore_lines,
};
use barograph_platform_namespace::{NamespacePlatform, RelayProgram, relay_main, rootless};

type ExampleResult<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExampleResult<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.split_first() {
        Some((word, rest)) if word == "relay" => Ok(relay_main(rest.to_vec())?),
        Some((word, rest)) if word == "drive" => {
            if rootless::needed() {
                return Err(rootless::command(&std::env::current_exe()?, &words).exec().into());
            }
            tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(drive(rest))
        }
        _ => Err("wanted is relay or drive".into()),
    }
}

async fn drive(words: &[String]) -> ExampleResult<()> {
    let [ledger, id, folder, delay_ms] = words else {
        return Err("usage: drive LEDGER ID FOLDER DELAY_MS".into());
    };
    let ledger = Ledger::open(Path::new(ledger))?;
    let link = LinkSpec { delay: Duration::from_millis(delay_ms.parse()?), ..LinkSpec::default() };
    let host = |name: &str, link| HostSpec { name: name.to_owned(), link, ..HostSpec::default() };
    let spec = SiteSpec {
        id: id.clone(),
        folder: PathBuf::from(folder),
        hosts: vec![host("one", link), host("two", LinkSpec::default())],
        ..SiteSpec::default()
    };
    let relay = RelayProgram { program: std::env::current_exe()?, args: vec!["relay".to_owned()] };
    let platform = NamespacePlatform::new(relay);
    say(&format!("{:?}", platform.preflight(&spec).await))?;
    let site = platform.open(&spec, &ledger).await?;
    let mut units = Vec::new();
    for on in ["one", "two", HERE] {
        let unit = Unit {
            host: on.to_owned(),
            // It leaves a child in a session of its own, as daemons do.
            args: ["-c", "setsid sleep 1000 & ip -4 -o addr show; exec sleep 1000"]
                .map(str::to_owned)
                .to_vec(),
            ..Unit::new(&format!("sleeper-{on}"), "/bin/sh".into(), Readiness::Runs)
        };
        units.push(site.create(&unit, ignore_lines()).await?);
    }
    say("up")?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    for unit in units {
        unit.kill().await?;
    }
    site.close().await?;
    say("down")?;
    Ok(())
}

fn say(line: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
