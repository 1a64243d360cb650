//! The strategies: a fixed load, a search for the most that passes, a path.

mod hopeless;
mod trial;

use barograph_model::words::offered;
use barograph_model::{LoadPath, LoadUnit, Nanos, Phase, SearchBounds};
use barograph_record::Purpose;
use barograph_stats::search::{self, RampEnd};
use barograph_stats::{Interval, OpStats, Part};

use crate::HarnessError;
use crate::drive::Drive;
use trial::{observed, trial};

/// The first ramp has failed when in so many intervals running …
const RAMP_BAD_INTERVALS: u32 = 3;
/// … more than this part of the operations were over their limit or failed, …
const RAMP_BAD_SHARE: f64 = 0.05;
/// … or fewer than this part of the operations that should have been done came to an end. Below so many users and so few
/// operations chance alone can do that.
const RAMP_CARRIED_SHARE: f64 = 0.5;
const RAMP_JUDGED_FROM_USERS: u32 = 100;
const RAMP_JUDGED_FROM_OPS: u64 = 100;

/// A piece of a growing first ramp lasts so many intervals at least.
const LEG_INTERVALS: u64 = 2;

/// Holds a constant load for one or more windows.
pub(crate) async fn fixed(drive: &mut Drive<'_, '_>, level: u32, windows: u32) -> Result<(), HarnessError> {
    let d = drive.run.plan.durations;
    drive.phase(Phase::Ramp, d.ramp, &format!("to {}", words(drive, level)))?;
    drive.ramp(level, d.ramp).await?;
    drive.pass(d.ramp).await?;
    drive.level_there().await?;
    drive.run.done()?;
    if d.warm_up > Nanos::ZERO {
        drive.phase(Phase::WarmUp, d.warm_up, "kept but not counted")?;
        drive.pass(d.warm_up).await?;
        drive.run.done()?;
    }
    for _ in 0..windows {
        if drive.goes_on() {
            // A control command may have changed it.
            let level = drive.engine.level();
            trial(drive, (level, Purpose::Fixed), d.window).await?;
        }
    }
    Ok(())
}

/// Follows a path. Each hold is a measured window.
pub(crate) async fn path(drive: &mut Drive<'_, '_>, path: &LoadPath) -> Result<(), HarnessError> {
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
                // The next change follows at once, so that slopes join without a flat between them.
                drive.run.done()?;
                continue;
            }
            drive.level_there().await?;
            drive.run.done()?;
            if d.settle > Nanos::ZERO {
                settle(drive, d.settle).await?;
            }
            if step.level == 0 {
                // Nothing happens in a pause, so there is nothing to judge.
                settle(drive, step.hold).await?;
            } else if drive.goes_on() {
                let level = drive.engine.level();
                trial(drive, (level, Purpose::Path), step.hold).await?;
            }
        }
    }
    Ok(())
}

/// Looks for the highest level that passes.
pub(crate) async fn search(
    drive: &mut Drive<'_, '_>,
    bounds: SearchBounds,
) -> Result<search::Answer, HarnessError> {
    let d = drive.run.plan.durations;
    let mut search = search::Search::new(bounds);
    if !search.climbs() {
        let (reached, how) = first_ramp(drive, bounds).await?;
        search.ramp_ended(reached, how);
    }
    while drive.goes_on() {
        let (level, purpose) = match search.next() {
            search::Step::Done(_) => break,
            search::Step::Trial { level, purpose } => (level, purpose),
        };
        let first = drive.trials.is_empty();
        if first {
            settle_first(drive, level).await?;
        } else if level != drive.engine.level() || drive.crowded {
            step_to(drive, level).await?;
        }
        let (purpose, span) = match purpose {
            search::Purpose::Ramp => (Purpose::Ramp, d.window),
            search::Purpose::Search => (Purpose::Search, d.window),
            search::Purpose::Repeat => (Purpose::Repeat, d.window),
            search::Purpose::Confirm => (Purpose::Confirm, d.confirm),
        };
        if drive.goes_on() {
            let verdict = trial(drive, (level, purpose), span).await?;
            let kept = drive.trials.last().expect("a trial that was judged is kept");
            search.tell(level, observed(&verdict, &kept.resources));
            let so_far = search.so_far(drive.run.plan.unit, bounds.max_trials);
            drive.run.screen.so_far(&so_far);
        }
    }
    drive.searched_s = Some(drive.reached.as_secs_f64());
    Ok(search.answer())
}

fn words(drive: &Drive<'_, '_>, level: u32) -> String {
    offered(drive.run.plan.offered(level))
}

/// Load comes until all of it is there or the target gives way. Says how much there was, and which of the two it was.
async fn first_ramp(drive: &mut Drive<'_, '_>, bounds: SearchBounds) -> Result<(u32, RampEnd), HarnessError> {
    let span = drive.run.plan.durations.ramp;
    let about = format!("towards {}, until it gives way", words(drive, bounds.max));
    drive.phase(Phase::Ramp, span, &about)?;
    let (mut bad, mut reached) = (0, 0);
    for (level, over) in legs(drive, bounds, span) {
        let end = drive.ramp(level, over).await?;
        while drive.goes_on() && drive.reached < end && bad < RAMP_BAD_INTERVALS {
            let interval = drive.next().await?;
            reached = level_of(drive, &interval).max(reached);
            bad = if gives_way(drive, &interval) { bad + 1 } else { 0 };
        }
        if bad >= RAMP_BAD_INTERVALS {
            break;
        }
    }
    drive.run.done()?;
    if bad < RAMP_BAD_INTERVALS {
        return Ok((bounds.max, RampEnd::Reached));
    }
    drive.ramp(reached, Nanos::ZERO).await?;
    let at = words(drive, reached);
    drive.run.note(format!(
        "the first ramp ended at {at}: too many operations were late or failed, or too few came to an end"
    ))?;
    Ok((reached, RampEnd::GaveWay))
}

/// The first ramp in straight pieces: levels, and how long it takes to each. Where the data set the most users, one piece.
fn legs(drive: &Drive<'_, '_>, bounds: SearchBounds, span: Nanos) -> Vec<(u32, Nanos)> {
    if drive.run.plan.unit == LoadUnit::Users && drive.run.data.is_some() {
        return vec![(bounds.max, span)];
    }
    growing(bounds, span, drive.run.plan.driver.interval)
}

/// Elsewhere the highest level is often no more than a guess far above the answer, so the level is doubled again and
/// again in equal times: then as much time goes to every order of magnitude. A piece is long enough for some intervals;
/// in a short ramp levels grow by more than twice.
fn growing(bounds: SearchBounds, span: Nanos, interval: Nanos) -> Vec<(u32, Nanos)> {
    let (min, max) = (f64::from(bounds.min.max(1)), f64::from(bounds.max.max(1)));
    let doublings = (max / min).log2().ceil().max(0.0) as u64;
    let room = span.0 / (interval.0.max(1) * LEG_INTERVALS);
    let legs = (doublings + 1).min(room).max(1);
    let over = Nanos(span.0 / legs);
    let level = |leg: u64| match leg + 1 {
        last if last == legs => bounds.max,
        _ => (min * (max / min).powf(leg as f64 / (legs - 1).max(1) as f64)).round() as u32,
    };
    (0..legs).map(|leg| (level(leg), over)).collect()
}

/// The level in an interval of the ramp.
fn level_of(drive: &Drive<'_, '_>, interval: &Interval) -> u32 {
    match drive.run.plan.unit {
        LoadUnit::Users => interval.users,
        LoadUnit::PerSecond => (interval.starts as f64 / interval.seconds().max(1e-9)) as u32,
    }
}

/// Does this interval of the ramp look like too much load?
fn gives_way(drive: &Drive<'_, '_>, interval: &Interval) -> bool {
    let part = Part::of(interval, &drive.profile.rules);
    if interval.dropped > 0 {
        return true;
    }
    if interval.users < RAMP_JUDGED_FROM_USERS && part.ended.max(interval.starts) < RAMP_JUDGED_FROM_OPS {
        return false;
    }
    let (carried, bad) = carried(drive, interval, &part);
    carried < expected(drive, interval, &part) * RAMP_CARRIED_SHARE || bad > carried * RAMP_BAD_SHARE
}

/// Operations that ended, and bad ones among them: of those with a limit, or, where there is no limit at all, failures
/// of all that are judged.
fn carried(drive: &Drive<'_, '_>, interval: &Interval, part: &Part) -> (f64, f64) {
    let rules = &drive.profile.rules;
    if rules.iter().any(|rule| rule.judged && rule.limit.is_some()) {
        return (part.timed as f64, part.timed_bad as f64);
    }
    let judged = || interval.ops.iter().zip(rules).filter(|(_, rule)| rule.judged).map(|(op, _)| op);
    let ended: u64 = judged().map(OpStats::count).sum();
    let failed: u64 = judged().map(OpStats::failed).sum();
    (ended as f64, failed as f64)
}

/// How many operations should have come to an end in this interval, as far as anything is known of it.
fn expected(drive: &Drive<'_, '_>, interval: &Interval, part: &Part) -> f64 {
    match (drive.run.plan.unit, drive.profile.derived) {
        (LoadUnit::Users, Some(derived)) => {
            let limited = drive.profile.rules.iter().filter(|r| r.limit.is_some());
            let mix: f64 = limited.map(|r| r.mix.get()).sum();
            f64::from(interval.users) * derived.ops_per_user_s * mix * part.seconds
        }
        (LoadUnit::Users, None) => 0.0,
        // Of all that started, those that are looked at are the same part as of all that ended.
        (LoadUnit::PerSecond, _) => {
            let share = part.timed.max(1) as f64 / part.ended.max(1) as f64;
            interval.starts as f64 * share.min(1.0)
        }
    }
}

/// In an open loop arrivals may still wait for free users after too much load, and would spoil the next window: it pauses
/// until none of them is left.
async fn empty(drive: &mut Drive<'_, '_>) -> Result<(), HarnessError> {
    let most = barograph_spec::emptying(&drive.run.plan);
    if !drive.crowded || most == Nanos::ZERO {
        return Ok(());
    }
    drive.phase(Phase::Drain, most, "arrivals that still wait for a free user")?;
    let end = drive.ramp(0, Nanos::ZERO).await? + most;
    // The interval in which the pause begins has starts of its own.
    drive.level_there().await?;
    while drive.goes_on() && drive.reached < end && drive.next().await?.starts > 0 {}
    drive.crowded = false;
    drive.run.done()
}

async fn settle(drive: &mut Drive<'_, '_>, span: Nanos) -> Result<(), HarnessError> {
    drive.phase(Phase::WarmUp, span, "settling, kept but not counted")?;
    drive.pass(span).await?;
    drive.run.done()
}

/// Before the first window: down from where the ramp failed, and long enough that users are spread over their
/// sessions even when the ramp was cut short.
async fn settle_first(drive: &mut Drive<'_, '_>, level: u32) -> Result<(), HarnessError> {
    empty(drive).await?;
    let d = drive.run.plan.durations;
    let spread_at = d.ramp + d.warm_up;
    let span = match drive.run.plan.unit {
        LoadUnit::Users => (spread_at - drive.engine.now()).max(d.warm_up),
        // Arrivals from outside have no step to fall out of.
        LoadUnit::PerSecond => d.warm_up,
    };
    drive.phase(Phase::WarmUp, span, &format!("{}, kept but not counted", words(drive, level)))?;
    if level != drive.engine.level() {
        drive.ramp(level, d.step).await?;
    }
    drive.pass(span).await?;
    drive.level_there().await?;
    drive.run.done()
}

/// From one level to the next.
async fn step_to(drive: &mut Drive<'_, '_>, level: u32) -> Result<(), HarnessError> {
    empty(drive).await?;
    let d = drive.run.plan.durations;
    drive.phase(Phase::Ramp, d.step, &format!("to {}", words(drive, level)))?;
    drive.ramp(level, d.step).await?;
    drive.pass(d.step).await?;
    drive.level_there().await?;
    drive.run.done()?;
    settle(drive, d.settle).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use barograph_model::{SearchMethod, Share};

    fn levels(min: u32, max: u32, span_s: u64) -> (Vec<u32>, f64) {
        let bounds = SearchBounds {
            min,
            max,
            resolution: Share::percent(5.0),
            max_trials: 4,
            method: SearchMethod::Posterior,
        };
        let legs = growing(bounds, Nanos::from_secs(span_s), Nanos::from_secs(1));
        (legs.iter().map(|leg| leg.0).collect(), legs.iter().map(|leg| leg.1.as_secs_f64()).sum())
    }

    #[test]
    fn a_growing_ramp_gives_every_order_of_magnitude_the_same_time() {
        assert_eq!(levels(100, 800, 60), (vec![100, 200, 400, 800], 60.0));
        assert_eq!(levels(10, 1_000_000, 90).0.len(), 18);
        // Too short for so many pieces.
        assert_eq!(levels(10, 1_000_000, 12), (vec![10, 100, 1_000, 10_000, 100_000, 1_000_000], 12.0));
        assert_eq!(levels(10, 1_000, 1), (vec![1_000], 1.0));
        assert_eq!(levels(5, 5, 60), (vec![5], 60.0));
        assert_eq!(levels(0, 1, 0), (vec![1], 0.0));
    }
}
