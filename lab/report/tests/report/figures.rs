//! Figures from whole histograms and from samples of the host, with exact numbers; and records without their
//! data.

use std::fs;
use std::path::{Path, PathBuf};

use barograph_model::{Nanos, Outcome, Phase};
use barograph_record::{
    Entry, EstimateRecord, ExpectedFigures, Header, LoadStarted, OpRecord, PartRecord, PassPointRecord,
    ProbeRow, Purpose, RecordError, Resources, ResultRecord, Rule, Run, RunWriter, SearchSummary,
    TopologyRecord, Trial, UnitRecord, VERSION, Verdict, WindowRecord, power_of,
};
use barograph_report::{render_html, terminal_summary};
use barograph_stats::Interval;

/// Operations: one judged by time, and one not.
const OPS: [&str; 2] = ["Search", "Wait"];

/// Seconds of load.
const SECONDS: u64 = 20;
/// The measured window, in seconds of the load.
const WINDOW: (f64, f64) = (5.0, 15.0);

/// The load begins half a second after the run.
const START_S: f64 = 0.5;

/// A second: most searches take 2 ms, some 50 ms, two 80 ms; waits take 9 s.
fn interval(second: u64) -> Interval {
    let mut interval = Interval::new(OPS.len());
    (interval.from, interval.to) = (Nanos::from_secs(second), Nanos::from_secs(second + 1));
    interval.users = 50;
    for (op, millis, n) in [(0, 2, 910), (0, 50, 88), (0, 80, 2), (1, 9_000, 10)] {
        let op = &mut interval.ops[op];
        op.response.record_n(millis * 1_000, n).unwrap();
        op.service.record_n(millis * 1_000, n).unwrap();
        op.outcomes[Outcome::Good.index()] += u64::from(n);
    }
    interval
}

fn op(name: &str, judged_ms: f64, limit_ms: Option<f64>) -> OpRecord {
    OpRecord {
        op: name.to_owned(),
        count: 10_000,
        failed: 0,
        mix: 0.5,
        mix_required: 0.0,
        mix_tolerance: 0.0,
        mix_chance: 0.0,
        mean_ms: judged_ms,
        p50_ms: judged_ms,
        p90_ms: judged_ms,
        p95_ms: judged_ms,
        p99_ms: judged_ms,
        p999_ms: judged_ms,
        max_ms: judged_ms,
        service_mean_ms: judged_ms,
        service_p50_ms: judged_ms,
        service_p90_ms: judged_ms,
        service_p95_ms: judged_ms,
        service_p99_ms: judged_ms,
        service_p999_ms: judged_ms,
        service_max_ms: judged_ms,
        judged_ms,
        limit_ms,
        over_limit: 0.0,
        failures_allowed: 0.01,
        judged: limit_ms.is_some(),
        time_ok: true,
        mix_ok: true,
        failures_ok: true,
        further_ok: true,
    }
}

fn trial() -> Trial {
    let window = WindowRecord {
        users: 50,
        from_s: WINDOW.0,
        to_s: WINDOW.1,
        throughput: 1_010.0,
        goodput: 1_010.0,
        requests_s: 1_010.0,
        starts_s: 1_010.0,
        late: 0,
        dropped: 0,
        skipped: 0,
        lag_p50_ms: 0.1,
        lag_p99_ms: 0.2,
        passed: true,
        valid: true,
        ops: vec![op("Search", 50.0, Some(100.0)), op("Wait", 9_000.0, None)],
        checks: vec![],
        rules: vec![],
        measures: vec![],
    };
    Trial {
        n: 1,
        purpose: Purpose::Fixed,
        unit: UnitRecord::Users,
        level: 50.into(),
        result: ResultRecord::Pass,
        aborted: false,
        operations: None,
        window,
        resources: Resources::default(),
    }
}

fn expected() -> ExpectedFigures {
    let rule = |op: &str, limit_ms: Option<f64>| Rule {
        op: op.to_owned(),
        about: String::new(),
        quantile: 0.99,
        limit_ms,
        judged: Some(limit_ms.is_some()),
        mix: 0.0,
        mix_tolerance: 0.0,
        failures: 0.01,
    };
    ExpectedFigures {
        workload: "scenario".to_owned(),
        profile: "default".to_owned(),
        unit: UnitRecord::Users,
        target: None,
        derived: None,
        session_op: None,
        rules: vec![rule("Search", Some(100.0)), rule("Wait", None)],
        counters: vec![],
    }
}

fn topology() -> TopologyRecord {
    let part = |name: &str, tier: &str, service: &str| PartRecord {
        name: name.to_owned(),
        tier: tier.to_owned(),
        service: service.to_owned(),
        host: name.to_owned(),
        ..PartRecord::default()
    };
    TopologyRecord {
        platform: "process".to_owned(),
        parts: vec![
            part("driver-1", "driver", "barograph"),
            part("application-1", "application", "barograph"),
            part("application-2", "application", "barograph"),
            part("load-1", "relational", "job"),
            part("relational-1", "relational", "postgresql"),
        ],
        ..TopologyRecord::default()
    }
}

/// Two cores of which 0.8 are busy: 0.1 in the driver, 0.3 in two nodes, 0.2 in the store, the rest elsewhere.
fn samples(at_s: f64) -> Vec<ProbeRow> {
    let row = |subject: &str, user: f64, system: f64| ProbeRow {
        at_s,
        subject: subject.to_owned(),
        cpu_user_cores: Some(user),
        cpu_system_cores: Some(system),
        ..ProbeRow::default()
    };
    let host = ProbeRow {
        cpu_irq_cores: Some(0.1),
        cpu_iowait_cores: Some(0.0),
        cpu_idle_cores: Some(1.2),
        steal_share: Some(0.0),
        ..row("host", 0.5, 0.3)
    };
    vec![
        host,
        row("driver", 0.1, 0.0),
        row("driver-1", 0.1, 0.0),
        row("app", 0.2, 0.1),
        row("application-1", 0.1, 0.1),
        row("application-2", 0.1, 0.0),
        row("relational-1", 0.1, 0.1),
    ]
}

fn written(root: &Path) -> Result<PathBuf, RecordError> {
    written_with(root, samples)
}

fn written_with(root: &Path, samples: fn(f64) -> Vec<ProbeRow>) -> Result<PathBuf, RecordError> {
    let mut writer = RunWriter::create(root, &"20301120-184500-04f2".parse().unwrap())?;
    writer.append(&Entry::Header(Header {
        v: VERSION,
        id: "20301120-184500-04f2".to_owned(),
        tool: "barograph 0.2.0 (1a2b3c4)".to_owned(),
        started_at: "2030-11-20T18:45:00Z".to_owned(),
        command: "barograph run".to_owned(),
    }))?;
    writer.append(&Entry::Topology(Box::new(topology())))?;
    writer.append(&Entry::Expected(expected()))?;
    writer.append(&Entry::phase_started(Phase::Hold, START_S))?;
    writer.append(&Entry::LoadStarted(LoadStarted { at_s: START_S }))?;
    for second in 0..SECONDS {
        writer.interval(&interval(second), &OPS)?;
        for row in samples(START_S + second as f64 + 1.0) {
            writer.probe(&row)?;
        }
    }
    writer.append(&Entry::Trial(Box::new(trial())))?;
    writer.append(&Entry::phase_done(Phase::Hold, START_S + SECONDS as f64))?;
    writer.finish()?;
    Ok(writer.dir().to_owned())
}

/// The report of the record in `dir`, with its form checked.
fn rendered(dir: &Path) -> String {
    let html = render_html(&Run::open(dir).unwrap()).unwrap();
    crate::check_form(&html);
    html
}

/// One figure of a page, with its table.
fn figure<'h>(html: &'h str, id: &str) -> Option<&'h str> {
    let from = html.find(&format!("<figure id=\"f-{id}\">"))?;
    html[from..].split("</figure>").next()
}

/// Cells of a table as the page has them.
fn row(cells: &[&str]) -> String {
    let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
    format!("<tr>{cells}</tr>")
}

fn has(figure: &str, piece: &str) {
    assert!(figure.contains(piece), "`{piece}` is missing in {figure}");
}

#[test]
fn the_tail_has_a_line_for_what_is_judged_and_a_row_for_everything() {
    let root = tempfile::tempdir().unwrap();
    let html = rendered(&written(root.path()).unwrap());
    let nines = figure(&html, "nines").unwrap();
    let head = ["Operation", "Count", "p50", "p90", "p99", "p99.9", "p99.99", "Max", "Limit"];
    has(nines, &head.map(|name| format!("<th scope=\"col\">{name}</th>")).concat());
    has(
        nines,
        &row(&[
            "Search",
            "10,000",
            "2.00 ms",
            "2.00 ms",
            "50.0 ms",
            "80.1 ms",
            "80.1 ms",
            "80.1 ms",
            "100 ms at p99",
        ]),
    );
    // A hundred waits do not determine p99.9.
    has(nines, &row(&["Wait", "100", "9.00 s", "9.00 s", "9.00 s", "–", "–", "9.00 s", "–"]));
    // Four nines on 884 pixels; the limit ends at the second, where the circle is on the line.
    has(nines, "<line class=\"limit\" x1=\"66.0\" y1=\"41.1\" x2=\"508.0\" y2=\"41.1\"/>");
    has(nines, "<circle class=\"judged\" cx=\"508.0\" cy=\"96.9\" r=\"4\"/>");
    has(nines, "<title>Search: p99 50.0 ms, limit 100 ms</title>");
    has(nines, ">99.99 %</text>");
    // From ten operations above a quantile on the line is faint: at three of the four nines.
    has(nines, "<path class=\"series c1 few\" d=\"M729.0 ");
    assert!(!nines.contains("<title>Wait"), "what is not judged by time has no line");
}

#[test]
fn the_heat_map_shows_bands_by_shade_and_quantiles_by_second() {
    let root = tempfile::tempdir().unwrap();
    let html = rendered(&written(root.path()).unwrap());
    let heat = figure(&html, "heat").unwrap();
    // Ten seconds of 910, 88 and 2 operations a second, in bins 33, 46 and 49 of a decade's tenths.
    has(heat, "<path class=\"heat h7\" d=\"M66.0 314.9h1060.0v19.1h-1060.0z\"/>");
    has(heat, "<path class=\"heat h5\" d=\"M66.0 67.2h1060.0v19.1h-1060.0z\"/>");
    has(heat, "<path class=\"heat h2\" d=\"M66.0 10.0h1060.0v19.1h-1060.0z\"/>");
    for (class, word) in [("heat h7", "from 300/s"), ("heat h5", "from 30/s"), ("heat h2", "from 1/s")] {
        has(
            heat,
            &format!(
                "<title>{word}</title><rect class=\"{class}\" x=\"1\" width=\"24\" height=\"8\"/></svg>{word}"
            ),
        );
    }
    assert_eq!(heat.matches("class=\"heat h").count(), 6, "shades that do not occur are not in the legend");
    for from in [5, 14] {
        let span = format!("0:{from:02} to 0:{:02}", from + 1);
        has(heat, &row(&[&span, "1,000", "2.00 ms", "2.00 ms", "50.0 ms", "80.1 ms", "80.1 ms"]));
    }
    assert_eq!(heat.matches(" to 0:").count(), 10, "a row for each second of the window");
    has(heat, "A cell is 1.0 s wide");
}

#[test]
fn the_cores_of_the_host_are_told_by_use_and_by_part() {
    let root = tempfile::tempdir().unwrap();
    let html = rendered(&written(root.path()).unwrap());
    let by_use = figure(&html, "cpu-use").unwrap();
    // No stolen time, and no waits for a disk.
    let head = |names: &[&str]| -> String {
        names.iter().map(|name| format!("<th scope=\"col\">{name}</th>")).collect()
    };
    has(by_use, &head(&["Time", "user", "system", "interrupts", "idle"]));
    has(by_use, &row(&["0:01", "0.50", "0.20", "0.10", "1.20"]));
    has(by_use, &row(&["0:20", "0.50", "0.20", "0.10", "1.20"]));
    // Two cores on 186 pixels: user ends a quarter of them above the bottom.
    has(by_use, "<polygon class=\"area u1\" points=\"81.1,177.5 ");
    let by_part = figure(&html, "cpu-parts").unwrap();
    has(by_part, &head(&["Time", "driver", "application", "relational", "everything else"]));
    has(by_part, &row(&["0:01", "0.10", "0.30", "0.20", "0.20"]));
    // The scale reaches to all cores, so the space above the layers was idle.
    has(by_part, "<polygon class=\"area l1\" points=\"81.1,214.7 ");
    has(by_part, ">2</text>");
}

#[test]
fn guests_say_what_they_use_beside_what_their_emulators_do() {
    let root = tempfile::tempdir().unwrap();
    let dir = written_with(root.path(), |at_s| {
        let guest = |subject: &str, user: f64| ProbeRow {
            at_s,
            subject: subject.to_owned(),
            cpu_user_cores: Some(user),
            rss_bytes: Some(256 << 20),
            ..ProbeRow::default()
        };
        let machine = ProbeRow {
            cpu_idle_cores: Some(0.5),
            steal_share: Some(0.25),
            psi_cpu: Some(12.5),
            tcp_retransmits: Some(2),
            ..guest("guest-relational-1", 0.25)
        };
        let told = [guest("guest-relational-1/postgres", 0.2), machine];
        samples(at_s).into_iter().chain(told).collect()
    });
    let html = rendered(&dir.unwrap());
    assert!(html.contains("What the guests say of themselves"));
    // Two segments each second.
    let machine =
        ["relational-1", "0.25", "0.20", "0.50", "25.0 %", "256 MiB", "12.5 %", "–", "–", "–", "2.00"];
    has(&html, &row(&machine));
    has(&html, &row(&["· postgres", "0.20", "–", "–", "–", "256 MiB", "–", "–", "–", "–", "–"]));
    let without = rendered(&written(&root.path().join("without")).unwrap());
    assert!(!without.contains("What the guests say"));
}

#[test]
fn what_an_older_record_lacks_is_left_out() {
    let root = tempfile::tempdir().unwrap();
    let dir = written(root.path()).unwrap();
    let probes = fs::read_to_string(dir.join("probe.csv")).unwrap();
    let older = |line: &str| line.rsplitn(4, ',').last().map(|kept| format!("{kept}\n")).unwrap();
    fs::write(dir.join("probe.csv"), probes.lines().map(older).collect::<String>()).unwrap();
    let run = Run::open(&dir).unwrap();
    assert_eq!(run.damage, Vec::<String>::new());
    let html = rendered(&dir);
    assert!(figure(&html, "cpu-use").is_none(), "how idle the host was is not known");
    has(figure(&html, "cpu-parts").unwrap(), &row(&["0:01", "0.10", "0.30", "0.20", "0.20"]));
    fs::remove_file(dir.join("response.hlog")).unwrap();
    let html = rendered(&dir);
    assert!(figure(&html, "nines").is_none() && figure(&html, "heat").is_none());
    assert!(!html.contains("s-closer") && html.contains("What could not be read of the record"));
}

/// A search with a posterior around 1,000 users, after trials at these levels.
fn searched(root: &Path, trials: &[(u32, ResultRecord)], beyond: f64) -> PathBuf {
    let mut writer = RunWriter::create(root, &"20301120-184500-04f3".parse().unwrap()).unwrap();
    writer
        .append(&Entry::Header(Header {
            v: VERSION,
            id: "20301120-184500-04f3".to_owned(),
            tool: "barograph 0.2.0 (1a2b3c4)".to_owned(),
            started_at: "2030-11-20T18:45:00Z".to_owned(),
            command: "barograph run".to_owned(),
        }))
        .unwrap();
    writer.append(&Entry::Expected(expected())).unwrap();
    for ((level, result), n) in trials.iter().zip(1..) {
        let tried = Trial { n, level: (*level).into(), result: *result, purpose: Purpose::Search, ..trial() };
        writer.append(&Entry::Trial(Box::new(tried))).unwrap();
    }
    let point = |level, pass, low, high| PassPointRecord { level, pass, low, high };
    let estimate = EstimateRecord {
        capacity: 1_000.0,
        low: 950.0,
        high: 1_100.0,
        safe: 950,
        beyond,
        softness: 0.03,
        spurious: 0.02,
        curve: vec![
            point(900, 0.97, 0.81, 1.0),
            point(1_000, 0.5, 0.25, 0.75),
            point(1_200, 0.01, 0.0, 0.125),
        ],
        valid: 5,
        invalid: 1,
        confirmation: None,
        above: None,
        cross_check: None,
        repeats: None,
    };
    let search = SearchSummary { estimate: Some(Box::new(estimate)), ..SearchSummary::default() };
    writer
        .append(&Entry::Verdict(Box::new(Verdict {
            unit: UnitRecord::Users,
            capacity: Some(1_000),
            trial: Some(1),
            passed: true,
            valid: true,
            sentence: "1,000 users.".to_owned(),
            exit_code: 0,
            reasons: vec![],
            doubts: vec![],
            resources: Resources::default(),
            search: Some(search),
            ..Verdict::default()
        })))
        .unwrap();
    writer.finish().unwrap();
    writer.dir().to_owned()
}

#[test]
fn what_a_search_believes_is_drawn_beside_what_was_tried() {
    let root = tempfile::tempdir().unwrap();
    let tried = [
        (400, ResultRecord::Pass),
        (900, ResultRecord::Pass),
        (900, ResultRecord::Pass),
        (900, ResultRecord::Pass),
        (900, ResultRecord::Fail),
        (1_050, ResultRecord::Invalid),
        (1_100, ResultRecord::Fail),
    ];
    let html = rendered(&searched(root.path(), &tried, 0.0));
    has(&html, "<b>1,000</b> <span>users, 95 % interval 950 to 1,100</span>");
    has(&html, "<tr><td>95 % interval</td><td class=\"words\">950 to 1,100</td></tr>");
    // 950 to 1,100 of 1,166 users on 1,060 pixels, as high as the curve.
    has(&html, "<rect class=\"believed\" x=\"929.6\" y=\"26.0\" width=\"136.4\" height=\"342.0\"/>");
    has(&html, "</svg>95 % interval of the capacity</span>");
    let passing = figure(&html, "passing").unwrap();
    // 300 users on 1,060 pixels, and all on 274: the band goes along its upper and back along its lower edge.
    has(
        passing,
        "<polygon class=\"believed\" points=\"66.0,14.0 419.3,82.5 1126.0,253.8 1126.0,288.0 419.3,219.5 66.0,66.1\"/>",
    );
    has(passing, "<path class=\"series c1\" d=\"M66.0 22.2L419.3 151.0L1126.0 285.3\"/>");
    has(passing, "<line class=\"interval\" x1=\"242.7\" y1=\"151.0\" x2=\"772.7\" y2=\"151.0\"/>");
    has(
        passing,
        "<title>900: 3 of 4 valid trials passed</title><circle class=\"judged\" cx=\"66.0\" cy=\"82.5\" r=\"6\"/>",
    );
    has(passing, "<title>1,100: 0 of 1 valid trials passed</title>");
    assert!(!passing.contains("<title>1,050") && !passing.contains("<title>400"), "{passing}");
    has(passing, "one load further off is in the table alone");
    has(passing, &row(&["900", "97.0 %", "81.0 %", "100 %", "4", "3"]));
    has(passing, &row(&["400", "–", "–", "–", "1", "1"]));
    assert_eq!(passing.matches("<tr><td>").count(), 5);
    let (fixed, above) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    assert!(figure(&rendered(&written(fixed.path()).unwrap()), "passing").is_none());
    let unknown = rendered(&searched(above.path(), &tried, 0.9));
    has(&unknown, "<b>1,000</b> <span>users, at least 950 with 97.5 % certainty</span>");
    assert!(figure(&unknown, "passing").is_none(), "nobody knows where the edge is");
    has(&unknown, "<td class=\"words\">at least 950, with 97.5 % certainty</td>");
    has(&unknown, "<rect class=\"believed\" x=\"929.6\" y=\"26.0\" width=\"196.4\" height=\"342.0\"/>");
    has(&unknown, "</svg>where the capacity lies, with 97.5 % certainty</span>");
    assert!(!unknown.contains("950 to 1,100"), "the upper end is what was believed at first");
    let without = rendered(&written(&fixed.path().join("without")).unwrap());
    assert!(!without.contains("class=\"believed\""), "nothing says how sure a fixed load is of a capacity");
}

/// 60 W of a package with 10 W of memory.
fn powered(at_s: f64) -> Vec<ProbeRow> {
    let row = |source: &str, watts: f64| ProbeRow {
        at_s,
        subject: power_of(source),
        watts: Some(watts),
        energy_j: Some(watts * at_s),
        ..ProbeRow::default()
    };
    samples(at_s).into_iter().chain([row("package-0", 60.0), row("dram-0", 10.0)]).collect()
}

#[test]
fn power_is_that_of_packages_with_their_memory() {
    let root = tempfile::tempdir().unwrap();
    let run = Run::open(&written_with(root.path(), powered).unwrap()).unwrap();
    let lede = "70.0 W, scope package + dram; 0.0693 J per operation, 14.4 operations/J.";
    assert!(terminal_summary(&run).contains(&format!("Power: {lede}\n")));
    let html = render_html(&run).unwrap();
    let none = "–";
    for piece in [
        lede,
        "<title id=\"power-t\">Power</title>",
        &format!("<td>package-0</td><td>60.0</td><td>600</td><td>{none}</td>"),
        &format!("<td>dram-0</td><td>10.0</td><td>100</td><td>{none}</td>"),
    ] {
        assert!(html.contains(piece), "`{piece}` is missing");
    }
}
