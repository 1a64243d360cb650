//! A made-up run through the real writer: a search on a two-core machine.

use std::path::{Path, PathBuf};

use barograph_model::{
    Check, CheckFacts, CheckId, DriftEstimate, LoadUnit, Nanos, OfferedLoad, OpVerdict, Outcome, Phase,
    WindowVerdict,
};
use barograph_record::{
    AboutRecord, AnswerRecord, ClaimRecord, Count, DerivedRecord, Entry, ExpectedFigures, Figure, Fill,
    Header, LoadStarted, Note, ProbeRow, Purpose, RecordError, Resources, Rule, RunWriter, SearchBound,
    SearchSummary, Tier, Tiers, Trial, UnitRecord, VERSION, Verdict,
};
use barograph_stats::Interval;

/// Name, required share in percent, limit in milliseconds, usual response time in milliseconds.
const OPS: [(&str, f64, Option<f64>, f64); 20] = [
    ("HomePage", 2.35, Some(2000.0), 2.0),
    ("Register", 0.0, Some(2000.0), 3.0),
    ("Login", 2.35, Some(3000.0), 6.0),
    ("GetActiveAuctions", 10.95, Some(2000.0), 4.0),
    ("GetAuctionDetail", 3.9, Some(2000.0), 11.0),
    ("GetUserProfile", 2.35, Some(2000.0), 2.5),
    ("UpdateUserProfile", 0.0, Some(2000.0), 4.0),
    ("JoinAuction", 4.69, Some(4000.0), 14.0),
    ("GetCurrentItem", 5.23, Some(3000.0), 9.0),
    ("GetNextBid", 46.43, None, 9_000.0),
    ("PlaceBid", 2.2, Some(2000.0), 7.0),
    ("LeaveAuction", 0.0, Some(2000.0), 3.0),
    ("GetBidHistory", 2.35, Some(2000.0), 8.0),
    ("GetAttendanceHistory", 2.36, Some(2000.0), 8.0),
    ("GetPurchaseHistory", 2.35, Some(2000.0), 12.0),
    ("GetItemDetail", 3.91, Some(2000.0), 9.0),
    ("GetImageForItem", 3.91, Some(5000.0), 6.0),
    ("AddItem", 2.35, Some(2000.0), 5.0),
    ("AddImageForItem", 0.0, Some(5000.0), 9.0),
    ("Logout", 2.35, Some(3000.0), 2.0),
];

/// Users, seconds from and to, purpose, and whether the driver was in order.
const TRIALS: [(u32, u64, u64, Purpose, bool); 8] = [
    (13_500, 75, 95, Purpose::Search, true),
    (11_500, 105, 125, Purpose::Search, true),
    (12_500, 135, 155, Purpose::Search, true),
    (13_000, 165, 185, Purpose::Search, false),
    (13_000, 190, 210, Purpose::Search, true),
    (12_800, 218, 238, Purpose::Search, true),
    (12_700, 244, 260, Purpose::Search, true),
    (12_500, 264, 298, Purpose::Confirm, true),
];

/// Extent of the made-up run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The whole run.
    Whole,
    /// Into the ramp, then killed: no trial, no verdict, no closing entry.
    Killed,
}

/// A small repeatable source of numbers in 0..1.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// About normal, by the sum of twelve.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

fn users_at(s: u64) -> u32 {
    if s < 65 {
        return (s * 220) as u32;
    }
    let next = TRIALS.iter().find(|t| s < t.2).unwrap_or(&TRIALS[7]);
    next.0
}

/// Queueing: slowdown of all operations with this many users.
fn slowness(users: u32) -> f64 {
    let busy = (f64::from(users) / 13_520.0).min(0.995);
    1.0 / (1.0 - busy).powf(1.3)
}

fn interval(s: u64, dice: &mut Dice) -> Interval {
    let mut interval = Interval::new(OPS.len());
    let users = users_at(s);
    interval.from = Nanos::from_secs(s);
    interval.to = Nanos::from_secs(s + 1);
    interval.users = users;
    let slow = slowness(users);
    for (op, (_, mix, _, usual)) in interval.ops.iter_mut().zip(OPS) {
        let count = f64::from(users) * 0.302 * mix / 100.0 * (1.0 + dice.normal() * 0.03);
        for _ in 0..count.round() as u64 {
            let factor = if usual > 1000.0 { 1.0 } else { slow };
            let ms = usual * factor * (dice.normal() * 0.7).exp();
            let micros = (ms * 1e3) as u64;
            op.service.record(micros.clamp(1, 44_000_000)).unwrap();
            op.response.record((micros + 300).clamp(1, 44_000_000)).unwrap();
            let outcome = if dice.next() < 0.0002 { Outcome::TimedOut } else { Outcome::Good };
            op.outcomes[outcome.index()] += 1;
            op.requests += 2;
        }
        interval.starts += count as u64;
    }
    for _ in 0..400 {
        interval.lag.record((120.0 * (dice.normal() * 0.8).exp() * slow.sqrt()) as u64).unwrap();
    }
    interval.in_flight_s = f64::from(users) * 1.3;
    interval.worker_cpu_s = f64::from(users) / 21_000.0;
    interval.busiest_worker_cpu_s = interval.worker_cpu_s * 0.52;
    interval
}

fn window(trial: usize, joined: &Interval) -> WindowVerdict {
    let (users, from, to, _, driver_ok) = TRIALS[trial];
    let ms = |h: &barograph_stats::Histogram, q: f64| h.value_at_quantile(q) as f64 / 1e3;
    let total: u64 = joined.ops.iter().map(|op| op.count()).sum();
    let ops = joined.ops.iter().zip(OPS).map(|(op, (name, mix, limit, _))| {
        let judged_ms = ms(&op.response, 0.99);
        let mean = |sum_s: f64| sum_s * 1e3 / op.count() as f64;
        OpVerdict {
            op: name.to_owned(),
            count: op.count(),
            failed: op.failed(),
            mix: op.count() as f64 / total as f64,
            mix_required: mix / 100.0,
            mix_tolerance: if mix > 5.0 { 0.1 } else { 0.2 },
            mix_chance: 0.0,
            mean_ms: mean(op.response_sum_s),
            p50_ms: ms(&op.response, 0.5),
            p90_ms: ms(&op.response, 0.9),
            p95_ms: ms(&op.response, 0.95),
            p99_ms: judged_ms,
            p999_ms: ms(&op.response, 0.999),
            max_ms: ms(&op.response, 1.0),
            service_mean_ms: mean(op.service_sum_s),
            service_p50_ms: ms(&op.service, 0.5),
            service_p90_ms: ms(&op.service, 0.9),
            service_p95_ms: ms(&op.service, 0.95),
            service_p99_ms: ms(&op.service, 0.99),
            service_p999_ms: ms(&op.service, 0.999),
            service_max_ms: ms(&op.service, 1.0),
            judged_ms,
            limit_ms: limit,
            over_limit: 0.0,
            failures_allowed: 0.005,
            judged: mix > 0.0,
            time_ok: limit.is_none_or(|l| judged_ms <= l),
            mix_ok: true,
            failures_ok: true,
            further_ok: true,
        }
    });
    let seconds = (to - from) as f64;
    WindowVerdict {
        offered: OfferedLoad { unit: LoadUnit::Users, level: users.into() },
        users,
        from_s: from as f64,
        to_s: to as f64,
        throughput: total as f64 / seconds,
        goodput: total as f64 / seconds * 0.9996,
        requests_s: total as f64 * 1.93 / seconds,
        starts_s: total as f64 / seconds,
        late: 0,
        dropped: 0,
        skipped: 0,
        lag_p50_ms: ms(&joined.lag, 0.5),
        lag_p99_ms: ms(&joined.lag, 0.99),
        ops: ops.collect(),
        checks: checks(driver_ok),
        rules: Vec::new(),
        measures: Vec::new(),
    }
}

fn checks(driver_ok: bool) -> Vec<Check> {
    let lag = CheckFacts::StartLag {
        p99_ms: if driver_ok { 1.9 } else { 212.0 },
        most_ms: 100.0,
        is_limited: true,
    };
    let little =
        CheckFacts::Little { in_flight: 4.0, served: 3.9, over_edges: 0.05, apart: 0.012, most: 0.1 };
    let drift = CheckFacts::Drift {
        found: Some(DriftEstimate { relative: -0.008, low: -0.02, high: 0.004 }),
        fewest: 4,
        most: 0.1,
        floor_ms: None,
    };
    vec![
        Check::new(CheckId::StartLag, lag, driver_ok),
        Check::new(CheckId::BusiestWorker, CheckFacts::Worker { share: 0.34, most: 0.95 }, true),
        Check::new(CheckId::Little, little, true),
        Check::new(CheckId::SteadyThroughput, drift, true),
        Check::new(CheckId::Clock, CheckFacts::Clock { apart_s: 0.0002, most_s: 0.1 }, true),
    ]
}

fn beginning(writer: &mut RunWriter) -> Result<(), RecordError> {
    writer.plan("# as resolved\nworkload = \"auction\"\nprofile = \"official2\"\nseed = 42\n\n[load]\nstrategy = \"search\"\nmax_users = 30000\n")?;
    writer.append(&Entry::Header(Header {
        v: VERSION,
        id: "20301120-184500-04f2".to_owned(),
        tool: "barograph 0.1.0 (1a2b3c4)".to_owned(),
        started_at: "2030-11-20T18:45:00Z".to_owned(),
        command: "barograph run".to_owned(),
    }))?;
    writer.append(&Entry::phase_started(Phase::Check, 0.0))?;
    writer.append(&Entry::phase_done(Phase::Check, 0.4))?;
    writer.append(&Entry::phase_started(Phase::Fill, 0.4))?;
    writer.append(&Entry::Fill(Fill {
        size: "large30".to_owned(),
        max_users: 30_000,
        rows: vec![
            Count::new("user", 150_000),
            Count::new("auction", 33_240),
            Count::new("item", 410_233),
            Count::new("bid", 6_300_102),
        ],
        bytes: vec![Count::new("relational.db", 418_000_000), Count::new("images", 1_904_000_000)],
        factors: vec![Figure::new("history", 0.01), Figure::new("images", 0.02)],
        seconds: 38.2,
        reused: false,
        stamp: "large30-h0.01-i0.02-v1".to_owned(),
    }))?;
    writer.append(&Entry::phase_done(Phase::Fill, 38.6))?;
    writer.append(&Entry::phase_started(Phase::Deploy, 38.6))?;
    writer.append(&Entry::phase_done(Phase::Deploy, 41.0))?;
    writer.append(&Entry::Tiers(tiers()))?;
    writer.append(&Entry::Expected(expected()))?;
    writer.append(&Entry::phase_started(Phase::Ramp, 41.5))?;
    writer.append(&Entry::LoadStarted(LoadStarted { at_s: 41.5 }))
}

fn tiers() -> Tiers {
    let tier = |tier: &str, product: &str, durability: &str| Tier {
        tier: tier.to_owned(),
        product: product.to_owned(),
        durability: durability.to_owned(),
    };
    Tiers {
        tiers: vec![
            tier("relational", "SQLite 3.50", "a commit survives the process"),
            tier("cache", "in process, bounded", "none needed"),
        ],
    }
}

fn expected() -> ExpectedFigures {
    let rule = |(op, mix, limit_ms, _): (&str, f64, Option<f64>, f64)| Rule {
        op: op.to_owned(),
        about: format!("the user does {op}"),
        quantile: 0.99,
        limit_ms,
        judged: Some(mix > 0.0),
        mix: mix / 100.0,
        mix_tolerance: if mix > 5.0 { 0.1 } else { 0.2 },
        failures: 0.005,
    };
    ExpectedFigures {
        workload: "auction".to_owned(),
        profile: "official2".to_owned(),
        unit: UnitRecord::Users,
        target: None,
        derived: Some(DerivedRecord { ops_per_user_s: 0.3014, requests_per_op: 1.94, session_s: 141.0 }),
        session_op: Some("Login".to_owned()),
        rules: OPS.into_iter().map(rule).collect(),
        counters: Vec::new(),
    }
}

fn probes(writer: &mut RunWriter, s: u64, dice: &mut Dice) -> Result<(), RecordError> {
    let users = f64::from(users_at(s));
    let app = (users / 10_900.0 * (1.0 + dice.normal() * 0.02)).min(1.24);
    let driver = users / 21_000.0 * (1.0 + dice.normal() * 0.03);
    for (subject, cores, rss) in [
        ("driver", driver, 90e6 + users * 8_300.0),
        ("app", app, 310e6 + users * 21_000.0),
        ("host", (app + driver + 0.08).min(2.0), 1.9e9 + users * 29_300.0),
    ] {
        writer.probe(&ProbeRow {
            at_s: 41.5 + s as f64 + 1.0,
            subject: subject.to_owned(),
            cpu_user_cores: Some(cores * 0.7),
            cpu_system_cores: Some(cores * 0.3),
            rss_bytes: Some(rss as u64),
            cpu_irq_cores: (subject == "host").then_some(cores * 0.05),
            cpu_iowait_cores: (subject == "host").then_some(0.0),
            cpu_idle_cores: (subject == "host").then_some((1.96 - cores).max(0.0)),
            steal_share: (subject == "host").then_some(0.02),
            ..ProbeRow::default()
        })?;
    }
    Ok(())
}

fn ending(writer: &mut RunWriter) -> Result<(), RecordError> {
    for (phase, from, to) in [
        (Phase::Drain, 341.5, 343.9),
        (Phase::Verify, 343.9, 345.0),
        (Phase::Collect, 345.0, 345.4),
        (Phase::Remove, 345.4, 347.0),
    ] {
        writer.append(&Entry::phase_started(phase, from))?;
        writer.append(&Entry::phase_done(phase, to))?;
    }
    writer.append(&Entry::Note(Note {
        at_s: 215.0,
        text: "trial 4 is repeated: the driver was late in it".to_owned(),
    }))?;
    let answer = AnswerRecord {
        claim: ClaimRecord::Holds { level: 12_500.into(), confirmed: false },
        about: AboutRecord::Application { workload: "auction".to_owned(), profile: "official2".to_owned() },
        because: "at 12,700 the response time of 2 operations was over its limit".to_owned(),
        details: String::new(),
    };
    writer.append(&Entry::Verdict(Box::new(Verdict {
        unit: UnitRecord::Users,
        capacity: Some(12_500),
        trial: Some(8),
        passed: true,
        valid: true,
        sentence: answer.sentence(UnitRecord::Users),
        answer: Some(answer),
        exit_code: 0,
        reasons: vec![
            "The search ended because the bracket 12,500 to 12,700 is narrower than its resolution of 2 %."
                .to_owned(),
        ],
        doubts: vec![],
        resources: Resources {
            host_cores: Some(2.0),
            host_busy_cores: Some(1.83),
            app_cores: Some(1.15),
            driver_cores: Some(0.59),
            users_per_app_core: Some(10_870.0),
            users_per_driver_core: Some(21_186.0),
            app_rss_bytes: Some(572_000_000),
            driver_rss_bytes: Some(193_000_000),
            driver_bytes_per_user: Some(8_312.0),
            driver_cpu_us_per_request: Some(81.2),
            driver_connections: Some(24_980),
        },
        search: Some(SearchSummary {
            highest_pass: Some(12_500),
            lowest_fail: Some(12_650),
            bounded_by: SearchBound::Words { words: "response times".to_owned() },
            trials: 8,
            confirmed: true,
            ..SearchSummary::default()
        }),
        ..Verdict::default()
    })))?;
    writer.disclosure(&serde_json::json!({
        "seed": 42,
        "commit": "0123abc",
        "host": {"cpu": "Example CPU 3000 @ 2.6 GHz", "cores": 2, "memory": "7.6 GiB", "kernel": "6.12.0", "virtualised": "yes, KVM", "clock source": "kvm-clock"},
        "limits": [["open files", "1,048,576"], ["cgroup memory", "max"]],
        "application": {"threads": 2, "password hash": "argon2id m=64 KiB t=1 p=1", "sqlite": {"journal": "wal", "synchronous": "normal"}},
        "driver": {"workers": 2, "warnings": ["<none>"]},
    }))?;
    writer.finish()
}

/// Writes the run under `root` and returns its directory.
pub(crate) fn write(root: &Path, extent: Extent) -> Result<PathBuf, RecordError> {
    let id = "20301120-184500-04f2".parse().unwrap();
    let names = OPS.map(|op| op.0);
    let mut writer = RunWriter::create(root, &id)?;
    let mut dice = Dice(7);
    beginning(&mut writer)?;
    let seconds = if extent == Extent::Whole { 300 } else { 40 };
    let mut open: Option<Interval> = None;
    for s in 0..seconds {
        if s == 65 {
            writer.append(&Entry::phase_done(Phase::Ramp, 106.5))?;
            writer.append(&Entry::phase_started(Phase::WarmUp, 106.5))?;
            writer.append(&Entry::phase_done(Phase::WarmUp, 116.5))?;
            writer.append(&Entry::phase_started(Phase::Hold, 116.5))?;
        }
        let found = interval(s, &mut dice);
        writer.interval(&found, &names)?;
        probes(&mut writer, s, &mut dice)?;
        if let Some(trial) = TRIALS.iter().position(|t| (t.1..t.2).contains(&s)) {
            let joined = open.get_or_insert_with(|| Interval::new(OPS.len()));
            joined.append(&found);
            if s + 1 == TRIALS[trial].2 {
                let kept = Trial::keep(trial as u32 + 1, TRIALS[trial].3, &window(trial, joined));
                writer.append(&Entry::Trial(Box::new(kept)))?;
                open = None;
            }
        }
    }
    if extent == Extent::Whole {
        writer.append(&Entry::phase_done(Phase::Hold, 341.5))?;
        ending(&mut writer)?;
    }
    Ok(writer.dir().to_owned())
}
