//! One load of a run in progress.

use barograph_model::{Level, Nanos, Outcome, Profile};
use barograph_record::Trial;
use barograph_spec::Plan;
use barograph_stats::{Interval, OpStats};

use crate::check::AFTER_WAIT;
use crate::fleet::{DriverSample, Load};
use crate::run::CheckedLoad;

/// Longest time with operations in flight and no answer, after which the target counts as gone.
const SILENCE: Nanos = Nanos::from_secs(30);

/// One load of a run in progress.
pub(crate) struct RunningLoad {
    /// Name of the load; empty for the only one.
    pub(crate) name: String,
    /// Engine that generates the load.
    pub(crate) engine: Load,
    /// Rules by which the load is judged.
    pub(crate) profile: Profile,
    /// Measured windows.
    pub(crate) trials: Vec<Trial>,
    /// Figures of each driver in the current or latest window; empty if this process is the only driver.
    pub(crate) window: Vec<DriverSample>,
    /// Names of the operations, by index.
    pub(crate) names: Vec<&'static str>,
    plan: Plan,
    silence: Nanos,
    silent_for: Nanos,
}

impl RunningLoad {
    pub(super) fn new(load: &CheckedLoad, engine: Load) -> Self {
        let CheckedLoad { checked, workload } = load;
        let profile = workload.profile(&checked.plan.profile).expect("the profile was checked");
        // A computation or a command answers when it is done. Elsewhere, if some response time is limited, users also do
        // operations that are answered soon, even when all others wait.
        let waits = if workload.target_is_of_driver() {
            Some(checked.plan.driver.timeout)
        } else {
            workload.longest_wait().filter(|_| profile.response_limits().next().is_none())
        };
        RunningLoad {
            name: checked.plan.load.clone(),
            engine,
            profile,
            trials: Vec::new(),
            window: Vec::new(),
            names: workload.ops().iter().map(|op| op.name).collect(),
            plan: checked.plan.clone(),
            silence: waits.map_or(SILENCE, |wait| SILENCE.max(wait + AFTER_WAIT)),
            silent_for: Nanos::ZERO,
        }
    }

    /// The load's own level at a level of the run.
    pub(crate) fn level_at(&self, level: Level) -> Level {
        self.plan.own_level(level)
    }

    /// Level of the run at which the load has its own level `own`; the highest number if any higher level
    /// would do.
    pub(crate) fn run_level(&self, own: u32) -> u32 {
        self.plan.run_level(own)
    }

    /// Whether the load has nothing to do at a level of the run.
    pub(crate) fn is_idle(&self, level: Level) -> bool {
        self.level_at(level) == Level::ZERO
    }

    /// Time without any answer from the target, if it is too long to go on. A time-out is not an answer.
    pub(super) fn silent(&mut self, interval: &Interval) -> Option<Nanos> {
        let answered = |op: &OpStats| op.count() - op.outcomes[Outcome::TimedOut.index()];
        let asked = interval.users > 0 && (interval.in_flight_s > 0.0 || interval.starts > 0);
        let waiting = asked && interval.ops.iter().map(answered).sum::<u64>() == 0;
        let length = interval.to - interval.from;
        self.silent_for = if waiting { self.silent_for + length } else { Nanos::ZERO };
        (self.silent_for >= self.silence).then_some(self.silence)
    }
}
