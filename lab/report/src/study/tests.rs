//! A made-up study in every form: whole, harmless, and readable without colour.

use barograph_record::{
    AmdahlRecord, BandRecord, Conclusions, ConfigurationRecord, CrossingRecord, ExcludedRun, Figure,
    FindingRecord, FitRecord, IntervalRecord, KneeRecord, LineRecord, MetricRecord, PercentilesRecord,
    PointRecord, QuantileRecord, RowRecord, RunRecord, ScalingRecord, longer_at,
};

use super::{junit, markdown, page, text};

fn row(configuration: &str, ratio: f64, finding: FindingRecord) -> RowRecord {
    let baseline = finding == FindingRecord::Baseline;
    RowRecord {
        configuration: configuration.to_owned(),
        baseline: "nodes 1".to_owned(),
        control: configuration.starts_with("control"),
        runs: 10,
        median: 1_234.5 * ratio,
        lowest: 1_200.0 * ratio,
        highest: 1_300.0 * ratio,
        pairs: 10,
        ratio,
        low: ratio * 0.97,
        high: ratio * 1.03,
        p: if baseline { f64::NAN } else { 0.002 },
        p_holm: if baseline { f64::NAN } else { 0.004 },
        finding,
        pairs_needed: (finding == FindingRecord::Undecided).then_some(31),
        excluded: 0,
        median_ratio: ratio,
        low_90: ratio * 0.98,
        high_90: ratio * 1.02,
        ratios: if baseline { Vec::new() } else { [0.98, 1.0, 1.02].map(|scatter| ratio * scatter).to_vec() },
    }
}

/// Speed by size, with a fit, its band and a bend.
fn growth() -> ScalingRecord {
    let point = |n: f64, x: f64| PointRecord {
        n,
        x,
        low: x * 0.98,
        high: x * 1.02,
        speedup: x / 1_000.0,
        speedup_within: if n > 1.0 {
            IntervalRecord { low: x / 1_250.0, high: x / 800.0 }
        } else {
            IntervalRecord::default()
        },
        efficiency: x / 1_000.0 / n,
        serial: (n > 1.0).then_some(0.111),
    };
    ScalingRecord {
        factor: "nodes".to_owned(),
        among: String::new(),
        metric: "capacity".to_owned(),
        unit: "of load".to_owned(),
        points: vec![point(1.0, 1_000.0), point(2.0, 1_800.0), point(4.0, 2_900.0)],
        bounded: Vec::new(),
        fit: Some(FitRecord {
            contention: 0.1,
            coherency: 0.001,
            gamma: 1_000.0,
            peak_n: Some(30.0),
            contention_within: IntervalRecord { low: 0.08, high: 0.12 },
            coherency_within: IntervalRecord::default(),
            peak_within: IntervalRecord::default(),
        }),
        no_fit: String::new(),
        amdahl: None,
        band: [1.0, 2.0, 4.0].map(|n| BandRecord { n, low: n * 900.0, high: n * 1_000.0 }).to_vec(),
        knee: Some(KneeRecord {
            n: 2.5,
            within: IntervalRecord { low: 2.0, high: 4.0 },
            before: 900.0,
            after: 500.0,
        }),
    }
}

/// Two configurations, of which the second has too few runs for an interval.
fn by_percentile() -> PercentilesRecord {
    let line = |configuration: &str, runs: u32, slow: f64| LineRecord {
        configuration: configuration.to_owned(),
        runs,
        limit: Some((0.99, 250.0)),
        points: (0..21)
            .map(|place| {
                let ms = slow * (1.0 + f64::from(place));
                let (low, high) = if runs < 6 { (f64::NAN, f64::NAN) } else { (ms * 0.9, ms * 1.1) };
                QuantileRecord { longer: longer_at(place as usize), ms, low, high }
            })
            .collect(),
    };
    PercentilesRecord {
        op: "Get".to_owned(),
        lines: vec![line("nodes 1", 10, 2.0), line("nodes 2 & <more>", 5, 1.0)],
    }
}

fn conclusions() -> Conclusions {
    let configuration = |name: &str| ConfigurationRecord {
        name: name.to_owned(),
        baseline: "nodes 1".to_owned(),
        valid: 10,
        ..ConfigurationRecord::default()
    };
    Conclusions {
        v: 1,
        id: "study-20301120-184500-04f2".to_owned(),
        file: "studies/<x>.toml".to_owned(),
        question: "Do more nodes & <b>buses</b> help?".to_owned(),
        seed: 1,
        blocks: 10,
        complete: true,
        sentences: vec!["nodes 4: capacity is better than with nodes 1.".to_owned()],
        warnings: vec!["3 of 40 runs were dropped.".to_owned()],
        configurations: ["nodes 1", "nodes 2", "nodes 4"].map(configuration).to_vec(),
        metrics: vec![MetricRecord {
            label: "capacity".to_owned(),
            name: String::new(),
            sentences: Vec::new(),
            unit: "of load".to_owned(),
            more_is_better: true,
            noise_floor: Some(0.023),
            margin: 0.01,
            rows: vec![
                row("nodes 1", 1.0, FindingRecord::Baseline),
                row("nodes 2", 1.8, FindingRecord::Better),
                row("nodes 4", 0.7, FindingRecord::Worse),
                row("nodes 8", 1.02, FindingRecord::Undecided),
                row("control (A/A)", 1.0, FindingRecord::Equivalent),
            ],
        }],
        crossings: vec![CrossingRecord {
            factor: "users".to_owned(),
            among: String::new(),
            metric: "response_p99 of Get".to_owned(),
            unit: "ms".to_owned(),
            limit: 250.0,
            at: Some(1_234.0),
            low: 1_200.0,
            high: 1_300.0,
            reached: 1.0,
        }],
        scaling: vec![growth()],
        percentiles: vec![by_percentile()],
        runs: vec![RunRecord {
            run: "20301120-184500-04f2".to_owned(),
            configuration: "nodes 1".to_owned(),
            block: 1,
            passed: true,
            figures: vec![Figure::new("capacity", 1_234.0)],
            bounded: Vec::new(),
        }],
        excluded: vec![ExcludedRun {
            run: "20301120-184501-04f3".to_owned(),
            configuration: "nodes 2".to_owned(),
            block: 3,
            reasons: vec!["not valid: start lag".to_owned()],
        }],
        repeat: "barograph study studies/x.toml".to_owned(),
        tool: "barograph 0.1.0 (1a2b3c4)".to_owned(),
        ..Conclusions::default()
    }
}

#[test]
fn a_text_stands_on_its_own_and_fits_a_terminal() {
    let text = text(&conclusions());
    for words in [
        "Do more nodes & <b>buses</b> help?",
        "within ±1.00 % counts as the same; below ±2.30 % it may be noise",
        "1.746 – 1.854",
        "▲ better",
        "▼ worse",
        "? undecided, needs 31 pairs",
        "1,234.0",
        "not valid: start lag",
        "Take note:\n  3 of 40 runs were dropped.",
        "Answers:\n  nodes 4: capacity is better than with nodes 1.",
        "To run it again: barograph study studies/x.toml",
    ] {
        let words = words.replace("1,234.0", "1,234");
        assert!(text.contains(&words), "{words:?} is not in\n{text}");
    }
    let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= 110, "{widest} columns:\n{text}");
}

#[test]
fn response_times_by_percentile_have_a_line_a_band_and_a_row_each() {
    let html = page(&conclusions(), true).unwrap();
    for words in [
        "Response time of Get by percentile",
        "<g><title>nodes 1</title><path class=\"series c1\"",
        "<g><title>nodes 2 &amp; &lt;more&gt;</title><path class=\"series c2 dashed\"",
        ">limit 250 ms at p99</text>",
        // Medians with their interval, and one without.
        "<td>42.0 ms (37.8 ms – 46.2 ms)</td>",
        "<td>21.0 ms</td>",
        ">p95</th>",
    ] {
        assert!(html.contains(words), "{words} in\n{html}");
    }
    assert_eq!(html.matches("class=\"median-band").count(), 1, "one of both has intervals");
    let mut far = conclusions();
    far.percentiles[0].lines.iter_mut().for_each(|line| line.limit = Some((0.99, 2_000.0)));
    let below = |limit: f64| {
        let mut study = conclusions();
        study.percentiles[0].lines.iter_mut().for_each(|line| line.limit = Some((0.99, limit)));
        page(&study, true).unwrap()
    };
    // The shortest time is 1 ms.
    assert!(below(0.01).contains("The limit of 10 µs at p99 is far below."));
    assert!(below(0.5).contains(">limit 500 µs at p99</text>"));
    let html = page(&far, true).unwrap();
    assert!(html.contains("The limit of 2.00 s at p99 is far above.") && !html.contains("limit-name\" x"));
}

#[test]
fn a_speed_below_ten_keeps_its_digits() {
    let mut study = conclusions();
    (study.scaling[0].points[0].x, study.scaling[0].points[0].low, study.scaling[0].points[0].high) =
        (1.5, 1.25, 1.75);
    assert!(text(&study).contains("1.25 – 1.75"), "{}", text(&study));
    let sizes: Vec<String> =
        text(&study).lines().filter_map(|l| Some(l.split_whitespace().next()?.to_owned())).collect();
    assert!(["1", "2", "4"].iter().all(|size| sizes.iter().any(|found| found == size)), "{sizes:?}");
}

#[test]
fn the_page_is_whole_harmless_and_says_everything_without_colour() {
    let html = page(&conclusions(), true).unwrap();
    assert!(!html.contains("<b>buses") && html.contains("Do more nodes &#38; &#60;b&#62;buses"), "escaped");
    assert!(!html.contains("=\"http") && !html.contains("url(http") && !html.contains("<script"));
    for words in [
        "▲ better",
        "▼ worse",
        "= equivalent",
        "? undecided",
        "10 pairs",
        "10 runs",
        "class=\"whisker\"",
        "dotted",
        "90.0 %",
        "class=\"fit-band\"",
        "growth bends here",
        ">growth bends</text>",
        "an upright line stands where growth bends",
    ] {
        assert!(html.contains(words), "{words}");
    }
    assert_eq!(html.matches("<svg").count(), html.matches("</svg>").count());
    assert_eq!(html.matches("0.1.0").count(), 1);
    assert!(html.contains("(barograph 0.1.0 (1a2b3c4))"), "the program names itself once");
}

#[test]
fn the_page_begins_with_the_first_metric_and_says_the_rest_beside_its_figure() {
    let mut study = conclusions();
    let said = "nodes 4: p99 response time of Get is worse.".to_owned();
    study.sentences.push(said.clone());
    let (label, name) = ("response_p99 of Get".to_owned(), "p99 response time of Get".to_owned());
    let other = MetricRecord { label, name, sentences: vec![said.clone()], ..study.metrics[0].clone() };
    study.metrics.push(other);
    let html = page(&study, true).unwrap();
    let place = |words: &str| html.find(words).unwrap_or_else(|| panic!("{words}"));
    assert!(place("capacity is better") < place("id=\"m0-h\"") && place("id=\"m1-h\"") < place(&said));
    assert_eq!(html.matches(&said).count(), 1);
    study.found = vec![said.clone()];
    let found = page(&study, true).unwrap();
    assert!(
        found.find(&said) < found.find("id=\"m0-h\""),
        "what was found is an answer, whatever was asked first"
    );
    assert_eq!(found.matches(&said).count(), 1);
    assert!(html.contains("class=\"noise\"") && html.contains("class=\"same\""));
    assert!(html.contains("within ±1.00\u{a0}% counts as the same"));
}

#[test]
fn what_a_metric_is_divided_by_is_named_wherever_it_is() {
    let mut study = conclusions();
    let per = "capacity per deploy.application_nodes";
    let metric = &mut study.metrics[0];
    (metric.label, metric.unit) = (per.to_owned(), "users per deploy.application_nodes".to_owned());
    let title = "capacity per deploy.application_nodes, users per deploy.application_nodes";
    assert!(text(&study).contains(&format!("{title} (more is better; within")), "{}", text(&study));
    let html = page(&study, true).unwrap();
    assert!(html.contains(&format!("{title}</h2>")) && html.contains(&format!("{per} over its baseline")));
    assert!(markdown(&study).contains("**capacity per deploy.application"), "{}", markdown(&study));
    assert!(junit(&study).contains(&format!("<testsuite name=\"{per}\" tests=\"4\"")));
}

#[test]
fn runs_of_warm_up_are_told_and_not_among_the_others() {
    let mut study = conclusions();
    assert!(text(&study).contains("\n\nRuns\n") && page(&study, true).unwrap().contains(">Runs</h2>"));
    study.configurations.iter_mut().for_each(|configuration| configuration.warm_up = 2);
    let title = "Runs, besides 6 of warm-up, not judged";
    assert!(text(&study).contains(&format!("\n\n{title}\n")), "{}", text(&study));
    assert!(page(&study, true).unwrap().contains(&format!(">{title}</h2>")));
    assert!(markdown(&study).contains("besides 6 of warm"), "{}", markdown(&study));
}

#[test]
fn ratios_far_apart_are_drawn_by_their_logarithm() {
    let mut study = conclusions();
    assert!(!page(&study, true).unwrap().contains("over its baseline, logarithmic"));
    let row = study.metrics[0].rows.last_mut().unwrap();
    (row.ratio, row.low, row.high) = (9.9, 7.7, 12.6);
    assert!(page(&study, true).unwrap().contains("capacity over its baseline, logarithmic"));
}

#[test]
fn nothing_known_is_still_a_page_and_a_text() {
    let mut study = conclusions();
    for row in &mut study.metrics[0].rows {
        (row.median, row.ratio, row.low, row.high) = (f64::NAN, f64::NAN, f64::NAN, f64::NAN);
    }
    study.scaling[0].points.iter_mut().for_each(|p| (p.low, p.high) = (f64::NAN, f64::NAN));
    assert!(!page(&study, true).unwrap().contains("NaN") && !text(&study).contains("NaN"));
    assert!(!markdown(&Conclusions::default()).is_empty() && !junit(&Conclusions::default()).is_empty());
    page(&Conclusions::default(), true).unwrap();
}

#[test]
fn markdown_has_the_answers_first_and_whole_tables() {
    let text = markdown(&conclusions());
    assert!(
        text.starts_with("## Do more nodes \\& \\<b\\>buses\\</b\\> help?\n\n**Answers**\n\n- nodes 4"),
        "{text}"
    );
    for table in text.split("\n\n").filter(|part| part.starts_with('|')) {
        let cells: Vec<usize> = table.lines().map(|line| line.matches('|').count()).collect();
        assert!(cells.len() > 2 && cells.iter().all(|n| *n == cells[0]), "{table}");
    }
}

#[test]
fn junit_fails_what_is_worse_and_skips_what_is_not_decided() {
    let xml = junit(&conclusions());
    assert!(
        xml.contains("<testsuite name=\"capacity\" tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"1\">"),
        "{xml}"
    );
    assert!(xml.contains("name=\"nodes 4\"><failure message=\"worse: ratio 0.700"), "{xml}");
    assert!(xml.contains("name=\"nodes 2\"><system-out>better"), "{xml}");
    assert_eq!(xml.matches("<testcase").count(), xml.matches("</testcase>").count());
    assert!(!xml.contains("name=\"rules\""), "no rule was broken: {xml}");
}

#[test]
fn junit_fails_what_broke_rules_and_what_has_no_pair() {
    let mut study = conclusions();
    let nodes = &mut study.configurations[2];
    (nodes.breaks_rules, nodes.missed) = (true, 9);
    let row = &mut study.metrics[0].rows[3];
    (row.pairs, row.ratio, row.low, row.high) = (0, f64::NAN, f64::NAN, f64::NAN);
    let xml = junit(&study);
    assert!(xml.contains("tests=\"4\" failures=\"2\" errors=\"0\" skipped=\"0\">"), "{xml}");
    assert!(xml.contains("name=\"nodes 8\"><failure message=\"undecided: ratio – to nodes 1, 95 % interval – to –, 0 pairs\"/>"), "{xml}");
    let rules = "<testsuite name=\"rules\" tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\">\n<testcase \
                 classname=\"barograph.study\" name=\"nodes 4\"><failure message=\"broke rules that nodes 1 kept, in 9 of 10 \
                 runs\"/></testcase>\n</testsuite>\n";
    assert!(xml.contains(rules), "{xml}");
}

#[test]
fn junit_fails_a_control_that_differs_from_itself_whatever_else_is_found() {
    let mut study = conclusions();
    let failed = |study: &Conclusions| junit(study).contains("name=\"control (A/A)\"><failure");
    for (p_holm, finding, expected) in [
        (0.004, FindingRecord::Equivalent, false),
        (0.004, FindingRecord::Undecided, true),
        (0.5, FindingRecord::Undecided, false),
        (0.004, FindingRecord::Better, true),
    ] {
        let control = study.metrics[0].rows.last_mut().unwrap();
        (control.p_holm, control.finding) = (p_holm, finding);
        assert_eq!(failed(&study), expected, "{p_holm} {finding:?}");
    }
}

#[test]
fn growth_that_rests_on_a_bound_is_told_as_one() {
    let mut study = conclusions();
    study.scaling = vec![ScalingRecord { bounded: vec![4.0], ..growth() }];
    let told = page(&study, true).unwrap();
    assert!(told.contains("<td>≥ 2,900</td>") && told.contains("<td>≥ 2.90</td>"), "{told}");
    assert!(told.contains(">≥ 72.5 %</text>") && told.contains("<td>1.80</td>"), "{told}");
    study.scaling[0].bounded = vec![1.0];
    let told = page(&study, true).unwrap();
    assert!(told.contains("<td>≥ 1,000</td>") && told.contains("<td>≤ 2.90</td>"), "{told}");
}

#[test]
fn few_sizes_have_a_speedup_with_its_interval_and_the_curve_of_amdahl() {
    let mut study = conclusions();
    let amdahl =
        AmdahlRecord { serial: 0.1, within: IntervalRecord { low: 0.05, high: 0.15 }, gamma: 1_000.0 };
    study.scaling = vec![ScalingRecord { fit: None, band: Vec::new(), amdahl: Some(amdahl), ..growth() }];
    // It has dashed lines of its own.
    study.percentiles.clear();
    let told = page(&study, true).unwrap();
    assert!(told.contains("<td>2.90</td>") && told.contains("<td>2.32 – 3.62</td>"), "{told}");
    assert!(
        told.contains("the dashed one Amdahl&#39;s law") || told.contains("the dashed one Amdahl's law"),
        "{told}"
    );
    assert_eq!(told.matches("series c2 dashed").count(), 1, "{told}");
    study.scaling[0].amdahl = None;
    let without = page(&study, true).unwrap();
    assert!(!without.contains("series c2 dashed"), "{without}");
}

#[test]
fn every_pair_is_a_dot_and_every_run_a_row_with_its_figures() {
    let mut study = conclusions();
    let html = page(&study, true).unwrap();
    assert_eq!(html.matches("<circle class=\"pair\"").count(), 4 * 3, "three pairs of each but the baseline");
    let row = "<td><a href=\"runs/20301120-184500-04f2/report.html\">20301120-184500-04f2</a></td><td>1</td>\
               <td class=\"words\">nodes 1</td><td class=\"words\">kept</td><td>1,234</td>";
    assert!(html.contains(row), "{html}");
    study.runs[0].bounded = vec!["capacity".to_owned()];
    study.runs[0].passed = false;
    let alone = page(&study, false).unwrap();
    assert!(!alone.contains("<a href") && alone.contains("not kept beside this page"), "{alone}");
    assert!(alone.contains("<td class=\"words\">broken</td><td>≥ 1,234</td>"), "{alone}");
    study.metrics[0].rows[1].ratios = vec![4.9];
    assert!(
        page(&study, true).unwrap().contains("<title>nodes 2: better"),
        "a dot far away is still on the figure"
    );
    study.runs.clear();
    assert!(!page(&study, true).unwrap().contains("Every run that is used"));
}

#[test]
fn no_p_value_is_nothing() {
    let mut study = conclusions();
    study.metrics[0].rows[1].p_holm = 1e-9;
    for told in [text(&study), markdown(&study).replace('\\', ""), page(&study, true).unwrap()] {
        assert!(told.contains("0.0001") && told.contains("0.0040") && !told.contains("0.0000"), "{told}");
    }
}

#[test]
fn the_command_that_repeats_a_study_stays_one_piece_of_code() {
    let mut study = conclusions();
    study.repeat = "barograph study `x`.toml\n# no title".to_owned();
    assert!(
        markdown(&study).ends_with("\nTo run it again: `` barograph study `x`.toml # no title ``\n"),
        "{}",
        markdown(&study)
    );
}

#[test]
fn names_from_outside_break_no_form() {
    let mut study = conclusions();
    study.question = "\u{1}<&\"".to_owned();
    assert!(junit(&study).contains("<testsuites name=\" &lt;&amp;&quot;\">"), "{}", junit(&study));
    assert!(markdown(&study).starts_with("##  \\<\\&\"\n"), "{}", markdown(&study));
}

#[test]
fn speeds_by_the_same_sizes_stand_side_by_side_with_linear_growth() {
    let mut study = conclusions();
    assert!(!page(&study, true).unwrap().contains("side by side"));
    let mut requests =
        ScalingRecord { metric: "requests".to_owned(), unit: "requests/s".to_owned(), ..growth() };
    requests.points[2].x = 5_858.0;
    requests.points[2].speedup = 2.929;
    study.scaling = vec![growth(), requests];
    let told = page(&study, true).unwrap();
    assert!(told.contains("<h2 id=\"t0-h\">capacity and requests by nodes side by side</h2>"), "{told}");
    let row = "<td>4</td><td>2,900</td><td>2.90</td><td>5,858</td><td>2.93</td><td>1.00 %</td>";
    assert!(told.contains(row), "{told}");
    let figure = told.split("<h2 id=\"t0-h\">").nth(1).unwrap().split("</svg>").next().unwrap();
    for class in ["series c1\"", "series c2 dashed\"", "series c4 dotted\""] {
        assert_eq!(figure.matches(class).count(), 2, "a line and its legend: {class} in {figure}");
    }
    study.scaling[1].bounded = vec![4.0];
    let told = page(&study, true).unwrap();
    assert!(told.contains("<td>≥ 5,858</td><td>≥ 2.93</td><td>–</td>"), "{told}");
    study.scaling[1].factor = "disks".to_owned();
    assert!(!page(&study, true).unwrap().contains("side by side"), "sizes of another factor");
}
