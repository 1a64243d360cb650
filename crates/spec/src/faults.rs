//! The keys of `[[faults]]`: what goes wrong on purpose while the load is on, and when.

use std::fmt;

use barograph_model::{Ability, Nanos};
use toml::{Table, Value};

use crate::catalogue::Catalogue;
use crate::deploy::{DeployPlan, MOST_MIB};
use crate::given::Given;
use crate::plan::LONGEST_S;

/// Faults of one run.
const MOST: usize = 100;

/// One thing that goes wrong on purpose.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultPlan {
    /// When, counted from the start of the load.
    pub at: Nanos,
    /// The unit, as the topology names it (`application-1`); for network faults its host.
    pub unit: String,
    /// What happens to it.
    pub act: FaultAct,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FaultAct {
    /// Its processes are killed, all at once.
    Kill,
    /// A unit that was killed is started again, with the data it left.
    Start,
    /// It is held in place.
    Pause,
    /// It goes on.
    Resume,
    /// Its host is taken off the network.
    Partition,
    /// All hosts see each other again.
    Heal,
    /// Its link takes this much longer, each way; 0 ends that.
    Delay(Nanos),
    /// It may use this many cores; 0 ends the limit.
    Cpus(f64),
    /// It may use so many MiB of memory; 0 ends the limit.
    Memory(u64),
    /// Its disk, a file system of its own, has not a byte free any more.
    FillDisk,
    /// What filled its disk is removed.
    FreeDisk,
}

const ACTS: [&str; 11] = [
    "kill",
    "start",
    "pause",
    "resume",
    "partition",
    "heal",
    "delay",
    "cpus",
    "memory",
    "fill-disk",
    "free-disk",
];

impl FaultAct {
    /// What a platform must be able to do for it.
    #[must_use]
    pub fn needs(self) -> Option<Ability> {
        match self {
            FaultAct::Partition | FaultAct::Heal | FaultAct::Delay(_) => Some(Ability::Links),
            FaultAct::FillDisk | FaultAct::FreeDisk => Some(Ability::Disks),
            _ => None,
        }
    }

    /// Its name in plans and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FaultAct::Kill => "kill",
            FaultAct::Start => "start",
            FaultAct::Pause => "pause",
            FaultAct::Resume => "resume",
            FaultAct::Partition => "partition",
            FaultAct::Heal => "heal",
            FaultAct::Delay(_) => "delay",
            FaultAct::Cpus(_) => "cpus",
            FaultAct::Memory(_) => "memory",
            FaultAct::FillDisk => "fill-disk",
            FaultAct::FreeDisk => "free-disk",
        }
    }
}

/// With how much, where it has that: `delay 20 ms`.
impl fmt::Display for FaultAct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultAct::Delay(delay) => write!(f, "delay {} ms", delay.as_secs_f64() * 1e3),
            FaultAct::Cpus(cpus) => write!(f, "cpus {cpus}"),
            FaultAct::Memory(mib) => write!(f, "memory {mib} MiB"),
            act => f.write_str(act.name()),
        }
    }
}

/// All of them, in the order of time.
pub(crate) fn faults(
    g: &mut Given,
    deploy: Option<&DeployPlan>,
    catalogue: Catalogue<'_>,
) -> Option<Vec<FaultPlan>> {
    let allowed = format!("a list of 1 to {MOST} tables with `at_s`, `unit` and `act`");
    let count = g.tables("faults", MOST, &allowed)?;
    let mut all = Vec::new();
    let mut kept = Vec::new();
    for at in 0..count {
        let prefix = format!("faults[{at}]");
        let (fault, table) = fault(g, &prefix)?;
        if let (Some(needs), Some(deploy)) = (fault.act.needs(), deploy)
            && !catalogue.is_able(deploy, needs)
        {
            let allowed = format!("this act only with {}", catalogue.with(needs));
            let remedy = "leave it out, or choose one of these platforms";
            g.refuse(&format!("{prefix}.act"), format!("{:?}", fault.act.name()), &allowed, remedy);
        }
        all.push(fault);
        kept.push(Value::Table(table));
    }
    if count > 0 {
        g.keep("faults", Value::Array(kept));
    }
    all.sort_by_key(|fault| fault.at);
    Some(all)
}

fn fault(g: &mut Given, prefix: &str) -> Option<(FaultPlan, Table)> {
    let key = |name: &str| format!("{prefix}.{name}");
    let at = g.seconds(&key("at_s"), LONGEST_S, Nanos::ZERO);
    let act = g.listed_word(&key("act"), &ACTS);
    let heals = act.as_deref() == Some("heal");
    let unit = if heals { Some(String::new()) } else { g.listed_word(&key("unit"), &[]) };
    g.only_with(&key("delay_ms"), act.as_deref() == Some("delay"), "act = \"delay\"");
    g.only_with(&key("cpus"), act.as_deref() == Some("cpus"), "act = \"cpus\"");
    g.only_with(&key("memory_mib"), act.as_deref() == Some("memory"), "act = \"memory\"");
    let delay = g.listed_fraction(&key("delay_ms"), 0.0..=60_000.0);
    let cpus = g.listed_fraction(&key("cpus"), 0.0..=1_024.0);
    let memory = g.listed_number(&key("memory_mib"), 0..=MOST_MIB);
    let (at, unit, name) = (at?, unit?, act?);
    let mut table = Table::new();
    table.insert("at_s".into(), at.as_secs_f64().into());
    table.insert("act".into(), name.clone().into());
    if !heals {
        table.insert("unit".into(), unit.clone().into());
    }
    let act = match name.as_str() {
        "kill" => FaultAct::Kill,
        "start" => FaultAct::Start,
        "pause" => FaultAct::Pause,
        "resume" => FaultAct::Resume,
        "partition" => FaultAct::Partition,
        "heal" => FaultAct::Heal,
        "fill-disk" => FaultAct::FillDisk,
        "free-disk" => FaultAct::FreeDisk,
        "delay" => {
            table.insert("delay_ms".into(), delay?.into());
            FaultAct::Delay(Nanos::from_secs_f64(delay? / 1e3))
        }
        "memory" => {
            table.insert("memory_mib".into(), (memory? as i64).into());
            FaultAct::Memory(memory?)
        }
        _ => {
            table.insert("cpus".into(), cpus?.into());
            FaultAct::Cpus(cpus?)
        }
    };
    Some((FaultPlan { at, unit, act }, table))
}
