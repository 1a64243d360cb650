//! Loads that end after a number of operations.

use barograph_model::words::counted;
use barograph_model::{Level, Nanos, Phase};
use barograph_stats::{Interval, IntervalSummary, OpStats};

use super::{LoadPhase, LoadWindow};
use crate::HarnessError;

impl LoadPhase<'_, '_> {
    /// Share of the phase that is complete.
    pub(super) fn done(&mut self, interval: &Interval) -> f64 {
        let (from, span) = self.phase_span;
        let of_time = if span.0 == 0 { 1.0 } else { (interval.to - from).as_secs_f64() / span.as_secs_f64() };
        match self.run.plan.operations.filter(|_| self.run.phase == Phase::Hold) {
            Some(operations) => {
                self.ended += interval.ops.iter().map(OpStats::count).sum::<u64>();
                let of_operations = self.ended as f64 / operations as f64;
                if self.is_bounded() { of_operations.max(of_time) } else { of_operations }
            }
            None => of_time,
        }
    }

    /// Whether the load has a longest duration.
    pub(super) fn is_bounded(&self) -> bool {
        self.run.plan.operations.is_none() || self.run.plan.durations.window > Nanos::ZERO
    }

    /// Waits whole intervals until no operation is in flight.
    pub(crate) async fn idle(&mut self) -> Result<(), HarnessError> {
        let is_busy = |interval: &Interval| interval.starts > 0 || interval.in_flight_s > 0.0;
        while self.goes_on() && self.next().await?.iter().any(is_busy) {}
        Ok(())
    }

    /// Begins a number of operations at a level and collects their intervals, from the first start to the
    /// last end. Ends early after `span`, unless that is zero, or when the end is requested.
    pub(crate) async fn collect_to_the_end(
        &mut self,
        (level, operations): (Level, u64),
        span: Nanos,
    ) -> Result<Vec<LoadWindow>, HarnessError> {
        self.loads.iter_mut().try_for_each(|load| load.engine.limit(operations))?;
        self.ramp(level, Nanos::ZERO).await?;
        let half = Nanos(self.run.plan.driver.interval.0 / 2);
        let mut all: Option<LoadWindow> = None;
        while let Some(interval) = self.next().await?.pop() {
            let load = &mut self.loads[0];
            let part = IntervalSummary::of(&interval, &load.profile);
            match &mut all {
                None => all = Some(LoadWindow { parts: vec![part], joined: interval }),
                Some(so_far) => {
                    so_far.parts.push(part);
                    so_far.joined.append(&interval);
                }
            }
            let began = load.engine.first_start();
            let is_up = span > Nanos::ZERO && began.is_some_and(|began| self.reached + half >= began + span);
            if !self.goes_on() || is_up {
                break;
            }
        }
        let mut all = all.ok_or(HarnessError::Interrupted)?;
        if self.goes_on() && self.loads[0].engine.last_end().is_none() {
            let ended: u64 = all.joined.ops.iter().map(OpStats::count).sum();
            self.run.note(format!("the time was up when {} had ended", counted(ended, "operation")))?;
        }
        let (joined, engine) = (&mut all.joined, &self.loads[0].engine);
        joined.from = engine.first_start().unwrap_or(joined.from);
        joined.to = engine.last_end().unwrap_or(joined.to).max(joined.from);
        joined.users = match self.run.plan.open {
            // Users have left by the end of the last interval.
            None => self.level.whole(),
            Some(_) => all.parts.iter().map(|part| part.users).max().unwrap_or_default(),
        };
        Ok(vec![all])
    }
}
