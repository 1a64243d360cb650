//! Checks that failures are the target's: those of the driver's own machine are not, and those that change
//! kind within a window come from two different states.

use barograph_model::{Check, CheckFacts, CheckId, Excuse, Outcome, Share};

use super::{WindowInput, slices};
use crate::homogeneity::unlike;

/// Kinds of failure that are answers of the target.
const OF_THE_TARGET: [Outcome; 4] =
    [Outcome::Refused, Outcome::WrongAnswer, Outcome::TimedOut, Outcome::Broken];

/// Fewest failures with a mix.
const FEWEST_FAILURES: u64 = 30;

/// Share of failures below which they cannot make a difference.
const FAILURES_THAT_MATTER: Share = Share::percent(0.1);

/// Largest part of the failures of a third of the window that may differ in kind from the rest.
const CHANGE_ALLOWED: Share = Share::percent(25.0);

/// Check for failures due to missing resources in the driver. None is allowed: the next may have the same
/// cause without showing it.
pub(super) fn of_the_driver(input: &WindowInput<'_>) -> Check {
    let failed: u64 = input.joined.ops.iter().map(|op| op.outcomes[Outcome::DriverFault.index()]).sum();
    Check::new(CheckId::DriverFailures, CheckFacts::Failed { operations: failed }, failed == 0)
}

/// Check that the same kinds of failures occur throughout. `hopeless` windows are too slow or fail too often
/// in any case: an overload begins with time-outs and continues with refusals.
pub(super) fn mix(input: &WindowInput<'_>, hopeless: bool) -> Option<Check> {
    let failed: u64 = input.joined.ops.iter().map(crate::OpStats::failed).sum();
    let ended: u64 = input.joined.ops.iter().map(crate::OpStats::count).sum();
    if failed < FEWEST_FAILURES || (failed as f64) < ended as f64 * FAILURES_THAT_MATTER.get() {
        return None;
    }
    let (blocks, per_slice) = slices::counted(input.parts, |part| {
        let of = |kind: Outcome| part.ops.iter().map(|op| op.outcomes[kind.index()]).sum::<u64>();
        OF_THE_TARGET.map(of).to_vec()
    })?;
    let found = unlike(&blocks, per_slice)?;
    let same = !found.certain() || found.distance <= CHANGE_ALLOWED.get();
    let kind = found.kind.map(|kind| OF_THE_TARGET[kind].name().to_owned());
    let facts = slices::facts(&found, kind, CHANGE_ALLOWED);
    let excuse = (hopeless && !same).then_some(Excuse::Overload);
    Some(Check::excused(CheckId::ErrorMix, facts, (same, excuse)))
}
