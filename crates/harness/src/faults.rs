//! What goes wrong on purpose, at its moment of the load.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use barograph_model::Nanos;
use barograph_model::words::in_one_line;
use barograph_platform::{Disks, Fault, Later, Limits, LinkSpec, Network};
use barograph_record::KeptFault;
use barograph_spec::{FaultAct, FaultPlan, Plan};

use crate::clock::RunClock;
use crate::deploy::{self, Deployed, Hold, Started};

/// The faults of a plan that are still to come.
pub(crate) struct Faults<'d> {
    deployed: Option<&'d Deployed>,
    waiting: VecDeque<FaultPlan>,
    /// Links as the plan has them.
    link: LinkSpec,
    limits: Changed,
    acting: Option<Acting<'d>>,
}

/// What parts may use by now, where faults have changed it.
#[derive(Debug, Default)]
struct Changed(BTreeMap<String, Limits>);

impl Changed {
    /// The limits of a part with a fault, which changes one of them and leaves those that earlier faults gave; `None`
    /// where it is about something else. `planned` are those of the plan.
    fn with(&self, fault: &FaultPlan, planned: &Limits) -> Option<Limits> {
        let now = self.0.get(&fault.unit).unwrap_or(planned).clone();
        match fault.act {
            FaultAct::Cpus(cpus) => Some(Limits { cpus: (cpus > 0.0).then_some(cpus), ..now }),
            FaultAct::Memory(mib) => Some(Limits { memory_bytes: (mib > 0).then_some(mib << 20), ..now }),
            _ => None,
        }
    }

    /// Keeps what a fault that was brought about has changed. A part that starts again has the limits of the plan.
    fn keep(&mut self, fault: &FaultPlan, limits: Option<Limits>) {
        if let Some(limits) = limits {
            self.0.insert(fault.unit.clone(), limits);
        } else if fault.act == FaultAct::Start {
            self.0.remove(&fault.unit);
        }
    }
}

/// A fault that is being brought about: a service that starts again takes its time.
struct Acting<'d> {
    fault: FaultPlan,
    began: Nanos,
    /// What the part may use then, where that changes.
    limits: Option<Limits>,
    done: Later<'d, Result<Done, NotDone>>,
}

/// What there is to say of a fault that was brought about, behind its name; mostly nothing.
pub(crate) type Done = String;

/// Why a fault could not be brought about.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotDone {
    /// There is no such part.
    #[error("there is no part `{0}` that runs")]
    NoPart(String),
    /// The platform cannot do it.
    #[error("platform cannot {0} it")]
    Unable(&'static str),
    /// It runs already.
    #[error("it runs; only a part that was killed, or that its disk or memory ended, can be started")]
    Runs,
    /// The load was over.
    #[error("the load ended before")]
    TooLate,
    /// It was tried.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl<'d> Faults<'d> {
    pub(crate) fn new(plan: &Plan, deployed: Option<&'d Deployed>) -> Self {
        let (waiting, link) = (plan.faults.iter().cloned().collect(), deploy::link(&plan.deploy.link));
        Faults { deployed, waiting, link, limits: Changed::default(), acting: None }
    }

    /// Waits for the next fault and brings it about, `now` being the time of the load and `clock` what tells how it goes
    /// on; for ever when there is none. Gives when it began, and what came of it. May be dropped and asked again, and
    /// goes on where it was.
    pub(crate) async fn next(
        &mut self,
        (now, clock): (Nanos, RunClock),
    ) -> (FaultPlan, Nanos, Result<Done, NotDone>) {
        let asked = clock.now();
        if self.acting.is_none() {
            match self.waiting.front() {
                Some(next) => clock.sleep(next.at - now).await,
                None => std::future::pending().await,
            }
            // Only now: whoever stops waiting takes no fault away.
            if let Some(fault) = self.waiting.pop_front() {
                let began = fault.at.max(now + (clock.now() - asked));
                let part = self.deployed.and_then(|deployed| part_of(deployed, &fault));
                let limits = part.and_then(|part| self.limits.with(&fault, &part.unit.limits));
                let change = Change { link: self.link, limits: limits.clone() };
                let done: Later<'d, _> = Box::pin(act(self.deployed, change, fault.clone()));
                self.acting = Some(Acting { fault, began, limits, done });
            }
        }
        let Some(acting) = &mut self.acting else { return std::future::pending().await };
        let done = acting.done.as_mut().await;
        let Some(Acting { fault, began, limits, .. }) = self.acting.take() else {
            return std::future::pending().await;
        };
        if done.is_ok() {
            self.limits.keep(&fault, limits);
        }
        (fault, began, done)
    }

    /// Those that the load did not live to see.
    pub(crate) fn missed(&mut self) -> Vec<(FaultPlan, NotDone)> {
        let acting = self.acting.take().map(|acting| acting.fault);
        acting.into_iter().chain(self.waiting.drain(..)).map(|fault| (fault, NotDone::TooLate)).collect()
    }
}

/// What a fault changes, beside what its act says.
struct Change {
    /// Links as the plan has them.
    link: LinkSpec,
    /// What the part may use from now on, all of it.
    limits: Option<Limits>,
}

fn part_of<'d>(deployed: &'d Deployed, fault: &FaultPlan) -> Option<&'d Started> {
    deployed.services().find(|part| part.name == fault.unit)
}

/// Brings a fault about.
async fn act(deployed: Option<&Deployed>, change: Change, fault: FaultPlan) -> Result<Done, NotDone> {
    let Change { link, limits } = change;
    let deployed = deployed.ok_or_else(|| NotDone::NoPart(fault.unit.clone()))?;
    if fault.act == FaultAct::Heal {
        network(deployed, "heal")?.heal().await?;
        return Ok(Done::new());
    }
    let part = part_of(deployed, &fault).ok_or_else(|| NotDone::NoPart(fault.unit.clone()))?;
    let host = part.unit.host.as_str();
    match fault.act {
        FaultAct::Kill => part.kill().await?,
        FaultAct::Start if !(part.is_meant_to_be_down() && part.has_ended()) => return Err(NotDone::Runs),
        FaultAct::Start => part.start_again(deployed.site()).await?,
        FaultAct::Pause => part.hold(Hold::Pause).await.ok_or(NotDone::Unable("pause"))??,
        FaultAct::Resume => part.hold(Hold::Resume).await.ok_or(NotDone::Unable("resume"))??,
        FaultAct::Partition => network(deployed, "partition")?.partition(&[host.to_owned()]).await?,
        FaultAct::Delay(delay) => {
            let link = LinkSpec { delay: link.delay + Duration::from(delay), ..link };
            network(deployed, "delay")?.shape(host, link).await?;
        }
        FaultAct::Cpus(_) => limit(part, limits).await?,
        FaultAct::Memory(_) => limit_memory(part, limits).await?,
        FaultAct::FillDisk => return fill_disk(disks(deployed, "fill the disk of")?, part).await,
        FaultAct::FreeDisk => {
            disks(deployed, "free the disk of")?.free(&part.unit).await?;
            // One that did not outlive it can be started again.
            part.expect_end(part.has_ended());
        }
        FaultAct::Heal => {}
    }
    Ok(Done::new())
}

/// Puts these limits in the place of those that the part has. Not on this thread: the kernel may have to make room first.
async fn limit(part: &Started, limits: Option<Limits>) -> Result<(), NotDone> {
    let (running, limits) = (part.running(), limits.ok_or(NotDone::Unable("limit"))?);
    let limited = tokio::task::spawn_blocking(move || match running.limiting() {
        Some(limiting) => limiting.limit(&limits).map_err(NotDone::from),
        None => Err(NotDone::Unable("limit")),
    });
    limited.await.unwrap_or(Err(NotDone::Unable("limit")))
}

/// The kernel may end a service that needs more memory than it is left, which is then no reason to end the run.
async fn limit_memory(part: &Started, limits: Option<Limits>) -> Result<(), NotDone> {
    let was_down = part.is_meant_to_be_down();
    let memory = |limits: &Limits| limits.memory_bytes.unwrap_or(u64::MAX);
    let less = limits.as_ref().is_some_and(|limits| memory(limits) < memory(&part.unit.limits));
    // Before it ends: whoever watches must know by then.
    part.expect_end(was_down || less);
    let limited = limit(part, limits).await;
    if limited.is_err() {
        part.expect_end(was_down);
    } else if !less {
        // One that did not outlive it can be started again.
        part.expect_end(part.has_ended());
    }
    limited
}

/// A service may end when it cannot write any more, which is then no reason to end the run.
async fn fill_disk(disks: &dyn Disks, part: &Started) -> Result<Done, NotDone> {
    let was_down = part.is_meant_to_be_down();
    part.expect_end(true);
    match disks.fill(&part.unit).await {
        Ok(filled) => Ok(format!("{:.1} MiB of {}", filled.bytes as f64 / f64::from(1 << 20), filled.kind)),
        Err(fault) => {
            part.expect_end(was_down);
            Err(fault.into())
        }
    }
}

fn disks<'d>(deployed: &'d Deployed, act: &'static str) -> Result<&'d dyn Disks, NotDone> {
    deployed.site().disks().ok_or(NotDone::Unable(act))
}

fn network<'d>(deployed: &'d Deployed, act: &'static str) -> Result<&'d dyn Network, NotDone> {
    deployed.site().network().ok_or(NotDone::Unable(act))
}

/// What was done, for the record.
pub(crate) fn kept(fault: &FaultPlan, (at, took): (Nanos, Nanos), done: Result<Done, NotDone>) -> KeptFault {
    let mut act = fault.act.to_string();
    if let Ok(more) = done.as_ref()
        && !more.is_empty()
    {
        act = format!("{act}: {more}");
    }
    KeptFault {
        at_s: at.as_secs_f64(),
        unit: fault.unit.clone(),
        act,
        took_s: took.as_secs_f64(),
        failed: done.err().map(|why| in_one_line(&why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(unit: &str, act: FaultAct) -> FaultPlan {
        FaultPlan { at: Nanos::ZERO, unit: unit.to_owned(), act }
    }

    #[test]
    fn a_fault_changes_one_limit_and_leaves_what_earlier_ones_gave() {
        let planned = Limits { cpus: Some(2.0), cpu_set: vec![0], memory_bytes: Some(512 << 20) };
        let mut changed = Changed::default();
        let mut now = |act| {
            let fault = fault("a-1", act);
            let limits = changed.with(&fault, &planned);
            changed.keep(&fault, limits.clone());
            limits.map(|limits| (limits.cpus, limits.memory_bytes.map(|bytes| bytes >> 20), limits.cpu_set))
        };
        assert_eq!(now(FaultAct::Memory(64)), Some((Some(2.0), Some(64), vec![0])));
        assert_eq!(now(FaultAct::Cpus(0.5)), Some((Some(0.5), Some(64), vec![0])), "memory as it was");
        assert_eq!(now(FaultAct::Pause), None);
        assert_eq!(now(FaultAct::Memory(0)), Some((Some(0.5), None, vec![0])), "0 ends a limit");
        assert_eq!(now(FaultAct::Cpus(0.0)), Some((None, None, vec![0])));
        assert_eq!(now(FaultAct::Start), None);
        assert_eq!(now(FaultAct::Memory(64)), Some((Some(2.0), Some(64), vec![0])), "it began as planned");
    }

    #[test]
    fn what_was_not_done_and_what_happened_to_another_part_changes_nothing() {
        let planned = Limits { cpus: Some(1.0), ..Limits::default() };
        let mut changed = Changed::default();
        let other = fault("b-1", FaultAct::Memory(64));
        let limits = changed.with(&other, &planned);
        changed.keep(&other, limits);
        // Asked for, and not kept.
        changed.with(&fault("a-1", FaultAct::Memory(32)), &planned);
        let limits = changed.with(&fault("a-1", FaultAct::Cpus(0.5)), &planned).unwrap();
        assert_eq!((limits.cpus, limits.memory_bytes), (Some(0.5), None));
    }

    #[test]
    fn the_record_says_how_much_and_why_not() {
        let memory = fault("a-1", FaultAct::Memory(64));
        let done = kept(&memory, (Nanos::from_secs(3), Nanos::ZERO), Ok(Done::new()));
        assert_eq!((done.act.as_str(), done.at_s, done.failed), ("memory 64 MiB", 3.0, None));
        let not = kept(&memory, (Nanos::ZERO, Nanos::ZERO), Err(NotDone::Unable("limit")));
        assert_eq!(not.failed.as_deref(), Some("platform cannot limit it"));
        let busy =
            Fault::Unit { unit: "a-1".to_owned(), act: "limit".to_owned(), source: "it is busy".into() };
        let not = kept(&memory, (Nanos::ZERO, Nanos::ZERO), Err(busy.into()));
        assert_eq!(not.failed.as_deref(), Some("limit unit `a-1`: it is busy"));
    }
}
