//! Reports of made-up runs: whole, killed, empty and damaged.

mod browser;
mod figures;
mod open_loop;
mod synthetic;

use std::fs;
use std::path::Path;

use barograph_record::{
    BetterWhenRecord, BoundRecord, Entry, Header, MeasureRecord, RuleRecord, Run, RunInterrupted, RunWriter,
    SubjectRecord, VERSION, WindowRecord,
};
use barograph_report::{render_html, terminal_summary, terminal_table};
use synthetic::Extent;

fn rendered(dir: &Path) -> (Run, String) {
    let run = Run::open(dir).unwrap();
    let html = render_html(&run).unwrap();
    (run, html)
}

/// Checks the properties of every report, for any record.
fn check_form(html: &str) {
    for outside in ["http://", "https://", "<script", "<link rel=\"stylesheet", "@import", "url("] {
        assert!(!html.contains(outside), "{outside} in the page");
    }
    for word in ["NaN", ">inf", "Infinity", "-inf"] {
        assert!(!html.contains(word), "{word} in the page");
    }
    let figures: Vec<&str> = html.split("<svg").skip(1).collect();
    assert!(!figures.is_empty());
    for figure in figures {
        let figure = figure.split("</svg>").next().unwrap();
        assert!(figure.contains("<title"), "a figure without a title: {figure:.200}");
    }
    for tag in ["svg", "table", "section", "details", "figure", "div", "dl"] {
        let opened = html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "<{tag}> opened and closed");
    }
    let ids: Vec<&str> = html.split(" id=\"").skip(1).map(|s| s.split('"').next().unwrap()).collect();
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), ids.len(), "ids are unique: {ids:?}");
}

#[test]
fn a_whole_run_shows_everything() {
    let root = tempfile::tempdir().unwrap();
    let (run, html) = rendered(&synthetic::write(root.path(), Extent::Whole).unwrap());
    check_form(&html);
    let (claim, rest) = run.verdict().unwrap().sentence.split_once("; at").unwrap();
    assert!(html.contains(&format!("<h1 id=\"answer\">{claim}.</h1>\n<p class=\"details\">At{rest}</p>")));
    assert!(!html.contains("barograph barograph"), "the program names itself once");
    for piece in [
        " · barograph 0.1.0 (1a2b3c4) · ",
        "</span> passed</span>",
        "</span> valid</span>",
        "What gave way first, at 12,700 users",
        "GetPurchaseHistory: p99",
        "CPU of the host: 1.8",
        "of 2 cores busy",
        "<h2>Headroom at 12,500 users</h2>",
        "Next limit: the CPU of the host, at most about 13,700 users (1,200 more), if nothing else gives way",
        "At the capacity of 12,500 users 91.5 % of it is used, which explains where it ends",
        "<h2>Bounds</h2>",
        "<th scope=\"col\">Users at the knee</th>",
        // Followers have a poll in flight beside other operations.
        "<td>at most 13,700</td>",
        "capacity 12,500",
        "12,500</b> <span>users",
        "Not available: this machine shows no source of power, and the plan names no meter.",
        "10,870</b> <span>users per core",
        "8.12</b> <span>KiB per user",
        "5 min 47 s",
        "10.95 % ± 1.10 %",
        "Neither judged nor used in this profile: Register, UpdateUserProfile",
        "Operations per user and second",
        "driver start lag p99 212 ms (allowed at most 100 ms)",
        "0.01 of the published size",
        "6,893,575",
        "trial 4 is repeated",
        "strategy = &#34;search&#34;",
        "&#60;none&#62;",
        "open files",
        // Words are left-aligned, figures right-aligned.
        "<td>relational</td><td class=\"words\">SQLite 3.50</td><td class=\"words\">a commit survives the process</td>",
        "<th scope=\"col\">Good ops/s</th><th scope=\"col\">In time/s</th>",
        "<th scope=\"col\" class=\"words\">Why, and what else</th>",
    ] {
        assert!(html.contains(piece), "`{piece}` is missing");
    }
    // Eight trials in the whole curve, six at the enlarged edge, and eight windows in each of eight figures over time.
    assert_eq!(html.matches("<title>trial ").count(), 8 + 6 + 8 * 8);
    let over_time = ["users", "throughput", "response", "lag", "cpu", "cpu-use", "cpu-parts", "memory"];
    for id in ["curve", "nines", "heat"].into_iter().chain(over_time) {
        assert!(html.contains(&format!("<title id=\"{id}-t\">")), "figure {id}");
    }
}

#[test]
fn a_killed_run_shows_what_there_is() {
    let root = tempfile::tempdir().unwrap();
    let dir = synthetic::write(root.path(), Extent::Killed).unwrap();
    let log = dir.join("response.hlog");
    let bytes = fs::read(&log).unwrap();
    fs::write(&log, &bytes[..bytes.len() - 20]).unwrap();
    let (run, html) = rendered(&dir);
    check_form(&html);
    assert!(html.contains("This run was cut off"));
    assert!(html.contains("</span> interrupted</span>"));
    assert!(!html.contains("</span> passed</span>"));
    assert!(
        html.contains("response.hlog&#96; line") || html.contains("response.hlog` line"),
        "damage is told"
    );
    assert!(html.contains("<title id=\"response-t\">") && html.contains("ramp-dot"));
    assert!(terminal_summary(&run).contains("This run was cut off"));
}

#[test]
fn a_run_that_ended_before_any_load_has_a_report() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(root.path(), &"20301120-184500-0000".parse().unwrap()).unwrap();
    let header = Header {
        v: VERSION,
        id: "<b>20301120</b>".to_owned(),
        tool: "barograph 0.1.0 (1a2b3c4)".to_owned(),
        started_at: "2030-11-20T18:45:00Z".to_owned(),
        command: "barograph run \"><script>".to_owned(),
    };
    writer.append(&Entry::Header(header)).unwrap();
    let phase = barograph_model::Phase::Deploy;
    writer.append(&Entry::phase_started(phase, 1.0)).unwrap();
    writer.append(&Entry::phase_failed(phase, 2.0, "start unit `app`: exit status 3".to_owned())).unwrap();
    let cause = "the application did not become ready".to_owned();
    writer
        .append(&Entry::Interrupted(RunInterrupted { at_s: 2.0, phase: "deploy".to_owned(), cause }))
        .unwrap();
    writer.finish().unwrap();
    let (run, html) = rendered(writer.dir());
    check_form(&html);
    assert!(html.contains("<h1 id=\"answer\">This run was interrupted in phase deploy:</h1>"));
    assert!(html.contains("<p class=\"details\">The application did not become ready.</p>"));
    let sentence = "This run was interrupted in phase deploy: the application did not become ready.";
    assert!(terminal_summary(&run).contains(sentence));
    assert!(html.contains("Phase deploy failed: start unit `app`: exit status 3"));
}

#[test]
fn a_report_can_be_made_again_and_is_the_same() {
    let root = tempfile::tempdir().unwrap();
    let dir = synthetic::write(root.path(), Extent::Killed).unwrap();
    assert_eq!(rendered(&dir).1, rendered(&dir).1);
}

#[test]
fn a_judged_operation_that_did_not_have_to_happen_is_said_to_be_absent() {
    let root = tempfile::tempdir().unwrap();
    let run = Run::open(&synthetic::write(root.path(), Extent::Whole).unwrap()).unwrap();
    let mut window = run.trials().nth(6).unwrap().window.clone();
    window.ops.retain(|op| op.judged && op.passed());
    window.ops.truncate(1);
    let verdict = |window: &WindowRecord| {
        let table = terminal_table(window, run.expected());
        let line = table.lines().nth(3).unwrap().to_owned();
        line.rsplit("  ").next().unwrap().trim().to_owned()
    };
    assert_eq!(verdict(&window), "pass");
    window.ops[0].count = 0;
    assert_eq!(verdict(&window), "no operations");
    window.ops[0].mix_ok = false;
    assert_eq!(verdict(&window), "FAIL", "it had to happen");
}

#[test]
fn shares_show_what_chance_allows() {
    let root = tempfile::tempdir().unwrap();
    let run = Run::open(&synthetic::write(root.path(), Extent::Whole).unwrap()).unwrap();
    let mut window = run.trials().nth(6).unwrap().window.clone();
    window.ops.retain(|op| op.judged);
    window.ops.truncate(2);
    for (op, chance) in window.ops.iter_mut().zip([0.0105, 0.5]) {
        (op.mix_required, op.mix_tolerance, op.mix_chance) = (0.0235, 0.2, chance);
    }
    let table = terminal_table(&window, run.expected());
    assert!(table.contains("2.35±1.05") && table.contains("too few to tell"), "{table}");
    // A missed share is reported with its tolerance, however large that is.
    window.ops[1].mix_ok = false;
    assert!(terminal_table(&window, run.expected()).contains("2.35±50.00"));
}

#[test]
fn an_operation_that_never_happened_has_no_times() {
    let root = tempfile::tempdir().unwrap();
    let run = Run::open(&synthetic::write(root.path(), Extent::Whole).unwrap()).unwrap();
    let mut window = run.trials().nth(6).unwrap().window.clone();
    window.ops.truncate(1);
    let op = &mut window.ops[0];
    (op.count, op.p50_ms, op.p90_ms, op.p99_ms, op.judged_ms, op.max_ms) = (0, 0.0, 0.0, 0.0, 0.0, 0.0);
    let table = terminal_table(&window, run.expected());
    let row = table.lines().find(|line| line.contains(&window.ops[0].op)).unwrap();
    assert_eq!(row.split_whitespace().filter(|cell| matches!(*cell, "–" | "!–")).count(), 4, "{row}");
}

#[test]
fn the_table_marks_the_quantile_that_was_judged() {
    let root = tempfile::tempdir().unwrap();
    let run = Run::open(&synthetic::write(root.path(), Extent::Whole).unwrap()).unwrap();
    let mut window = run.trials().nth(6).unwrap().window.clone();
    window.ops.truncate(2);
    (window.ops[1].limit_ms, window.ops[1].judged) = (Some(2_000.0), true);
    let second = window.ops[1].op.clone();
    let op = &mut window.ops[0];
    (op.p50_ms, op.p90_ms, op.p99_ms, op.judged_ms) = (3.0, 40.0, 500.0, 212.0);
    (op.limit_ms, op.time_ok) = (Some(200.0), false);
    let mut expected = run.expected().unwrap().clone();
    let mut row = |quantiles: [f64; 2]| {
        for rule in &mut expected.rules {
            rule.quantile = quantiles[usize::from(rule.op == second)];
        }
        let table = terminal_table(&window, Some(&expected));
        let cells = |name: &str| {
            let line = table.lines().find(|line| line.contains(name)).unwrap();
            let cells: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
            cells[4..9].join("|")
        };
        assert!(table.lines().all(|line| line.chars().count() <= 110), "{table}");
        (cells("operation"), cells("HomePage"))
    };
    let head = |name: &str| format!("p50 ms|p90|{name}|max|limit");
    assert_eq!(row([0.99, 0.99]), (head("p99"), "3.0|40|!500|1,139|200".to_owned()));
    assert_eq!(row([0.95, 0.95]), (head("p95"), "3.0|40|!212|1,139|200".to_owned()));
    assert_eq!(row([0.95, 0.9]), (head("judged"), "3.0|40|!p95 212|1,139|200".to_owned()));
    let (head, home_page) = row([0.9, 0.9]);
    assert!(head.starts_with("p50 ms|p90|max|limit|"), "one column of the same quantile: {head}");
    assert!(home_page.starts_with("3.0|!212|1,139|200|"), "{home_page}");
}

#[test]
fn further_rules_stand_below_the_operations() {
    let root = tempfile::tempdir().unwrap();
    let mut run = Run::open(&synthetic::write(root.path(), Extent::Whole).unwrap()).unwrap();
    assert!(
        !terminal_summary(&run).contains("required at")
            && !render_html(&run).unwrap().contains("Further rules")
    );
    let n = run.deciding_trial().unwrap().n;
    let rule = |subject, op: Option<&str>, holds| RuleRecord {
        subject,
        op: op.map(str::to_owned),
        quantile: Some(0.9),
        measure: None,
        unit: if subject == SubjectRecord::Rate { "operations/s" } else { "ms" }.to_owned(),
        value: Some(1_204.25),
        bound: BoundRecord::AtLeast,
        limit: 1_200.5,
        tolerance: None,
        chance: 0.0,
        holds,
    };
    for entry in &mut run.entries {
        if let Entry::Trial(trial) = entry
            && trial.n == n
        {
            trial.window.rules = vec![
                rule(SubjectRecord::Rate, None, true),
                rule(SubjectRecord::Service, Some("Login"), false),
            ];
            trial.window.measures = vec![MeasureRecord {
                id: "received".to_owned(),
                title: "data received".to_owned(),
                unit: "MB/s".to_owned(),
                better: BetterWhenRecord::Higher,
                value: Some(1.5),
            }];
        }
    }
    let table = terminal_table(&run.deciding_trial().unwrap().window, run.expected());
    let below: Vec<&str> = table.lines().rev().take(3).collect();
    let expected = [
        "  data received: 1.50 MB/s",
        "  FAIL  p90 service time of Login: 1,204 ms, required at least 1,200.5 ms",
        "  pass  rate: 1,204 operations/s, required at least 1,200.5 operations/s",
    ];
    assert_eq!(below, expected);
    let page = render_html(&run).unwrap();
    for part in [
        "Further rules",
        "data received",
        "1.50 MB/s",
        "p90 service time of Login",
        "at least 1,200.5 ms",
        "✕ fail",
        "● pass",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn the_terminal_table_fits_and_reads() {
    let root = tempfile::tempdir().unwrap();
    let run = Run::open(&synthetic::write(root.path(), Extent::Whole).unwrap()).unwrap();
    let mut window = run.trials().nth(6).unwrap().window.clone();
    let (mut bad, rest) = (window.ops[0].clone(), window.ops.split_off(9));
    bad.count = 12_345_678;
    bad.failed = 1_234_567;
    (bad.time_ok, bad.mix_ok, bad.failures_ok) = (false, false, false);
    (bad.p50_ms, bad.p90_ms, bad.p99_ms, bad.max_ms, bad.mix) = (3.46, f64::NAN, 2412.0, 40_000.0, 0.0312);
    let mut quiet = rest[0].clone();
    (quiet.count, quiet.failed) = (28_570, 7);
    (quiet.p50_ms, quiet.p90_ms, quiet.p99_ms, quiet.max_ms) = (8954.0, 22_168.0, 44_007.0, 44_007.0);
    quiet.judged = false;
    window.ops = vec![bad, quiet];
    let table = terminal_table(&window, run.expected());
    insta::assert_snapshot!(table, @r"
─────────────────────────────────────────────────────────────────────────────────────────────────────────
 operation        count  mix %   required  p50 ms     p90     p99     max  limit      failed  verdict
─────────────────────────────────────────────────────────────────────────────────────────────────────────
 HomePage    12,345,678  !3.12  2.35±0.47     3.5       –  !2,412  40,000  2,000  !1,234,567  FAIL
 GetNextBid      28,570      –          –   8,954  22,168  44,007  44,007      –           7  not judged
─────────────────────────────────────────────────────────────────────────────────────────────────────────
");
    let summary = terminal_summary(&run);
    let bounds = summary.lines().skip_while(|line| *line != "Bounds:").take_while(|line| !line.is_empty());
    let bounds: Vec<&str> = bounds.collect();
    assert!(bounds.iter().any(|line| line.contains("The CPU of the host ")), "{summary}");
    for line in summary.lines().take(19).chain(table.lines()).chain(bounds) {
        assert!(line.chars().count() <= 110, "{line}");
    }
}
