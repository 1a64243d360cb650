//! Strategies of a load: fixed, search, path.

mod hopeless;
mod ramp;
mod trial;

use barograph_model::words::offered;
use barograph_model::{Level, LoadPath, LoadUnit, Nanos, Phase, SearchBounds};
use barograph_record::{Purpose, ResultRecord, Trial};
use barograph_spec::SpreadWait;
use barograph_stats::search;

use crate::HarnessError;
use crate::load_phase::LoadPhase;
use ramp::{BAD_INTERVALS, first_ramp, keeps_up};
use trial::{observed, trial};

/// Share of a level's users that still lets a target recover from too much load while they arrive.
const RECOVERS_WITH: f64 = 0.75;

/// Holds a constant load for one or more windows, or until its operations have ended.
pub(crate) async fn fixed(
    drive: &mut LoadPhase<'_, '_>,
    level: Level,
    windows: u32,
) -> Result<(), HarnessError> {
    let d = drive.run.plan.durations;
    let is_counted = drive.run.plan.operations.is_some();
    if !is_counted || d.ramp + d.warm_up > Nanos::ZERO {
        begin(drive, level).await?;
    }
    if is_counted && drive.level() > Level::ZERO {
        // Operations of the warm-up are not counted.
        drive.ramp(Level::ZERO, Nanos::ZERO).await?;
        drive.idle().await?;
    }
    for _ in 0..windows {
        if drive.goes_on() {
            // A control command may have changed it.
            let level = if is_counted { level } else { drive.level() };
            trial(drive, (level, Purpose::Fixed), d.window).await?;
        }
    }
    Ok(())
}

/// Ramps up to a constant load and warms up.
async fn begin(drive: &mut LoadPhase<'_, '_>, level: Level) -> Result<(), HarnessError> {
    let d = drive.run.plan.durations;
    let stagger = drive.run.plan.stagger;
    let tiles = drive.run.plan.tiles().filter(|_| stagger > Nanos::ZERO).unwrap_or(1);
    let span = d.ramp + Nanos(stagger.0 * u64::from(tiles - 1));
    drive.phase(Phase::Ramp, span, &format!("to {}", words(drive, level)))?;
    for tile in 1..tiles {
        drive.ramp_tile(tile, level, d.ramp).await?;
        drive.pass(stagger).await?;
    }
    match tiles {
        1 => {
            drive.ramp(level, d.ramp).await?;
        }
        last => drive.ramp_tile(last, level, d.ramp).await?,
    }
    drive.pass(d.ramp).await?;
    drive.level_there().await?;
    drive.run.done()?;
    if d.warm_up > Nanos::ZERO {
        drive.phase(Phase::WarmUp, d.warm_up, "kept but not counted")?;
        drive.pass(d.warm_up).await?;
        drive.run.done()?;
    }
    Ok(())
}

/// Follows a path. Each hold is a measured window.
pub(crate) async fn path(drive: &mut LoadPhase<'_, '_>, path: &LoadPath) -> Result<(), HarnessError> {
    let d = drive.run.plan.durations;
    for _ in 0..path.repeats {
        for step in &path.steps {
            if !drive.goes_on() {
                return Ok(());
            }
            drive.phase(Phase::Ramp, step.over, &format!("to {}", words(drive, step.level)))?;
            drive.ramp(step.level, step.over).await?;
            drive.pass(step.over).await?;
            if step.hold == Nanos::ZERO {
                // The next change follows at once, so that slopes join without a flat stretch between them.
                drive.run.done()?;
                continue;
            }
            drive.level_there().await?;
            drive.run.done()?;
            if d.settle > Nanos::ZERO {
                settle(drive, d.settle).await?;
            }
            if step.level == Level::ZERO {
                // A pause has no operations to judge.
                settle(drive, step.hold).await?;
            } else if drive.goes_on() {
                let level = drive.level();
                trial(drive, (level, Purpose::Path), step.hold).await?;
            }
        }
    }
    Ok(())
}

/// Searches for the highest level that passes.
pub(crate) async fn search(
    drive: &mut LoadPhase<'_, '_>,
    bounds: SearchBounds,
) -> Result<search::Answer, HarnessError> {
    let d = drive.run.plan.durations;
    let mut search = search::Search::new(bounds);
    let mut spreads = barograph_spec::spreading(&drive.run.plan);
    let mut ramp_gave_way = false;
    if !bounds.method.climbs() {
        let (reached, how) = first_ramp(drive, bounds).await?;
        ramp_gave_way = how == search::RampEnd::GaveWay;
        search.ramp_ended(reached, how);
    }
    while drive.goes_on() {
        let (level, purpose) = match search.next() {
            search::Step::Done(_) => break,
            search::Step::Trial { level, purpose } => (level, purpose),
        };
        let first = drive.tried() == 0;
        if drive.latest().map(|trial| trial.aborted).reduce(|a, b| a || b).unwrap_or(ramp_gave_way) {
            recover(drive, level, &mut spreads).await?;
        }
        if first {
            settle_first(drive, level).await?;
        } else if drive.level() != level || drive.crowded {
            step_to(drive, level, &mut spreads).await?;
        }
        let (purpose, span) = match purpose {
            search::Purpose::Ramp => (Purpose::Ramp, d.window),
            search::Purpose::Search => (Purpose::Search, d.window),
            search::Purpose::Repeat => (Purpose::Repeat, d.window),
            search::Purpose::Confirm => (Purpose::Confirm, d.confirm),
        };
        if drive.goes_on() {
            let verdicts = trial(drive, (level.into(), purpose), span).await?;
            search.tell(level, observed(drive, &verdicts));
            let so_far = search.so_far(drive.run.plan.unit_of_all(), bounds.max_trials);
            drive.run.screen.so_far(&so_far);
        }
    }
    drive.searched_s = Some(drive.reached.as_secs_f64());
    Ok(search.answer())
}

fn words(drive: &LoadPhase<'_, '_>, level: impl Into<Level>) -> String {
    offered(drive.run.plan.offered_by_all(level))
}

/// Pauses an open loop until no arrival waits. After too much load, arrivals still wait for free users and
/// would spoil the next window.
async fn empty(drive: &mut LoadPhase<'_, '_>) -> Result<(), HarnessError> {
    let most = barograph_spec::emptying(&drive.run.plan);
    if !drive.crowded || most == Nanos::ZERO {
        return Ok(());
    }
    drive.phase(Phase::Drain, most, "arrivals that still wait for a free user")?;
    let end = drive.ramp(Level::ZERO, Nanos::ZERO).await? + most;
    // The interval in which the pause begins has starts of its own.
    drive.level_there().await?;
    while drive.goes_on()
        && drive.reached < end
        && drive.next().await?.iter().any(|interval| interval.starts > 0)
    {}
    drive.crowded = false;
    drive.run.done()
}

/// Lets a target recover from too many users, with fewer than the next level has, until it keeps up again. A
/// target that slows down with its queue would otherwise stay full at a level that it carries from below.
///
/// The time is taken from the time for users to spread, so a search takes no longer.
async fn recover(
    drive: &mut LoadPhase<'_, '_>,
    level: u32,
    spreads: &mut SpreadWait,
) -> Result<(), HarnessError> {
    // The pause replaces settling, so it may take a whole wait; the users who return must spread as well.
    let most = spreads.whole.min(spreads.in_all - spreads.each);
    if most == Nanos::ZERO {
        return Ok(());
    }
    let fewer = ((f64::from(level) * RECOVERS_WITH) as u32).clamp(1, drive.level().whole().max(1));
    drive.phase(Phase::WarmUp, most, &format!("{}, until the target keeps up again", words(drive, fewer)))?;
    let (begun, step) = (drive.now(), drive.run.plan.durations.step);
    drive.ramp(fewer, step.min(most)).await?;
    let mut well = 0;
    while drive.goes_on() && well < BAD_INTERVALS && drive.reached < begun + most {
        let all = drive.next().await?;
        let level = drive.level();
        let keep_up = drive
            .each()
            .zip(&all)
            .all(|(each, interval)| each.load.is_idle(level) || keeps_up(each, interval));
        well = if keep_up { well + 1 } else { 0 };
    }
    spreads.in_all = spreads.in_all - (drive.reached - begun);
    drive.run.done()
}

async fn settle(drive: &mut LoadPhase<'_, '_>, span: Nanos) -> Result<(), HarnessError> {
    drive.phase(Phase::WarmUp, span, "settling, kept but not counted")?;
    drive.pass(span).await?;
    drive.run.done()
}

/// Settles before the first window: ramps down from where the first ramp failed, and lets users spread over
/// their sessions even if the ramp ended early.
async fn settle_first(drive: &mut LoadPhase<'_, '_>, level: u32) -> Result<(), HarnessError> {
    empty(drive).await?;
    let d = drive.run.plan.durations;
    let spread_at = d.ramp + d.warm_up;
    let span = match drive.run.plan.unit_of_all() {
        LoadUnit::Users | LoadUnit::Scale | LoadUnit::Tiles => (spread_at - drive.now()).max(d.warm_up),
        // Arrivals of an open loop do not come in step.
        LoadUnit::PerSecond => d.warm_up,
    };
    drive.phase(Phase::WarmUp, span, &format!("{}, kept but not counted", words(drive, level)))?;
    if drive.level() != level {
        let over = match drive.run.plan.unit_of_all() {
            // Methods that climb have no ramp before; a step to all users would be a different load.
            LoadUnit::Users | LoadUnit::Scale | LoadUnit::Tiles if drive.level() == Level::ZERO => d.ramp,
            _ => d.step,
        };
        drive.ramp(level, over).await?;
    }
    drive.pass(span).await?;
    drive.level_there().await?;
    drive.run.done()
}

/// Whether a trial failed because operations were too slow or failed.
fn was_too_much(trial: &Trial) -> bool {
    trial.result == ResultRecord::Fail && trial.window.was_too_much()
}

/// Changes the level and waits until the load is typical of it. The wait is longer if many users arrived or
/// left a queue, as those act at the same time.
async fn step_to(
    drive: &mut LoadPhase<'_, '_>,
    level: u32,
    spreads: &mut SpreadWait,
) -> Result<(), HarnessError> {
    empty(drive).await?;
    let d = drive.run.plan.durations;
    let many = drive.brings_many(level.into());
    let queued = drive.latest().any(|trial| trial.aborted);
    let was_too_much = drive.latest().any(was_too_much);
    let more = if many || queued { spreads.each.min(spreads.in_all) } else { Nanos::ZERO };
    spreads.in_all = spreads.in_all - more;
    drive.phase(Phase::Ramp, d.step, &format!("to {}", words(drive, level)))?;
    drive.ramp(level, d.step).await?;
    if was_too_much {
        drive.came_out_of_a_queue();
    }
    drive.pass(d.step).await?;
    drive.level_there().await?;
    drive.run.done()?;
    settle(drive, d.settle + more).await
}
