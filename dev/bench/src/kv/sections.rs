//! Sections of the measurement: five lists of cases in which drivers take turns.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::stall;
use super::stand::{BenchServers, Programs};
use super::tools::{Job, OURS, REDIS_BENCHMARK, TOOLS, Tool, Verb};

/// A part of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Section {
    Direct,
    Rate,
    Stall,
    Verify,
    Proxies,
}

/// All sections, in the order of the page.
pub(super) const SECTIONS: [Section; 5] =
    [Section::Direct, Section::Rate, Section::Stall, Section::Verify, Section::Proxies];

/// Connections and commands in flight on each.
pub(super) const SHAPES: [(u32, u32); 5] = [(1, 1), (50, 1), (50, 30), (1_000, 1), (1_000, 30)];

/// Commands per second of the section at a fixed rate.
pub(super) const RATE: u32 = 20_000;

/// Commands per second to a store with stalls.
const STALLED_RATE: u32 = 2_000;

/// Rounds of the section with stalls: a run is long, and its effects are large.
const FEW_ROUNDS: u32 = 3;

/// The name of another build of this product among the contenders.
pub(super) const OTHER: &str = "barograph, other";
/// The name of the contender that verifies values.
pub(super) const VERIFYING: &str = "barograph, verify";

/// A row of a table for each driver.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    /// Title of its table.
    pub(super) group: String,
    pub(super) name: String,
    /// Index of its chain in the stand.
    pub(super) chain: usize,
    pub(super) job: Job,
}

impl Case {
    /// Its whole name.
    pub(super) fn title(&self) -> String {
        if self.group.is_empty() { self.name.clone() } else { format!("{}, {}", self.group, self.name) }
    }
}

impl Section {
    pub(super) fn name(self) -> &'static str {
        match self {
            Section::Direct => "direct",
            Section::Rate => "rate",
            Section::Stall => "stall",
            Section::Verify => "verify",
            Section::Proxies => "proxies",
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Section::Direct => "One store, as fast as replies come",
            Section::Rate => "Fixed 20,000 commands per second, 50 connections",
            Section::Stall => "A store that stands still for 1 s every 5 s, 50 connections",
            Section::Verify => "Cost of comparing every value",
            Section::Proxies => "Through proxies, 100 connections, GET of 1 byte",
        }
    }

    /// What a reader must know to interpret this section.
    pub(super) fn note(self) -> &'static str {
        match self {
            Section::Direct => {
                "Where the store has all of its core, commands per second say more about the store than about the driver; \
                 CPU says more.\nredis-benchmark and valkey-benchmark end after a number of commands, which a run before \
                 the first round has found."
            }
            Section::Rate => {
                "redis-benchmark and this valkey-benchmark have no rate.\nThat of memtier_benchmark is one for each \
                 connection.\nWanted of Barograph is a rate that is missed by at most 0.1 %."
            }
            Section::Stall => {
                "Of commands at equal distances a fifth is due while the store is stopped, and waits up to 1 s: the first \
                 row is computed from that.\nA closed loop sends nothing meanwhile, so it sees one long wait for each \
                 connection and stall.\nWanted of Barograph at 2,000/s is a p99 within 5 % of the computed one."
            }
            Section::Verify => "GET of 100 bytes.\nWanted is a ratio of at most 1.10.",
            Section::Proxies => {
                "Proxies and stores are on one core, and the driver on the other.\nCPU is of each part alone, two stores \
                 together.\ntwemproxy has one connection to each store."
            }
        }
    }

    /// The bases of ratios: the first measured one is used.
    pub(super) fn bases(self) -> &'static [&'static str] {
        match self {
            Section::Direct | Section::Proxies => &[OTHER, REDIS_BENCHMARK],
            Section::Rate => &[OTHER, "memtier_benchmark"],
            Section::Stall => &[],
            Section::Verify => &["barograph"],
        }
    }

    /// Rounds and seconds of one run.
    pub(super) fn size(self, rounds: u32, seconds: u64) -> (u32, u64) {
        match self {
            Section::Stall => (rounds.min(FEW_ROUNDS), stall::SECONDS),
            _ => (rounds, seconds),
        }
    }

    /// Starts the targets.
    pub(super) fn stand(self, programs: &Programs, folder: &Path) -> anyhow::Result<BenchServers> {
        match self {
            Section::Proxies => BenchServers::proxies(programs, folder),
            _ => BenchServers::direct(programs, folder),
        }
    }

    /// Its cases, with those of one size of values beside each other, since stores are refilled for another
    /// one.
    pub(super) fn cases(self, stand: &BenchServers, seconds: u64, folder: &Path) -> Vec<Case> {
        let case = |group: &str, name: String, chain: usize, (verb, value_bytes, shape, rate)| {
            let (connections, pipeline): (u32, u32) = shape;
            let (port, folder) = (stand.port(chain), folder.to_path_buf());
            let job = Job { port, verb, value_bytes, connections, pipeline, seconds, rate, count: 0, folder };
            let name = if name.is_empty() { job.shape() } else { name };
            Case { group: group.to_owned(), name, chain, job }
        };
        let mut cases = Vec::new();
        match self {
            Section::Direct => {
                for (verb, bytes, group) in [
                    (Verb::Get, 100, "GET, 100 bytes"),
                    (Verb::Set, 100, "SET, 100 bytes"),
                    (Verb::Get, 1, "GET, 1 byte"),
                    (Verb::Set, 1, "SET, 1 byte"),
                ] {
                    cases.extend(SHAPES.map(|s| case(group, String::new(), 0, (verb, bytes, s, None))));
                }
            }
            Section::Rate => {
                let name = format!("{RATE}/s");
                cases.push(case("", name, 0, (Verb::Get, 100, (50, 1), Some(RATE))));
            }
            Section::Stall => {
                let open = (Verb::Get, 100, (50, 1), Some(STALLED_RATE));
                cases.push(case("", format!("{STALLED_RATE}/s"), 0, open));
                cases.push(case("", "closed".to_owned(), 0, (Verb::Get, 100, (50, 1), None)));
            }
            Section::Verify => {
                for shape in [(50, 1), (50, 30)] {
                    cases.push(case("", String::new(), 0, (Verb::Get, 100, shape, None)));
                }
            }
            Section::Proxies => {
                for pipeline in [1, 30] {
                    for (chain, of) in stand.chains.iter().enumerate() {
                        let name = format!("100x{pipeline}, {}", of.name);
                        cases.push(case("", name, chain, (Verb::Get, 1, (100, pipeline), None)));
                    }
                }
            }
        }
        cases
    }
}

/// A driver that takes part in a section.
#[derive(Clone)]
pub(super) struct Contender {
    pub(super) name: &'static str,
    pub(super) tool: &'static Tool,
    pub(super) program: PathBuf,
    /// Arguments besides those of the job.
    pub(super) more: &'static [&'static str],
}

impl Contender {
    pub(super) fn arguments(&self, job: &Job) -> Option<Vec<String>> {
        let mut words = (self.tool.arguments)(job)?;
        words.extend(self.more.iter().map(|word| (*word).to_owned()));
        Some(words)
    }
}

/// The available programs of drivers.
pub(super) struct Drivers {
    pub(super) ours: Option<PathBuf>,
    /// Another build of this product.
    pub(super) other: Option<PathBuf>,
    /// Other tools, by their index in [`TOOLS`].
    pub(super) found: Vec<(usize, PathBuf)>,
}

impl Drivers {
    /// The drivers in a section. A tool may still be unable to do one of its jobs.
    pub(super) fn contenders(&self, section: Section) -> Vec<Contender> {
        let ours =
            |name, program: &PathBuf, more| Contender { name, tool: &OURS, program: program.clone(), more };
        let mut all: Vec<Contender> = self.ours.iter().map(|p| ours(OURS.name, p, &[])).collect();
        if section == Section::Verify {
            all.extend(self.ours.iter().map(|p| ours(VERIFYING, p, &["--verify"])));
            return all;
        }
        all.extend(self.other.iter().map(|p| ours(OTHER, p, &[])));
        for (place, program) in &self.found {
            let tool = &TOOLS[*place];
            if section != Section::Proxies || tool.name == REDIS_BENCHMARK {
                all.push(Contender { name: tool.name, tool, program: program.clone(), more: &[] });
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_section_has_its_drivers() {
        let found = (0..TOOLS.len()).map(|place| (place, PathBuf::from("/t"))).collect();
        let drivers = Drivers { ours: Some(PathBuf::from("/o")), other: Some(PathBuf::from("/old")), found };
        let names =
            |section| drivers.contenders(section).iter().map(|c| c.name).collect::<Vec<_>>().join("; ");
        let all = "barograph; barograph, other; redis-benchmark; valkey-benchmark; memtier_benchmark";
        for section in [Section::Direct, Section::Rate, Section::Stall] {
            assert_eq!(names(section), all);
        }
        assert_eq!(names(Section::Verify), "barograph; barograph, verify");
        assert_eq!(names(Section::Proxies), "barograph; barograph, other; redis-benchmark");
    }

    #[test]
    fn words_for_only_are_the_names() {
        for section in SECTIONS {
            assert_eq!(section.to_possible_value().unwrap().get_name(), section.name());
        }
    }

    #[test]
    fn runs_with_stalls_are_long_and_few() {
        assert_eq!(Section::Stall.size(5, 3), (3, 20));
        assert_eq!(Section::Stall.size(1, 3), (1, 20));
        assert_eq!(Section::Direct.size(5, 3), (5, 3));
    }
}
