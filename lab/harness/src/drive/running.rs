//! One load of a run, in progress.

use barograph_model::{Level, Nanos, Offered, Outcome, Profile};
use barograph_record::Trial;
use barograph_stats::{Interval, OpStats};

use crate::check::AFTER_WAIT;
use crate::fleet::{DriverSample, Load};
use crate::run::CheckedLoad;

/// With operations in progress and not one answered for this long, the target is as good as gone.
const SILENCE: Nanos = Nanos::from_secs(30);

/// One load of a run, in progress.
pub(crate) struct RunningLoad {
    /// Its name; empty for the only one.
    pub(crate) name: String,
    /// What makes it.
    pub(crate) engine: Load,
    /// The rules that it is judged by.
    pub(crate) profile: Profile,
    /// Its measured windows.
    pub(crate) trials: Vec<Trial>,
    /// What each driver did in the window that is, or was last, collected; empty when this process is the only one.
    pub(crate) window: Vec<DriverSample>,
    /// Names of its operations, by index.
    pub(crate) names: Vec<&'static str>,
    /// What it is where all loads are at 100 %; `None` for the only one, whose levels are those of the run.
    whole: Option<Offered>,
    /// It has that level at any scale.
    is_trace: bool,
    silence: Nanos,
    silent_for: Nanos,
}

impl RunningLoad {
    pub(super) fn new(load: &CheckedLoad, engine: Load) -> Self {
        let CheckedLoad { checked, workload } = load;
        let profile = workload.profile(&checked.plan.profile).expect("the profile was checked");
        // Where some response time is limited, users do things that are answered soon, beside all waiting on purpose.
        let waits = workload.longest_wait().filter(|_| profile.response_limits().next().is_none());
        RunningLoad {
            name: checked.plan.load.clone(),
            engine,
            profile,
            trials: Vec::new(),
            window: Vec::new(),
            names: workload.ops().iter().map(|op| op.name).collect(),
            whole: checked.plan.whole(),
            is_trace: checked.plan.is_trace(),
            silence: waits.map_or(SILENCE, |wait| SILENCE.max(wait + AFTER_WAIT)),
            silent_for: Nanos::ZERO,
        }
    }

    /// Its own level at a level of the run.
    pub(crate) fn level_at(&self, level: Level) -> Level {
        match self.whole {
            Some(whole) if self.is_trace && level > Level::ZERO => whole.level,
            whole => whole.map_or(level, |whole| whole.scaled(level)),
        }
    }

    /// The level of the run at which it would have this one of its own; a trace has its own at any.
    pub(crate) fn run_level(&self, own: u32) -> u32 {
        match self.whole {
            Some(_) if self.is_trace => u32::MAX,
            whole => whole.map_or(own, |whole| whole.scale_of(own)),
        }
    }

    /// For how long its target has answered nothing at all, where that is too long to go on: it is not worth waiting for. An
    /// operation that timed out had no answer.
    pub(super) fn silent(&mut self, interval: &Interval) -> Option<Nanos> {
        let answered = |op: &OpStats| op.count() - op.outcomes[Outcome::TimedOut.index()];
        let asked = interval.users > 0 && (interval.in_flight_s > 0.0 || interval.starts > 0);
        let waiting = asked && interval.ops.iter().map(answered).sum::<u64>() == 0;
        let length = interval.to - interval.from;
        self.silent_for = if waiting { self.silent_for + length } else { Nanos::ZERO };
        (self.silent_for >= self.silence).then_some(self.silence)
    }
}
