//! One measured window: collected, judged, recorded, told.

use barograph_model::words::{count, offered};
use barograph_model::{Nanos, OpVerdict, Phase, TrialResult, WindowVerdict};
use barograph_record::{Entry, Purpose, Resources, Trial};
use barograph_stats::judge::{DriverLimits, WindowInput, judge_window};
use barograph_stats::search::Observed;
use barograph_stats::{Interval, Part};

use super::hopeless::hopeless;
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
    let searching = matches!(purpose, Purpose::Ramp | Purpose::Search | Purpose::Confirm | Purpose::Repeat);
    let spread_for = searching.then(|| drive.reached - drive.crowd_at);
    let behaviours = drive.run.world.workload.behaviours(&drive.run.plan.profile);
    let judge = |drive: &Drive<'_, '_>, joined: &Interval, parts: &[Part]| {
        let host = drive.probes.host_use(&before);
        judge_window(&WindowInput {
            joined,
            parts,
            profile: &drive.profile,
            ops: drive.run.world.workload.ops(),
            offered: load,
            open: drive.run.open.as_ref(),
            behaviours: behaviours.as_ref(),
            host: Some(&host),
            level_changes: drive.changes.0 - changes_before + going_on,
            spread_for,
            driver: DriverLimits::default(),
            clock_jump_s: drive.run.clock.wall_ahead_s() - wall_before,
        })
    };
    // A search learns nothing more from a window that has failed for certain.
    let failed_for_certain = |drive: &Drive<'_, '_>, joined: &Interval, parts: &[Part]| {
        searching
            && hopeless(joined, parts, (&drive.profile.rules, span))
            && judge(drive, joined, parts).result() == TrialResult::Fail
    };
    let (joined, parts) = drive.collect(span, failed_for_certain).await?;
    let mut verdict = judge(drive, &joined, &parts);
    let half = drive.run.plan.driver.interval.as_secs_f64() / 2.0;
    let aborted = drive.goes_on() && joined.seconds() + half < span.as_secs_f64();
    fleet::name_the_limit(&mut verdict.checks, &drive.window, joined.seconds());
    let mut kept = Trial::keep(drive.trials.len() as u32 + 1, purpose, &verdict);
    let requests = joined.ops.iter().map(|op| op.requests).sum();
    kept.aborted = aborted;
    kept.resources = drive.probes.resources(&before, joined.users, requests);
    drive.run.record.append(&Entry::Trial(Box::new(kept.clone())))?;
    drive.run.done()?;
    drive.run.say(&line(&kept, &verdict));
    drive.trials.push(kept);
    Ok(verdict)
}

/// What a trial shows to a search.
pub(super) fn observed(verdict: &WindowVerdict, used: &Resources) -> Observed {
    let limited = || verdict.ops.iter().filter(|op| op.judged && op.count > 0 && op.limit_ms.is_some());
    let margin = |op: &OpVerdict| op.limit_ms.map(|limit| (op.judged_ms / limit).ln());
    let margin = limited().filter_map(margin).filter(|m| m.is_finite()).max_by(f64::total_cmp);
    let count: f64 = limited().map(|op| op.count as f64).sum();
    let late: f64 = limited().map(|op| op.over_limit * op.count as f64).sum();
    Observed {
        result: verdict.result(),
        margin,
        in_time: (count > 0.0).then(|| 1.0 - late / count),
        throughput: Some(verdict.throughput),
        cpu: used.host_busy_cores.zip(used.host_cores).map(|(busy, cores)| busy / cores),
    }
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
    let early = if trial.aborted {
        format!(" for certain after {:.0} s", trial.window.seconds())
    } else {
        String::new()
    };
    let mut text = format!(
        "trial {} ({}): {} {}{early} at {:.0} ops/s{worst}",
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
