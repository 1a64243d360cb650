//! The first ramp of a search: load grows to the highest level or until the target gives way.

use std::collections::VecDeque;

use barograph_model::{Bound, LoadUnit, Nanos, OpId, Phase, SearchBounds};
use barograph_stats::search::RampEnd;
use barograph_stats::{Interval, IntervalSummary, OpStats};

use super::words;
use crate::HarnessError;
use crate::load_phase::{LoadPhase, LoadView};

/// Bad intervals in a row after which the ramp has failed.
pub(super) const BAD_INTERVALS: usize = 3;
/// Share of late or failed operations above which an interval is bad.
const BAD_SHARE: f64 = 0.05;
/// Share of the expected operations below which an interval is bad.
const CARRIED_SHARE: f64 = 0.5;
/// Share of late or failed operations up to which a target keeps up, unless the loosest rule allows more.
const WELL_SHARE: f64 = 0.01;
/// Number of users from which an interval of the ramp can be bad; with fewer, chance alone could make it so.
const JUDGED_FROM_USERS: u32 = 100;
/// Number of operations from which an interval of the ramp can be bad, with any number of users.
const JUDGED_FROM_OPS: u64 = 100;

/// Fewest intervals in a piece of a growing ramp.
const LEG_INTERVALS: u64 = 2;

/// Raises the load to the highest level or until the target gives way. Returns the level reached and which of
/// the two happened; if the target gave way, at most the level it carried.
pub(super) async fn first_ramp(
    drive: &mut LoadPhase<'_, '_>,
    bounds: SearchBounds,
) -> Result<(u32, RampEnd), HarnessError> {
    let span = drive.run.plan.durations.ramp;
    let about = format!("towards {}, until it gives way", words(drive, bounds.max));
    drive.phase(Phase::Ramp, span, &about)?;
    let (mut bad, mut reached) = (0, 0);
    let mut carried: Vec<MostCarried> = drive.each().map(|_| MostCarried::default()).collect();
    for (level, over) in legs(drive, bounds, span) {
        let end = drive.ramp(level, over).await?;
        while drive.goes_on() && drive.reached < end && bad < BAD_INTERVALS {
            let all = drive.next().await?;
            let (mut there, mut gave_way) = (u32::MAX, false);
            for ((each, interval), carried) in drive.each().zip(&all).zip(&mut carried) {
                let part = IntervalSummary::of(interval, &each.load.profile);
                there = there.min(each.load.run_level(level_of(each, interval)));
                gave_way |= gives_way(each, interval, &part);
                carried.add(in_time(each, interval, &part));
            }
            // Loads of whole tiles and traces would do with any level.
            reached = there.min(level).max(reached);
            bad = if gave_way { bad + 1 } else { 0 };
        }
        if bad >= BAD_INTERVALS {
            break;
        }
    }
    drive.run.done()?;
    if bad < BAD_INTERVALS {
        return Ok((bounds.max, RampEnd::Reached));
    }
    drive.ramp(reached, Nanos::ZERO).await?;
    let at = words(drive, reached);
    let why = "too many operations were late or failed, or too few came to an end";
    let most = drive
        .each()
        .zip(&carried)
        .filter_map(|(each, carried)| carried.most.map(|most| each.load.run_level(most as u32)));
    let most = most.min().map_or(reached, |most| most.min(reached));
    let so_much = match most < reached {
        true => format!("; what it carried in time is the load of {}", words(drive, most)),
        false => String::new(),
    };
    drive.run.note(format!("the first ramp ended at {at}: {why}{so_much}"))?;
    Ok((most, RampEnd::GaveWay))
}

/// The highest level whose operations ended in time over several intervals in a row.
///
/// This is the ramp's estimate of the capacity. The level itself says little: a target may give way long
/// before response times show it, and new users do less than they will later.
#[derive(Default)]
struct MostCarried {
    /// For recent intervals: operations in time, and operations of one user or one arrival per second.
    last: VecDeque<(f64, f64)>,
    most: Option<f64>,
}

impl MostCarried {
    fn add(&mut self, (in_time, of_one): (f64, f64)) {
        self.last.push_back((in_time, of_one));
        if self.last.len() < BAD_INTERVALS {
            return;
        }
        let (in_time, of_one) =
            self.last.iter().fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        if of_one > 0.0 {
            self.most = Some((in_time / of_one).max(self.most.unwrap_or(0.0)));
        }
        self.last.pop_front();
    }
}

/// Operations of an interval that ended in time, and operations of one user or one arrival per second in it;
/// the latter is 0 if unknown.
fn in_time(each: LoadView<'_>, interval: &Interval, part: &IntervalSummary) -> (f64, f64) {
    let (ended, bad) = carried(each, interval, part);
    let of_one = match each.of.checked.plan.unit {
        LoadUnit::Users => of_a_user(each, part).unwrap_or(0.0),
        LoadUnit::PerSecond | LoadUnit::Scale | LoadUnit::Tiles => {
            part.seconds * ended / part.ended.max(1) as f64
        }
    };
    (ended - bad, of_one)
}

/// Operations with a limit that a user starts in an interval, if the profile states it.
fn of_a_user(each: LoadView<'_>, part: &IntervalSummary) -> Option<f64> {
    let profile = &each.load.profile;
    let ops = (0..each.load.names.len()).map(|op| OpId(op as u8));
    let limited = ops.filter(|op| profile.response_limit(*op).is_some());
    let mix: f64 = limited.filter_map(|op| profile.mix(op)).map(Bound::limit).sum();
    profile.derived.map(|derived| derived.ops_per_user_s * mix * part.seconds)
}

/// Pieces of the first ramp: level and duration of each. One piece if the data set the largest number of
/// users.
fn legs(drive: &LoadPhase<'_, '_>, bounds: SearchBounds, span: Nanos) -> Vec<(u32, Nanos)> {
    let is_known = |each: LoadView<'_>| {
        each.of.checked.plan.unit_of_all() == LoadUnit::Users && each.of.checked.data.is_some()
    };
    if drive.each().all(is_known) {
        return vec![(bounds.max, span)];
    }
    growing(bounds, span, drive.run.plan.driver.interval)
}

/// Pieces of a ramp that doubles the level in equal times. The highest level is often a guess far above the
/// answer; doubling gives every order of magnitude the same time. A piece lasts several intervals; in a short
/// ramp levels grow by more than twice.
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

/// Level of the load in an interval of the ramp.
fn level_of(each: LoadView<'_>, interval: &Interval) -> u32 {
    match each.of.checked.plan.unit {
        LoadUnit::Users => interval.users,
        LoadUnit::PerSecond | LoadUnit::Scale | LoadUnit::Tiles => {
            (interval.starts as f64 / interval.seconds().max(1e-9)) as u32
        }
    }
}

/// Whether an interval of the ramp shows too much load.
fn gives_way(each: LoadView<'_>, interval: &Interval, part: &IntervalSummary) -> bool {
    if interval.dropped > 0 {
        return true;
    }
    if interval.users < JUDGED_FROM_USERS && part.ended.max(interval.starts) < JUDGED_FROM_OPS {
        return false;
    }
    let (carried, bad) = carried(each, interval, part);
    carried < expected(each, interval, part) * CARRIED_SHARE || bad > carried * BAD_SHARE
}

/// Whether the target has finished its queue and answers in time.
pub(super) fn keeps_up(each: LoadView<'_>, interval: &Interval) -> bool {
    let part = IntervalSummary::of(interval, &each.load.profile);
    let (carried, bad) = carried(each, interval, &part);
    let limits = each.load.profile.response_limits();
    let allowed = limits.map(|(_, quantile, _)| 1.0 - quantile.get()).fold(WELL_SHARE, f64::max);
    let enough = expected(each, interval, &part) * CARRIED_SHARE;
    carried > 0.0 && carried >= enough && bad <= carried * allowed
}

/// Operations that ended, and bad ones among them. Counts operations with a limit; if none has a limit, all
/// judged operations, of which failed ones are bad.
fn carried(each: LoadView<'_>, interval: &Interval, part: &IntervalSummary) -> (f64, f64) {
    let profile = &each.load.profile;
    if profile.response_limits().next().is_some() {
        return (part.timed as f64, part.timed_bad as f64);
    }
    let is_judged = profile.judged(interval.ops.len());
    let judged = || interval.ops.iter().zip(&is_judged).filter(|(_, judged)| **judged).map(|(op, _)| op);
    let ended: u64 = judged().map(OpStats::count).sum();
    let failed: u64 = judged().map(OpStats::failed).sum();
    (ended as f64, failed as f64)
}

/// Operations that should have ended in this interval, as far as known.
fn expected(each: LoadView<'_>, interval: &Interval, part: &IntervalSummary) -> f64 {
    match each.of.checked.plan.unit {
        LoadUnit::Users => f64::from(interval.users) * of_a_user(each, part).unwrap_or(0.0),
        // The counted operations are assumed to have the same share of starts as of ends.
        LoadUnit::PerSecond | LoadUnit::Scale | LoadUnit::Tiles => {
            let share = part.timed.max(1) as f64 / part.ended.max(1) as f64;
            interval.starts as f64 * share.min(1.0)
        }
    }
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
        // Too short for that many pieces.
        assert_eq!(levels(10, 1_000_000, 12), (vec![10, 100, 1_000, 10_000, 100_000, 1_000_000], 12.0));
        assert_eq!(levels(10, 1_000, 1), (vec![1_000], 1.0));
        assert_eq!(levels(5, 5, 60), (vec![5], 60.0));
        assert_eq!(levels(0, 1, 0), (vec![1], 0.0));
    }

    /// Result of a ramp with these intervals of a second, for users of two operations a second.
    fn most(in_time: &[u32]) -> Option<f64> {
        let mut carried = MostCarried::default();
        in_time.iter().for_each(|ended| carried.add((f64::from(*ended), 2.0)));
        carried.most
    }

    #[test]
    fn what_a_ramp_carried_is_the_best_of_three_intervals_running() {
        assert_eq!(most(&[100, 200]), None, "too short to tell");
        assert_eq!(most(&[100, 200, 300, 330, 270, 90, 0]), Some(150.0));
        // A target that holds up keeps its throughput under any further load.
        assert_eq!(most(&[100, 200, 300, 300, 300]), Some(150.0));
        // A single busy interval is not enough.
        assert_eq!(most(&[90, 600, 90, 90]), Some(130.0));
        let mut unknown = MostCarried::default();
        (0..5).for_each(|_| unknown.add((100.0, 0.0)));
        assert_eq!(unknown.most, None, "nothing is known of what a user does");
    }
}
