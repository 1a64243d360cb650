//! `cargo xtask bench driver`: the cost of this driver and of others on the same target, as a page with
//! tables.
//!
//! It installs nothing: a missing tool is named with the command that installs it.

mod nginx;
mod options;
mod ours;
mod output;
mod page;
mod sections;
mod table;
mod tools;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::contest::{
    DRIVER_CPU, Head, NOT_WRITTEN, PinnedProgram, TARGET_CPU, load, need_two_cores, process, programs, turns,
    write,
};
use crate::say::say;
use options::{Options, USAGE};
use page::SectionResult;
use sections::{Contender, Section, ToolPaths};
use table::Run;
use tools::TOOLS;

/// Inputs of the measurement.
struct Bench {
    options: Options,
    nginx: PathBuf,
    folder: PathBuf,
    found: ToolPaths,
    ours: Option<PathBuf>,
}

/// Measures as requested by the arguments; true if every contender gave a reading in every round.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<bool> {
    if words == ["--help"] {
        say(USAGE);
        return Ok(true);
    }
    let (root, options) = (crate::root(), Options::read(words)?);
    need_two_cores()?;
    let folders = programs::folders();
    let nginx = programs::find("nginx", &folders)
        .context("find nginx; to install it: apt-get install nginx-light")?;
    let temporary = tempfile::tempdir().context("make a folder for the target")?;
    let folder = temporary.path().to_path_buf();
    let (found, missing) = look_for_tools(&folders);
    let ours = programs::ours(root);
    if let Some(other) = options.against.as_deref().filter(|other| !other.is_file()) {
        bail!("--against is `{}`: no such program", other.display());
    }
    let head = head(&nginx, &found, missing, ours.as_deref())?;
    let bench = Bench { options, nginx, folder, found, ours };
    let measured: Vec<SectionResult> =
        bench.options.sections.iter().map(|s| bench.measure(*s)).collect::<anyhow::Result<_>>()?;
    bench.write(root, &head, &measured)?;
    Ok(measured.iter().all(|m| m.trouble.is_empty()))
}

/// The available tools, and the missing ones with the commands that install them.
fn look_for_tools(folders: &[PathBuf]) -> (ToolPaths, Vec<(String, String)>) {
    let mut found = ToolPaths::new();
    let mut missing = Vec::new();
    for (place, tool) in TOOLS.iter().enumerate() {
        match tool.find(folders) {
            Some(program) => found.push((place, program)),
            None => missing.push((tool.name.to_owned(), tool.install.to_owned())),
        }
    }
    (found, missing)
}

fn head(
    nginx: &Path,
    found: &ToolPaths,
    mut missing: Vec<(String, String)>,
    ours: Option<&Path>,
) -> anyhow::Result<Head> {
    let mut versions = vec![("nginx".to_owned(), nginx::version(nginx)?)];
    match ours {
        Some(ours) => versions.push(("barograph".to_owned(), programs::version(ours, "--version"))),
        None => missing.insert(0, ("barograph".to_owned(), programs::BUILD.to_owned())),
    }
    versions.extend(found.iter().map(|(place, program)| {
        let tool = &TOOLS[*place];
        (tool.name.to_owned(), tool.version(program))
    }));
    Ok(Head::new(versions, missing))
}

impl Bench {
    fn measure(&self, section: Section) -> anyhow::Result<SectionResult> {
        say(&format!("==> {}: {}", section.name(), section.title()));
        let (rounds, seconds) = section.size(self.options.rounds, self.options.seconds);
        let connections = section.connections();
        let target = nginx::start(&self.nginx, &self.folder, TARGET_CPU, connections)?;
        let url = format!("http://127.0.0.1:{}/{}", target.port(), section.file());
        let job = sections::job(section, &url, seconds, &self.folder);
        let mut contenders = match &self.ours {
            Some(program) => ours::contenders(section, &job, program)?,
            None => Vec::new(),
        };
        let other = self.options.against.as_deref();
        contenders.extend(other.map(|program| ours::plain(ours::OTHER, &job, program)));
        contenders.extend(sections::others(section, &job, &self.found, self.options.k6_users));
        let began = load();
        let mut runs = Vec::new();
        let mut trouble = Vec::new();
        for round in 0..rounds {
            for place in turns(round, contenders.len()) {
                let contender = &contenders[place];
                match self.run(contender, round, seconds) {
                    Ok(run) => runs.push(run),
                    Err(why) => {
                        let line = format!("{} in round {}: {why:#}", contender.name, round + 1);
                        say(&format!("    {line}"));
                        trouble.push(line);
                    }
                }
            }
        }
        let order = |run: &Run| contenders.iter().position(|c| c.name == run.contender);
        runs.sort_by_key(|run| (order(run), run.round));
        let commands = contenders.iter().map(|c| (c.name, pinned(c).line())).collect();
        let load = (began, load());
        Ok(SectionResult { section, seconds, commands, runs, load, trouble })
    }

    fn run(&self, contender: &Contender, round: u32, seconds: u64) -> anyhow::Result<Run> {
        if let Some(runs) = &contender.record {
            ours::forget_records(runs)?;
        }
        let used = process::run(&pinned(contender), seconds, &self.folder)?;
        let said = match &contender.record {
            Some(runs) => ours::only_record(runs)?,
            None => used.stdout,
        };
        let reading =
            (contender.read)(&said).with_context(|| format!("read what {} said", contender.name))?;
        if reading.requests == 0 {
            bail!("not one request succeeded");
        }
        let cpu_us = used.cpu_s * 1e6 / reading.requests as f64;
        say(&format!(
            "    round {}  {:<20} {:>9.0} requests/s  {cpu_us:>7.2} us CPU/request  {:>7.1} MiB",
            round + 1,
            contender.name,
            reading.requests_per_s,
            used.peak_rss_mib,
        ));
        Ok(Run { contender: contender.name, round, reading, cpu_us, rss_mib: used.peak_rss_mib })
    }

    fn write(&self, root: &Path, head: &Head, measured: &[SectionResult]) -> anyhow::Result<()> {
        for m in measured {
            say(&format!("\n{}\n\n{}", m.section.title(), m.table()));
        }
        let Some(out) = &self.options.out else {
            say(NOT_WRITTEN);
            return Ok(());
        };
        write(&root.join(out), |raw| page::page(head, measured, raw), &page::raw(measured))
    }
}

fn pinned(contender: &Contender) -> PinnedProgram {
    PinnedProgram {
        program: contender.program.clone(),
        arguments: contender.arguments.clone(),
        cpu: DRIVER_CPU,
        fine: contender.fine,
    }
}
