//! A simulated run under the control of the test.

use std::net::SocketAddr;

use barograph_live::Page;
use barograph_model::{LoadUnit, Nanos, OfferedLoad, Outcome, Phase, WindowVerdict};
use barograph_record::{
    Entry, ExpectedFigures, Follower, Header, PartRecord, ProbeRow, Purpose, Rule, TopologyRecord, Trial,
    UnitRecord, VERSION,
};
use barograph_stats::Interval;

pub(crate) const NAMES: [&str; 2] = ["Login", "GetNextBid"];

/// A free port of this machine.
pub(crate) const ANYWHERE: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

fn rule(op: &str, limit_ms: Option<f64>) -> Rule {
    Rule {
        op: op.to_owned(),
        about: format!("does {op}"),
        quantile: 0.99,
        limit_ms,
        judged: Some(true),
        mix: 0.5,
        mix_tolerance: 0.1,
        failures: 0.005,
    }
}

/// Begins a run up to its first interval. The title contains markup.
pub(crate) fn begun() -> Page {
    let page = Page::serve(ANYWHERE, "plans/<b>bold</b> & more").unwrap();
    page.entry(&Entry::Header(Header {
        v: VERSION,
        id: "20300317-174640-04f2".to_owned(),
        tool: "barograph".to_owned(),
        started_at: "2030-03-17T17:46:40Z".to_owned(),
        command: "barograph run --live".to_owned(),
    }));
    page.entry(&Entry::Expected(ExpectedFigures {
        workload: "auction".to_owned(),
        profile: "official2".to_owned(),
        unit: UnitRecord::Users,
        target: None,
        derived: None,
        session_op: None,
        rules: vec![rule("Login", Some(50.0)), rule("GetNextBid", None)],
        counters: Vec::new(),
    }));
    let part = |name: &str, tier: &str, service: &str, uses: &[&str]| PartRecord {
        name: name.to_owned(),
        tier: tier.to_owned(),
        service: service.to_owned(),
        version: "1.2".to_owned(),
        host: "here".to_owned(),
        uses: uses.iter().map(|name| (*name).to_owned()).collect(),
        start_s: 0.75,
        ..PartRecord::default()
    };
    page.entry(&Entry::Topology(Box::new(TopologyRecord {
        platform: "process".to_owned(),
        front: "web".to_owned(),
        parts: vec![part("web", "web", "nginx", &["node-1"]), part("node-1", "application", "auction", &[])],
        ..TopologyRecord::default()
    })));
    page.phase(Phase::Hold, "500 users, measured");
    page
}

/// Second `n` of the load: `count` logins of `ms` milliseconds, every hundredth refused.
pub(crate) fn second(page: &Page, n: u64, count: u64, ms: u64) {
    let mut second = Interval::new(NAMES.len());
    (second.from, second.to) = (Nanos::from_secs(n), Nanos::from_secs(n + 1));
    (second.users, second.starts) = (500, count);
    (second.in_flight_s, second.busiest_worker_cpu_s) = (2.5, 0.25);
    for i in 0..count {
        second.ops[0].response.record(ms * 1_000).unwrap();
        let end = if i % 100 == 99 { Outcome::Refused } else { Outcome::Good };
        second.ops[0].outcomes[end.index()] += 1;
    }
    second.lag.record(60).unwrap();
    page.interval(&second, &NAMES);
    for (subject, cores) in [("host", 1.5), ("driver", 0.25), ("app", 1.0)] {
        page.probe(&ProbeRow {
            at_s: n as f64,
            subject: subject.to_owned(),
            cpu_user_cores: Some(cores),
            rss_bytes: Some(64 << 20),
            ..ProbeRow::default()
        });
    }
    page.load(OfferedLoad { unit: LoadUnit::Users, level: 500.into() });
    page.progress(0.25, Some(Nanos::from_secs(90)));
}

/// A trial that passed, or failed.
pub(crate) fn trial(page: &Page, n: u32, level: u32, passed: bool) {
    let window = WindowVerdict {
        offered: OfferedLoad { unit: LoadUnit::Users, level: level.into() },
        users: level,
        from_s: 0.0,
        to_s: 1.0,
        throughput: f64::from(level) * 0.4,
        goodput: 0.0,
        requests_s: 0.0,
        starts_s: 0.0,
        late: 0,
        dropped: 0,
        skipped: 0,
        lag_p50_ms: 0.0,
        lag_p99_ms: 0.0,
        ops: Vec::new(),
        checks: Vec::new(),
        rules: Vec::new(),
        measures: Vec::new(),
    };
    let mut trial = Trial::keep(n, Purpose::Search, &window);
    trial.result =
        if passed { barograph_record::ResultRecord::Pass } else { barograph_record::ResultRecord::Fail };
    page.entry(&Entry::Trial(Box::new(trial)));
    page.say(&format!("trial {n} (search): {level} users"));
}
