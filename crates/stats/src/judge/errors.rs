//! Do failures say something about the target? Those of the driver's own machine do not, and those that change their kind
//! within a window tell of two different states.

use barograph_model::words::count;
use barograph_model::{Check, Outcome, Share};

use super::{FAILS_ANYWAY, WindowInput, slices};
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
    Check {
        name: "driver's own failures".to_owned(),
        found: match failed {
            0 => "none".to_owned(),
            n => format!(
                "{} operations failed because the driver had no port, file or memory left, or was forbidden to connect",
                count(n)
            ),
        },
        allowed: "none".to_owned(),
        ok: failed == 0,
    }
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
    let kind = found.kind.map_or("rare kinds", |kind| OF_THE_TARGET[kind].name());
    let excuse = if hopeless && !same { format!("; the window {FAILS_ANYWAY}") } else { String::new() };
    Some(Check {
        name: "error mix".to_owned(),
        found: format!(
            "{kind}: {:.0} % of the failures in the {}, {:.0} % in the rest{excuse}",
            found.share * 100.0,
            slices::name(found.slice),
            found.share_of_others * 100.0
        ),
        allowed: format!(
            "{:.0} % of other kinds in a third of the window, or not certain",
            CHANGE_ALLOWED.get() * 100.0
        ),
        ok: same || hopeless,
    })
}
