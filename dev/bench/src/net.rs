//! `cargo xtask bench net`: the network workload beside iperf3 and netperf over loopback, as a page with a table.
//!
//! It installs nothing: a missing tool is named with the command that installs it.

mod options;
mod page;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::contest::server::free_port;
use crate::contest::{
    DRIVER_CPU, Head, NOT_WRITTEN, PinnedProgram, Server, TARGET_CPU, load, need_two_cores, process,
    programs, turns, write,
};
use crate::say::say;
use options::Options;
use page::Run;
use tools::{CASES, Case, Figures, Kind, OURS, TOOLS, Tool};

/// A tool that takes part, with its programs.
struct Contender {
    tool: &'static Tool,
    client: PathBuf,
    server: PathBuf,
}

/// Measures as requested by the arguments; true if every tool gave a reading in every round.
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
    let temporary = tempfile::tempdir().context("make a folder for outputs")?;
    let (contenders, head) = contenders(crate::root(), &options);
    let (began, out) = (load(), options.out());
    let earlier = out.as_deref().filter(|_| options.add).map(page::earlier);
    let (mut runs, mut trouble) = (earlier.transpose()?.unwrap_or_default(), Vec::new());
    let first = runs.iter().map(|run| run.round + 1).max().unwrap_or(0);
    for round in first..first + options.rounds {
        for (at, case) in CASES.iter().enumerate() {
            if options.case.as_ref().is_some_and(|wanted| !case.name.contains(wanted.as_str())) {
                continue;
            }
            for place in turns(round, contenders.len()) {
                let contender = &contenders[place];
                match one(contender, case, (options.seconds, temporary.path())) {
                    Ok(None) => {}
                    Ok(Some(reading)) => {
                        say(&format!(
                            "    {:<28} {:<10} {}",
                            case.name,
                            contender.tool.name,
                            reading.words(case)
                        ));
                        runs.push(Run { case: at, tool: contender.tool.name, round, reading });
                    }
                    Err(why) => {
                        let line =
                            format!("{}, {}, round {}: {why:#}", contender.tool.name, case.name, round + 1);
                        say(&format!("    {line}"));
                        trouble.push(line);
                    }
                }
            }
        }
    }
    runs.sort_by_key(|run| (run.case, run.round));
    let text = |raw: &str| page::page(&head, &runs, (&began, &load()), (&trouble, raw));
    say(&page::table(&runs));
    match out {
        None => say(NOT_WRITTEN),
        Some(out) => write(&out, text, &page::raw(&runs))?,
    }
    Ok(trouble.is_empty())
}

/// The tools that are here, and the head of the page.
fn contenders(root: &Path, options: &Options) -> (Vec<Contender>, Head) {
    let folders = programs::folders();
    let (mut here, mut versions, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    for tool in std::iter::once(&OURS).chain(&TOOLS) {
        let found = |name: &str| match name {
            "barograph" => options.program.clone().or_else(|| programs::ours(root)),
            name => programs::find(name, &folders),
        };
        match (found(tool.client), found(tool.server)) {
            (Some(client), Some(server)) => {
                versions.push((tool.name.to_owned(), programs::version(&client, tool.version)));
                here.push(Contender { tool, client, server });
            }
            _ => missing.push((tool.name.to_owned(), tool.install.to_owned())),
        }
    }
    (here, Head::new(versions, missing))
}

/// Figures of a run, and processor time of both ends.
#[derive(Clone, Debug, PartialEq)]
struct Reading {
    figures: Figures,
    /// Milliseconds per 10⁹ bytes of a stream, or microseconds per request or sent datagram.
    driver_cpu: f64,
    /// None where the server has children that end without being counted.
    target_cpu: Option<f64>,
}

impl Reading {
    fn words(&self, case: &Case) -> String {
        let Reading { figures: Figures { rate, lost_percent, .. }, driver_cpu, .. } = self;
        let target_cpu = self.target_cpu.unwrap_or(f64::NAN);
        let (unit, cpu) = match case.kind() {
            Kind::Stream => ("Gb/s", "ms CPU/GB"),
            Kind::Request => ("K requests/s", "us CPU/request"),
            Kind::Datagram => ("K datagrams/s", "us CPU/datagram"),
        };
        let lost = lost_percent.map_or(String::new(), |lost| format!(", {lost:.2} % lost"));
        format!("{rate:>8.2} {unit}, {driver_cpu:.1} + {target_cpu:.1} {cpu}{lost}")
    }
}

/// One run of a tool in a case, with a server of its own; `None` if the tool cannot do it.
fn one(
    Contender { tool, client, server }: &Contender,
    case: &Case,
    (seconds, folder): (u64, &Path),
) -> anyhow::Result<Option<Reading>> {
    let port = free_port()?;
    let Some(arguments) = (tool.client_arguments)(case, port, seconds) else { return Ok(None) };
    let pinned = |program: &Path, arguments, cpu| PinnedProgram {
        program: program.to_owned(),
        arguments,
        cpu,
        fine: tool.fine,
    };
    let listening = pinned(server, (tool.server_arguments)(port), TARGET_CPU);
    let server = Server::start(&listening, port, &folder.join("server.log"))?;
    let before = server_cpu_s(&server)?;
    let used = process::run(&pinned(client, arguments, DRIVER_CPU), seconds, folder)?;
    let target_s = server_cpu_s(&server)? - before;
    let figures = (tool.read)(&used.stdout, case).with_context(|| format!("read what {} said", tool.name))?;
    // Bytes, requests or datagrams of the whole run: processor time is of all of it.
    let (work, factor) = match case.is_stream() {
        true => (figures.rate * seconds as f64 / 8.0, 1e3),
        false => (figures.rate * 1e3 * seconds as f64, 1e6),
    };
    if work <= 0.0 {
        bail!("nothing was carried");
    }
    let per = |cpu_s: f64| cpu_s * factor / work;
    let (driver_cpu, target_cpu) = match figures.own_cpu {
        Some((driver, target)) => (driver, Some(target)),
        None => (per(used.cpu_s), Some(per(target_s)).filter(|cpu| *cpu > 0.0)),
    };
    Ok(Some(Reading { figures, driver_cpu, target_cpu }))
}

/// Looks at a server until its children stay.
const LOOKS: u32 = 1_000;

/// Processor time of a server and of its children: netserver has one for each test, which it may not have reaped yet.
fn server_cpu_s(server: &Server) -> anyhow::Result<f64> {
    let pid = server.pid().as_raw_nonzero();
    let children = || fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    for _ in 0..LOOKS {
        let before = children();
        let own = ticks(&pid.to_string()).context("read what a server used")?;
        let of_children: u64 = before.split_whitespace().filter_map(ticks).sum();
        // A child that is reaped meanwhile would count in neither, or in both.
        if children() == before {
            return Ok((own + of_children) as f64 / rustix::param::clock_ticks_per_second() as f64);
        }
    }
    bail!("its children change all the time")
}

/// Clock ticks of a process and of its children that it has reaped.
fn ticks(pid: &str) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<u64> =
        fields.split_whitespace().skip(11).take(4).filter_map(|field| field.parse().ok()).collect();
    (fields.len() == 4).then(|| fields.iter().sum())
}
