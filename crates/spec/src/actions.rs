//! The keys of `[[actions]]`: what is done to the deployment while the load goes on, and when.

use std::fmt;

use barograph_model::{Ability, Nanos};
use toml::{Table, Value};

use crate::catalogue::Catalogue;
use crate::deploy::{DeployPlan, MOST_MIB};
use crate::given::Given;
use crate::plan::LONGEST_S;

/// Actions of one run.
const MOST: usize = 100;

/// The list, and the name that plans had for it before it had more than faults.
const LIST: &str = "actions";
const OLD_LIST: &str = "faults";

/// One action of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionPlan {
    /// Its moment, counted from the start of the load.
    pub at: Nanos,
    /// The part, as the topology names it (`application-1`); network actions concern its host. Empty for [`Act::Heal`].
    pub unit: String,
    /// What is done.
    pub act: Act,
}

/// What an action does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Act {
    /// Its processes are killed, all at once.
    Kill,
    /// A part that ended on purpose is started again, with the data it left.
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
    /// Memory limit in MiB; 0 ends the limit.
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

impl Act {
    /// The ability of a platform that it needs.
    #[must_use]
    pub fn needs(self) -> Option<Ability> {
        match self {
            Act::Partition | Act::Heal | Act::Delay(_) => Some(Ability::Links),
            Act::FillDisk | Act::FreeDisk => Some(Ability::Disks),
            _ => None,
        }
    }

    /// Its name in plans and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Act::Kill => "kill",
            Act::Start => "start",
            Act::Pause => "pause",
            Act::Resume => "resume",
            Act::Partition => "partition",
            Act::Heal => "heal",
            Act::Delay(_) => "delay",
            Act::Cpus(_) => "cpus",
            Act::Memory(_) => "memory",
            Act::FillDisk => "fill-disk",
            Act::FreeDisk => "free-disk",
        }
    }
}

/// With how much, where it has that: `delay 20 ms`.
impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Act::Delay(delay) => write!(f, "delay {} ms", delay.as_secs_f64() * 1e3),
            Act::Cpus(cpus) => write!(f, "cpus {cpus}"),
            Act::Memory(mib) => write!(f, "memory {mib} MiB"),
            act => f.write_str(act.name()),
        }
    }
}

/// All of them, in the order of time.
pub(crate) fn actions(
    g: &mut Given,
    deploy: Option<&DeployPlan>,
    catalogue: Catalogue<'_>,
) -> Option<Vec<ActionPlan>> {
    let allowed = format!("a list of 1 to {MOST} tables with `at_s`, `unit` and `act`");
    let mut list = LIST;
    let mut count = g.tables(LIST, MOST, &allowed)?;
    if g.stands(OLD_LIST) {
        let old = g.tables(OLD_LIST, MOST, &allowed)?;
        if count > 0 {
            g.leave(OLD_LIST);
            let allowed = "left out in a plan with `actions`, the name of the same list";
            g.refuse(OLD_LIST, format!("{old} tables"), allowed, "move its tables to `actions`");
        } else {
            (list, count) = (OLD_LIST, old);
        }
    }
    let mut all = Vec::new();
    let mut kept = Vec::new();
    for at in 0..count {
        let prefix = format!("{list}[{at}]");
        let (action, table) = action(g, &prefix)?;
        if let (Some(needs), Some(deploy)) = (action.act.needs(), deploy)
            && !catalogue.is_able(deploy, needs)
        {
            let allowed = format!("this act only with {}", catalogue.with(needs));
            let remedy = "leave it out, or choose one of these platforms";
            g.refuse(&format!("{prefix}.act"), format!("{:?}", action.act.name()), &allowed, remedy);
        }
        all.push(action);
        kept.push(Value::Table(table));
    }
    if count > 0 {
        g.keep(LIST, Value::Array(kept));
    }
    all.sort_by_key(|action| action.at);
    Some(all)
}

fn action(g: &mut Given, prefix: &str) -> Option<(ActionPlan, Table)> {
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
        "kill" => Act::Kill,
        "start" => Act::Start,
        "pause" => Act::Pause,
        "resume" => Act::Resume,
        "partition" => Act::Partition,
        "heal" => Act::Heal,
        "fill-disk" => Act::FillDisk,
        "free-disk" => Act::FreeDisk,
        "delay" => {
            table.insert("delay_ms".into(), delay?.into());
            Act::Delay(Nanos::from_secs_f64(delay? / 1e3))
        }
        "memory" => {
            table.insert("memory_mib".into(), (memory? as i64).into());
            Act::Memory(memory?)
        }
        _ => {
            table.insert("cpus".into(), cpus?.into());
            Act::Cpus(cpus?)
        }
    };
    Some((ActionPlan { at, unit, act }, table))
}
