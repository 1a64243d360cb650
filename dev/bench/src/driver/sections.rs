//! Sections of the measurement: five lists of contenders that take turns.

use std::path::{Path, PathBuf};

use super::output::ToolReport;
use super::tools::{Job, TOOLS};

/// A part of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Closed,
    Rate,
    Idle,
    Many,
    Scenario,
}

/// All sections, in the order of the page.
pub(super) const SECTIONS: [Section; 5] =
    [Section::Closed, Section::Rate, Section::Idle, Section::Many, Section::Scenario];

/// Starts per second of the section at a fixed rate.
const RATE: u32 = 5_000;

/// Connections of the sections with busy users.
const CONNECTIONS: u32 = 64;

/// Wait of the mostly idle users, s.
const THINK_S: u32 = 7;

/// Rounds of the sections about memory: it hardly varies, and a round is long.
const FEW_ROUNDS: u32 = 3;

impl Section {
    /// The word for `--only`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Section::Closed => "closed",
            Section::Rate => "rate",
            Section::Idle => "idle",
            Section::Many => "many",
            Section::Scenario => "scenario",
        }
    }

    pub(super) fn named(name: &str) -> Option<Section> {
        SECTIONS.into_iter().find(|s| s.name() == name)
    }

    /// Connections, equal to users in sections with waits.
    pub(super) fn connections(self) -> u32 {
        match self {
            Section::Closed | Section::Rate | Section::Scenario => CONNECTIONS,
            Section::Idle => 10_000,
            Section::Many => 100_000,
        }
    }

    /// The requested file: the scenario extracts a value, so both sides of its section get JSON.
    pub(super) fn file(self) -> &'static str {
        match self {
            Section::Scenario => "1k.json",
            _ => "1k.txt",
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Section::Closed => "Closed loop, 64 connections, as fast as answers come",
            Section::Rate => "Fixed 5,000 starts per second, 64 connections",
            Section::Idle => "10,000 mostly idle users, 7 s between answer and next request",
            Section::Many => "100,000 mostly idle users, 7 s between answer and next request",
            Section::Scenario => "Cost of the scenario layer: one extraction and one check against none",
        }
    }

    /// Background needed to interpret this section.
    pub(super) fn note(self) -> &'static str {
        match self {
            Section::Closed => {
                "Where nginx is the limit, requests/s say more about the core of nginx than about the driver; CPU says more."
            }
            Section::Rate => {
                "h2load lets the timers of its connections run out together, so that it sends 64 requests at once and \
                 then none: few wakes, little CPU, and no pacing."
            }
            Section::Idle => "k6 takes part only with --k6-users.",
            Section::Many => "Only Barograph is measured here.",
            Section::Scenario => {
                "`barograph http` is a scenario too, of one exchange from which nothing is taken; the other one parses \
                 the JSON body, keeps a value of it and checks the status."
            }
        }
    }

    /// The bases of ratios: the first available one is used.
    pub(super) fn bases(self) -> &'static [&'static str] {
        match self {
            Section::Closed => &["wrk"],
            Section::Rate => &["wrk2", "h2load"],
            Section::Idle | Section::Many => &["barograph"],
            Section::Scenario => &["barograph, plain"],
        }
    }

    /// Rounds and seconds of one run. Idle users come in waves as far apart as their waits, hence a whole
    /// number of waves.
    pub(super) fn size(self, rounds: u32, seconds: u64) -> (u32, u64) {
        match self {
            Section::Closed | Section::Rate | Section::Scenario => (rounds, seconds),
            Section::Idle => (rounds.min(FEW_ROUNDS), seconds.max(3 * u64::from(THINK_S))),
            Section::Many => (rounds.min(FEW_ROUNDS), seconds.max(5 * u64::from(THINK_S))),
        }
    }
}

/// A contender in a section.
#[derive(Debug)]
pub(super) struct Contender {
    pub(super) name: &'static str,
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) read: fn(&str) -> anyhow::Result<ToolReport>,
    /// Exit codes with a result.
    pub(super) fine: &'static [i32],
    /// The folder of the record, if the figures are there and not in the output.
    pub(super) record: Option<PathBuf>,
}

/// The available tools, by their index in [`TOOLS`].
pub(super) type ToolPaths = Vec<(usize, PathBuf)>;

/// The job of a section.
pub(super) fn job<'a>(section: Section, url: &'a str, seconds: u64, folder: &'a Path) -> Job<'a> {
    let job = Job { url, connections: section.connections(), seconds, rate: None, think_s: None, folder };
    match section {
        Section::Closed | Section::Scenario => job,
        Section::Rate => Job { rate: Some(RATE), ..job },
        Section::Idle | Section::Many => Job { think_s: Some(THINK_S), ..job },
    }
}

/// The other tools in a section. k6 with 10,000 users needs more than 2 GiB, so it must be requested.
pub(super) fn others(section: Section, job: &Job<'_>, found: &ToolPaths, k6_users: bool) -> Vec<Contender> {
    let compared = match section {
        Section::Closed | Section::Rate => true,
        Section::Idle => k6_users,
        Section::Many | Section::Scenario => false,
    };
    let mut all = Vec::new();
    for (place, program) in found.iter().filter(|_| compared) {
        let tool = &TOOLS[*place];
        if let Some(arguments) = (tool.arguments)(job) {
            let (name, read) = (tool.name, tool.read);
            all.push(Contender { name, program: program.clone(), arguments, read, fine: &[0], record: None });
        }
    }
    all
}
