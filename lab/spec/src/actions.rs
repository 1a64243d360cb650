//! The keys of `[[actions]]`: changes to the deployment under load, and their times.

use std::fmt;

use barograph_model::{Ability, Nanos};
use toml::{Table, Value};

use crate::catalogue::Catalogue;
use crate::deploy::{DeployPlan, MOST_MIB};
use crate::plan::LONGEST_S;
use crate::settings_reader::SettingsReader;

/// Most actions of one run.
const MOST: usize = 100;

/// Most letters in the name of a snapshot or a clone: it is part of the names of files and devices.
const LONGEST_NAME: usize = 32;

/// Nodes of one tier.
const MOST_NODES: u64 = 1_000;

/// The list, and the name that plans had for it before it had more than faults.
const LIST: &str = "actions";
/// Its older name.
const OLD_LIST: &str = "faults";

/// Both names of the list.
pub(crate) const LISTS: [&str; 2] = [LIST, OLD_LIST];

/// Shortest time between two begins of an action that is repeated.
const LEAST_EVERY: Nanos = Nanos::from_secs(1);

/// One action of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionPlan {
    /// Its time, counted from the start of the load.
    pub at: Nanos,
    /// The part, as named by the topology (`application-1`); network actions concern its host. Empty for
    /// an act of all parts.
    pub unit: String,
    /// The action.
    pub act: ActionKind,
    /// Time from one begin to the next, as long as the load goes on; `None` for an action that is done once.
    pub every: Option<Nanos>,
    /// Longest duration within which the run passes; `None` if the action is not judged.
    pub limit: Option<Nanos>,
    /// Index of its table in the plan's list; `None` for an action of the run itself.
    pub index: Option<usize>,
}

impl ActionPlan {
    /// An action of the run itself, done once and not judged.
    #[must_use]
    pub fn of_run(at: Nanos, unit: &str, act: ActionKind) -> Self {
        ActionPlan { at, unit: unit.to_owned(), act, every: None, limit: None, index: None }
    }
}

/// Kind of an action.
#[derive(Clone, Debug, PartialEq)]
pub enum ActionKind {
    /// All its processes are killed at once.
    Kill,
    /// It is stopped in the way of its service.
    Stop,
    /// A part that ended on purpose is started again, on the data it left.
    Start,
    /// A stop and a start.
    Restart,
    /// It is paused.
    Pause,
    /// It continues after a pause.
    Resume,
    /// Its host is taken off the network.
    Partition,
    /// All hosts are connected again.
    Heal,
    /// Its link delays packets by this much, each way; 0 ends that.
    Delay(Nanos),
    /// Its limits change while it runs.
    Resize(Resize),
    /// This number of nodes of a tier runs.
    Scale(u32),
    /// The running nodes of a tier restart one after another.
    RollingRestart,
    /// Its disk, a file system of its own, has not a byte free any more.
    FillDisk,
    /// The filling of its disk is removed.
    FreeDisk,
    /// Its host, a virtual machine, is moved to another emulator while it runs.
    Move,
    /// The disk of its host is moved to another file.
    MoveDisk,
    /// Its host is moved to another emulator and its disk to another file, in one operation.
    MoveWithDisk,
    /// Memory and disk of its host are saved under this name.
    Snapshot(String),
    /// Its host is reset to the snapshot of this name.
    Restore(String),
    /// Its host is cloned under this name, and the clone boots.
    Clone(String),
    /// All parts of its node restart on other nodes.
    Drain,
    /// Parts may start on all nodes again.
    Undrain,
    /// All parts of this lost node start on other nodes. The run itself does it; it is not for plans.
    Replace(String),
}

/// New limits of a part; absent ones stay unchanged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resize {
    /// Cores; 0 ends the limit.
    pub cpus: Option<f64>,
    /// MiB of memory; 0 ends the limit.
    pub memory_mib: Option<u64>,
}

/// Acts without keys of their own.
const PLAIN: [ActionKind; 16] = [
    ActionKind::Kill,
    ActionKind::Stop,
    ActionKind::Start,
    ActionKind::Restart,
    ActionKind::RollingRestart,
    ActionKind::Pause,
    ActionKind::Resume,
    ActionKind::Partition,
    ActionKind::Heal,
    ActionKind::FillDisk,
    ActionKind::FreeDisk,
    ActionKind::Move,
    ActionKind::MoveDisk,
    ActionKind::MoveWithDisk,
    ActionKind::Drain,
    ActionKind::Undrain,
];

/// Acts with keys of their own; `cpus` and `memory` resize one limit.
const KEYED: [&str; 8] = ["delay", "resize", "cpus", "memory", "scale", "snapshot", "restore", "clone"];

/// Keys of single acts, each with the acts that have it.
const OF_ACTS: [(&str, &[&str]); 5] = [
    ("delay_ms", &["delay"]),
    ("cpus", &["resize", "cpus"]),
    ("memory_mib", &["resize", "memory"]),
    ("count", &["scale"]),
    ("name", &["snapshot", "restore", "clone"]),
];

impl ActionKind {
    /// The ability of a platform needed for it.
    #[must_use]
    pub fn needs(&self) -> Option<Ability> {
        match self {
            ActionKind::Partition | ActionKind::Heal | ActionKind::Delay(_) => Some(Ability::Links),
            ActionKind::FillDisk | ActionKind::FreeDisk => Some(Ability::Disks),
            ActionKind::Move
            | ActionKind::MoveDisk
            | ActionKind::MoveWithDisk
            | ActionKind::Snapshot(_)
            | ActionKind::Restore(_)
            | ActionKind::Clone(_) => Some(Ability::Moves),
            ActionKind::Drain | ActionKind::Undrain | ActionKind::Replace(_) => Some(Ability::Pods),
            _ => None,
        }
    }

    /// Whether it concerns no part.
    #[must_use]
    pub fn is_of_all(&self) -> bool {
        matches!(self, ActionKind::Heal | ActionKind::Undrain)
    }

    /// Its name in plans and records.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            ActionKind::Kill => "kill",
            ActionKind::Stop => "stop",
            ActionKind::Start => "start",
            ActionKind::Restart => "restart",
            ActionKind::Pause => "pause",
            ActionKind::Resume => "resume",
            ActionKind::Partition => "partition",
            ActionKind::Heal => "heal",
            ActionKind::Delay(_) => "delay",
            ActionKind::Resize(_) => "resize",
            ActionKind::Scale(_) => "scale",
            ActionKind::RollingRestart => "rolling-restart",
            ActionKind::FillDisk => "fill-disk",
            ActionKind::FreeDisk => "free-disk",
            ActionKind::Move => "move",
            ActionKind::MoveDisk => "move-disk",
            ActionKind::MoveWithDisk => "move-with-disk",
            ActionKind::Snapshot(_) => "snapshot",
            ActionKind::Restore(_) => "restore",
            ActionKind::Clone(_) => "clone",
            ActionKind::Drain => "drain",
            ActionKind::Undrain => "undrain",
            ActionKind::Replace(_) => "node-lost",
        }
    }
}

/// Prints the name with the amount or name: `delay 20 ms`.
impl fmt::Display for ActionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            ActionKind::Delay(delay) => write!(f, " {} ms", delay.as_secs_f64() * 1e3),
            ActionKind::Resize(Resize { cpus, memory_mib }) => {
                let limit =
                    |amount: Option<String>, unit: &str| {
                        amount.map(|amount| {
                            if amount == "0" { format!("all {unit}") } else { format!("{amount} {unit}") }
                        })
                    };
                let cores = limit(cpus.map(|cpus| cpus.to_string()), "cores");
                let memory = limit(memory_mib.map(|mib| mib.to_string()), "MiB");
                let both: Vec<String> = cores.into_iter().chain(memory).collect();
                write!(f, " to {}", both.join(", "))
            }
            ActionKind::Scale(count) => write!(f, " to {count}"),
            ActionKind::Replace(name)
            | ActionKind::Snapshot(name)
            | ActionKind::Restore(name)
            | ActionKind::Clone(name) => {
                write!(f, " {name}")
            }
            _ => Ok(()),
        }
    }
}

/// Reads all actions, in the order of time.
pub(crate) fn actions(
    g: &mut SettingsReader,
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
        let Some((action, table)) = action(g, &prefix) else { continue };
        let action = ActionPlan { index: Some(at), ..action };
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
    (all.len() == count).then_some(all)
}

fn action(g: &mut SettingsReader, prefix: &str) -> Option<(ActionPlan, Table)> {
    let key = |name: &str| format!("{prefix}.{name}");
    let at = g.seconds(&key("at_s"), LONGEST_S, Nanos::ZERO);
    let words: Vec<&str> = PLAIN.iter().map(ActionKind::name).chain(KEYED).collect();
    let name = g.listed_word(&key("act"), &words);
    let of_all = PLAIN.iter().any(|act| act.is_of_all() && name.as_deref() == Some(act.name()));
    let unit = if of_all { Some(String::new()) } else { g.listed_word(&key("unit"), &[]) };
    let act = match &name {
        Some(name) => act(g, prefix, name),
        None => {
            // Keys of an unknown act are those of any.
            OF_ACTS.iter().for_each(|(of_act, _)| g.leave(&key(of_act)));
            None
        }
    };
    let every = every(g, &key("every_s"));
    let limit = g.seconds(&key("limit_s"), LONGEST_S, Nanos::ZERO);
    let (at, unit, act, every, limit) = (at?, unit?, act?, every?, limit?);
    let limit = (limit > Nanos::ZERO).then_some(limit);
    let mut table = Table::new();
    let mut keep = |name: &str, value: Value| drop(table.insert(name.to_owned(), value));
    keep("at_s", at.as_secs_f64().into());
    keep("act", act.name().into());
    every.iter().for_each(|every| keep("every_s", every.as_secs_f64().into()));
    limit.iter().for_each(|limit| keep("limit_s", limit.as_secs_f64().into()));
    if !of_all {
        keep("unit", unit.clone().into());
    }
    match &act {
        ActionKind::Delay(delay) => keep("delay_ms", (delay.as_secs_f64() * 1e3).into()),
        ActionKind::Resize(Resize { cpus, memory_mib }) => {
            cpus.iter().for_each(|cpus| keep("cpus", (*cpus).into()));
            memory_mib.iter().for_each(|mib| keep("memory_mib", (*mib as i64).into()));
        }
        ActionKind::Scale(count) => keep("count", i64::from(*count).into()),
        ActionKind::Snapshot(name) | ActionKind::Restore(name) | ActionKind::Clone(name) => {
            keep("name", name.clone().into())
        }
        _ => {}
    }
    Some((ActionPlan { every, limit, ..ActionPlan::of_run(at, &unit, act) }, table))
}

/// Reads the time from one begin of an action to the next; 0 for an action that is done once.
fn every(g: &mut SettingsReader, key: &str) -> Option<Option<Nanos>> {
    let every = g.seconds(key, LONGEST_S, Nanos::ZERO)?;
    if every > Nanos::ZERO && every < LEAST_EVERY {
        g.refuse(
            key,
            every.as_secs_f64(),
            "at least 1 s, or 0 for once",
            "leave more time between two begins",
        );
    }
    Some((every > Nanos::ZERO).then_some(every))
}

/// The act of this name with its keys; keys of other acts are refused.
fn act(g: &mut SettingsReader, prefix: &str, name: &str) -> Option<ActionKind> {
    let key = |name: &str| format!("{prefix}.{name}");
    for (of_act, acts) in OF_ACTS {
        let condition: Vec<String> = acts.iter().map(|act| format!("act = {act:?}")).collect();
        g.only_with(&key(of_act), acts.contains(&name), &condition.join(" or "));
    }
    if let Some(plain) = PLAIN.iter().find(|act| act.name() == name) {
        return Some(plain.clone());
    }
    match name {
        "delay" => {
            let ms = g.listed_fraction(&key("delay_ms"), 0.0..=60_000.0)?;
            Some(ActionKind::Delay(Nanos::from_secs_f64(ms / 1e3)))
        }
        "resize" | "cpus" | "memory" => resize(g, prefix, name).map(ActionKind::Resize),
        "scale" => scale(g, prefix).map(ActionKind::Scale),
        "snapshot" => label(g, &key("name")).map(ActionKind::Snapshot),
        "restore" => label(g, &key("name")).map(ActionKind::Restore),
        "clone" => label(g, &key("name")).map(ActionKind::Clone),
        _ => None,
    }
}

/// Reads the limits of `resize`, which needs one of them; `cpus` and `memory` without a number end theirs.
fn resize(g: &mut SettingsReader, prefix: &str, name: &str) -> Option<Resize> {
    let (cpus, memory) = (format!("{prefix}.cpus"), format!("{prefix}.memory_mib"));
    let (has_cpus, has_memory) = (name == "cpus" || g.stands(&cpus), name == "memory" || g.stands(&memory));
    if !has_cpus && !has_memory {
        let allowed = "resize with `cpus`, `memory_mib` or both";
        g.refuse(&format!("{prefix}.act"), "\"resize\"", allowed, "give it one of them");
    }
    let cpus = if has_cpus { Some(g.listed_fraction(&cpus, 0.0..=1_024.0)?) } else { None };
    let memory_mib = if has_memory { Some(g.listed_number(&memory, 0..=MOST_MIB)?) } else { None };
    Some(Resize { cpus, memory_mib })
}

/// The number of nodes, which has no default.
fn scale(g: &mut SettingsReader, prefix: &str) -> Option<u32> {
    let count = format!("{prefix}.count");
    if !g.stands(&count) {
        g.refuse(
            &format!("{prefix}.act"),
            "\"scale\"",
            "scale with `count`",
            "say how many nodes are to run",
        );
    }
    Some(g.listed_number(&count, 1..=MOST_NODES)? as u32)
}

/// The name of a snapshot or a clone.
fn label(g: &mut SettingsReader, key: &str) -> Option<String> {
    let name = g.listed_word(key, &[])?;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    if !begins || !name.chars().all(plain) || name.len() > LONGEST_NAME {
        let allowed = format!("up to {LONGEST_NAME} small letters, digits and hyphens, a letter first");
        g.refuse(key, format!("{name:?}"), &allowed, "choose such a name");
    }
    Some(name)
}
