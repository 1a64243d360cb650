//! Early end of a window that can no longer pass.

use barograph_model::{Bound, Nanos, Profile, Rule, Subject, TimeLimits};
use barograph_stats::{Interval, IntervalSummary, OpStats};

/// Smallest share of a window before it may end early, so that more than its first moment is measured.
const LEAST_PART: f64 = 1.0 / 3.0;

/// Fewest intervals of a window that ends early; the tests for steadiness require nearly as many.
const LEAST_INTERVALS: usize = 5;

/// Assumed rate of an operation in the rest of the window, in multiples of its busiest interval so far.
const MORE_OFTEN: f64 = 1.5;

/// Whether the window is certain to fail. It is if an operation has exceeded a limit or failed more often
/// than a whole window allows, assuming a far higher rate from now on with all operations in time. Rules
/// about means, rates, shares and measures never end a window early.
pub(super) fn hopeless(
    joined: &Interval,
    parts: &[IntervalSummary],
    (profile, span): (&Profile, Nanos),
) -> bool {
    let (seconds, whole) = (joined.seconds(), span.as_secs_f64());
    if parts.len() < LEAST_INTERVALS || seconds < whole * LEAST_PART || seconds >= whole {
        return false;
    }
    let busiest = parts.iter().map(|part| part.ended as f64 / part.seconds.max(1e-9)).fold(0.0, f64::max);
    let mean = parts.iter().map(|part| part.ended).sum::<u64>() as f64 / seconds;
    let growth = MORE_OFTEN * (busiest / mean.max(1e-9)).max(1.0);
    let still = growth * (whole - seconds).max(0.0) / seconds;
    let limits = profile.time_limits(joined.ops.len());
    profile.rules.iter().any(|rule| {
        let Some(op) = rule.subject.op().map(|op| op.index()) else { return false };
        let (stats, limits) = (&joined.ops[op], &limits[op]);
        let most = stats.count() as f64 * (1.0 + still);
        bad(rule, stats, limits).is_some_and(|(bad, allowed)| bad as f64 > most * allowed)
    })
}

/// Operations that break a rule, and the share of all that may; `None` if no single operation counts against
/// it.
fn bad(rule: &Rule, stats: &OpStats, limits: &TimeLimits) -> Option<(u64, f64)> {
    match (rule.subject, rule.bound) {
        (Subject::Response { quantile, .. } | Subject::Service { quantile, .. }, Bound::AtMost(_)) => {
            let late = stats.over(rule.time_limit()?, limits);
            Some((late, 1.0 - quantile.get()))
        }
        (Subject::Failures(_), Bound::AtMost(share)) => Some((stats.failed(), share)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use barograph_model::{OpId, Outcome, QosRule, Share};

    use super::*;

    fn rule() -> QosRule {
        QosRule {
            op: OpId(0),
            quantile: Share::percent(99.0),
            limit: Some(Nanos::from_millis(100)),
            judged: true,
            mix: Share::ZERO,
            mix_tolerance: Share::ZERO,
            failures: Share::percent(1.0),
        }
    }

    fn profile() -> Profile {
        Profile::usual("test", &[rule()], None)
    }

    /// Intervals of one second with 1,000 operations each, of which `late` are late and `failed` fail.
    fn window(seconds: u64, late: u64, failed: u64) -> (Interval, Vec<IntervalSummary>) {
        let mut joined: Option<Interval> = None;
        let mut parts = Vec::new();
        for second in 0..seconds {
            let mut interval = Interval::new(1);
            (interval.from, interval.to) = (Nanos::from_secs(second), Nanos::from_secs(second + 1));
            interval.ops[0].outcomes[Outcome::Good.index()] = 1_000 - failed;
            interval.ops[0].outcomes[Outcome::Refused.index()] = failed;
            interval.ops[0].over_limit = late;
            parts.push(IntervalSummary::of(&interval, &profile()));
            match &mut joined {
                Some(joined) => joined.append(&interval),
                None => joined = Some(interval),
            }
        }
        (joined.unwrap(), parts)
    }

    fn given_up(seconds: u64, late: u64, failed: u64) -> bool {
        let (joined, parts) = window(seconds, late, failed);
        hopeless(&joined, &parts, (&profile(), Nanos::from_secs(30)))
    }

    #[test]
    fn a_window_that_cannot_pass_is_given_up_and_no_sooner() {
        // After 10 of 30 s, a whole window has at most 10,000 x (1 + 1.5 x 20 / 10) = 40,000 operations; 400
        // may be late.
        assert!(!given_up(10, 40, 0) && given_up(10, 41, 0));
        assert!(!given_up(10, 0, 40) && given_up(10, 0, 41));
        assert!(!given_up(9, 1_000, 0), "not before a third of it");
        assert!(!given_up(30, 1_000, 0), "a whole window is judged as it is");
        // Near the end of the window, little can make up for it.
        assert!(!given_up(28, 11, 0) && given_up(28, 12, 0));
    }

    #[test]
    fn what_is_not_judged_gives_nothing_up() {
        let (joined, parts) = window(20, 1_000, 1_000);
        let profile = Profile::usual("test", &[QosRule { judged: false, ..rule() }], None);
        assert!(!hopeless(&joined, &parts, (&profile, Nanos::from_secs(30))));
    }
}
