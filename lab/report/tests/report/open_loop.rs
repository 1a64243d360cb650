//! The report of a made-up open loop on an existing target: rates, late and dropped arrivals.

use std::fs;
use std::path::{Path, PathBuf};

use barograph_model::{
    LoadUnit, Nanos, OfferedLoad, OpId, OpSpec, OpenLoop, Outcome, Phase, Profile, QosRule, Share, StartOf,
};
use barograph_record::{
    Entry, ExpectedFigures, Header, LoadStarted, ProbeRow, Purpose, RecordError, Resources, Run, RunWriter,
    SearchBound, SearchSummary, Trial, UnitRecord, VERSION, Verdict,
};
use barograph_report::{render_html, terminal_summary};
use barograph_stats::judge::{DriverLimits, WindowInput, judge_window};
use barograph_stats::{Interval, IntervalSummary};

const OPS: [OpSpec; 2] =
    [OpSpec { name: "Search", about: "Looks for something." }, OpSpec { name: "Buy", about: "Buys it." }];

/// Rate, seconds from and to, purpose.
const TRIALS: [(u32, u64, u64, Purpose); 4] = [
    (11_500, 20, 40, Purpose::Search),
    (12_650, 45, 65, Purpose::Search),
    (12_100, 70, 90, Purpose::Search),
    (12_100, 92, 122, Purpose::Confirm),
];

/// Highest rate of the target; above it, arrivals pile up.
const CARRIED: f64 = 12_300.0;

fn profile() -> Profile {
    let rule = |op, quantile, ms| QosRule {
        op: OpId(op),
        quantile: Share::percent(quantile),
        limit: Some(Nanos::from_millis(ms)),
        judged: true,
        mix: Share::ZERO,
        mix_tolerance: Share::ZERO,
        failures: Share::percent(1.0),
    };
    Profile::usual("default", &[rule(0, 99.0, 100), rule(1, 99.9, 250)], None)
}

fn rate_at(second: u64) -> f64 {
    let trial = TRIALS.iter().find(|t| second < t.2).unwrap_or(&TRIALS[3]);
    if second < 13 { 10.0 * 2f64.powf(second as f64 * 0.8) } else { f64::from(trial.0) }
}

/// One second: response times rise as the rate approaches the target's highest.
fn interval(second: u64) -> Interval {
    let rate = rate_at(second);
    let (overload, busy) = (rate > CARRIED, (rate / CARRIED).min(0.97));
    let mut interval = Interval::new(OPS.len());
    (interval.from, interval.to) = (Nanos::from_secs(second), Nanos::from_secs(second + 1));
    interval.starts = rate as u64;
    let wobble = 1.0 + ((second * 7) % 5) as f64 * 0.02;
    for (op, (share, usual_ms, limit)) in
        interval.ops.iter_mut().zip([(0.9, 1.2, 100_000), (0.1, 4.0, 250_000)])
    {
        let ended = (rate.min(CARRIED) * share) as u64;
        for step in 1..=20u64 {
            // Twenty points of an exponential tail, each standing for a twentieth.
            let tail = -(1.0 - (step as f64 - 0.5) / 20.0).ln();
            // Above that rate, requests queue in the target as well as arrivals in the driver.
            let queued = if overload { 130_000.0 } else { 0.0 };
            let service =
                (queued + usual_ms * 1e3 * (0.4 + 0.6 * tail / (1.0 - busy).sqrt()) * wobble) as u64;
            let waited = if overload { 40_000 } else { 60 };
            let n = (ended / 20).max(1);
            op.service.record_n(service, n as u32).unwrap();
            op.response.record_n(service + waited, n as u32).unwrap();
            op.outcomes[Outcome::Good.index()] += n;
            op.requests += n;
            op.response_sum_s += (service + waited) as f64 / 1e6 * n as f64;
            op.service_sum_s += service as f64 / 1e6 * n as f64;
            if service + waited > limit {
                op.over_limit += n
            } else {
                op.good_in_time += n
            }
            interval.in_flight_s += service as f64 / 1e6 * n as f64;
        }
    }
    if overload {
        (interval.late, interval.dropped) = (4_000 + second * 30, second.saturating_sub(40) * 20);
    }
    interval.users = if overload { 1_700 } else { (interval.in_flight_s as u32).max(1) };
    interval.lag.record_n(40, interval.starts as u32 * 98 / 100).unwrap();
    interval.lag.record_n(150, interval.starts as u32 / 50 + 1).unwrap();
    interval.worker_cpu_s = rate * 11e-6;
    interval.busiest_worker_cpu_s = interval.worker_cpu_s;
    interval
}

fn trial(n: usize, parts: &[Interval]) -> Trial {
    let (level, .., purpose) = TRIALS[n];
    let (joined, profile) = (Interval::joined(parts).unwrap(), profile());
    let summed: Vec<IntervalSummary> = parts.iter().map(|part| IntervalSummary::of(part, &profile)).collect();
    let arrivals = barograph_model::Arrivals::Constant;
    let open = OpenLoop { arrivals, start_of: StartOf::Operation, most_users: 1_700, most_waiting: 10_000 };
    let verdict = judge_window(&WindowInput {
        joined: &joined,
        parts: &summed,
        profile: &profile,
        ops: &OPS,
        measures: &[],
        offered: OfferedLoad { unit: LoadUnit::PerSecond, level: level.into() },
        operations: None,
        open: Some(&open),
        behaviours: None,
        host: None,
        level_changes: 0,
        spread_for: None,
        driver: DriverLimits::default(),
        clock_jump_s: 0.001,
    });
    Trial::keep(n as u32 + 1, purpose, &verdict)
}

fn beginning(writer: &mut RunWriter) -> Result<(), RecordError> {
    writer.plan("workload = \"scenario\"\n\n[load]\nunit = \"rate\"\n")?;
    writer.append(&Entry::Header(Header {
        v: VERSION,
        id: "20301120-184500-04f2".to_owned(),
        tool: "barograph 0.2.0 (1a2b3c4)".to_owned(),
        started_at: "2030-11-20T18:45:00Z".to_owned(),
        command: "barograph run plans/shop-rate.toml".to_owned(),
    }))?;
    let mut expected = ExpectedFigures::keep("scenario", &profile(), &OPS, None);
    expected.unit = UnitRecord::StartsPerSecond;
    expected.target = Some("127.0.0.1:8080".to_owned());
    writer.append(&Entry::Expected(expected))?;
    writer.append(&Entry::phase_started(Phase::Ramp, 0.2))?;
    writer.append(&Entry::LoadStarted(LoadStarted { at_s: 0.2 }))
}

fn ending(writer: &mut RunWriter) -> Result<(), RecordError> {
    writer.append(&Entry::Verdict(Box::new(Verdict {
        unit: UnitRecord::StartsPerSecond,
        capacity: Some(12_100),
        trial: Some(4),
        passed: true,
        valid: true,
        sentence: "The target holds 12,100 starts/s at 127.0.0.1:8080, confirmed by a second window; at 12,650 starts/s, \
                   Search took 184 ms at the judged quantile, allowed are 100 ms."
            .to_owned(),
        exit_code: 0,
        reasons: vec![],
        doubts: vec![],
        resources: Resources {
            host_cores: Some(2.0),
            driver_cores: Some(0.13),
            driver_cpu_us_per_request: Some(11.0),
            driver_rss_bytes: Some(19_000_000),
            driver_bytes_per_user: Some(6_100.0),
            driver_connections: Some(500),
            ..Resources::default()
        },
        search: Some(SearchSummary {
            highest_pass: Some(12_100),
            lowest_fail: Some(12_650),
            bounded_by: SearchBound::Words { words: "a higher level that failed".to_owned() },
            trials: 4,
            confirmed: true,
            ..SearchSummary::default()
        }),
        ..Verdict::default()
    })))?;
    writer.disclosure(&serde_json::json!({ "seed": 1, "host": { "cores": 2 } }))?;
    writer.finish()
}

fn written(root: &Path) -> Result<PathBuf, RecordError> {
    let mut writer = RunWriter::create(root, &"20301120-184500-04f2".parse().unwrap())?;
    beginning(&mut writer)?;
    let mut window: Vec<Interval> = Vec::new();
    for second in 0..124 {
        let found = interval(second);
        if second == 13 {
            writer.append(&Entry::phase_done(Phase::Ramp, 13.2))?;
            writer.append(&Entry::phase_started(Phase::Hold, 13.2))?;
        }
        writer.interval(&found, &OPS.map(|op| op.name))?;
        writer.probe(&ProbeRow {
            at_s: second as f64 + 1.2,
            subject: "driver".to_owned(),
            cpu_user_cores: Some(found.worker_cpu_s),
            rss_bytes: Some(18_000_000 + u64::from(found.users) * 2_000),
            ..ProbeRow::default()
        })?;
        if let Some(n) = TRIALS.iter().position(|t| (t.1..t.2).contains(&second)) {
            window.push(found);
            if second + 1 == TRIALS[n].2 {
                writer.append(&Entry::Trial(Box::new(trial(n, &window))))?;
                window.clear();
            }
        }
    }
    writer.append(&Entry::phase_done(Phase::Hold, 124.2))?;
    ending(&mut writer)?;
    Ok(writer.dir().to_owned())
}

#[test]
fn an_open_loop_is_shown_in_its_unit_and_without_what_it_has_not() {
    let root = tempfile::tempdir().unwrap();
    let run = Run::open(&written(root.path()).unwrap()).unwrap();
    let html = render_html(&run).unwrap();
    crate::check_form(&html);
    for piece in [
        "12,100</b> <span>starts/s",
        "Response time against starts/s",
        "What gave way first, at 12,650 starts/s",
        "capacity 12,100",
        "11.0</b> <span>µs per request",
        "500</b> <span>open at the end",
        "target 127.0.0.1:8080",
        "<th scope=\"col\">Starts/s</th>",
        "trial 4, 12,100 starts/s, 30 s",
        "<title id=\"arrivals-t\">Starts per second</title>",
        " late; 5,800 dropped",
        "an arrival that finds no free user",
        "Response and service time side by side",
    ] {
        assert!(html.to_lowercase().contains(&piece.to_lowercase()), "`{piece}` is missing");
    }
    for absent in [
        "Expected and measured",
        "The data under it",
        "<th scope=\"col\" colspan=\"2\">Mix</th>",
        "users per core</span>",
    ] {
        assert!(!html.contains(absent), "`{absent}` makes no sense here");
    }
    // The dots of the ramp lie on the scale of the rate.
    assert!(html.contains("ramp-dot"));
    let results: Vec<&str> = run.trials().map(|t| t.result.name()).collect();
    assert_eq!(results, ["pass", "fail", "pass", "pass"]);
}

#[test]
fn the_table_of_an_open_loop_shows_the_tail_in_the_place_of_the_mix() {
    let root = tempfile::tempdir().unwrap();
    let run = Run::open(&written(root.path()).unwrap()).unwrap();
    let summary = terminal_summary(&run);
    insta::assert_snapshot!(summary.lines().take(6).collect::<Vec<_>>().join("\n"), @r"
────────────────────────────────────────────────────────────────────────────────────────────────
 operation    count  p50 ms   p90      judged  p99.9   max  service p99  limit  failed  verdict
────────────────────────────────────────────────────────────────────────────────────────────────
 Search     326,400    3.47  9.92    p99 16.8   17.2  17.2         16.8    100       0  pass
 Buy         36,000    11.4  32.9  p99.9 57.0   57.0  57.0         55.9    250       0  pass
────────────────────────────────────────────────────────────────────────────────────────────────
");
    assert!(summary.lines().take(6).all(|line| line.chars().count() <= 110), "{summary}");
    assert!(summary.contains("Capacity: 12,100 starts/s") && !summary.contains("mix"), "{summary}");
}

#[test]
fn a_record_of_version_1_has_a_report() {
    let root = tempfile::tempdir().unwrap();
    let dir = written(root.path()).unwrap();
    let lines = fs::read_to_string(dir.join("run.jsonl")).unwrap();
    // Without the keys that version 1 lacked.
    let old = lines
        .replace("\"v\":2", "\"v\":1")
        .replace("\"unit\":\"starts_per_second\",", "")
        .replace("\"level\":", "\"users\":")
        .replace(",\"late\":", ",\"x\":")
        .replace(",\"starts_s\":", ",\"y\":");
    fs::write(dir.join("run.jsonl"), old).unwrap();
    let run = Run::open(&dir).unwrap();
    assert_eq!(run.damage, Vec::<String>::new());
    let html = render_html(&run).unwrap();
    crate::check_form(&html);
    assert!(html.contains("12,100</b> <span>users"));
}
