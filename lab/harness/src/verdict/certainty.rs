//! Certainty of a search by posterior, in words.

use barograph_record::{CauseRecord, EstimateRecord};
use barograph_stats::search::{Answer, BoundedBy, Estimate, OPEN};

use super::sentence::Case;

/// Certainty of a search's answer, as the beginning of a sentence: the interval, and the effort.
pub(super) fn of(case: &Case<'_>, answer: &Answer, estimate: &Estimate) -> String {
    let capacity = answer.capacity.unwrap_or(0);
    let level = |x: f64| case.load(x.round().max(0.0) as u32);
    let least = level(estimate.low.min(f64::from(capacity)));
    let interval = match answer.bounded_by {
        BoundedBy::Maximum => format!("The capacity is at least {least} with 97.5 % certainty"),
        // Here the upper end of the interval depends on the prior.
        _ if estimate.beyond > OPEN => format!(
            "The capacity is at least {least} with 97.5 % certainty, and it may be above all that was allowed (probability \
             {:.0} %)",
            estimate.beyond * 100.0
        ),
        bound => {
            let of = if bound == BoundedBy::Disbelief { " of the capacity" } else { "" };
            format!("The 95 % interval{of} is {} to {}", case.number(estimate.low), level(estimate.high))
        }
    };
    format!("{interval}, from {}", effort(case, answer, estimate.invalid))
}

/// Number of trials, of invalid ones among them, and time.
pub(super) fn effort(case: &Case<'_>, answer: &Answer, invalid: u32) -> String {
    let trials = barograph_model::words::counted(answer.trials.into(), "trial");
    let invalid = match invalid {
        0 => String::new(),
        n => format!(" ({n} not valid)"),
    };
    let time = case.searched_s.map_or_else(String::new, |s| {
        format!(" in {}", barograph_model::words::span(barograph_model::Nanos::from_secs(s.round() as u64)))
    });
    format!("{trials}{invalid}{time}")
}

/// The guarantee: a statement about single levels that does not depend on the prior.
pub(super) fn guarantee(case: &Case<'_>, estimate: &Estimate) -> String {
    let Some(c) = estimate.confirmation else {
        return ". No trial was left to confirm it".to_owned();
    };
    let mut text = format!(
        ". At {}, {} of {} valid trials passed: the pass probability is at least {:.2} with 95 % confidence",
        case.load(c.level),
        c.passed,
        c.trials,
        // Rounded down, so as not to promise more.
        (c.at_least * 100.0).floor() / 100.0
    );
    if !c.complete {
        text.push_str(", which is not enough to call it confirmed");
    }
    if let Some(a) = estimate.above.filter(|a| a.failed > 0) {
        text.push_str(&format!(
            "; at {} it is below {:.2}",
            case.load(a.level),
            (a.below * 100.0).ceil() / 100.0
        ));
    }
    text
}

/// Reasons to doubt the answer.
pub(super) fn warnings(case: &Case<'_>, estimate: &EstimateRecord) -> Vec<CauseRecord> {
    let disagrees = estimate.cross_check.filter(|found| found.disagrees).map(|by_times| {
        CauseRecord::CrossCheck { unit: case.unit.into(), by_times, low: estimate.low, high: estimate.high }
    });
    let drift = estimate.repeats.filter(|found| found.drifted).map(|repeats| CauseRecord::Drift { repeats });
    disagrees.into_iter().chain(drift).collect()
}
