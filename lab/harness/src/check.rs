//! Whether a plan is possible on this machine, as far as that can be known before anything is created.

mod cores;
mod effect;
mod elastic;
mod files;
mod load;
mod loads;
mod policies;
mod tiles;
mod volumes;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

use barograph_engine::{cores_are_permitted, realtime_is_permitted};
use barograph_model::{Nanos, OpenLoop, SearchBounds, Strategy, check_measures};
use barograph_record::Decisions;
pub use barograph_record::LoadLimit;
use barograph_spec::{Ability, ActionKind, ActionPlan, DemandFile, Plan, Reference, Refusal, Refusals};
pub use barograph_workload::Machine;
use barograph_workload::topology::{Part, PartWork, Topology};
use barograph_workload::{Application, DataSet, DataSets, Workload};

use crate::actions::scalable;
use crate::{clock, deploy};
pub(crate) use effect::disk_mib;
pub(crate) use loads::OF_LOAD;
pub use loads::check_all;
pub(crate) use loads::decisions_of_run;
pub use policies::missing_policies;

/// Key of real-time scheduling.
const REALTIME: &str = "driver.realtime";

/// Added to the wait of a held-back answer: the answer still has to be made and sent.
pub(crate) const AFTER_WAIT: Nanos = Nanos::from_secs(5);

/// A plan that passed the check, with everything derived from it.
#[derive(Clone, Debug)]
pub struct CheckedPlan {
    /// The plan with all bounds, workers, connections and the profile filled in.
    pub plan: Plan,
    /// Values of the plan that the check decided.
    pub decisions: Decisions,
    /// Target of the load.
    pub target: Target,
    /// Data set of the application, if the workload has one.
    pub data: Option<DataSet>,
    /// Arrivals from outside: a trace that has been read.
    pub open: Option<OpenLoop>,
    /// Notes for the user, in sentences.
    pub notes: Vec<String>,
    /// Reason for the highest level of the plan.
    pub most: LoadLimit,
    /// Largest number of users that fit, for changes while the load is on.
    pub most_users: u32,
    /// Reference rates of the tiles, if the run is scored.
    pub reference: Option<Arc<Reference>>,
    /// Demand curve against which nodes are held, if the plan names one.
    pub demand: Option<Arc<DemandFile>>,
}

/// Target of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The workload's application, which the run creates, fills, checks and removes.
    Deployed,
    /// A target that exists already and is left as it is.
    There {
        /// URL of the target.
        url: String,
    },
}

/// Checks a plan against the workload and this machine.
pub fn check(plan: &Plan, workload: &dyn Workload, machine: Machine) -> Result<CheckedPlan, Refusals> {
    let mut plan = plan.clone();
    let mut refusals = Vec::new();
    if plan.profile.is_empty() {
        plan.profile = workload.profiles().first().map_or_else(String::new, |name| (*name).to_owned());
    }
    if workload.profile(&plan.profile).is_none() {
        let wrong = WrongValue {
            key: "profile",
            value: format!("{:?}", plan.profile),
            allowed: format!("one of {}", workload.profiles().join(", ")),
            remedy: "name one of them".to_owned(),
        };
        refusals.push(wrong.at(&plan));
    }
    let target = match target(&plan, workload) {
        Ok(target) => target,
        Err(wrong) => {
            refusals.push(wrong);
            return Err(Refusals(refusals));
        }
    };
    let sets = workload.application().and_then(Application::data_sets);
    let mut notes = Vec::new();
    // All loads of one application share its data set.
    let of_run = !matches!(&target, Target::There { url } if !url.starts_with(OF_LOAD));
    if plan.data.size.is_empty()
        && of_run
        && let Some(usual) = sets.and_then(|sets| sets.usual_size(&plan, &machine))
    {
        usual.name.clone_into(&mut plan.data.size);
        notes.push(usual.why);
    }
    let data = match sets.map(|sets| sets.data(&plan.data, plan.seed)).transpose() {
        Ok(data) => data,
        Err(mut wrong) => {
            plan.place(&wrong.key).clone_into(&mut wrong.place);
            refusals.push(wrong);
            return Err(Refusals(refusals));
        }
    };
    let (most, open) = (LoadLimit::Plan, None);
    let checking = PlanCheck { plan, workload, target, data, open, machine, refusals, notes, most };
    checking.all()
}

fn target(plan: &Plan, workload: &dyn Workload) -> Result<Target, Refusal> {
    match (&plan.target.url, workload.target(), workload.application()) {
        (Some(url), _, _) => Ok(Target::There { url: url.clone() }),
        (None, Some(url), _) => Ok(Target::There { url: url.to_owned() }),
        (None, None, Some(_)) => Ok(Target::Deployed),
        (None, None, None) => Err(WrongValue {
            key: "target.url",
            value: "nothing".to_owned(),
            allowed: format!("a URL: workload {} makes no application of its own", workload.name()),
            remedy: "say where the target answers, as in --set target.url=http://127.0.0.1:8080".to_owned(),
        }
        .at(plan)),
    }
}

/// An impossible value of the plan.
struct WrongValue {
    key: &'static str,
    value: String,
    allowed: String,
    remedy: String,
}

impl WrongValue {
    fn at(self, plan: &Plan) -> Refusal {
        Refusal {
            place: plan.place(self.key).to_owned(),
            key: self.key.to_owned(),
            value: self.value,
            allowed: self.allowed,
            remedy: self.remedy,
        }
    }
}

/// Key of the actions of a plan.
fn key_of_actions(plan: &Plan) -> &'static str {
    if plan.places.contains_key("faults") { "faults" } else { "actions" }
}

/// The refusal of a value of an action, whose key is in its table of the plan.
fn wrong_action(
    plan: &Plan,
    action: &ActionPlan,
    key: &str,
    value: String,
    (allowed, remedy): (String, &str),
) -> Refusal {
    let list = key_of_actions(plan);
    let key = action.index.map_or_else(|| list.to_owned(), |index| format!("{list}[{index}].{key}"));
    let place = plan.places.get(&key).map_or_else(|| plan.place(list), String::as_str).to_owned();
    Refusal { place, key, value, allowed, remedy: remedy.to_owned() }
}

fn no_such_unit(plan: &Plan, action: &ActionPlan, allowed: String) -> Refusal {
    let remedy = "name a part that is deployed, as `barograph check` shows it";
    wrong_action(plan, action, "unit", format!("{:?}", action.unit), (allowed, remedy))
}

/// Actions of a plan on parts that do not exist.
fn unknown_units<'p>(plan: &Plan, parts: impl Iterator<Item = &'p Part>) -> Vec<Refusal> {
    let serve: Vec<&Part> = parts.filter(|part| matches!(part.work, PartWork::Service(_))).collect();
    let names: Vec<&str> = serve.iter().map(|part| part.name.as_str()).collect();
    let tiers = scalable(&serve);
    let wrong = |action: &ActionPlan| match action.act {
        _ if action.act.is_of_all() => None,
        ActionKind::Scale(count) => unscalable(plan, action, count, &tiers),
        ActionKind::RollingRestart => unscalable(plan, action, 0, &tiers),
        _ if names.contains(&action.unit.as_str()) => None,
        _ => Some(no_such_unit(plan, action, format!("one of {}", names.join(", ")))),
    };
    plan.actions.iter().filter_map(wrong).collect()
}

/// Why a tier cannot have this number of running nodes; 0 is any.
fn unscalable(plan: &Plan, action: &ActionPlan, count: u32, tiers: &BTreeMap<&str, u32>) -> Option<Refusal> {
    let (unit, act) = (action.unit.as_str(), action.act.name());
    let Some(nodes) = tiers.get(unit) else {
        let several = "several nodes behind a balancer or web server";
        let allowed = match &tiers.keys().copied().collect::<Vec<_>>()[..] {
            [] => format!("no act {act:?} where no tier has {several}"),
            tiers => format!("a tier of {several} for act {act:?}: {}", tiers.join(", ")),
        };
        let of_plan = (allowed, "leave it out, or name a tier that has them");
        return Some(wrong_action(plan, action, "unit", format!("{unit:?}"), of_plan));
    };
    (count > *nodes).then(|| {
        let allowed = format!("1 to {nodes} nodes of {unit}, all of which are deployed when the run begins");
        wrong_action(
            plan,
            action,
            "count",
            count.to_string(),
            (allowed, "deploy more nodes, or lower `count`"),
        )
    })
}

/// A check in progress: the plan as far as it is resolved, and the results so far.
struct PlanCheck<'a> {
    plan: Plan,
    workload: &'a dyn Workload,
    target: Target,
    data: Option<DataSet>,
    open: Option<OpenLoop>,
    machine: Machine,
    refusals: Vec<Refusal>,
    notes: Vec<String>,
    most: LoadLimit,
}

impl<'a> PlanCheck<'a> {
    fn all(mut self) -> Result<CheckedPlan, Refusals> {
        self.open_loop();
        let users = self.most_load();
        self.connections(users);
        self.workers();
        self.realtime();
        self.least_load();
        self.operations();
        if let (Target::Deployed, Some(application)) = (&self.target, self.workload.application()) {
            self.port();
            if let Some(sets) = application.data_sets() {
                self.room(sets);
            }
        }
        if let Some(there) = cores::of_machine() {
            let missing = cores::missing(&self.plan, &there);
            let not_permitted = cores::not_permitted(&self.plan, cores_are_permitted);
            self.refusals
                .extend(not_permitted.filter(|refusal| missing.iter().all(|other| other.key != refusal.key)));
            self.refusals.extend(missing);
        }
        self.refusals.extend(policies::wrong(&self.plan, Path::new(clock::SYS)));
        self.without_effect();
        self.without_data_sets();
        self.actions();
        self.disks();
        self.timeout();
        self.declared();
        self.refusals.extend(self.workload.refusals(&self.plan));
        self.end()
    }

    fn refuse(&mut self, wrong: WrongValue) {
        self.refusals.push(wrong.at(&self.plan));
    }

    /// Topology of the deployment, with drivers that are units; `None` if the target exists already.
    fn topology(&self) -> Option<Topology> {
        let application = self.workload.application().filter(|_| self.target == Target::Deployed)?;
        let mut topology = deploy::topology_of(application, &self.plan, self.data.as_ref());
        let fronts: Vec<String> = topology.front_names().cloned().collect();
        topology.parts.extend(deploy::drivers(&self.plan, &fronts));
        Some(topology)
    }

    fn port(&mut self) {
        let port = self.plan.target.port;
        let fronts = self.topology().map_or(0, |topology| topology.fronts.len());
        if port != 0 && fronts > 1 {
            self.refuse(WrongValue {
                key: "target.port",
                value: port.to_string(),
                allowed: format!("0 for an application that answers at {fronts} addresses"),
                remedy: "leave it out".to_owned(),
            });
            return;
        }
        if !effect::shares_ports(&self.plan) {
            return;
        }
        if let Err(why) = TcpListener::bind(("127.0.0.1", port)) {
            self.refuse(WrongValue {
                key: "target.port",
                value: port.to_string(),
                allowed: format!("a free port, or 0 for any; this one cannot be had ({why})"),
                remedy: "stop what listens there, or choose another".to_owned(),
            });
        }
    }

    /// Checks that there is room for the data, unless they are there already.
    fn room(&mut self, sets: &dyn DataSets) {
        let Some(data) = &self.data else { return };
        let (dir, needed) = (data.dir_in(&self.plan.data.dir), data.bytes);
        if sets.is_filled(&dir) {
            return;
        }
        let value = self.plan.data.dir.display().to_string();
        if let Some(free) = self.machine.free_bytes.filter(|free| *free < needed) {
            let (needed, free) = (needed as f64 / 1e9, free as f64 / 1e9);
            self.refuse(WrongValue {
                key: "data.dir",
                value: value.clone(),
                allowed: format!("a folder with {needed:.3} GB free; there are {free:.3} GB"),
                remedy: "free some, choose another data.dir, or smaller data.history and data.images"
                    .to_owned(),
            });
        }
        // An empty folder is used; a folder with other content is neither used nor removed.
        if std::fs::read_dir(&dir).is_ok_and(|mut entries| entries.next().is_some()) {
            let dir = dir.display();
            self.refuse(WrongValue {
                key: "data.dir",
                value,
                allowed: format!("a folder in which `{dir}` is a whole data set, or absent"),
                remedy: format!("remove `{dir}`, which no fill has finished, or choose another data.dir"),
            });
        }
    }

    /// Refuses actions on unknown parts. The abilities of the platform were checked when the plan was read.
    fn actions(&mut self) {
        let actions = self.plan.actions.clone();
        let Some(first) = actions.first() else {
            let is_there = matches!(&self.target, Target::There { url } if !url.starts_with(OF_LOAD));
            if is_there && self.plan.deploy.has(Ability::Hosts) {
                let note = "the target is there already, so `platform` and `[deploy]` are for drivers only";
                self.notes.push(note.to_owned());
            }
            return;
        };
        let key = key_of_actions(&self.plan);
        let Some(topology) = self.topology() else {
            let allowed = format!("no {key} for a target that is there already");
            return self.refusals.push(no_such_unit(&self.plan, first, allowed));
        };
        let carried = |act: &ActionKind| {
            let moves = matches!(act, ActionKind::Move | ActionKind::MoveWithDisk);
            moves || matches!(act, ActionKind::Snapshot(_) | ActionKind::Restore(_))
        };
        if let Some(action) = actions.iter().find(|action| carried(&action.act))
            && deploy::shares_files(&topology)
        {
            let name = action.act.name();
            let allowed = "moves and snapshots of hosts that share no folder of this machine; parts of this plan use one";
            let remedy = format!(
                "leave `{name}` out, or deploy without shared files: no driver as a unit, stores over the network"
            );
            let of_plan = (allowed.to_owned(), &remedy[..]);
            self.refusals.push(wrong_action(&self.plan, action, "act", format!("{name:?}"), of_plan));
        }
        let load = barograph_spec::estimate(&self.plan);
        for action in actions.iter().filter(|action| action.at >= load) {
            let (name, at, load) = (action.act.name(), action.at.as_secs_f64(), load.as_secs_f64());
            self.notes.push(format!("{name} at {at} s will not be done: the load lasts {load} s at most"));
        }
        // Where several loads deploy, the part may belong to another load.
        if self.plan.letter.is_none() {
            self.refusals.extend(unknown_units(&self.plan, topology.parts.iter()));
        }
    }

    /// Notes a time-out shorter than the wait of an operation that waits on purpose. It may be meant, so it
    /// is not refused.
    fn timeout(&mut self) {
        let timeout = self.plan.driver.timeout;
        let longest = self.workload.longest_wait().filter(|wait| timeout < *wait + AFTER_WAIT);
        if let Some(wait) = longest {
            self.notes.push(format!(
                "operations are timed out after {} s (driver.timeout_s), but the application may hold an answer for {} s: \
                 such waits can end as failures",
                timeout.as_secs_f64(),
                wait.as_secs_f64()
            ));
        }
    }

    /// Refuses impossible declarations of the workload.
    fn declared(&mut self) {
        let workload = self.workload;
        let (measures, ops) = (workload.measures(), workload.ops());
        let wrong = check_measures(workload.counters(), measures, ops).err().map(|why| why.to_string());
        let profile = workload.profile(&self.plan.profile);
        let rules = profile.and_then(|profile| profile.check(measures, ops).err()).map(|why| why.to_string());
        for why in wrong.into_iter().chain(rules) {
            self.refuse(WrongValue {
                key: "workload",
                value: format!("{:?}", workload.name()),
                allowed: format!("a workload whose measures and rules are possible; this one declares {why}"),
                remedy: "mend the workload, or load with another".to_owned(),
            });
        }
    }

    fn end(self) -> Result<CheckedPlan, Refusals> {
        if !self.refusals.is_empty() {
            return Err(Refusals(self.refusals));
        }
        let (decisions, most_users) = (self.decisions(), self.most_users());
        let PlanCheck { plan, target, data, open, notes, most, .. } = self;
        let (reference, demand) = (None, None);
        Ok(CheckedPlan { plan, decisions, target, data, open, notes, most, most_users, reference, demand })
    }

    /// Takes real-time scheduling back where the system does not permit it, and from drivers that are units.
    fn realtime(&mut self) {
        if !self.plan.driver.realtime {
            return;
        }
        let is_apart = self.plan.driver_units() > 0;
        if let Some(why_not) = no_realtime(is_apart, realtime_is_permitted()) {
            self.plan.driver.realtime = false;
            self.notes.push(format!("the driver is not scheduled in real time: {why_not}"));
        }
    }

    /// Values that the plan left open and the check decided.
    fn decisions(&self) -> Decisions {
        let bounds = search_of(&self.plan.strategy);
        let size = &self.plan.data.size;
        let size_is_open = !self.plan.places.contains_key("data.size");
        Decisions {
            profile: Some(self.plan.profile.clone()),
            size: (size_is_open && !size.is_empty()).then(|| size.clone()),
            unit: self.plan.unit.into(),
            lowest: bounds.map(|bounds| bounds.min),
            highest: bounds.map(|bounds| bounds.max),
            most_users: self.open.as_ref().map(|open| open.most_users),
            connections: Some(self.plan.driver.connections.name().to_owned()),
            workers: Some(self.plan.driver.workers as u64),
            realtime: self.plan.places.contains_key(REALTIME).then_some(self.plan.driver.realtime),
        }
    }
}

/// Why a driver cannot be scheduled in real time.
fn no_realtime(is_apart: bool, is_permitted: bool) -> Option<&'static str> {
    match (is_apart, is_permitted) {
        (true, _) => Some("only a driver in this process can be"),
        (false, true) => None,
        (false, false) => Some(
            "the system does not permit it, which takes CAP_SYS_NICE or a limit of real-time priority; \
             `sudo prlimit --pid $$ --rtprio=1` raises that of this shell and what it starts",
        ),
    }
}

/// Bounds of a search; `None` for other strategies.
fn search_of(strategy: &Strategy) -> Option<&SearchBounds> {
    if let Strategy::Search(bounds) = strategy { Some(bounds) } else { None }
}

/// Decisions as comments below the text of a plan. `prefix` begins the keys of one of several loads.
pub(crate) fn comments(decisions: &Decisions, prefix: &str) -> String {
    decisions.rows().iter().map(|(key, value)| format!("# {prefix}{key} = {value}\n")).collect()
}

/// First line of the comments with decisions.
pub(crate) const DECIDED: &str = "\n# decided on this machine\n";

impl CheckedPlan {
    /// Returns the plan of this load as TOML with every default filled in, and decisions as comments.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}{DECIDED}{}", self.plan.resolved, comments(&self.decisions, ""))
    }
}

#[cfg(test)]
mod tests;
