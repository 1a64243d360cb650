//! What goes wrong on purpose, at its moment of the load.

use std::collections::VecDeque;
use std::time::Duration;

use barograph_model::Nanos;
use barograph_platform::{Disks, Fault, Later, Limits, LinkSpec, Network};
use barograph_record::KeptFault;
use barograph_spec::{FaultAct, FaultPlan, Plan};

use crate::clock::RunClock;
use crate::deploy::{self, Deployed, Started};

/// The faults of a plan that are still to come.
pub(crate) struct Faults<'d> {
    deployed: Option<&'d Deployed>,
    waiting: VecDeque<FaultPlan>,
    /// Links as the plan has them.
    link: LinkSpec,
    acting: Option<Acting<'d>>,
}

/// A fault that is being brought about: a service that starts again takes its time.
struct Acting<'d> {
    fault: FaultPlan,
    began: Nanos,
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
    #[error("it runs; only a part that was killed, or that its full disk ended, can be started")]
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
        Faults { deployed, waiting, link, acting: None }
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
                Some(next) => tokio::time::sleep(Duration::from(next.at - now)).await,
                None => std::future::pending().await,
            }
            // Only now: whoever stops waiting takes no fault away.
            if let Some(fault) = self.waiting.pop_front() {
                let began = fault.at.max(now + (clock.now() - asked));
                let done: Later<'d, _> = Box::pin(act(self.deployed, self.link, fault.clone()));
                self.acting = Some(Acting { fault, began, done });
            }
        }
        let Some(acting) = &mut self.acting else { return std::future::pending().await };
        let done = acting.done.as_mut().await;
        let Some(Acting { fault, began, .. }) = self.acting.take() else {
            return std::future::pending().await;
        };
        (fault, began, done)
    }

    /// Those that the load did not live to see.
    pub(crate) fn missed(&mut self) -> Vec<(FaultPlan, NotDone)> {
        let acting = self.acting.take().map(|acting| acting.fault);
        acting.into_iter().chain(self.waiting.drain(..)).map(|fault| (fault, NotDone::TooLate)).collect()
    }
}

/// Brings a fault about.
async fn act(deployed: Option<&Deployed>, link: LinkSpec, fault: FaultPlan) -> Result<Done, NotDone> {
    let deployed = deployed.ok_or_else(|| NotDone::NoPart(fault.unit.clone()))?;
    if fault.act == FaultAct::Heal {
        network(deployed, "heal")?.heal().await?;
        return Ok(Done::new());
    }
    let part = deployed.services().find(|part| part.name == fault.unit);
    let part = part.ok_or_else(|| NotDone::NoPart(fault.unit.clone()))?;
    let (running, host) = (part.running(), part.unit.host.as_str());
    match fault.act {
        FaultAct::Kill => part.kill().await?,
        FaultAct::Start if !(part.is_meant_to_be_down() && part.has_ended()) => return Err(NotDone::Runs),
        FaultAct::Start => part.start_again(deployed.site()).await?,
        FaultAct::Pause => running.pausing().ok_or(NotDone::Unable("pause"))?.pause()?,
        FaultAct::Resume => running.pausing().ok_or(NotDone::Unable("resume"))?.resume()?,
        FaultAct::Partition => network(deployed, "partition")?.partition(&[host.to_owned()]).await?,
        FaultAct::Delay(delay) => {
            let link = LinkSpec { delay: link.delay + Duration::from(delay), ..link };
            network(deployed, "delay")?.shape(host, link).await?;
        }
        FaultAct::Cpus(cpus) => {
            let limits = Limits { cpus: (cpus > 0.0).then_some(cpus), ..part.unit.limits.clone() };
            running.limiting().ok_or(NotDone::Unable("limit"))?.limit(&limits)?;
        }
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
    let mut act = match fault.act {
        FaultAct::Delay(delay) => format!("delay {} ms", delay.as_secs_f64() * 1e3),
        FaultAct::Cpus(cpus) => format!("cpus {cpus}"),
        act => act.name().to_owned(),
    };
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
        failed: done.err().map(|why| why.to_string()),
    }
}
