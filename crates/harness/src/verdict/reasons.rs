//! Why a trial did not pass, or cannot be believed, in words.

use barograph_model::words::{count, millis, quantile};
use barograph_record::{KeptOp, KeptResult, KeptRule, KeptSubject, KeptWindow, Trial};

/// The failed trial with the lowest level.
pub(super) fn lowest_failure<'t>(trials: &[&'t Trial]) -> Option<&'t Trial> {
    trials.iter().filter(|t| t.result == KeptResult::Fail).min_by_key(|t| t.level).copied()
}

/// The trial that could not be believed with the lowest level.
pub(super) fn lowest_disbelieved<'t>(trials: &[&'t Trial]) -> Option<&'t Trial> {
    trials.iter().filter(|t| !t.window.valid).min_by_key(|t| t.level).copied()
}

/// Names of the validity checks of a trial that did not hold.
pub(super) fn disbelieved_by(trial: &Trial) -> Vec<&str> {
    trial.window.checks.iter().filter(|c| !c.ok).map(|c| c.name.as_str()).collect()
}

/// Why a trial did not pass or cannot be believed, worst first.
pub(super) fn reasons_of(trial: &Trial) -> Vec<String> {
    let mut ops: Vec<&KeptOp> = trial.window.ops.iter().filter(|op| !op.passed()).collect();
    let share = |op: &KeptOp| op.limit_share().unwrap_or(0.0);
    ops.sort_by(|a, b| share(b).total_cmp(&share(a)));
    let usual = ops.into_iter().flat_map(|op| op_reasons(op, &trial.window));
    let usual = usual.chain(further_reasons(&trial.window));
    only_failures(&trial.window).into_iter().chain(usual).chain(doubts_of(trial)).collect()
}

/// That every operation failed, where no rule on failures says it.
fn only_failures(window: &KeptWindow) -> Option<String> {
    let ended: u64 = window.ops.iter().map(|op| op.count).sum();
    let failed = ended > 0 && window.ops.iter().all(|op| op.failed == op.count);
    let is_said = window.ops.iter().any(|op| op.count > 0 && !op.failures_ok && op.judged);
    (failed && !is_said).then(|| "every operation failed".to_owned())
}

/// The further rules that did not hold. Of an operation that did not happen enough is said.
fn further_reasons(window: &KeptWindow) -> Vec<String> {
    let happened = |rule: &KeptRule| {
        let of_rule = |op: &&KeptOp| Some(op.op.as_str()) == rule.op.as_deref();
        window.ops.iter().find(of_rule).is_none_or(|op| op.count > 0)
    };
    let broken = window.further_rules().into_iter().filter(|rule| !rule.holds && happened(rule));
    broken
        .map(|rule| {
            let found =
                rule.found().map_or_else(|| "has no value".to_owned(), |found| format!("was {found}"));
            format!("{} {found}, required is {}", window.called(rule), rule.required())
        })
        .collect()
}

/// Why a trial cannot be believed: its checks that did not hold.
pub(super) fn doubts_of(trial: &Trial) -> Vec<String> {
    let checks = trial.window.checks.iter().filter(|c| !c.ok);
    checks.map(|c| format!("not valid: {} was {}, allowed is {}", c.name, c.found, c.allowed)).collect()
}

fn op_reasons(op: &KeptOp, window: &KeptWindow) -> Vec<String> {
    let mut reasons = Vec::new();
    if op.count == 0 {
        return vec![format!("{} did not happen", op.op)];
    }
    if let Some(limit) = op.limit_ms.filter(|_| !op.time_ok) {
        reasons.push(format!(
            "{} took {} at {}, allowed are {}",
            op.op,
            time(op.judged_ms),
            judged_quantile(op, window),
            time(limit)
        ));
    }
    if !op.mix_ok {
        let by_chance = op.mix_chance > op.mix_required * op.mix_tolerance;
        let why = if by_chance { ", which chance makes in so few" } else { "" };
        reasons.push(format!(
            "{} was {:.2} % of the mix, required are {:.2} % within {:.0} %{why}",
            op.op,
            op.mix * 100.0,
            op.mix_required * 100.0,
            op.mix_slack() / op.mix_required * 100.0
        ));
    }
    if !op.failures_ok {
        let failed = op.failed as f64 / op.count as f64 * 100.0;
        let allowed = op.failures_allowed * 100.0;
        reasons
            .push(format!("{} failed in {failed:.2} % of its operations, allowed are {allowed:.2} %", op.op));
    }
    reasons
}

/// The quantile that the limit of an operation is for, where the record says it.
fn judged_quantile(op: &KeptOp, window: &KeptWindow) -> String {
    let of_op = |rule: &&KeptRule| {
        rule.subject == KeptSubject::Response
            && rule.op.as_ref() == Some(&op.op)
            && Some(rule.limit) == op.limit_ms
    };
    let share = window.rules.iter().find(of_op).and_then(|rule| rule.quantile);
    share.map_or_else(|| "the judged quantile".to_owned(), quantile)
}

/// Milliseconds; long ones with their thousands apart.
fn time(ms: f64) -> String {
    if ms >= 100.0 { format!("{} ms", count(ms.round() as u64)) } else { millis(ms) }
}
