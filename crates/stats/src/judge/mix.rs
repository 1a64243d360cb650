//! Do users do the same throughout the window? The mix of operations, third by third.

use barograph_model::{Check, Share};

use super::{WindowInput, slices};
use crate::homogeneity::unlike;

/// So many of the operations of a third of the window may be others than in the rest.
const CHANGE_ALLOWED: Share = Share::percent(10.0);

/// So many standard deviations are certain here. Were users' operations independent of each other 3.3 would do; their
/// sessions make mixes swing more, and docs/reference/gates.md says how rarely a clean window exceeds this.
const CERTAIN: f64 = 5.0;

/// Shares of judged operations by thirds. In a `hopeless` window, which is too slow or fails too often in any case, users
/// that wait for one operation do fewer of those that would follow; that is a result and no doubt. Nothing to say where only
/// one operation is judged.
pub(super) fn drift(input: &WindowInput<'_>, hopeless: bool) -> Option<Check> {
    let rules = &input.profile.rules;
    let judged: Vec<usize> = (0..rules.len()).filter(|op| rules[*op].judged).collect();
    let (blocks, per_slice) =
        slices::counted(input.parts, |part| judged.iter().map(|op| part.ops[*op].ended()).collect())?;
    let found = unlike(&blocks, per_slice)?;
    let same = found.deviations <= CERTAIN || found.distance <= CHANGE_ALLOWED.get();
    let op = found.kind.map_or("rare operations", |kind| input.ops[judged[kind]].name);
    let excuse = if hopeless && !same { "; the window fails anyway" } else { "" };
    Some(Check {
        name: "steady mix".to_owned(),
        found: format!(
            "{:.1} % of the operations in the {} are others than in the rest, most of all {op}: {:.1} % and {:.1} %{excuse}",
            found.distance * 100.0,
            slices::name(found.slice),
            found.share * 100.0,
            found.share_of_others * 100.0
        ),
        allowed: format!(
            "at most {:.0} %, or not certain beyond how it swings anyway",
            CHANGE_ALLOWED.get() * 100.0
        ),
        ok: same || hopeless,
    })
}
