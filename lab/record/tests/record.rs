//! Records written, broken and read back.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use barograph_model::{
    Amount, BetterWhen, Bound, Check, CheckFacts, CheckId, ChosenWindow, CounterId, Formula, Level, LoadUnit,
    MeasureSpec, MeasureValue, Metric, Nanos, OfferedLoad, OpId, OpVerdict, Outcome, Phase, RuleVerdict,
    Share, Subject, WindowVerdict,
};
use barograph_record::{
    Control, Entry, Figure, Fill, Header, LoadStarted, LogReader, Note, ProbeRow, Purpose, RecordError,
    Resources, RuleRecord, Run, RunFinished, RunId, RunInterrupted, RunWriter, TileLoadRecord, TilesRecord,
    Trial, UnitRecord, UnknownEntry, VERSION, Verdict, WindowRecord, draft_of, list, remove_drafts,
    write_whole,
};
use barograph_stats::{Histogram, Interval};
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

const NAMES: [&str; 3] = ["HomePage", "Login", "GetNextBid"];

fn id() -> RunId {
    "20301120-184500-04f2".parse().unwrap()
}

fn header() -> Entry {
    Entry::Header(Header {
        v: VERSION,
        id: id().to_string(),
        tool: "0.1.0".to_owned(),
        started_at: "2030-11-20T18:45:00Z".to_owned(),
        command: "barograph run".to_owned(),
    })
}

fn window() -> WindowVerdict {
    let op = OpVerdict {
        op: "Login".to_owned(),
        count: 40,
        failed: 1,
        mix: 0.5,
        mix_required: 0.4,
        mix_tolerance: 0.2,
        mix_chance: 0.05,
        mean_ms: 4.5,
        p50_ms: 3.5,
        p90_ms: 7.0,
        p95_ms: 8.0,
        p99_ms: f64::NAN,
        p999_ms: 98.0,
        max_ms: 99.0,
        service_mean_ms: 3.25,
        service_p50_ms: 3.0,
        service_p90_ms: 6.0,
        service_p95_ms: 7.0,
        service_p99_ms: 40.0,
        service_p999_ms: 90.0,
        service_max_ms: 95.0,
        judged_ms: 41.0,
        limit_ms: Some(2000.0),
        over_limit: 0.0,
        failures_allowed: 0.005,
        judged: true,
        time_ok: true,
        mix_ok: false,
        failures_ok: true,
        further_ok: true,
    };
    let lag = CheckFacts::StartLag { p99_ms: 3.0, most_ms: 100.0, is_limited: true };
    let check = Check::new(CheckId::StartLag, lag, true);
    WindowVerdict {
        offered: OfferedLoad { unit: LoadUnit::PerSecond, level: 1000.into() },
        users: 60,
        from_s: 10.0,
        to_s: 40.0,
        throughput: 300.25,
        goodput: 299.0,
        requests_s: 520.0,
        starts_s: 999.5,
        late: 12,
        dropped: 3,
        skipped: 0,
        lag_p50_ms: 0.05,
        lag_p99_ms: 0.2,
        ops: vec![op],
        checks: vec![check],
        rules: vec![],
        measures: vec![MeasureValue { spec: HIT_SHARE, value: Some(87.5) }],
    }
}

fn verdict() -> Verdict {
    Verdict {
        unit: UnitRecord::StartsPerSecond,
        capacity: Some(1000),
        trial: Some(1),
        passed: false,
        valid: true,
        sentence: "This machine holds 1,000 users.".to_owned(),
        exit_code: 4,
        reasons: vec!["Login: mix".to_owned()],
        doubts: vec!["the clock was set".to_owned()],
        resources: Resources { app_cores: Some(0.8), ..Resources::default() },
        search: None,
        ..Verdict::default()
    }
}

const HIT_SHARE: MeasureSpec = MeasureSpec {
    id: "hit_share",
    title: "hit share",
    unit: "%",
    better: BetterWhen::Higher,
    formula: Formula::percent(Amount::Counter(CounterId(0)), Amount::Counter(CounterId(1))),
};

const MISS_SHARE: MeasureSpec = MeasureSpec { id: "miss_share", ..HIT_SHARE };

fn interval(from_s: u64, samples: u64) -> Interval {
    let mut interval = Interval::new(NAMES.len());
    interval.from = Nanos::from_secs(from_s);
    interval.to = Nanos::from_secs(from_s + 1);
    interval.users = 7;
    interval.starts = samples;
    (interval.late, interval.dropped, interval.skipped) = (3, 2, 1);
    for n in 0..samples {
        let op = &mut interval.ops[1];
        op.response.record(1_000 + n * 10).unwrap();
        op.service.record(900 + n * 10).unwrap();
        op.outcomes[Outcome::Good.index()] += 1;
        op.requests += 2;
        interval.lag.record(100).unwrap();
    }
    interval.counters.raise(CounterId(1), samples);
    interval
}

fn written(root: &Path) -> PathBuf {
    let mut writer = RunWriter::create(root, &id()).unwrap();
    writer.plan("seed = 1\n").unwrap();
    writer.append(&header()).unwrap();
    writer.append(&Entry::phase_started(Phase::Fill, 0.1)).unwrap();
    writer.append(&Entry::phase_done(Phase::Fill, 2.0)).unwrap();
    writer.append(&Entry::phase_started(Phase::Hold, 3.0)).unwrap();
    writer.append(&Entry::LoadStarted(LoadStarted { at_s: 3.5 })).unwrap();
    for n in 0..4 {
        writer.interval(&interval(n, n * 100), &NAMES).unwrap();
    }
    let row = ProbeRow { at_s: 4.0, subject: "app".to_owned(), rss_bytes: Some(5), ..ProbeRow::default() };
    writer.probe(&row).unwrap();
    writer.append(&Entry::Trial(Box::new(Trial::keep(1, Purpose::Search, &window())))).unwrap();
    writer.append(&Entry::Note(Note { at_s: 6.0, text: "a note\nof two lines".to_owned() })).unwrap();
    writer.append(&Entry::Verdict(Box::new(verdict()))).unwrap();
    writer.disclosure(&serde_json::json!({ "kernel": "7.0", "cores": 2 })).unwrap();
    writer.finish().unwrap();
    writer.dir().to_owned()
}

#[test]
fn what_is_written_reads_back() {
    let root = tempfile::tempdir().unwrap();
    let dir = written(root.path());
    let run = Run::open(&dir).unwrap();
    assert!(run.complete);
    assert_eq!(run.damage, Vec::<String>::new());
    assert_eq!(run.entries[0], header());
    assert_eq!(run.verdict(), Some(&verdict()));
    assert_eq!(run.plan.as_deref(), Some("seed = 1\n"));
    assert_eq!(run.disclosure.as_ref().unwrap()["cores"], 2);
    assert_eq!(run.load_start_s(), Some(3.5));
    assert_eq!(run.notes().collect::<Vec<_>>(), [(6.0, "a note\nof two lines")]);
    assert_eq!(run.probes[0].rss_bytes, Some(5));
    let phases = run.phases();
    assert_eq!((phases[0].phase.as_str(), phases[0].to_s), ("fill", Some(2.0)));
    assert_eq!((phases[1].phase.as_str(), phases[1].to_s), ("hold", None));
    let counts: Vec<u64> = run.intervals().map(|i| i.ops.iter().map(|o| o.count).sum()).collect();
    assert_eq!(counts, [0, 100, 200, 300]);
    let last = run.intervals().last().unwrap();
    assert_eq!(
        (last.ops[0].op.as_str(), last.ops[0].requests, last.ops[0].outcomes.len()),
        ("Login", 600, 1)
    );
    assert_eq!(last.lag_p99_ms, 0.1);
    assert_eq!((last.late, last.dropped, last.skipped), (3, 2, 1));
    let counters: Vec<&[u64]> = run.intervals().map(|i| i.counters.as_slice()).collect();
    assert_eq!(counters, [&[][..], &[0, 100], &[0, 200], &[0, 300]]);
    assert_eq!(list(root.path()).unwrap(), [id()]);
}

#[test]
fn a_trial_keeps_every_figure_and_not_a_number_survives() {
    let root = tempfile::tempdir().unwrap();
    let run = Run::open(&written(root.path())).unwrap();
    let trial = run.deciding_trial().unwrap();
    let (mut kept, mut meant) = (trial.clone(), Trial::keep(1, Purpose::Search, &window()));
    assert!(kept.window.ops[0].p99_ms.is_nan());
    kept.window.ops[0].p99_ms = 0.0;
    meant.window.ops[0].p99_ms = 0.0;
    assert_eq!(kept, meant);
    assert!(!kept.window.passed && kept.window.valid);
    assert_eq!(run.metric(Metric::Measure(&HIT_SHARE), None), Some(87.5));
    assert_eq!(run.metric(Metric::Measure(&MISS_SHARE), None), None);
}

#[test]
fn standard_readers_read_the_interval_logs() {
    let root = tempfile::tempdir().unwrap();
    let dir = written(root.path());
    for (file, smallest) in [("response.hlog", 1_000), ("service.hlog", 900)] {
        let bytes = fs::read(dir.join(file)).unwrap();
        let mut start = None;
        let mut tags = Vec::new();
        for entry in IntervalLogIterator::new(&bytes) {
            match entry.unwrap() {
                LogEntry::StartTime(at) => start = Some(at.as_secs_f64()),
                LogEntry::BaseTime(_) => {}
                LogEntry::Interval(i) => {
                    tags.push((i.start_timestamp().as_secs(), i.tag().unwrap().to_string()))
                }
            }
        }
        let began: jiff::Timestamp = "2030-11-20T18:45:03.5Z".parse().unwrap();
        assert_eq!(start, Some(began.as_second() as f64 + 0.5));
        assert_eq!(tags, [1, 2, 3].map(|s| (s, "Login".to_owned())));

        let log = LogReader::open(&dir.join(file)).unwrap();
        for found in log.histograms() {
            let found = found.unwrap();
            let meant = interval(found.from_s as u64, found.from_s as u64 * 100);
            let meant = if file == "response.hlog" { &meant.ops[1].response } else { &meant.ops[1].service };
            assert_eq!(&found.histogram, meant);
            assert_eq!(found.histogram.min(), smallest);
        }
    }
}

#[test]
fn times_of_several_windows_are_those_of_their_intervals_together() {
    let root = tempfile::tempdir().unwrap();
    let run = Run::open(&written(root.path())).unwrap();
    let kept = &run.deciding_trial().unwrap().window;
    let [first, last] = [(0.0, 2.0), (3.0, 4.0)].map(|(from_s, to_s)| {
        let mut window = kept.clone();
        (window.from_s, window.to_s) = (from_s, to_s);
        window
    });
    let count = |windows: &[&WindowRecord]| run.times_in(windows).get("Login").map(Histogram::len);
    assert_eq!(
        [count(&[&first, &last]), count(&[&first]), count(&[&last])],
        [Some(400), Some(100), Some(300)]
    );
    assert_eq!(run.times_in(&[&last])["Login"], interval(3, 300).ops[1].response);
    // The window that decides begins at 10 s, later than anything in the log.
    assert_eq!(count(&[kept]), None);
    // Logs round both ends to a millisecond.
    assert!(last.holds(2.9996, 3.9996) && !last.holds(1.9996, 2.9996));
}

/// A run of two copies of a load, each with a window of its first and one of its last two seconds.
fn copies(root: &Path) -> Run {
    let mut writer = RunWriter::create(root, &id()).unwrap();
    writer.append(&header()).unwrap();
    writer.append(&Entry::LoadStarted(LoadStarted { at_s: 0.0 })).unwrap();
    let names = ["login-1", "login-2"].map(str::to_owned);
    writer.loads(&names).unwrap();
    let load = |load: &String, tile| TileLoadRecord {
        load: load.clone(),
        member: "login".to_owned(),
        tile,
        whole: Level::from(7),
        of: None,
        rate: None,
    };
    let tiles = TilesRecord {
        reference: String::new(),
        one_by_one: false,
        loads: names.iter().zip(1..).map(|(name, tile)| load(name, tile)).collect(),
        operations: Vec::new(),
    };
    writer.append(&Entry::Tiles(tiles)).unwrap();
    for (at, samples) in [(0, [0, 100, 200, 300]), (1, [10; 4])] {
        let of_load = writer.of_load(at);
        for (n, samples) in (0..).zip(samples) {
            of_load.interval(&interval(n, samples), &NAMES).unwrap();
        }
        for (n, from_s) in [(1, 0.0), (2, 2.0)] {
            let mut trial = Trial::keep(n, Purpose::Fixed, &window());
            (trial.window.from_s, trial.window.to_s) = (from_s, from_s + 2.0);
            let within: u64 = samples[from_s as usize..][..2].iter().sum();
            trial.window.ops[0].count = within;
            trial.window.ops[0].mean_ms = f64::from(n);
            trial.window.throughput = within as f64 / 2.0;
            of_load.append(&Entry::Trial(Box::new(trial))).unwrap();
        }
    }
    writer.finish().unwrap();
    Run::open(writer.dir()).unwrap()
}

#[test]
fn copies_have_rates_and_times_together_in_each_window() {
    let root = tempfile::tempdir().unwrap();
    let run = copies(root.path());
    let of = |window, metric| run.metric_in(window, metric, Some("Login"));
    let both = |all: &[(u64, u64)]| {
        let mut sum = barograph_stats::interval::histogram();
        all.iter().for_each(|(n, samples)| sum.add(&interval(*n, *samples).ops[1].response).unwrap());
        Some(sum.value_at_quantile(0.5) as f64 / 1e3)
    };
    let first = both(&[(0, 0), (1, 100), (0, 10), (1, 10)]);
    let last = both(&[(2, 200), (3, 300), (2, 10), (3, 10)]);
    assert!(first < last, "{first:?} {last:?}");
    assert_eq!(of(ChosenWindow::First, Metric::ResponseP50), first);
    assert_eq!(of(ChosenWindow::Last, Metric::ResponseP50), last);
    assert_eq!(of(ChosenWindow::Deciding, Metric::ResponseP50), last, "no verdict names another");
    assert_eq!(of(ChosenWindow::First, Metric::ResponseMean), Some(1.0));
    assert_eq!(run.metric_in(ChosenWindow::First, Metric::Throughput, None), Some(60.0));
    assert_eq!(run.metric_in(ChosenWindow::Last, Metric::Throughput, None), Some(260.0));
    assert_eq!(run.metric(Metric::ResponseP50, Some("Logout")), None);
    let one = run.of(Some("login-2")).unwrap();
    assert_eq!(one.metric_in(ChosenWindow::First, Metric::ResponseMean, Some("Login")), Some(1.0));
    assert_eq!(one.metric_in(ChosenWindow::First, Metric::Throughput, None), Some(10.0));
}

#[test]
fn a_killed_run_is_readable_up_to_its_last_whole_line() {
    let root = tempfile::tempdir().unwrap();
    let dir = written(root.path());
    let path = dir.join("run.jsonl");
    let whole = fs::read(&path).unwrap();
    let entries = Run::open(&dir).unwrap().entries.len();
    fs::write(&path, &whole[..whole.len() - 5]).unwrap();
    let log = dir.join("response.hlog");
    let text = fs::read(&log).unwrap();
    fs::write(&log, &text[..text.len() - 9]).unwrap();

    let run = Run::open(&dir).unwrap();
    assert!(!run.complete);
    assert_eq!(run.entries.len(), entries - 1);
    assert_eq!(run.damage.len(), 1);
    assert!(run.damage[0].contains(&format!("run.jsonl` line {entries}")), "{:?}", run.damage);
    let histograms: Vec<_> = run.response_log().unwrap().histograms().collect();
    assert_eq!(histograms.iter().filter(|h| h.is_ok()).count(), 2);
    assert!(histograms.last().unwrap().is_err());
}

/// Lines of version 1, cut to one operation.
const VERSION_1: &str = r#"{"kind":"header","v":1,"id":"20261120-190000-0001","tool":"0.1.0","started_at":"2026-11-20T19:00:00Z","command":"barograph run"}
{"kind":"expected","workload":"auction","profile":"official2","derived":{"ops_per_user_s":0.413,"requests_per_op":1.86,"session_s":103.0},"session_op":"Login","rules":[{"op":"Login","about":"Logs in.","quantile":0.99,"limit_ms":3000.0,"mix":0.0235,"mix_tolerance":0.2,"failures":0.005},{"op":"Register","about":"Registers.","quantile":0.99,"limit_ms":2000.0,"mix":0.0,"mix_tolerance":0.0,"failures":0.005}]}
{"kind":"interval","from_s":0.0,"to_s":1.0,"users":7,"starts":3,"lag_p50_ms":0.1,"lag_p99_ms":0.2,"in_flight":0.5,"worker_cpu":0.1,"busiest_worker":0.05,"ops":[]}
{"kind":"trial","n":1,"purpose":"search","users":1000,"result":"pass","window":{"users":1000,"from_s":10.0,"to_s":40.0,"throughput":300.0,"goodput":299.0,"requests_s":520.0,"passed":true,"valid":true,"ops":[{"op":"Login","count":40,"failed":1,"mix":0.5,"mix_required":0.4,"mix_tolerance":0.2,"p50_ms":3.5,"p90_ms":7.0,"p99_ms":null,"max_ms":99.0,"service_p99_ms":40.0,"judged_ms":41.0,"limit_ms":2000.0,"over_limit":0.0,"failures_allowed":0.005,"judged":true,"time_ok":true,"mix_ok":false,"failures_ok":true}],"checks":[]}}
{"kind":"verdict","capacity":1000,"trial":1,"passed":true,"valid":true,"sentence":"This machine holds 1,000 users.","exit_code":0,"reasons":[],"resources":{"app_cores":0.8},"search":{"highest_pass":1000,"lowest_fail":1100,"bounded_by":"a higher level that failed","trials":4,"confirmed":true}}
{"kind":"finished"}
"#;

#[test]
fn a_record_of_version_1_reads_as_it_was_meant() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("run.jsonl"), VERSION_1).unwrap();
    fs::write(root.path().join("probe.csv"), "at_s,subject\n").unwrap();
    let run = Run::open(root.path()).unwrap();
    assert_eq!((run.damage.as_slice(), run.complete), (&[] as &[String], true));
    let trial = run.trials().next().unwrap();
    assert_eq!((trial.unit, trial.level, trial.window.users), (UnitRecord::Users, 1000.into(), 1000));
    assert_eq!((trial.window.late, trial.window.dropped), (0, 0));
    assert!(trial.window.starts_s.is_nan() && trial.window.ops[0].p999_ms.is_nan());
    assert!(trial.window.ops[0].mean_ms.is_nan() && trial.window.ops[0].service_p95_ms.is_nan());
    assert_eq!(trial.window.ops[0].service_p99_ms, 40.0);
    // Only the tolerance was allowed.
    assert_eq!((trial.window.ops[0].mix_chance, trial.window.ops[0].mix_slack()), (0.0, 0.4 * 0.2));
    assert_eq!(trial.resources, Resources::default());
    assert!(trial.window.measures.is_empty() && trial.window.rules.is_empty());
    // The rules by which its figures were judged.
    let rules = trial.window.judged_by();
    let told: Vec<_> = rules.iter().map(|rule| (rule.subject.name(), rule.limit, rule.holds)).collect();
    assert_eq!(told, [("response", 2000.0, true), ("mix", 0.4, false), ("failures", 0.005, true)]);
    assert_eq!(trial.window.further_rules(), Vec::<&RuleRecord>::new());
    let verdict = run.verdict().unwrap();
    assert_eq!((verdict.unit, verdict.capacity), (UnitRecord::Users, Some(1000)));
    assert_eq!(verdict.resources.app_cores, Some(0.8));
    let expected = run.expected().unwrap();
    assert_eq!((run.unit(), expected.target.as_deref()), (UnitRecord::Users, None));
    assert_eq!(expected.derived.unwrap().session_s, 103.0);
    let judged: Vec<bool> = expected.rules.iter().map(barograph_record::Rule::is_judged).collect();
    assert_eq!(judged, [true, false], "then a required share said it");
    assert_eq!(run.intervals().map(|i| i.dropped + i.late + i.skipped).sum::<u64>(), 0);
}

#[test]
fn rules_are_kept_with_what_they_found() {
    let rule = |subject, op: Option<&str>, bound, holds| RuleVerdict {
        subject,
        op: op.map(str::to_owned),
        value: Some(4.5),
        bound,
        chance: 0.0,
        holds,
    };
    let quantile = |percent| Subject::Response { op: OpId(1), quantile: Share::percent(percent) };
    let rules = vec![
        rule(quantile(99.0), Some("Login"), Bound::AtMost(5.0), true),
        rule(Subject::Failures(OpId(1)), Some("Login"), Bound::AtMost(0.5), true),
        rule(quantile(90.0), Some("Login"), Bound::AtMost(4.0), false),
        rule(Subject::Rate(None), None, Bound::Within { value: 4.0, tolerance: Share::percent(10.0) }, false),
        rule(Subject::Measure(HIT_SHARE.id), None, Bound::AtLeast(95.0), false),
    ];
    let trial = Trial::keep(1, Purpose::Search, &WindowVerdict { rules, ..window() });
    let text = serde_json::to_string(&trial).unwrap();
    let window = serde_json::from_str::<Trial>(&text.replace("NaN", "null")).unwrap().window;
    assert_eq!((window.rules.len(), &window.rules), (5, &trial.window.rules));
    let further = window.further_rules();
    let told: Vec<String> = further
        .iter()
        .map(|rule| format!("{}: {}, {}", window.called(rule), rule.found().unwrap(), rule.required()))
        .collect();
    let expected = [
        "p90 response time of Login: 4.50 ms, at most 4 ms",
        "rate: 4.50 operations/s, 4 operations/s within 10 %",
        "hit share: 4.50 %, at least 95 %",
    ];
    assert_eq!(told, expected);
    assert!(window.was_too_much(), "the second limit is not kept");
}

#[test]
fn kinds_of_a_later_time_are_kept() {
    let root = tempfile::tempdir().unwrap();
    let dir = written(root.path());
    let path = dir.join("run.jsonl");
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"{\"kind\":\"weather\",\"sky\":\"grey\"}\n{\"kind\":\"note\",\"at_s\":1,\"text\":\"x\",\"by\":\"me\"}\n")
        .unwrap();
    let run = Run::open(&dir).unwrap();
    let known = |e: &&Entry| matches!(e, Entry::Unknown(UnknownEntry { kind, .. }) if kind == "weather");
    assert_eq!(run.entries.iter().filter(known).count(), 1);
    assert_eq!(run.notes().last(), Some((1.0, "x")));
    assert!(!run.complete, "the closing entry is not the last");
}

#[test]
fn every_kind_of_entry_is_known_to_the_reader() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(root.path(), &id()).unwrap();
    let fill = Fill {
        size: "nano".into(),
        max_users: 60,
        rows: vec![],
        bytes: vec![],
        factors: vec![Figure::new("history", 0.01)],
        seconds: 1.0,
        reused: true,
        stamp: "s".into(),
    };
    let interrupted = RunInterrupted { at_s: 1.0, phase: "hold".into(), cause: "asked to stop".into() };
    let entries = [
        header(),
        Entry::phase_failed(Phase::Deploy, 1.0, "no".into()),
        Entry::phase_interrupted(Phase::Hold, 1.0),
        Entry::Fill(fill.clone()),
        Entry::Control(Control {
            at_s: 2.5,
            unit: UnitRecord::StartsPerSecond,
            level: 500.into(),
            over_s: 10.0,
        }),
        Entry::Interrupted(interrupted.clone()),
        Entry::Finished(RunFinished {}),
    ];
    for entry in &entries {
        writer.append(entry).unwrap();
    }
    let run = Run::open(writer.dir()).unwrap();
    assert_eq!(run.entries, entries);
    assert_eq!((run.fill(), run.interrupted()), (Some(&fill), Some(&interrupted)));
    assert_eq!(run.controls().map(|c| c.level).collect::<Vec<_>>(), [500]);
}

#[test]
fn what_is_no_record_or_a_newer_one_is_refused_by_name() {
    let root = tempfile::tempdir().unwrap();
    assert!(matches!(Run::open(root.path()), Err(RecordError::Read { .. })));
    fs::write(root.path().join("run.jsonl"), "hello\n").unwrap();
    assert!(matches!(Run::open(root.path()), Err(RecordError::NoHeader { .. })));
    let newer = r#"{"kind":"header","v":99,"id":"x","tool":"9","started_at":"","command":""}"#;
    fs::write(root.path().join("run.jsonl"), format!("{newer}\n")).unwrap();
    let error = Run::open(root.path()).unwrap_err().to_string();
    assert!(error.contains("version 99"), "{error}");
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    fs::write(&file, "").unwrap();
    let error = RunWriter::create(&file.join("runs"), &id()).unwrap_err();
    assert!(
        matches!(&error, RecordError::CreateDirectory { path, .. } if path.starts_with(&file)),
        "{error}"
    );
    RunWriter::create(root.path(), &id()).unwrap();
    let again = RunWriter::create(root.path(), &id()).unwrap_err();
    assert!(again.in_one_line().contains("exists"), "{}", again.in_one_line());
}

#[test]
fn half_a_file_is_removed_once_nobody_can_be_writing_it() {
    let root = tempfile::tempdir().unwrap();
    let whole = root.path().join("report.html");
    write_whole(&whole, b"all of it").unwrap();
    let half = draft_of(&whole);
    assert!(!half.exists());
    fs::write(&half, "al").unwrap();
    let hour = Duration::from_secs(3_600);
    assert!(remove_drafts(root.path(), hour).unwrap().is_empty() && half.exists());
    assert_eq!(remove_drafts(root.path(), Duration::ZERO).unwrap(), [half]);
    assert_eq!(fs::read_to_string(&whole).unwrap(), "all of it");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(60))]

    #[test]
    fn mangled_records_never_panic(
        file in 0usize..5,
        cuts in proptest::collection::vec((0usize..100_000, proptest::prelude::any::<u8>()), 1..40),
        keep in 0.0f64..1.0,
    ) {
        let root = tempfile::tempdir().unwrap();
        let dir = written(root.path());
        let name = ["run.jsonl", "probe.csv", "disclosure.json", "response.hlog", "plan.toml"][file];
        let mut bytes = fs::read(dir.join(name)).unwrap();
        let length = bytes.len();
        for (at, byte) in cuts {
            bytes[at % length] = byte;
        }
        bytes.truncate((length as f64 * keep) as usize);
        fs::write(dir.join(name), bytes).unwrap();
        if let Ok(run) = Run::open(&dir) {
            let readable = run.response_log().unwrap().histograms().filter(Result::is_ok).count();
            proptest::prop_assert!(readable <= 3);
            proptest::prop_assert!(run.phases().len() <= 2);
        }
    }
}

#[test]
fn no_file_of_a_record_names_a_folder_of_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display();
    let header = Header {
        v: VERSION,
        id: id().to_string(),
        tool: "barograph 0.1.0".to_owned(),
        started_at: "2030-11-20T18:45:00Z".to_owned(),
        command: format!("barograph run {place}/plans/x.toml --set data.dir={place}/data"),
    };
    let root = folder.path().join("runs");
    let mut writer = RunWriter::create(&root, &id()).unwrap();
    writer.append(&Entry::Header(header)).unwrap();
    writer.plan(&format!("runs = \"{place}/runs\"\n[tls]\nca = \"{place}/ca.pem\"\n")).unwrap();
    let text = format!("read {place}/data/nano, {place}/ca.pem and {place}/runs/x/site");
    writer.append(&Entry::Note(Note { at_s: 1.0, text })).unwrap();
    writer.disclosure(&serde_json::json!({ "command": format!("x {place}/ca.pem") })).unwrap();
    fs::write(writer.services_dir().join("a.log"), format!("at {place}/runs/x/site/a\n")).unwrap();
    writer.finish().unwrap();

    let read = |name: &str| fs::read_to_string(writer.dir().join(name)).unwrap();
    assert_eq!(read("plan.toml"), "runs = \"runs\"\n[tls]\nca = \"ca.pem\"\n");
    assert_eq!(read("disclosure.json"), "{\n  \"command\": \"x ca.pem\"\n}\n");
    assert_eq!(read("services/a.log"), "at runs/x/site/a\n");
    let run = Run::open(writer.dir()).unwrap();
    assert_eq!(run.header.command, "barograph run x.toml --set data.dir=data");
    assert_eq!(run.notes().next(), Some((1.0, "read data/nano, ca.pem and runs/x/site")));
}
