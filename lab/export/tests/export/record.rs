//! A made-up record with every kind of entry, without a repeated number in an entry except for those of the
//! load.

use std::path::{Path, PathBuf};

use barograph_model::{
    Amount, BetterWhen, Bound, Check, CheckFacts, CheckId, CounterId, Formula, LoadUnit, MeasureSpec,
    MeasureValue, Nanos, OfferedLoad, OpVerdict, Outcome, Phase, RuleVerdict, Share, Subject, WindowVerdict,
};
use barograph_record::{
    ActionRecord, BoundRecord, CauseRecord, ConfirmationRecord, Control, Count, CrossCheckRecord, Decisions,
    DemandRecord, DerivedRecord, Entry, EstimateRecord, EvidenceAboveRecord, ExpectedFigures, Figure, Fill,
    Follower, Header, LevelRecord, LoadStarted, NodesHoldRecord, Note, OperationRatioRecord,
    OperationReferenceRecord, PartRecord, PassPointRecord, ProbeRow, Purpose, RatioRecord, ReasonRecord,
    RepeatsRecord, Resources, Rule, RuleRecord, RunId, RunInterrupted, RunWriter, ScoreRecord, SearchBound,
    SearchSummary, SnapshotRecord, StatisticRow, SubjectRecord, SupplyRecord, Tier, Tiers, TileLoadRecord,
    TilesRecord, TopologyRecord, Trial, UnitRecord, UnknownEntry, VERSION, Verdict, WindowScoreRecord,
};
use barograph_stats::Interval;

pub(crate) const NAMES: [&str; 2] = ["Login", "GetNextBid"];

/// Begin of the run, in seconds since 1970.
pub(crate) const BEGAN_S: u64 = 1_900_000_000;
/// Seconds from there to the start of the load.
pub(crate) const LOAD_START_S: u64 = 4;

pub(crate) fn id() -> RunId {
    "20300317-174640-04f2".parse().unwrap()
}

/// The first entries of a run, as for a follower.
pub(crate) fn beginning() -> [Entry; 3] {
    let header = Header {
        v: VERSION,
        id: id().to_string(),
        tool: "barograph 0.1.0".to_owned(),
        started_at: "2030-03-17T17:46:40Z".to_owned(),
        command: "barograph run \"a, b\"".to_owned(),
    };
    [
        Entry::Header(header),
        Entry::LoadStarted(LoadStarted { at_s: LOAD_START_S as f64 }),
        Entry::phase_started(Phase::Hold, LOAD_START_S as f64),
    ]
}

/// Second `n` of the load: logins take 1 ms, 2 ms, ... up to `count` ms, every tenth is refused.
pub(crate) fn second(n: u64, count: u64) -> Interval {
    let mut second = Interval::new(NAMES.len());
    (second.from, second.to) = (Nanos::from_secs(n), Nanos::from_secs(n + 1));
    (second.users, second.starts, second.late, second.dropped, second.skipped) = (7, count, 3, 2, 1);
    (second.in_flight_s, second.worker_cpu_s, second.busiest_worker_cpu_s) = (0.5, 0.25, 0.125);
    let login = &mut second.ops[0];
    for i in 1..=count {
        login.response.record(i * 1_000).unwrap();
        login.service.record(i * 900).unwrap();
        let end = if i % 10 == 0 { Outcome::Refused } else { Outcome::Good };
        login.outcomes[end.index()] += 1;
        login.requests += 2;
        second.lag.record(100).unwrap();
    }
    login.over_limit = count / 4;
    second.counters.raise(CounterId(0), count * 1_000);
    second
}

/// A sample in which every figure has a value of its own.
pub(crate) fn sample(at_s: f64) -> ProbeRow {
    ProbeRow {
        at_s,
        subject: "application-1".to_owned(),
        cpu_user_cores: Some(1.25),
        cpu_system_cores: Some(0.5),
        rss_bytes: Some(3_000_000_123),
        page_cache_bytes: Some(4_096),
        throttled_s: Some(0.0625),
        threads: Some(7),
        psi_cpu: Some(12.5),
        steal_share: None,
        ..ProbeRow::default()
    }
}

const RECEIVED: MeasureSpec = MeasureSpec {
    id: "received",
    title: "data received",
    unit: "MB/s",
    better: BetterWhen::Higher,
    formula: Formula::per_second(Amount::Counter(CounterId(0))).times(1e-6),
};

fn window() -> WindowVerdict {
    let op = OpVerdict {
        op: "Login".to_owned(),
        count: 40,
        failed: 9,
        mix: 0.5,
        mix_required: 0.4,
        mix_tolerance: 0.2,
        mix_chance: 0.15,
        mean_ms: 4.5,
        p50_ms: 3.5,
        p90_ms: 7.0,
        p95_ms: 8.0,
        p99_ms: f64::NAN,
        p999_ms: 98.0,
        max_ms: 99.0,
        service_mean_ms: 3.25,
        service_p50_ms: 2.5,
        service_p90_ms: 6.0,
        service_p95_ms: 6.5,
        service_p99_ms: 43.0,
        service_p999_ms: 90.0,
        service_max_ms: 95.0,
        judged_ms: 41.0,
        limit_ms: Some(2000.0),
        over_limit: 0.01,
        failures_allowed: 0.005,
        judged: true,
        time_ok: true,
        mix_ok: false,
        failures_ok: true,
        further_ok: true,
    };
    let rule = RuleVerdict {
        subject: Subject::Measure(RECEIVED.id),
        op: None,
        value: Some(1.625),
        bound: Bound::Within { value: 2.125, tolerance: Share::percent(6.25) },
        chance: 0.015_625,
        holds: false,
    };
    let lag = CheckFacts::StartLag { p99_ms: 6.25, most_ms: 102.5, is_limited: true };
    let check = Check::new(CheckId::StartLag, lag, true);
    WindowVerdict {
        offered: OfferedLoad { unit: LoadUnit::PerSecond, level: 1000.into() },
        users: 60,
        from_s: 0.0,
        to_s: 3.0,
        throughput: 300.25,
        goodput: 299.0,
        requests_s: 520.0,
        starts_s: 999.5,
        late: 12,
        dropped: 4,
        skipped: 5,
        lag_p50_ms: 0.05,
        lag_p99_ms: 0.25,
        ops: vec![op],
        checks: vec![check],
        rules: vec![rule],
        measures: vec![MeasureValue { spec: RECEIVED, value: Some(1.5) }],
    }
}

pub(crate) fn trial() -> Trial {
    let mut trial = Trial::keep(1, Purpose::Search, &window());
    trial.resources = resources(61);
    trial
}

/// Resources used, with `connections` of the driver.
fn resources(connections: u64) -> Resources {
    Resources {
        host_cores: Some(2.0),
        host_busy_cores: Some(1.75),
        app_cores: Some(0.8),
        driver_cores: Some(0.65),
        users_per_app_core: Some(70.5),
        users_per_driver_core: Some(92.5),
        driver_cpu_us_per_request: Some(81.5),
        app_rss_bytes: Some(572_000_001),
        driver_rss_bytes: Some(193_000_002),
        driver_bytes_per_user: Some(8_312.5),
        driver_connections: Some(connections),
    }
}

fn estimate() -> EstimateRecord {
    let point = |level, pass, low, high| PassPointRecord { level, pass, low, high };
    EstimateRecord {
        capacity: 1_000.4,
        low: 975.25,
        high: 1_021.75,
        safe: 970,
        beyond: 0.015,
        softness: 0.011,
        spurious: 0.031,
        curve: vec![point(950, 0.96, 0.81, 0.99), point(1_050, 0.12, 0.03, 0.33)],
        valid: 29,
        invalid: 6,
        confirmation: Some(ConfirmationRecord {
            level: 971,
            passed: 7,
            trials: 8,
            at_least: 0.61,
            complete: true,
        }),
        above: Some(EvidenceAboveRecord {
            level: 1_030,
            failed: 9,
            trials: 10,
            below: 0.78,
            complete: false,
        }),
        cross_check: Some(CrossCheckRecord {
            capacity: 1_400.5,
            low: 1_350.5,
            high: 1_450.5,
            trials: 11,
            disagrees: true,
        }),
        repeats: Some(RepeatsRecord { trials: 13, passed: 12, expected: 12.5, p: 0.25, drifted: false }),
    }
}

fn expected() -> ExpectedFigures {
    let rule = Rule {
        op: "Login".to_owned(),
        about: "sign in, and keep the token".to_owned(),
        quantile: 0.99,
        limit_ms: Some(2000.0),
        judged: Some(true),
        mix: 0.4,
        mix_tolerance: 0.2,
        failures: 0.005,
    };
    ExpectedFigures {
        workload: "auction".to_owned(),
        profile: "official2".to_owned(),
        unit: UnitRecord::StartsPerSecond,
        target: Some("http://127.0.0.1:1".to_owned()),
        derived: Some(DerivedRecord { ops_per_user_s: 0.45, requests_per_op: 1.8, session_s: 103.0 }),
        session_op: Some("Login".to_owned()),
        rules: vec![rule],
        counters: vec!["bytes".to_owned()],
    }
}

fn broken() -> RuleRecord {
    RuleRecord {
        subject: SubjectRecord::Response,
        op: Some("Login".to_owned()),
        quantile: Some(0.965),
        measure: None,
        unit: "ms".to_owned(),
        value: Some(412.5),
        bound: BoundRecord::AtMost,
        limit: 401.0,
        tolerance: Some(0.0325),
        chance: 0.0075,
        holds: false,
    }
}

pub(crate) fn verdict() -> Verdict {
    Verdict {
        unit: UnitRecord::StartsPerSecond,
        capacity: Some(1000),
        trial: Some(1),
        passed: false,
        valid: true,
        sentence: "This machine holds 1,000 starts/s, \"or so\".".to_owned(),
        exit_code: 4,
        reasons: vec!["Login: mix".to_owned(), "the second\nreason".to_owned()],
        doubts: vec!["the clock was set".to_owned()],
        resources: resources(62),
        search: Some(SearchSummary {
            highest_pass: Some(998),
            lowest_fail: None,
            bounded_by: SearchBound::Words { words: "the highest level".to_owned() },
            at_least: true,
            trials: 17,
            confirmed: false,
            method: Some("posterior".to_owned()),
            seconds: Some(260.5),
            aborted: 3,
            estimate: Some(Box::new(estimate())),
        }),
        why: vec![ReasonRecord {
            load: Some("shop".to_owned()),
            cause: CauseRecord::Rule { rule: broken() },
        }],
        score: Some(Box::new(score())),
        ..Verdict::default()
    }
}

fn score() -> ScoreRecord {
    let term = RatioRecord {
        load: "shop-1".to_owned(),
        tile: 21,
        of: "orders".to_owned(),
        rate: 37.5,
        reference: 25.5,
        ratio: 1.4375,
    };
    ScoreRecord {
        score: 2.0625,
        low: Some(1.9375),
        high: Some(2.1875),
        tiles: 2.5,
        trial: 19,
        windows: vec![WindowScoreRecord { trial: 18, score: 2.3125 }],
        least_ratio: 0.9375,
        least_load: "shop-1".to_owned(),
        fairness: 0.984375,
        terms: vec![term],
        applications: Some(2.21875),
        operations: vec![OperationRatioRecord {
            act: "move".to_owned(),
            done: 31,
            failed: 32,
            per_hour: 77.5,
            reference: 38.75,
            ratio: 2.03125,
        }],
    }
}

fn tiles() -> Entry {
    let load = TileLoadRecord {
        load: "shop-1".to_owned(),
        member: "shop".to_owned(),
        tile: 21,
        whole: 40.into(),
        of: Some("orders".to_owned()),
        rate: Some(25.5),
    };
    let operations = vec![OperationReferenceRecord { act: "move".to_owned(), per_hour: 38.75 }];
    Entry::Tiles(TilesRecord {
        reference: "a machine".to_owned(),
        one_by_one: true,
        loads: vec![load],
        operations,
    })
}

fn decisions() -> Decisions {
    Decisions {
        size: Some("run30k".into()),
        profile: Some("bidding".to_owned()),
        unit: UnitRecord::StartsPerSecond,
        lowest: Some(11),
        highest: Some(1_001),
        most_users: Some(2_375),
        connections: Some("keep".to_owned()),
        workers: Some(5),
        realtime: Some(true),
    }
}

/// Deployed parts, and events during the run.
fn world() -> [Entry; 11] {
    let part = PartRecord {
        name: "application-1".to_owned(),
        load: String::new(),
        tier: "application".to_owned(),
        service: "auction".to_owned(),
        version: "0.1.0".to_owned(),
        host: "here".to_owned(),
        url: "http://127.0.0.1:2".to_owned(),
        node: true,
        uses: vec!["sql".to_owned(), "bus".to_owned()],
        start_s: 0.5,
        cpus: Some(1.5),
        cores: "0-1".to_owned(),
        memory_bytes: Some(1_073_741_824),
        disk_bytes_s: Some(1_500_000),
    };
    let topology = TopologyRecord {
        abilities: Some(vec!["disks".to_owned()]),
        platform: "process".to_owned(),
        facts: vec![("cgroup".to_owned(), "v2".to_owned())],
        front: "application-1".to_owned(),
        beside: vec![],
        parts: vec![part],
        open_s: 0.25,
        ready_s: 1.75,
        snapshot: Some(SnapshotRecord {
            key: "0123abcd".to_owned(),
            reused: true,
            made_by: "20300316-080000-0001".to_owned(),
            parts: vec!["relational-1".to_owned()],
            bytes: 187_000_003,
            load_s: 11.5,
            copy_s: 0.375,
        }),
    };
    let action = ActionRecord {
        at_s: 1.5,
        unit: "application-1".into(),
        name: "restart".into(),
        act: "restart: exit code 0".into(),
        took_s: 0.1,
        pause_s: Some(0.075),
        pause_inside_s: Some(0.0725),
        pause_inside_error_s: Some(0.0025),
        failed: Some("it was gone".into()),
        limit_s: Some(2.5),
        is_missed: false,
    };
    let tier = Tier { tier: "bus".into(), product: "NATS 2.9".into(), durability: "nothing".into() };
    [
        Entry::Topology(Box::new(topology)),
        Entry::Action(action),
        Entry::Demand(DemandRecord {
            tier: "application".to_owned(),
            about: "a study".to_owned(),
            unit: UnitRecord::StartsPerSecond,
            nodes: vec![NodesHoldRecord { count: 6, load: 640.5, low: Some(600.25), high: Some(700.75) }],
        }),
        Entry::Supply(SupplyRecord { at_s: 1.25, tier: "application".to_owned(), ready: 3, running: 4 }),
        Entry::Level(LevelRecord { at_s: 0.75, level: 901.into(), over_s: 0.625 }),
        Entry::Tiers(Tiers { tiers: vec![tier] }),
        Entry::Decisions(decisions()),
        tiles(),
        Entry::Fill(fill()),
        Entry::Control(Control {
            at_s: 2.0,
            unit: UnitRecord::StartsPerSecond,
            level: 900.into(),
            over_s: 0.5,
        }),
        Entry::Unknown(UnknownEntry {
            kind: "weather".to_owned(),
            value: serde_json::json!({ "kind": "weather", "is": "fine, mostly" }),
        }),
    ]
}

/// What was filled.
fn fill() -> Fill {
    Fill {
        size: "nano".to_owned(),
        max_users: 100,
        rows: vec![Count::new("users", 4_000)],
        bytes: vec![Count::new("images", 9_000_000_000)],
        factors: vec![Figure::new("history", 0.25)],
        seconds: 12.5,
        reused: true,
        stamp: "abc".to_owned(),
    }
}

/// A service's own statistic.
fn statistic(at_s: f64, name: &str, value: f64) -> StatisticRow {
    StatisticRow {
        at_s,
        part: "relational-2".to_owned(),
        statistic: name.to_owned(),
        kind: "rate".to_owned(),
        unit: "commit".to_owned(),
        value,
    }
}

/// Writes it below `root`; each follower receives all of it.
pub(crate) fn written(root: &Path, followers: Vec<std::sync::Arc<dyn Follower>>) -> PathBuf {
    let mut writer = RunWriter::create(root, &id()).unwrap().followed_by(followers);
    writer.plan("seed = 1\n[load]\nusers = 5\n").unwrap();
    for entry in beginning() {
        writer.append(&entry).unwrap();
    }
    writer.append(&Entry::Expected(expected())).unwrap();
    for entry in world() {
        writer.append(&entry).unwrap();
    }
    for n in 0..3 {
        writer.interval(&second(n, n * 100), &NAMES).unwrap();
        writer.probe(&sample((LOAD_START_S + n + 1) as f64)).unwrap();
    }
    for (at_s, watts, energy_j) in [(2.0, None, 0.0), (4.0, Some(20.5), 41.0), (7.0, Some(51.5), 195.5)] {
        let subject = barograph_record::power_of("package-0");
        let energy_j = Some(energy_j);
        writer.probe(&ProbeRow { at_s, subject, watts, energy_j, ..ProbeRow::default() }).unwrap();
    }
    writer.statistics(&[statistic(5.25, "commits", 41.75), statistic(6.25, "rollbacks", 0.125)]).unwrap();
    writer.append(&Entry::Trial(Box::new(trial()))).unwrap();
    writer
        .append(&Entry::Note(Note { at_s: 8.0, text: "a note, \"quoted\",\nof two lines".to_owned() }))
        .unwrap();
    writer.append(&Entry::phase_failed(Phase::Hold, 8.5, "it broke".to_owned())).unwrap();
    writer.append(&Entry::Verdict(Box::new(verdict()))).unwrap();
    let interrupted = RunInterrupted { at_s: 8.5, phase: "hold".to_owned(), cause: "it broke".to_owned() };
    writer.append(&Entry::Interrupted(interrupted)).unwrap();
    writer.disclosure(&serde_json::json!({ "kernel": "7.0", "cores": [2, null] })).unwrap();
    for text in writer.dismiss() {
        writer.append(&Entry::Note(Note { at_s: 9.0, text })).unwrap();
    }
    writer.finish().unwrap();
    writer.dir().to_owned()
}
