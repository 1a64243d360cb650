//! Actions on the deployment while the load goes on, each at its moment.

mod drain;
mod replace;
mod scale;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use barograph_model::Nanos;
use barograph_model::words::in_one_line;
use barograph_platform::{
    BoxFuture, Disks, Fault, Limits, LinkSpec, MachineOperation, Machines, Network, Standstill, UnitExit,
};
use barograph_record::ActionRecord;
use barograph_spec::{ActionKind, ActionPlan, Plan, Resize};

use crate::clock::RunClock;
use crate::deploy::{self, Deployment, PauseAction, StartedPart};

pub(crate) use scale::{scalable, stop_surplus, tier_of};

/// The actions of a plan that are still to come.
pub(crate) struct Actions<'d> {
    deployed: Option<&'d Deployment>,
    waiting: VecDeque<ActionPlan>,
    /// Links as the plan has them.
    link: LinkSpec,
    limits: ChangedLimits,
    acting: Option<RunningAction<'d>>,
    /// Actions of a rule that have not begun.
    asked: usize,
}

/// Limits of parts that actions have changed.
#[derive(Debug, Default)]
struct ChangedLimits(BTreeMap<String, Limits>);

impl ChangedLimits {
    /// Limits of a part after `action`; `None` if the action changes no limit. Limits that the action does
    /// not name stay as they are; `planned` are those of the plan.
    fn with(&self, action: &ActionPlan, planned: &Limits) -> Option<Limits> {
        let ActionKind::Resize(Resize { cpus, memory_mib }) = action.act else { return None };
        let now = self.0.get(&action.unit).unwrap_or(planned).clone();
        Some(Limits {
            cpus: cpus.map_or(now.cpus, |cpus| (cpus > 0.0).then_some(cpus)),
            memory_bytes: memory_mib.map_or(now.memory_bytes, |mib| (mib > 0).then_some(mib << 20)),
            ..now
        })
    }

    /// Keeps the limits of an action that was done. A part that starts again has the limits of the plan.
    fn keep(&mut self, action: &ActionPlan, limits: Option<Limits>, started: &[String]) {
        if let Some(limits) = limits {
            self.0.insert(action.unit.clone(), limits);
        }
        for unit in started {
            self.0.remove(unit);
        }
    }
}

/// An action in progress, which may take as long as a service takes to start.
struct RunningAction<'d> {
    action: ActionPlan,
    began: Nanos,
    /// New limits of the part; `None` if they do not change.
    limits: Option<Limits>,
    done: BoxFuture<'d, Result<ActionResult, ActionFailure>>,
}

/// Details of a completed action for the record.
#[derive(Debug, Default)]
pub(crate) struct ActionResult {
    /// Details in words; mostly empty.
    words: String,
    /// Time for which the part did nothing, if known.
    pause: Option<Duration>,
    /// The same by the clock of a guest, if measured.
    standstill: Option<Standstill>,
    /// Parts that started again.
    started: Vec<String>,
}

impl ActionResult {
    /// Names of the parts that started again.
    pub(crate) fn started(&self) -> &[String] {
        &self.started
    }

    fn in_words(words: String) -> Self {
        ActionResult { words, ..ActionResult::default() }
    }
}

impl From<MachineOperation> for ActionResult {
    fn from(moved: MachineOperation) -> Self {
        ActionResult {
            words: mib(moved.bytes),
            pause: Some(moved.downtime),
            standstill: moved.standstill,
            ..ActionResult::default()
        }
    }
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// Reason why an action was not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ActionFailure {
    /// The deployment has no such part.
    #[error("there is no part `{0}` that runs")]
    NoPart(String),
    /// The platform lacks the ability.
    #[error("platform cannot {0} it")]
    Unable(&'static str),
    /// The part is already running.
    #[error(
        "it runs; only a part that was killed or stopped, or that its disk or memory ended, can be started"
    )]
    Runs,
    /// The part is not running.
    #[error("it does not run")]
    Ended,
    /// The load ended before.
    #[error("the load ended before")]
    TooLate,
    /// The attempt failed.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl<'d> Actions<'d> {
    pub(crate) fn new(plan: &Plan, deployed: Option<&'d Deployment>) -> Self {
        let (waiting, link) = (plan.actions.iter().cloned().collect(), deploy::link(&plan.deploy.link));
        Actions { deployed, waiting, link, limits: ChangedLimits::default(), acting: None, asked: 0 }
    }

    /// Waits for the next action and carries it out; never returns if there is none. `now` is the time of the
    /// load, and `clock` measures it from there. Returns the start of the action and its result. May be
    /// dropped and called again without losing the action.
    pub(crate) async fn next(
        &mut self,
        (now, clock): (Nanos, RunClock),
    ) -> (ActionPlan, Nanos, Result<ActionResult, ActionFailure>) {
        let asked = clock.now();
        if self.acting.is_none() {
            match self.waiting.front() {
                Some(next) => clock.sleep(next.at - now).await,
                None => std::future::pending().await,
            }
            // The action is removed only now, so that a dropped wait does not lose it.
            if let Some(action) = self.waiting.pop_front() {
                self.asked = self.asked.saturating_sub(1);
                self.repeat(&action);
                let began = action.at.max(now + (clock.now() - asked));
                let part = self.deployed.and_then(|deployed| part_of(deployed, &action));
                let limits = part.and_then(|part| self.limits.with(&action, &part.unit.limits));
                let change = Change { link: self.link, limits: limits.clone(), clock };
                let done: BoxFuture<'d, _> = Box::pin(act(self.deployed, change, action.clone()));
                self.acting = Some(RunningAction { action, began, limits, done });
            }
        }
        let Some(acting) = &mut self.acting else { return std::future::pending().await };
        let done = acting.done.as_mut().await;
        let Some(RunningAction { action, began, limits, .. }) = self.acting.take() else {
            return std::future::pending().await;
        };
        if let Ok(done) = &done {
            self.limits.keep(&action, limits, &done.started);
        }
        (action, began, done)
    }

    /// Whether an action is in progress, or a tier is about to be scaled by its rule.
    pub(crate) fn is_acting(&self) -> bool {
        self.acting.is_some() || self.asked > 0
    }

    /// Adds an action that a rule asks for, before those that are still to come.
    pub(crate) fn add(&mut self, action: ActionPlan) {
        self.asked += 1;
        self.waiting.push_front(action);
    }

    /// Adds the replacement of a lost node, on which `unit` ran, unless it is under way.
    pub(crate) fn replace(&mut self, node: &str, unit: &str, now: Nanos) {
        let act = ActionKind::Replace(node.to_owned());
        let acting = self.acting.as_ref().map(|acting| &acting.action);
        if !self.waiting.iter().chain(acting).any(|known| known.act == act) {
            self.add(ActionPlan::of_run(now, unit, act));
        }
    }

    /// Lets a repeated action wait for its next moment, behind those of the same moment.
    fn repeat(&mut self, action: &ActionPlan) {
        if let Some(every) = action.every {
            let again = ActionPlan { at: action.at + every, ..action.clone() };
            let place = self.waiting.partition_point(|waiting| waiting.at <= again.at);
            self.waiting.insert(place, again);
        }
    }

    /// Actions that the end of the load prevented, each with its start; `now` for those that did not begin.
    /// One that is repeated as long as the load goes on is not missed at its end.
    pub(crate) fn missed(&mut self, now: Nanos) -> Vec<(ActionPlan, Nanos)> {
        let acting = self.acting.take().map(|acting| (acting.action, acting.began));
        let waiting = self.waiting.drain(..).filter(|action| action.every.is_none() || action.at <= now);
        acting.into_iter().chain(waiting.map(|action| (action, now))).collect()
    }
}

/// Changes that an action makes, in addition to those in its act.
struct Change {
    /// Links as the plan has them.
    link: LinkSpec,
    /// All limits of the part from now on.
    limits: Option<Limits>,
    /// Clock for the length of pauses.
    clock: RunClock,
}

fn part_of<'d>(deployed: &'d Deployment, action: &ActionPlan) -> Option<&'d StartedPart> {
    deployed.services().find(|part| part.name == action.unit)
}

/// Carries out an action.
async fn act(
    deployed: Option<&Deployment>,
    change: Change,
    action: ActionPlan,
) -> Result<ActionResult, ActionFailure> {
    let Change { link, limits, clock } = change;
    let deployed = deployed.ok_or_else(|| ActionFailure::NoPart(action.unit.clone()))?;
    if action.act == ActionKind::Heal {
        network(deployed, "heal")?.heal().await?;
        return Ok(ActionResult::default());
    }
    if let ActionKind::Scale(count) = action.act {
        return scale::scale(deployed, &action.unit, count).await;
    }
    if action.act == ActionKind::RollingRestart {
        return scale::restart_in_turn(deployed, &action.unit).await;
    }
    if let ActionKind::Replace(node) = &action.act {
        return replace::replace(deployed, node, &clock).await;
    }
    if action.act == ActionKind::Undrain {
        drain::nodes(deployed)?.avoid_none();
        return Ok(ActionResult::default());
    }
    let part = part_of(deployed, &action).ok_or_else(|| ActionFailure::NoPart(action.unit.clone()))?;
    let host = part.unit.host.as_str();
    match &action.act {
        ActionKind::Kill => part.kill().await?,
        ActionKind::Stop => return Ok(ActionResult::in_words(stop(part).await?.to_string())),
        ActionKind::Start if !(part.is_meant_to_be_down() && part.has_ended()) => {
            return Err(ActionFailure::Runs);
        }
        ActionKind::Start => {
            part.start_again(deployed.site()).await?;
            return Ok(ActionResult { started: vec![action.unit], ..ActionResult::default() });
        }
        ActionKind::Restart => return restart(deployed, part, &clock).await,
        ActionKind::Drain => return drain::drain(deployed, part, &clock).await,
        ActionKind::Pause => part.hold(PauseAction::Pause).await.ok_or(ActionFailure::Unable("pause"))??,
        ActionKind::Resume => {
            part.hold(PauseAction::Resume).await.ok_or(ActionFailure::Unable("resume"))??
        }
        ActionKind::Partition => network(deployed, "partition")?.partition(&[host.to_owned()]).await?,
        ActionKind::Delay(delay) => {
            let link = LinkSpec { delay: link.delay + Duration::from(*delay), ..link };
            network(deployed, "delay")?.shape(host, link).await?;
        }
        ActionKind::Resize(Resize { memory_mib: None, .. }) => limit(part, limits).await?,
        ActionKind::Resize(_) => limit_memory(part, limits).await?,
        ActionKind::FillDisk => return fill_disk(disks(deployed, "fill the disk of")?, part).await,
        ActionKind::FreeDisk => {
            disks(deployed, "free the disk of")?.free(&part.unit).await?;
            // A part that ended can be started again.
            part.expect_end(part.has_ended());
        }
        ActionKind::Move => return Ok(machines(deployed, "move")?.migrate(host).await?.into()),
        ActionKind::MoveWithDisk => {
            return Ok(machines(deployed, "move")?.relocate(host).await?.into());
        }
        ActionKind::MoveDisk => {
            return Ok(machines(deployed, "move the disk of")?.mirror(host).await?.into());
        }
        ActionKind::Snapshot(name) => {
            return Ok(machines(deployed, "keep")?.snapshot(host, name).await?.into());
        }
        ActionKind::Restore(name) => {
            return Ok(machines(deployed, "take back")?.restore(host, name).await?.into());
        }
        ActionKind::Clone(name) => {
            return Ok(machines(deployed, "clone")?.clone_host(host, name).await?.into());
        }
        ActionKind::Heal
        | ActionKind::Undrain
        | ActionKind::Scale(_)
        | ActionKind::RollingRestart
        | ActionKind::Replace(_) => {}
    }
    Ok(ActionResult::default())
}

/// Stops a running part.
async fn stop(part: &StartedPart) -> Result<UnitExit, ActionFailure> {
    if part.has_ended() {
        return Err(ActionFailure::Ended);
    }
    Ok(part.stop().await?)
}

/// Stops a part and starts it again. The pause lasts from its end until it is ready.
async fn restart(
    deployed: &Deployment,
    part: &StartedPart,
    clock: &RunClock,
) -> Result<ActionResult, ActionFailure> {
    let ended = stop(part).await?;
    let begun = clock.now();
    part.start_again(deployed.site()).await?;
    let pause = Some((clock.now() - begun).into());
    let (words, started) = (ended.to_string(), vec![part.name.clone()]);
    Ok(ActionResult { words, pause, started, ..ActionResult::default() })
}

/// Replaces the limits of a part. Runs on another thread, because the kernel may have to reclaim memory
/// first.
async fn limit(part: &StartedPart, limits: Option<Limits>) -> Result<(), ActionFailure> {
    let (running, limits) = (part.running(), limits.ok_or(ActionFailure::Unable("limit"))?);
    let limited = tokio::task::spawn_blocking(move || match running.limiting() {
        Some(limiting) => limiting.limit(&limits).map_err(ActionFailure::from),
        None => Err(ActionFailure::Unable("limit")),
    });
    limited.await.unwrap_or(Err(ActionFailure::Unable("limit")))
}

/// Limits the memory of a part. The kernel may kill a service that needs more than it is left; such an end
/// does not end the run.
async fn limit_memory(part: &StartedPart, limits: Option<Limits>) -> Result<(), ActionFailure> {
    let was_down = part.is_meant_to_be_down();
    let memory = |limits: &Limits| limits.memory_bytes.unwrap_or(u64::MAX);
    let less = limits.as_ref().is_some_and(|limits| memory(limits) < memory(&part.unit.limits));
    // Set before the part ends, so that its observers see it in time.
    part.expect_end(was_down || less);
    let limited = limit(part, limits).await;
    if limited.is_err() {
        part.expect_end(was_down);
    } else if !less {
        // A part that ended can be started again.
        part.expect_end(part.has_ended());
    }
    limited
}

/// Fills the disk of a part. A service may end when it cannot write; such an end does not end the run.
async fn fill_disk(disks: &dyn Disks, part: &StartedPart) -> Result<ActionResult, ActionFailure> {
    let was_down = part.is_meant_to_be_down();
    part.expect_end(true);
    match disks.fill(&part.unit).await {
        Ok(filled) => Ok(ActionResult::in_words(format!("{} of {}", mib(filled.bytes), filled.kind))),
        Err(fault) => {
            part.expect_end(was_down);
            Err(fault.into())
        }
    }
}

fn disks<'d>(deployed: &'d Deployment, act: &'static str) -> Result<&'d dyn Disks, ActionFailure> {
    deployed.site().disks().ok_or(ActionFailure::Unable(act))
}

fn machines<'d>(deployed: &'d Deployment, act: &'static str) -> Result<&'d dyn Machines, ActionFailure> {
    deployed.site().machines().ok_or(ActionFailure::Unable(act))
}

fn network<'d>(deployed: &'d Deployment, act: &'static str) -> Result<&'d dyn Network, ActionFailure> {
    deployed.site().network().ok_or(ActionFailure::Unable(act))
}

/// Returns an action in the form of the record.
pub(crate) fn kept(
    action: &ActionPlan,
    (at, took): (Nanos, Nanos),
    done: Result<ActionResult, ActionFailure>,
) -> ActionRecord {
    let is_missed = matches!(done, Err(ActionFailure::TooLate));
    let (done, failed) = match done {
        Ok(done) => (done, None),
        Err(why) => (ActionResult::default(), Some(in_one_line(&why))),
    };
    let mut act = action.act.to_string();
    if !done.words.is_empty() {
        act = format!("{act}: {}", done.words);
    }
    ActionRecord {
        at_s: at.as_secs_f64(),
        unit: action.unit.clone(),
        name: action.act.name().to_owned(),
        act,
        took_s: took.as_secs_f64(),
        pause_s: done.pause.map(|pause| pause.as_secs_f64()),
        pause_inside_s: done.standstill.map(|inside| inside.length.as_secs_f64()),
        pause_inside_error_s: done.standstill.map(|inside| inside.error.as_secs_f64()),
        failed,
        limit_s: action.limit.map(Nanos::as_secs_f64),
        is_missed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(cpus: f64) -> ActionKind {
        ActionKind::Resize(Resize { cpus: Some(cpus), memory_mib: None })
    }

    fn memory(mib: u64) -> ActionKind {
        ActionKind::Resize(Resize { cpus: None, memory_mib: Some(mib) })
    }

    fn action(unit: &str, act: ActionKind) -> ActionPlan {
        ActionPlan::of_run(Nanos::ZERO, unit, act)
    }

    #[test]
    fn an_action_changes_one_limit_and_leaves_what_earlier_ones_gave() {
        let planned =
            Limits { cpus: Some(2.0), cpu_set: vec![0], memory_bytes: Some(512 << 20), ..Limits::default() };
        let mut changed = ChangedLimits::default();
        let mut now = |act| {
            let action = action("a-1", act);
            let limits = changed.with(&action, &planned);
            let started = if action.act == ActionKind::Start { vec!["a-1".to_owned()] } else { vec![] };
            changed.keep(&action, limits.clone(), &started);
            limits.map(|limits| (limits.cpus, limits.memory_bytes.map(|bytes| bytes >> 20), limits.cpu_set))
        };
        assert_eq!(now(memory(64)), Some((Some(2.0), Some(64), vec![0])));
        assert_eq!(now(cpus(0.5)), Some((Some(0.5), Some(64), vec![0])), "memory as it was");
        assert_eq!(now(ActionKind::Pause), None);
        assert_eq!(now(memory(0)), Some((Some(0.5), None, vec![0])), "0 ends a limit");
        assert_eq!(now(cpus(0.0)), Some((None, None, vec![0])));
        assert_eq!(now(ActionKind::Start), None);
        assert_eq!(now(memory(64)), Some((Some(2.0), Some(64), vec![0])), "it began as planned");
    }

    #[test]
    fn what_was_not_done_and_what_happened_to_another_part_changes_nothing() {
        let planned = Limits { cpus: Some(1.0), ..Limits::default() };
        let mut changed = ChangedLimits::default();
        let other = action("b-1", memory(64));
        let limits = changed.with(&other, &planned);
        changed.keep(&other, limits, &["c-1".to_owned()]);
        // Asked for, and not kept.
        changed.with(&action("a-1", memory(32)), &planned);
        let limits = changed.with(&action("a-1", cpus(0.5)), &planned).unwrap();
        assert_eq!((limits.cpus, limits.memory_bytes), (Some(0.5), None));
    }

    #[test]
    fn the_record_says_how_much_and_why_not() {
        let resize = action("a-1", memory(64));
        let done = kept(&resize, (Nanos::from_secs(3), Nanos::ZERO), Ok(ActionResult::default()));
        assert_eq!((done.act.as_str(), done.at_s, done.failed), ("resize to 64 MiB", 3.0, None));
        let not = kept(&resize, (Nanos::ZERO, Nanos::ZERO), Err(ActionFailure::Unable("limit")));
        assert_eq!(not.failed.as_deref(), Some("platform cannot limit it"));
        let busy =
            Fault::Unit { unit: "a-1".to_owned(), act: "limit".to_owned(), source: "it is busy".into() };
        let not = kept(&resize, (Nanos::ZERO, Nanos::ZERO), Err(busy.into()));
        assert_eq!(not.failed.as_deref(), Some("limit unit `a-1`: it is busy"));
    }
}
