//! `cargo xtask bench kv`: the cost of this key-value driver and of others on the same stores, as a page with
//! tables.
//!
//! It installs nothing: a missing tool is named with the command that installs it.

mod options;
mod output;
mod page;
mod sections;
mod stall;
mod stand;
mod table;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::contest::{
    DRIVER_CPU, Head, NOT_WRITTEN, PinnedProgram, load, need_two_cores, process, programs, turns, write,
};
use crate::say::say;
use options::Options;
use page::SectionResult;
use sections::{Case, Contender, Drivers, Section};
use stall::Stalls;
use stand::{BenchServers, Programs, TIERS, Tier};
use table::Run;
use tools::{OURS, TOOLS};

/// Commands of each connection's pipeline in the run that determines how many a tool has time for.
const PROBE: u64 = 10_000;

/// Length of the run in which this product's program fills the keys, s.
const FILL_S: u64 = 1;

/// Inputs of the measurement.
struct Bench {
    options: Options,
    programs: Programs,
    drivers: Drivers,
    folder: PathBuf,
}

/// Measures as requested by the arguments; true if every driver gave a reading in every round.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<bool> {
    let options = match Options::read(words) {
        Ok(options) => options,
        Err(why) if !why.use_stderr() => {
            say(&why.to_string());
            return Ok(true);
        }
        Err(why) => bail!("{why}"),
    };
    need_two_cores()?;
    let root = crate::root();
    let temporary = tempfile::tempdir().context("make a folder for the stores")?;
    let folders = programs::folders();
    let programs: Programs =
        TIERS.iter().filter_map(|t| Some((*t, programs::find(t.program(), &folders)?))).collect();
    if !programs.iter().any(|(tier, _)| *tier == Tier::Store) {
        bail!("there is no redis-server; to install it: apt-get install redis-server");
    }
    let drivers = drivers(root, &options, &folders)?;
    let head = head(&programs, &drivers);
    let bench = Bench { options, programs, drivers, folder: temporary.path().to_path_buf() };
    let sections = bench.options.sections();
    let measured: Vec<SectionResult> =
        sections.into_iter().map(|s| bench.measure(s)).collect::<anyhow::Result<_>>()?;
    bench.write(root, &head, &measured)?;
    Ok(measured.iter().all(|m| m.trouble.is_empty()))
}

/// The programs of drivers, from the arguments or the usual places.
fn drivers(root: &Path, options: &Options, folders: &[PathBuf]) -> anyhow::Result<Drivers> {
    for (name, _) in &options.tools {
        if !TOOLS.iter().any(|tool| tool.name == name) {
            bail!("--tool is `{name}`: {} are allowed", TOOLS.each_ref().map(|tool| tool.name).join(", "));
        }
    }
    for program in [&options.program, &options.against].into_iter().flatten() {
        if !program.is_file() {
            bail!("`{}` is no program", program.display());
        }
    }
    let typed = |name: &str| options.tools.iter().find(|(n, _)| n == name).map(|(_, file)| file.clone());
    let found = TOOLS.iter().enumerate().filter_map(|(place, tool)| {
        Some((place, typed(tool.name).or_else(|| programs::find(tool.name, folders))?))
    });
    let ours = options.program.clone().or_else(|| programs::ours(root));
    Ok(Drivers { ours, other: options.against.clone(), found: found.collect() })
}

fn head(programs: &Programs, drivers: &Drivers) -> Head {
    let mut versions: Vec<(String, String)> =
        programs.iter().map(|(tier, file)| (tier.program().to_owned(), tier.version(file))).collect();
    let mut missing = Vec::new();
    for tier in TIERS.iter().filter(|tier| !programs.iter().any(|(here, _)| here == *tier)) {
        missing.push((tier.program().to_owned(), format!("apt-get install {}", tier.program())));
    }
    match &drivers.ours {
        Some(ours) => versions.push((OURS.name.to_owned(), programs::version(ours, "--version"))),
        None => missing.push((OURS.name.to_owned(), OURS.install.to_owned())),
    }
    for (place, tool) in TOOLS.iter().enumerate() {
        match drivers.found.iter().find(|(at, _)| *at == place) {
            Some((_, file)) => versions.push((tool.name.to_owned(), programs::version(file, "--version"))),
            None => missing.push((tool.name.to_owned(), tool.install.to_owned())),
        }
    }
    Head::new(versions, missing)
}

impl Bench {
    fn measure(&self, section: Section) -> anyhow::Result<SectionResult> {
        say(&format!("==> {}: {}", section.name(), section.title()));
        let (rounds, seconds) = section.size(self.options.rounds, self.options.seconds);
        let stand = section.stand(&self.programs, &self.folder)?;
        let mut cases = section.cases(&stand, seconds, &self.folder);
        if let Some(wanted) = &self.options.case {
            cases.retain(|case| case.title().contains(wanted));
        }
        let contenders = self.drivers.contenders(section);
        let began = load();
        let mut filled = None;
        let (mut runs, mut commands, mut trouble) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..rounds {
            for (at, case) in cases.iter_mut().enumerate() {
                if filled.replace(case.job.value_bytes) != Some(case.job.value_bytes) {
                    self.fill(section, &stand, case)?;
                }
                if round == 0 {
                    case.job.count = self.count(section, case, &contenders)?;
                }
                for place in turns(round, contenders.len()) {
                    let contender = &contenders[place];
                    let Some(pinned) = pinned(contender, case) else { continue };
                    if !commands.iter().any(|(name, _)| *name == contender.name) {
                        commands.push((contender.name, pinned.line()));
                    }
                    match self.run(section, &stand, case, (contender, &pinned)) {
                        Ok(run) => runs.push(Run { case: at, round, ..run }),
                        Err(why) => {
                            let line =
                                format!("{}, {}, round {}: {why:#}", contender.name, case.title(), round + 1);
                            say(&format!("    {line}"));
                            trouble.push(line);
                        }
                    }
                }
            }
        }
        let order = |name: &str| contenders.iter().position(|c| c.name == name);
        runs.sort_by_key(|run| (run.case, order(run.tool), run.round));
        commands.sort_by_key(|(name, _)| order(name));
        Ok(SectionResult { section, seconds, cases, commands, runs, load: (began, load()), trouble })
    }

    /// Writes all keys with values of the size of this case. Values to be verified are those of this
    /// product's program.
    fn fill(&self, section: Section, stand: &BenchServers, case: &Case) -> anyhow::Result<()> {
        if section != Section::Verify {
            let memtier =
                self.drivers.found.iter().any(|(place, _)| TOOLS[*place].name == "memtier_benchmark");
            let keys: &[fn(u32) -> String] =
                if memtier { &[tools::usual_key, tools::memtier_key] } else { &[tools::usual_key] };
            return stand.fill(keys, case.job.value_bytes);
        }
        let Some(ours) = self.drivers.contenders(section).into_iter().next() else { return Ok(()) };
        let mut case = case.clone();
        case.job.seconds = FILL_S;
        let mut pinned = pinned(&ours, &case).context("our program has no such case")?;
        pinned.arguments.retain(|word| word != "--no-fill");
        process::run(&pinned, FILL_S, &self.folder).context("fill the keys")?;
        Ok(())
    }

    /// Number of commands for a tool that counts them.
    fn count(&self, section: Section, case: &Case, contenders: &[Contender]) -> anyhow::Result<u64> {
        let Some(counting) = contenders.iter().find(|c| c.tool.counts) else { return Ok(0) };
        let mut probe = case.clone();
        probe.job.count = PROBE * u64::from(case.job.pipeline);
        let Some(pinned) = pinned(counting, &probe) else { return Ok(0) };
        let used = process::run(&pinned, case.job.seconds, &self.folder)?;
        let per_s = (counting.tool.read)(&used.stdout, &probe.job)?.per_s;
        let going = if section == Section::Stall { 1.0 - stall::share() } else { 1.0 };
        Ok((per_s * case.job.seconds as f64 * going) as u64)
    }

    /// One run of a driver. The caller adds case and round.
    fn run(
        &self,
        section: Section,
        stand: &BenchServers,
        case: &Case,
        (contender, pinned): (&Contender, &PinnedProgram),
    ) -> anyhow::Result<Run> {
        let stalled = stand.first_store(case.chain).filter(|_| section == Section::Stall);
        let before = stand.account(case.chain)?;
        let used = {
            let _stalls = stalled.map(|store| Stalls::begin(store.pid()));
            process::run(pinned, case.job.seconds, &self.folder)?
        };
        let spent = stand.account(case.chain)?.since(&before);
        let said = match contender.tool.file {
            Some(name) => {
                fs::read_to_string(self.folder.join(name)).with_context(|| format!("read {name}"))?
            }
            None => used.stdout,
        };
        let tool = contender.name;
        let reading =
            (contender.tool.read)(&said, &case.job).with_context(|| format!("read what {tool} said"))?;
        if reading.commands == 0 || spent.commands == 0 {
            bail!("not one command succeeded");
        }
        if let Some(doubt) = table::doubt(contender.tool, &case.job, &reading, &spent) {
            bail!("{doubt}");
        }
        let per_command = |cpu_s: f64| cpu_s * 1e6 / spent.commands as f64;
        let driver_us = per_command(used.cpu_s);
        let servers_us = spent.cpu_s.map(|cpu_s| cpu_s.map(per_command));
        say(&format!(
            "    {:<26} {tool:<18} {:>8.1} K/s  {driver_us:>6.2} us CPU/command  p50 {:>8.3} ms  p99 {:>8.3} ms",
            case.title(),
            reading.per_s / 1e3,
            reading.p50_ms.unwrap_or(f64::NAN),
            reading.p99_ms.unwrap_or(f64::NAN),
        ));
        Ok(Run { case: 0, tool, round: 0, reading, served: spent.commands, driver_us, servers_us })
    }

    fn write(&self, root: &Path, head: &Head, measured: &[SectionResult]) -> anyhow::Result<()> {
        for m in measured {
            say(&format!("\n{}\n\n{}", m.section.title(), m.tables()));
        }
        let Some(out) = self.options.out() else {
            say(NOT_WRITTEN);
            return Ok(());
        };
        write(&root.join(out), |raw| page::page(head, measured, raw), &page::raw(measured))
    }
}

/// The command line of a driver in a case; `None` if it cannot do it.
fn pinned(contender: &Contender, case: &Case) -> Option<PinnedProgram> {
    let arguments = contender.arguments(&case.job)?;
    Some(PinnedProgram {
        program: contender.program.clone(),
        arguments,
        cpu: DRIVER_CPU,
        fine: contender.tool.fine,
    })
}
