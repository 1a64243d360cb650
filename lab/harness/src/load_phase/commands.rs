//! Control commands, carried out between intervals.

use barograph_model::{Level, LoadUnit, Nanos, Strategy};
use barograph_record::{Control, Entry, UnitRecord};
use barograph_spec::{MOST_RATE, MOST_SCALE, MOST_USERS};
use barograph_stats::interval::histogram;
use barograph_stats::{Interval, OpStats};

use super::LoadPhase;
use crate::check::CheckedPlan;
use crate::control::{Command, ReceivedCommand, Reply, Status};
use crate::run::CheckedLoad;
use crate::{HarnessError, IntervalContext};

/// Status after an interval.
pub(super) fn status(interval: &Interval, live: &IntervalContext) -> Status {
    let seconds = interval.seconds().max(1e-9);
    let per_second = |n: u64| n as f64 / seconds;
    let (mut response, mut service) = (histogram(), histogram());
    for op in &interval.ops {
        response.add(&op.response).expect("all histograms have the same bounds");
        service.add(&op.service).expect("all histograms have the same bounds");
    }
    let ms = |times: &barograph_stats::Histogram, q: f64| times.value_at_quantile(q) as f64 / 1e3;
    Status {
        phase: live.phase.name().to_owned(),
        unit: live.offered.unit.into(),
        level: live.offered.level,
        at_s: interval.to.as_secs_f64(),
        remaining_s: live.remaining.unwrap_or(Nanos::ZERO).as_secs_f64(),
        users: interval.users,
        starts_s: per_second(interval.starts),
        ops_s: per_second(interval.ops.iter().map(OpStats::count).sum()),
        failed_s: per_second(interval.ops.iter().map(OpStats::failed).sum()),
        p50_ms: ms(&response, 0.5),
        p99_ms: ms(&response, 0.99),
        service_p99_ms: ms(&service, 0.99),
        lag_p99_ms: ms(&interval.lag, 0.99),
        late: interval.late,
        dropped: interval.dropped,
        skipped: interval.skipped,
    }
}

impl LoadPhase<'_, '_> {
    /// Carries out a command and replies to it.
    pub(super) async fn answer(&mut self, asked: ReceivedCommand) -> Result<(), HarnessError> {
        let done = match asked.command {
            Command::Status => Ok(()),
            Command::Stop => {
                self.ending = true;
                self.run.note("the load was ended here on request".to_owned())?;
                Ok(())
            }
            Command::Level { level, unit, over_s } => self.change(level, unit, over_s).await?,
        };
        asked.answer(match done {
            Ok(()) => Reply { ok: true, error: None, status: Some(self.standing()) },
            Err(why) => Reply::refused(why),
        });
        Ok(())
    }

    /// Figures of the latest interval with the current level and phase.
    fn standing(&self) -> Status {
        Status {
            phase: self.run.phase.name().to_owned(),
            unit: self.run.plan.unit_of_all().into(),
            level: self.level,
            ..self.status.clone()
        }
    }

    /// Changes the load. The inner error is the reason for a refusal.
    async fn change(
        &mut self,
        level: Level,
        unit: Option<UnitRecord>,
        over_s: f64,
    ) -> Result<Result<(), String>, HarnessError> {
        let is = UnitRecord::from(self.run.plan.unit_of_all());
        if let Some(asked) = unit.filter(|asked| *asked != is) {
            return Ok(Err(format!("the load of this run is in {}, not in {}", is.name(), asked.name())));
        }
        if matches!(self.run.plan.of_all(), Strategy::Search(_)) {
            return Ok(Err(
                "a search sets the load itself; only a fixed load or a path can be changed".to_owned()
            ));
        }
        if let Some(why) = self.too_much(level) {
            return Ok(Err(why));
        }
        let over = Nanos::from_secs_f64(over_s);
        let at = self.now();
        self.changes = (self.changes.0 + 1, self.change_to(level, over).await?);
        let entry = Control { at_s: at.as_secs_f64(), unit: is, level, over_s };
        self.run.record.append(&Entry::Control(entry))?;
        let to = barograph_model::words::offered(self.run.plan.offered_by_all(level));
        self.run.say(&format!("a control command changes the load to {to} in {over_s} s"));
        Ok(Ok(()))
    }

    /// Reason why a level is too high for this run; `None` if it is not.
    fn too_much(&self, level: Level) -> Option<String> {
        if self.run.plan.scale.is_some() && level > MOST_SCALE as u32 {
            return Some(format!(
                "level = {}; allowed: at most {MOST_SCALE}, as in a plan",
                f64::from(level)
            ));
        }
        self.loads
            .iter()
            .zip(&self.run.loads)
            .find_map(|(load, CheckedLoad { checked, .. })| too_much(checked, load.level_at(level)))
    }
}

/// Reason why a level is too high for a load; `None` if it is not.
fn too_much(checked: &CheckedPlan, level: Level) -> Option<String> {
    let (most, room) = match checked.plan.unit {
        LoadUnit::Users => (MOST_USERS as u32, checked.most_users),
        LoadUnit::PerSecond | LoadUnit::Scale | LoadUnit::Tiles => (MOST_RATE, u32::MAX),
    };
    if level <= most.min(room) {
        return None;
    }
    Some(match room < most {
        true => format!("the data and the open files of this run admit {room} at the most"),
        false => format!("level = {}; allowed: at most {most}, as in a plan", f64::from(level)),
    })
}
