//! The load of a run, whoever makes it: the engine in this process, or drivers that are processes of their own.

use barograph_engine::EngineHandle;
use barograph_model::{Level, Nanos};
use barograph_stats::Interval;

use super::{DriverSample, Fleet};
use crate::HarnessError;

/// Who makes the load.
pub(crate) enum Load {
    /// This process.
    Own(EngineHandle),
    /// Several drivers.
    Fleet(Box<Fleet>),
}

impl Load {
    /// Time since the load began.
    pub(crate) fn now(&self) -> Nanos {
        match self {
            Load::Own(engine) => engine.now(),
            Load::Fleet(fleet) => fleet.now(),
        }
    }

    /// Changes the level evenly over `over`; gives the instant at which the change will be complete.
    pub(crate) async fn ramp(&mut self, level: Level, over: Nanos) -> Result<Nanos, HarnessError> {
        match self {
            Load::Own(engine) => Ok(engine.ramp(level, over).await?),
            Load::Fleet(fleet) => fleet.ramp(level, over).await,
        }
    }

    /// Lets the load be over after a number of operations, which only this process can count.
    pub(crate) fn limit(&mut self, operations: u64) -> Result<(), HarnessError> {
        match self {
            Load::Own(engine) => Ok(engine.limit(operations)?),
            Load::Fleet(_) => unreachable!("the plan is refused"),
        }
    }

    /// The first start of a limited load; `None` before it.
    pub(crate) fn first_start(&self) -> Option<Nanos> {
        match self {
            Load::Own(engine) => engine.first_start(),
            Load::Fleet(_) => None,
        }
    }

    /// The last end of a limited load; `None` while an operation is left.
    pub(crate) fn last_end(&self) -> Option<Nanos> {
        match self {
            Load::Own(engine) => engine.last_end(),
            Load::Fleet(_) => None,
        }
    }

    /// No new operations; those in flight may take `drain` to end.
    pub(crate) async fn stop(&mut self, drain: Nanos) {
        match self {
            Load::Own(engine) => engine.stop(drain).await,
            Load::Fleet(fleet) => fleet.stop(drain).await,
        }
    }

    /// The next interval; `None` after the last. May be dropped and asked again.
    pub(crate) async fn next(&mut self) -> Result<Option<Interval>, HarnessError> {
        match self {
            Load::Own(engine) => Ok(engine.next().await?),
            Load::Fleet(fleet) => fleet.next().await,
        }
    }

    /// What each driver did and used in the interval that came last; empty when this process is the only driver.
    pub(crate) fn samples(&self) -> &[DriverSample] {
        match self {
            Load::Own(_) => &[],
            Load::Fleet(fleet) => fleet.samples(),
        }
    }

    /// Counts for the data checks, of each driver that is another process and has ended.
    pub(crate) fn take_counts(&mut self) -> Vec<Vec<i64>> {
        match self {
            Load::Own(_) => Vec::new(),
            Load::Fleet(fleet) => fleet.take_counts(),
        }
    }

    /// What a user should know, in sentences, since this was last asked.
    pub(crate) fn take_notes(&mut self) -> Vec<String> {
        match self {
            Load::Own(_) => Vec::new(),
            Load::Fleet(fleet) => fleet.take_notes(),
        }
    }
}
