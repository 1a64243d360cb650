//! One measured window: collected, judged, recorded, told.

use barograph_model::words::{count, offered};
use barograph_model::{Nanos, Phase, WindowVerdict};
use barograph_record::{Entry, Purpose, Trial};
use barograph_stats::judge::{DriverLimits, WindowInput, judge_window};

use crate::drive::Drive;
use crate::{HarnessError, fleet};

/// One measured window, judged and recorded.
pub(super) async fn trial(
    drive: &mut Drive<'_, '_>,
    (level, purpose): (u32, Purpose),
    span: Nanos,
) -> Result<WindowVerdict, HarnessError> {
    let load = drive.run.plan.offered(level);
    drive.phase(Phase::Hold, span, &format!("{}, measured", offered(load)))?;
    let before = drive.probes.mark();
    let wall_before = drive.run.clock.wall_ahead_s();
    // A change that is still going on counts in this window too.
    let (changes_before, changing_until) = drive.changes;
    let going_on = u32::from(changing_until > drive.reached);
    let (joined, parts) = drive.collect(span).await?;
    let behaviours = drive.run.world.kind.behaviours(&drive.run.plan.profile);
    let host = drive.probes.host_use(&before);
    let mut verdict = judge_window(&WindowInput {
        joined: &joined,
        parts: &parts,
        profile: &drive.profile,
        ops: drive.run.world.kind.ops(),
        offered: load,
        open: drive.run.open.as_ref(),
        behaviours: behaviours.as_ref(),
        host: Some(&host),
        level_changes: drive.changes.0 - changes_before + going_on,
        driver: DriverLimits::default(),
        clock_jump_s: drive.run.clock.wall_ahead_s() - wall_before,
    });
    fleet::name_the_limit(&mut verdict.checks, &drive.window, joined.seconds());
    let mut kept = Trial::keep(drive.trials.len() as u32 + 1, purpose, &verdict);
    let requests = joined.ops.iter().map(|op| op.requests).sum();
    kept.resources = drive.probes.resources(&before, joined.users, requests);
    drive.run.record.append(&Entry::Trial(Box::new(kept.clone())))?;
    drive.run.done()?;
    drive.run.say(&line(&kept, &verdict));
    drive.trials.push(kept);
    Ok(verdict)
}

/// A trial in a line.
fn line(trial: &Trial, verdict: &WindowVerdict) -> String {
    let worst = verdict
        .ops
        .iter()
        .filter(|op| op.judged && op.count > 0)
        .filter_map(|op| op.limit_ms.map(|limit| (op.judged_ms / limit, op)))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let worst = worst.map_or_else(String::new, |(share, op)| {
        format!(", closest to its limit {} with {:.0} ms ({:.0} %)", op.op, op.judged_ms, share * 100.0)
    });
    let mut text = format!(
        "trial {} ({}): {} {} at {:.0} ops/s{worst}",
        trial.n,
        trial.purpose.name(),
        offered(trial.offered()),
        trial.result.name(),
        verdict.throughput
    );
    for (name, n) in [("late", verdict.late), ("dropped", verdict.dropped), ("skipped", verdict.skipped)] {
        if n > 0 {
            text.push_str(&format!(", {} {name}", count(n)));
        }
    }
    text
}
