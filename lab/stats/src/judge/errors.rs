//! Do failures say something about the target? Those of the driver's own machine do not, and those that change their kind
//! within a window tell of two different states.

use barograph_model::{Check, CheckFacts, CheckId, Excuse, Outcome, Share};

use super::{WindowInput, slices};
use crate::homogeneity::unlike;

/// Kinds of failure that an answer of the target can be.
const OF_THE_TARGET: [Outcome; 4] =
    [Outcome::Refused, Outcome::WrongAnswer, Outcome::TimedOut, Outcome::Broken];

/// Fewer failures than this have no mix.
const FEWEST_FAILURES: u64 = 30;

/// Below this part of all operations failures cannot make a difference.
const FAILURES_THAT_MATTER: Share = Share::percent(0.1);

/// So much of the failures of a third of the window may be of another kind than in the rest.
const CHANGE_ALLOWED: Share = Share::percent(25.0);

/// Failures for want of something in the driver. Not one is allowed: the next may have the same reason without showing it.
pub(super) fn of_the_driver(input: &WindowInput<'_>) -> Check {
    let failed: u64 = input.joined.ops.iter().map(|op| op.outcomes[Outcome::DriverFault.index()]).sum();
    Check::new(CheckId::DriverFailures, CheckFacts::Failed { operations: failed }, failed == 0)
}

/// Do the same things fail throughout? `hopeless` windows are too slow or fail too often in any case: an overload begins
/// with time-outs and goes on with refusals.
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
