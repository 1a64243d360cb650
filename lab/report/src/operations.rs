//! Operations of a window against their rules, in words.

use barograph_record::{ExpectedFigures, OpRecord, RuleRecord, Run, WindowRecord};

use crate::words;

/// A row of the verdict table, every figure in words.
pub(crate) struct OpLine {
    pub(crate) op: String,
    pub(crate) about: String,
    pub(crate) count: String,
    pub(crate) mix: String,
    pub(crate) mix_required: String,
    /// Place of the measured share on a scale where a quarter to three quarters is allowed, percent.
    pub(crate) mix_place: Option<String>,
    pub(crate) p50: String,
    pub(crate) p90: String,
    /// At the judged quantile.
    pub(crate) judged: String,
    pub(crate) max: String,
    /// Response and service time: median, 90 %, 99 %, 99.9 % and the largest.
    pub(crate) times: [(String, String); 5],
    pub(crate) limit: String,
    pub(crate) used: String,
    /// Part of the limit used, percent, at most 100.
    pub(crate) used_width: Option<String>,
    pub(crate) failed: String,
    /// `pass`, `fail` or `quiet`: the class and, in words, the verdict.
    pub(crate) class: &'static str,
    pub(crate) verdict: String,
    pub(crate) time_ok: bool,
    pub(crate) mix_ok: bool,
    pub(crate) failures_ok: bool,
}

/// The judged quantile of an operation, such as `p99`.
pub(crate) fn quantile_name(expected: Option<&ExpectedFigures>, op: &str) -> String {
    let rule = expected.and_then(|e| e.rules.iter().find(|r| r.op == op));
    rule.map_or_else(|| "p99".to_owned(), |r| words::quantile(r.quantile))
}

/// The head of the column of judged quantiles: the common one of all operations with a limit, or a note that
/// they differ.
pub(crate) fn judged_head(window: &WindowRecord, expected: Option<&ExpectedFigures>) -> String {
    let limited = window.ops.iter().filter(|op| op.judged && op.limit_ms.is_some());
    let mut names = limited.map(|op| quantile_name(expected, &op.op));
    match names.next() {
        None => "p99".to_owned(),
        Some(first) if names.all(|name| name == first) => first,
        Some(_) => "judged".to_owned(),
    }
}

/// Whether the 90th percentile has a column beside that of the judged quantile, whose title is given.
pub(crate) fn has_p90(judged_head: &str) -> bool {
    judged_head != "p90"
}

/// A time of an operation, which is none if there was no operation.
pub(crate) fn measured(op: &OpRecord, ms: f64) -> f64 {
    if op.count == 0 { f64::NAN } else { ms }
}

/// Response time at the judged quantile, with its name if it differs from the head of the column: `412`, `p95
/// 412`.
pub(crate) fn judged(op: &OpRecord, (quantile, head): (&str, &str), ms: fn(f64) -> String) -> String {
    // Older records have only the time of the judged quantile; of an operation without a limit that is p99.
    let time = measured(op, if quantile == "p99" { op.p99_ms } else { op.judged_ms });
    if quantile == head { ms(time) } else { format!("{quantile} {}", ms(time)) }
}

/// A further rule, in words.
pub(crate) struct RuleLine {
    pub(crate) name: String,
    pub(crate) found: String,
    pub(crate) required: String,
    /// `None` if no operation ended that it could judge, and none had to.
    pub(crate) holds: Option<bool>,
}

/// The rules of a window without a column in the table of operations.
pub(crate) fn further_rules(window: &WindowRecord) -> Vec<RuleLine> {
    let line = |rule: &RuleRecord| RuleLine {
        name: window.called(rule),
        found: rule.found().unwrap_or_else(|| words::NONE.to_owned()),
        required: rule.required(),
        holds: (!rule.holds || rule.op.is_none() || rule.value.is_some()).then_some(rule.holds),
    };
    window.further_rules().into_iter().map(line).collect()
}

/// Measures of the workload by name, each with its value.
pub(crate) fn measures(window: &WindowRecord) -> Vec<(String, String)> {
    let found = |value: Option<f64>, unit: &str| {
        value.map_or_else(|| words::NONE.to_owned(), |value| format!("{} {unit}", words::figure(value)))
    };
    let all = window.measures.iter();
    all.map(|measure| (measure.title.clone(), found(measure.value, &measure.unit))).collect()
}

/// Broken further rules of the whole load, or of an operation.
pub(crate) fn further_faults(window: &WindowRecord) -> Vec<String> {
    let broken = further_rules(window).into_iter().filter(|rule| rule.holds == Some(false));
    broken.map(|rule| format!("{}: {}, required {}", rule.name, rule.found, rule.required)).collect()
}

/// Faults of an operation, one sentence fragment per broken rule; empty if it passed.
pub(crate) fn faults(op: &OpRecord, quantile: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if op.passed() {
        return faults;
    }
    if op.count == 0 {
        faults.push("never happened".to_owned());
        return faults;
    }
    if let (false, Some(limit)) = (op.time_ok, op.limit_ms) {
        faults.push(format!("{quantile} {}, limit {}", words::time(op.judged_ms), words::time(limit)));
    }
    if !op.mix_ok {
        faults.push(format!(
            "share {}, required {} ± {}",
            words::mix(op.mix),
            words::mix(op.mix_required),
            words::mix(op.mix_slack())
        ));
    }
    if !op.failures_ok {
        let share = op.failed as f64 / op.count as f64;
        faults.push(format!(
            "{} failed, allowed {}",
            words::percent(share),
            words::percent(op.failures_allowed)
        ));
    }
    faults
}

/// The broken rules in short: `time, mix`.
pub(crate) fn broken(op: &OpRecord) -> String {
    let rules = [
        ("time", op.time_ok),
        ("mix", op.mix_ok),
        ("failures", op.failures_ok),
        ("further rules", op.further_ok),
    ];
    let broken: Vec<&str> = rules.iter().filter(|(_, ok)| !ok).map(|(name, _)| *name).collect();
    broken.join(", ")
}

/// Whether any operation has a required share of the mix. Otherwise the columns of the mix are empty.
pub(crate) fn has_mix(window: &WindowRecord) -> bool {
    window.ops.iter().any(|op| op.judged && op.mix_required > 0.0)
}

/// The table of `window`, and the operations left out because they are neither judged nor used.
pub(crate) fn lines(run: &Run, window: &WindowRecord) -> (Vec<OpLine>, Vec<String>) {
    let expected = run.expected();
    let shown = |op: &&OpRecord| op.judged || op.count > 0;
    let head = judged_head(window, expected);
    let lines = window.ops.iter().filter(shown).map(|op| line(op, expected, &head)).collect();
    let absent = window.ops.iter().filter(|op| !shown(op)).map(|op| op.op.clone()).collect();
    (lines, absent)
}

/// The required share with its tolerance, or a note that the sample is too small.
fn mix_required(op: &OpRecord) -> String {
    if !op.judged || op.mix_required <= 0.0 {
        return words::NONE.to_owned();
    }
    let required = words::mix(op.mix_required);
    if op.mix_too_few() {
        return format!("{required}, {}", words::TOO_FEW);
    }
    format!("{required} ± {}", words::mix(op.mix_slack()))
}

fn line(op: &OpRecord, expected: Option<&ExpectedFigures>, head: &str) -> OpLine {
    let rule = expected.and_then(|e| e.rules.iter().find(|r| r.op == op.op));
    let quantile = quantile_name(expected, &op.op);
    let (class, verdict) = match (op.judged, op.passed()) {
        (false, _) => ("quiet", "not judged".to_owned()),
        (true, true) if op.count == 0 => ("quiet", words::NO_OPERATIONS.to_owned()),
        (true, true) => ("pass", "pass".to_owned()),
        (true, false) => ("fail", format!("fail: {}", broken(op))),
    };
    let used = op.limit_share();
    let slack = op.mix_slack();
    let mix_place = (op.judged && op.mix_required > 0.0 && slack > 0.0 && op.mix.is_finite()).then(|| {
        let place = 50.0 + (op.mix - op.mix_required) / slack * 25.0;
        format!("{:.1}", place.clamp(1.0, 99.0))
    });
    OpLine {
        op: op.op.clone(),
        about: rule.map_or_else(String::new, |r| r.about.clone()),
        count: words::count(op.count),
        mix: words::mix(op.mix),
        mix_required: mix_required(op),
        mix_place,
        p50: words::ms(measured(op, op.p50_ms)),
        p90: words::ms(measured(op, op.p90_ms)),
        judged: judged(op, (&quantile, head), words::ms),
        max: words::ms(measured(op, op.max_ms)),
        times: [
            (op.p50_ms, op.service_p50_ms),
            (op.p90_ms, op.service_p90_ms),
            (op.p99_ms, op.service_p99_ms),
            (op.p999_ms, op.service_p999_ms),
            (op.max_ms, op.service_max_ms),
        ]
        .map(|(response, service)| {
            (words::ms_fine(measured(op, response)), words::ms_fine(measured(op, service)))
        }),
        limit: op.limit_ms.map_or_else(|| words::NONE.to_owned(), words::ms),
        used: used.map_or_else(|| words::NONE.to_owned(), words::percent),
        used_width: used.filter(|u| u.is_finite()).map(|u| format!("{:.1}", (u * 100.0).clamp(0.5, 100.0))),
        failed: if op.failed == 0 {
            "0".to_owned()
        } else {
            format!(
                "{} ({})",
                words::count(op.failed),
                words::percent(op.failed as f64 / op.count.max(1) as f64)
            )
        },
        class,
        verdict,
        time_ok: op.time_ok || !op.judged,
        mix_ok: op.mix_ok || !op.judged,
        failures_ok: op.failures_ok || !op.judged,
    }
}
