//! Events of the page, as JSON.

use barograph_model::words;
use barograph_record::{OpRecord, PartRecord, ProbeRow, ResultRecord, Trial};
use barograph_stats::search::{EdgeProgress, SearchProgress};
use serde::Serialize;

use crate::moment::{Op, PageContent, Point, quantile_ms};

/// The whole page. Times ending in `_s` are in seconds, in `_ms` in milliseconds; shares are 0 to 1.
#[derive(Debug, Serialize)]
pub(crate) struct View<'m> {
    title: &'m str,
    /// `run 3 of 12`; empty for a single run.
    turn: &'m str,
    run: &'m str,
    tool: &'m str,
    phase: &'static str,
    about: &'m str,
    done: f64,
    remaining_s: Option<f64>,
    /// Of this run and those after it.
    all_remaining_s: Option<f64>,
    elapsed_s: f64,
    /// Level asked for; absent before the load.
    level: Option<f64>,
    /// Unit of levels: `users` or `starts/s`.
    unit: &'static str,
    users: u32,
    rate: f64,
    in_flight: f64,
    busiest_worker: f64,
    lag_p99_ms: Option<f64>,
    late: u64,
    dropped: u64,
    skipped: u64,
    /// Share of failures among all that ended in this phase.
    failed_share: Option<f64>,
    points: Vec<PointView>,
    ops: Vec<OpView<'m>>,
    uses: Vec<UseView<'m>>,
    platform: &'m str,
    parts: Vec<PartView<'m>>,
    trials: Vec<TrialView<'m>>,
    highest_pass: Option<u32>,
    lowest_fail: Option<u32>,
    /// State of a search; absent before its first trial.
    so_far: Option<SearchProgressView>,
    verdict: Option<&'m str>,
    lines: Vec<&'m str>,
    ended: Option<&'m [String]>,
}

/// State of a search. Levels are in the unit of the view.
#[derive(Debug, Serialize)]
struct SearchProgressView {
    words: String,
    trials: u32,
    most_trials: u32,
    /// Ends and median of the 95 % interval of the capacity; absent if the method has none, and the upper end
    /// while it is open.
    low: Option<f64>,
    capacity: Option<f64>,
    high: Option<f64>,
}

/// End of the interval in seconds, operations per second, failures per second, p50 and p99 in milliseconds.
type PointView = (f64, f64, f64, Option<f64>, Option<f64>);

#[derive(Debug, Serialize)]
struct OpView<'m> {
    name: &'m str,
    about: &'m str,
    rate: f64,
    count: u64,
    failed: u64,
    p50_ms: Option<f64>,
    /// The judged response time, followed by its quantile.
    judged_ms: Option<f64>,
    quantile: f64,
    limit_ms: Option<f64>,
    latest_p99_ms: Option<f64>,
}

#[derive(Debug, Serialize)]
struct UseView<'m> {
    subject: &'m str,
    cores: Option<f64>,
    memory_bytes: Option<u64>,
    received_bytes_per_s: Option<f64>,
    sent_bytes_per_s: Option<f64>,
    written_bytes_per_s: Option<f64>,
    cpu_pressure_percent: Option<f64>,
}

#[derive(Debug, Serialize)]
struct PartView<'m> {
    name: &'m str,
    tier: &'m str,
    service: &'m str,
    version: &'m str,
    host: &'m str,
    uses: String,
    start_s: f64,
}

#[derive(Debug, Serialize)]
struct TrialView<'m> {
    n: u32,
    purpose: &'static str,
    level: f64,
    load: String,
    result: &'static str,
    throughput: f64,
    /// The operation closest to its limit, with its judged quantile as a share of the limit.
    closest: Option<(&'m str, f64)>,
}

/// Rounds to four significant digits: more are not readable, and the text becomes half as long.
fn short(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return 0.0;
    }
    let scale = 10_f64.powi(3 - x.abs().log10().floor() as i32);
    (x * scale).round() / scale
}

/// Seconds since the load began, rounded to a tenth: four significant digits would put all points after an
/// hour on whole seconds, and after a day on tens of seconds.
fn tenths(seconds: f64) -> f64 {
    if seconds.is_finite() { (seconds * 10.0).round() / 10.0 } else { 0.0 }
}

impl<'m> View<'m> {
    pub(crate) fn of(moment: &'m PageContent) -> Self {
        let (count, failed) = moment.ops.iter().fold((0, 0), |sum, op| (sum.0 + op.count, sum.1 + op.failed));
        let levels = |wanted: ResultRecord| {
            moment.trials.iter().filter(move |trial| trial.result == wanted).map(|trial| trial.level.whole())
        };
        View {
            title: &moment.title,
            turn: moment.turn.as_ref().map_or("", |turn| &turn.words),
            run: &moment.run,
            tool: &moment.tool,
            phase: moment.phase.name(),
            about: &moment.about,
            done: short(moment.done),
            remaining_s: moment.remaining.map(|left| left.as_secs_f64().round()),
            all_remaining_s: moment.all_remaining().map(|left| left.as_secs_f64().round()),
            elapsed_s: tenths(moment.elapsed.as_secs_f64()),
            level: Some(moment.offered.level.into()).filter(|level| *level > 0.0),
            unit: moment.offered.unit.name(),
            users: moment.latest.users,
            rate: short(moment.latest.rate),
            in_flight: short(moment.latest.in_flight),
            busiest_worker: short(moment.latest.busiest_worker),
            lag_p99_ms: moment.latest.lag_p99_ms.map(short),
            late: moment.latest.late,
            dropped: moment.latest.dropped,
            skipped: moment.latest.skipped,
            failed_share: (count > 0).then(|| short(failed as f64 / count as f64)),
            points: moment.points.iter().map(point).collect(),
            ops: moment.ops.iter().filter(|op| op.seen).map(|op| OpView::of(moment, op)).collect(),
            uses: moment.uses.iter().map(UseView::of).collect(),
            platform: &moment.platform,
            parts: moment.parts.iter().map(PartView::of).collect(),
            trials: moment.trials.iter().map(TrialView::of).collect(),
            highest_pass: levels(ResultRecord::Pass).max(),
            lowest_fail: levels(ResultRecord::Fail).min(),
            so_far: moment.so_far.as_ref().map(SearchProgressView::of),
            verdict: moment.verdict.as_ref().map(|verdict| verdict.sentence.as_str()),
            lines: moment.lines.iter().map(String::as_str).collect(),
            ended: moment.ended.as_deref(),
        }
    }
}

fn point(point: &Point) -> PointView {
    let (at_s, rate, failed) = (tenths(point.at_s), short(point.rate), short(point.failed_rate));
    (at_s, rate, failed, point.p50_ms.map(short), point.p99_ms.map(short))
}

impl<'m> OpView<'m> {
    fn of(moment: &'m PageContent, op: &'m Op) -> Self {
        let rule = moment.rule(&op.name);
        let quantile = rule.map_or(0.99, |rule| rule.quantile);
        OpView {
            name: &op.name,
            about: rule.map_or("", |rule| &rule.about),
            rate: if moment.seconds > 0.0 { short(op.count as f64 / moment.seconds) } else { 0.0 },
            count: op.count,
            failed: op.failed,
            p50_ms: quantile_ms(&op.response, 0.5).map(short),
            judged_ms: quantile_ms(&op.response, quantile).map(short),
            quantile,
            limit_ms: rule.and_then(|rule| rule.limit_ms),
            latest_p99_ms: op.latest_p99_ms.map(short),
        }
    }
}

impl<'m> UseView<'m> {
    fn of(row: &'m ProbeRow) -> Self {
        UseView {
            subject: &row.subject,
            cores: row.cores().map(short),
            memory_bytes: row.rss_bytes,
            received_bytes_per_s: row.net_rx_bytes_s.map(short),
            sent_bytes_per_s: row.net_tx_bytes_s.map(short),
            written_bytes_per_s: row.disk_write_bytes_s.map(short),
            cpu_pressure_percent: row.psi_cpu.map(short),
        }
    }
}

impl<'m> PartView<'m> {
    fn of(part: &'m PartRecord) -> Self {
        PartView {
            name: &part.name,
            tier: &part.tier,
            service: &part.service,
            version: &part.version,
            host: &part.host,
            uses: part.uses.join(", "),
            start_s: short(part.start_s),
        }
    }
}

impl SearchProgressView {
    fn of(so_far: &SearchProgress) -> Self {
        let (low, capacity, high) = match so_far.edge {
            EdgeProgress::Interval { low, capacity, high } => (Some(low), Some(capacity), high),
            EdgeProgress::Bracket { .. } | EdgeProgress::Unknown => (None, None, None),
        };
        SearchProgressView {
            words: so_far.words(),
            trials: so_far.trials,
            most_trials: so_far.most_trials,
            low: low.map(short),
            capacity: capacity.map(short),
            high: high.map(short),
        }
    }
}

impl<'m> TrialView<'m> {
    fn of(trial: &'m Trial) -> Self {
        let shares =
            trial.window.ops.iter().filter_map(|op: &OpRecord| Some((op.op.as_str(), op.limit_share()?)));
        let closest = shares.max_by(|a, b| a.1.total_cmp(&b.1));
        TrialView {
            n: trial.n,
            purpose: trial.purpose.name(),
            level: trial.level.into(),
            load: words::offered(trial.offered()),
            result: trial.result.name(),
            throughput: short(trial.window.throughput),
            closest: closest.map(|(op, share)| (op, short(share))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moment::tests::{expected, second};
    use barograph_model::{LoadUnit, Phase};

    #[test]
    fn what_a_search_knows_by_now_is_words_and_ends() {
        let mut moment = PageContent::new("x");
        assert!(serde_json::to_value(View::of(&moment)).unwrap()["so_far"].is_null());
        let edge = EdgeProgress::Interval { low: 11_237.4, capacity: 12_000.0, high: None };
        moment.so_far = Some(SearchProgress { unit: LoadUnit::Users, trials: 5, most_trials: 9, edge });
        let told = &serde_json::to_value(View::of(&moment)).unwrap()["so_far"];
        assert_eq!(
            *told,
            serde_json::json!({
                "words": "so far: capacity 11,200 users or more (97.5 %), trial 5 of at most 9",
                "trials": 5, "most_trials": 9, "low": 11_240.0, "capacity": 12_000.0, "high": null,
            })
        );
    }

    #[test]
    fn four_digits_count() {
        assert_eq!(
            [0.0, 123_456.0, 0.012_345_6, -1.0, 9.999_96].map(short),
            [0.0, 123_500.0, 0.012_35, -1.0, 10.0]
        );
        assert_eq!(short(f64::NAN), 0.0);
    }

    #[test]
    fn intervals_of_a_long_run_keep_their_places() {
        assert_eq!([0.0, 0.5, 3_599.25, 86_399.96, f64::NAN].map(tenths), [0.0, 0.5, 3_599.3, 86_400.0, 0.0]);
    }

    #[test]
    fn a_view_holds_figures_against_limits() {
        let mut moment = PageContent::new("a <title>");
        moment.entry(&expected(&[("Buy", Some(5.0)), ("Poll", None)]));
        moment.begin(Phase::Hold, "50 users, measured");
        moment.interval(&second(0, 1_000, 4), &["Buy", "Poll"]);
        moment.say("a line");
        let json = serde_json::to_value(View::of(&moment)).unwrap();
        assert_eq!(
            (&json["phase"], &json["rate"], &json["failed_share"]),
            (&"hold".into(), &1000.0.into(), &0.01.into())
        );
        let ops = json["ops"].as_array().unwrap();
        assert_eq!(ops.len(), 1, "what never ended is not shown");
        assert_eq!((&ops[0]["limit_ms"], &ops[0]["judged_ms"]), (&5.0.into(), &4.001.into()));
        assert_eq!((&json["lines"][0], &json["ended"]), (&"a line".into(), &serde_json::Value::Null));
        assert_eq!((&json["turn"], &json["all_remaining_s"]), (&"".into(), &serde_json::Value::Null));
        assert_eq!(json["points"][0][0], 1.0);
    }
}
