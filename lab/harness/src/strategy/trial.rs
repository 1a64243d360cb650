//! Trials: one measured window of each load, collected, judged, recorded and shown.

use barograph_model::words::{count, figure, offered};
use barograph_model::{Bound, Level, Nanos, OpVerdict, Phase, Subject, TrialResult, WindowVerdict};
use barograph_record::{Entry, Purpose, Resources, Trial};
use barograph_spec::MOST_OPERATIONS;
use barograph_stats::judge::{DriverLimits, WindowInput, judge_window};
use barograph_stats::search::TrialObservation;

use super::hopeless::hopeless;
use crate::load_phase::{LoadPhase, LoadWindow};
use crate::{HarnessError, fleet};

/// Measures, judges and records a window of each load.
pub(super) async fn trial(
    drive: &mut LoadPhase<'_, '_>,
    (level, purpose): (Level, Purpose),
    span: Nanos,
) -> Result<Vec<WindowVerdict>, HarnessError> {
    drive.phase(Phase::Hold, span, &format!("{}, measured", super::words(drive, level)))?;
    let (before, wall_before) = (drive.probes.mark(), drive.run.clock.wall_ahead_s());
    // A change that is still in progress affects this window too.
    let (changes_before, changing_until) = drive.changes;
    let going_on = u32::from(changing_until > drive.reached);
    let searching = matches!(purpose, Purpose::Ramp | Purpose::Search | Purpose::Confirm | Purpose::Repeat);
    let spread_for = searching.then(|| drive.reached - drive.crowd_at);
    let operations = drive.run.plan.operations;
    let behaviours: Vec<_> =
        drive.run.loads.iter().map(|load| load.workload.behaviours(&load.checked.plan.profile)).collect();
    let judge = |drive: &LoadPhase<'_, '_>, at: usize, window: &LoadWindow| {
        let host = drive.probes.host_use(&before);
        let (load, of) = (&drive.loads[at], &drive.run.loads[at]);
        let verdict = judge_window(&WindowInput {
            joined: &window.joined,
            parts: &window.parts,
            profile: &load.profile,
            ops: of.workload.ops(),
            measures: of.workload.measures(),
            offered: of.checked.plan.offered(load.level_at(level)),
            operations,
            open: of.checked.open.as_ref(),
            behaviours: behaviours[at].as_ref(),
            host: Some(&host),
            level_changes: drive.changes.0 - changes_before + going_on,
            spread_for,
            driver: limits(of.workload.measures_driver()),
            clock_jump_s: drive.run.clock.wall_ahead_s() - wall_before,
        });
        if load.is_idle(level) { verdict.without_load() } else { verdict }
    };
    // If one window is certain to fail, a search learns nothing more from the others.
    let failed_for_certain = |drive: &LoadPhase<'_, '_>, at: usize, window: &LoadWindow| {
        searching
            && hopeless(&window.joined, &window.parts, (&drive.loads[at].profile, span))
            && judge(drive, at, window).result() == TrialResult::Fail
    };
    let windows = match operations {
        Some(operations) => drive.collect_to_the_end((level, operations), span).await?,
        None => drive.collect(span, failed_for_certain).await?,
    };
    let verdicts: Vec<WindowVerdict> =
        windows.iter().enumerate().map(|(at, window)| judge(drive, at, window)).collect();
    let half = drive.run.plan.driver.interval.as_secs_f64() / 2.0;
    let aborted =
        operations.is_none() && drive.goes_on() && windows[0].joined.seconds() + half < span.as_secs_f64();
    let n = drive.tried() as u32 + 1;
    let requests = windows.iter().flat_map(|window| &window.joined.ops).map(|op| op.requests).sum();
    let users = windows.iter().map(|window| window.joined.users).sum();
    let used = drive.probes.resources(&before, users, requests);
    drive.used.push(used);
    // Resource use by one of several loads is known only if no other load goes to its application.
    let targets: Vec<_> = (0..drive.loads.len()).map(|at| drive.run.application_of(at)).collect();
    let mut judged = Vec::new();
    for ((at, mut verdict), window) in verdicts.into_iter().enumerate().zip(&windows) {
        let load = &mut drive.loads[at];
        fleet::name_the_limit(&mut verdict.checks, &load.window, window.joined.seconds());
        let mut kept = Trial::keep(n, purpose, &verdict);
        (kept.aborted, kept.operations) = (aborted, operations.filter(|n| *n < MOST_OPERATIONS));
        kept.resources = match windows.len() {
            1 => used,
            _ => {
                let alone = targets.iter().filter(|target| **target == targets[at]).count() == 1;
                let app = targets[at].map_or((None, None), |load| drive.probes.used_by(&before, load));
                of_a_load(used, app, (window.joined.users, alone))
            }
        };
        drive.run.record.of_load(at).append(&Entry::Trial(Box::new(kept.clone())))?;
        load.trials.push(kept);
        judged.push(verdict);
    }
    drive.run.done()?;
    show(drive, &judged);
    Ok(judged)
}

/// Shows the last trial of each load.
fn show(drive: &mut LoadPhase<'_, '_>, verdicts: &[WindowVerdict]) {
    for (load, verdict) in drive.loads.iter().zip(verdicts) {
        let name = if load.name.is_empty() { String::new() } else { format!("{}: ", load.name) };
        let line = load.trials.last().map(|kept| line(kept, verdict)).unwrap_or_default();
        drive.run.screen.say(&format!("{name}{line}"));
    }
}

/// Limits of a driver. Its CPU time is not limited if it is part of what is measured.
fn limits(driver_is_measured: bool) -> DriverLimits {
    let usual = DriverLimits::default();
    DriverLimits { busiest_worker: usual.busiest_worker.filter(|_| !driver_is_measured), ..usual }
}

/// Resources of one of several loads: those of its application, per user if the load is `alone` with it;
/// figures of the driver per user or request are left out.
fn of_a_load(
    used: Resources,
    (app_cores, app_rss_bytes): (Option<f64>, Option<u64>),
    (users, alone): (u32, bool),
) -> Resources {
    let per = |cores: f64| (alone && cores > 0.0 && users > 0).then(|| f64::from(users) / cores);
    Resources {
        app_cores,
        app_rss_bytes,
        users_per_app_core: app_cores.and_then(per),
        users_per_driver_core: None,
        driver_cpu_us_per_request: None,
        driver_bytes_per_user: None,
        driver_connections: None,
        ..used
    }
}

/// Result of a trial for a search: that of the worst load.
pub(super) fn observed(drive: &LoadPhase<'_, '_>, verdicts: &[WindowVerdict]) -> TrialObservation {
    let used = &drive.loads[0].trials.last().expect("a trial that was judged is kept").resources;
    let each = || verdicts.iter().map(of_load);
    TrialObservation {
        result: verdicts.iter().map(WindowVerdict::result).fold(TrialResult::Pass, worse),
        margin: each().filter_map(|(margin, _)| margin).max_by(f64::total_cmp),
        in_time: each().filter_map(|(_, in_time)| in_time).min_by(f64::total_cmp),
        throughput: Some(verdicts.iter().map(|verdict| verdict.throughput).sum()),
        cpu: used.host_busy_cores.zip(used.host_cores).map(|(busy, cores)| busy / cores),
    }
}

/// Combines two loads: a valid failure decides, and an invalid window leaves a pass open.
fn worse(a: TrialResult, b: TrialResult) -> TrialResult {
    match (a, b) {
        (TrialResult::Fail, _) | (_, TrialResult::Fail) => TrialResult::Fail,
        (TrialResult::Invalid, _) | (_, TrialResult::Invalid) => TrialResult::Invalid,
        (TrialResult::Pass, TrialResult::Pass) => TrialResult::Pass,
    }
}

/// Distance of a load from its limits, and share of its operations that ended in time.
fn of_load(verdict: &WindowVerdict) -> (Option<f64>, Option<f64>) {
    let limited = || verdict.ops.iter().filter(|op| op.judged && op.count > 0 && op.limit_ms.is_some());
    let margin = |op: &OpVerdict| op.limit_ms.map(|limit| (op.judged_ms / limit).ln());
    let of_host = verdict.rules.iter().filter_map(|rule| match (rule.subject, rule.bound) {
        (Subject::HostCpu, Bound::AtMost(most)) => rule.value.map(|busy| (busy / most).ln()),
        _ => None,
    });
    let all = limited().filter_map(margin).chain(of_host);
    let margin = all.filter(|margin| margin.is_finite()).max_by(f64::total_cmp);
    let count: f64 = limited().map(|op| op.count as f64).sum();
    let late: f64 = limited().map(|op| op.over_limit * op.count as f64).sum();
    (margin, (count > 0.0).then(|| 1.0 - late / count))
}

/// A trial in one line.
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
    let throughput = match verdict.throughput {
        few if few < 10.0 => figure(few),
        many => format!("{many:.0}"),
    };
    let mut text = format!(
        "trial {} ({}): {} {}{early} at {throughput} ops/s{worst}",
        trial.n,
        trial.purpose.name(),
        offered(trial.offered()),
        trial.result.name(),
    );
    for (name, n) in [("late", verdict.late), ("dropped", verdict.dropped), ("skipped", verdict.skipped)] {
        if n > 0 {
            text.push_str(&format!(", {} {name}", count(n)));
        }
    }
    text
}
