//! Studies as tables: a shipped one, and one with everything that it lacks.

use std::path::{Path, PathBuf};

use barograph_export::{Format, export_study};
use barograph_record::{
    AmdahlRecord, BandRecord, Conclusions, ConfigurationRecord, CrossingRecord, Figure, FitRecord,
    IntervalRecord, KneeRecord, MissingFigure, PointRecord, RunEnded, RunStarted, ScalingRecord, StudyEntry,
    read_study,
};

use crate::tables::{Row, Tables, are_told, read_csv, read_parquet};

fn shipped() -> (Conclusions, Vec<StudyEntry>) {
    let folder: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "../../docs/reference/studies/durability"].iter().collect();
    let conclusions = std::fs::read_to_string(folder.join("study.json")).unwrap();
    (serde_json::from_str(&conclusions).unwrap(), read_study(&folder).unwrap().entries)
}

/// All tables as CSV, after a check that those in Parquet are equal.
fn exported(conclusions: &Conclusions, entries: &[StudyEntry]) -> Tables {
    let root = tempfile::tempdir().unwrap();
    let to = |format: Format, folder: &Path| export_study(conclusions, entries, format, folder).unwrap();
    let csv = to(Format::Csv, &root.path().join("csv"));
    let tables: Tables = csv.into_iter().map(|written| (written.table, read_csv(&written.path))).collect();
    for written in to(Format::Parquet, &root.path().join("parquet")) {
        let found = read_parquet(&written.path);
        assert_eq!(found, tables[written.table], "{}", written.table);
        assert!(found.1.iter().all(|row| row["study"] == conclusions.id), "{}", written.table);
        assert_eq!(found.1.len() as u64, written.rows);
    }
    tables
}

fn cells<'r>(row: &'r Row, columns: &[&str]) -> Vec<Option<&'r str>> {
    columns.iter().map(|column| row.get(*column).map(String::as_str)).collect()
}

#[test]
fn every_run_and_every_comparison_of_a_study_is_a_row() {
    let (conclusions, entries) = shipped();
    let tables = exported(&conclusions, &entries);
    let rows = |table: &str| &tables[table].1;
    assert_eq!((rows("study_runs").len(), rows("figures").len()), (24, 24 * 4));
    assert_eq!(
        (rows("configurations").len(), rows("levels").len(), rows("comparisons").len()),
        (3, 3, 3 * 4)
    );
    assert_eq!(rows("sentences").len(), conclusions.sentences.len() + conclusions.warnings.len());
    let is_off =
        |row: &&Row| row["configuration"] == "durability off" && row["metric"] == "response_p50 of AddItem";
    let off = rows("comparisons").iter().find(is_off).unwrap();
    assert_eq!(
        cells(off, &["baseline", "control", "pairs", "finding"]),
        [Some("durability full"), Some("false"), Some("8"), Some("better")]
    );
    assert_eq!(off["ratio"].parse::<f64>().unwrap(), conclusions.metrics[1].rows[1].ratio);
    // A pair is two figures of one block.
    let of_block = |row: &&Row| row["block"] == "1" && row["metric"] == "response_p50 of AddItem";
    assert_eq!(rows("figures").iter().filter(of_block).count(), 3);
    assert_eq!((rows("crossings").len(), rows("scaling_fits").len()), (0, 0));
    let line = &conclusions.percentiles[0].lines[1];
    let is_median =
        |row: &&Row| row["configuration"] == line.configuration.as_str() && row["longer_share"] == "0.5";
    let medians: Vec<&Row> = rows("percentiles").iter().filter(is_median).collect();
    let (row, point) = (medians[0], line.points[3]);
    assert_eq!((medians.len(), point.longer), (conclusions.percentiles.len(), 0.5));
    for (column, value) in
        [("median_ms", point.ms), ("median_low_ms", point.low), ("median_high_ms", point.high)]
    {
        assert_eq!(row[column].parse::<f64>().unwrap(), value, "{column}");
    }
    // It has no warm-up.
    assert!(rows("study_runs").iter().all(|row| row["warm_up"] == "false"));
}

/// A run of block 1 of its kind, with a throughput and without its divisor.
fn ended(warm_up: bool, throughput: f64) -> StudyEntry {
    let (configuration, run) = ("nodes 1".to_owned(), "20301120-184501-04f3".to_owned());
    StudyEntry::RunEnded(Box::new(RunEnded {
        started: RunStarted { block: 1, configuration, attempt: 1, run, warm_up },
        seconds: 10.0,
        valid: true,
        passed: true,
        interrupted: false,
        reasons: Vec::new(),
        figures: vec![Figure::new("throughput", throughput)],
        at_least: None,
        stolen: None,
        scores: vec![vec![0.5, 0.75]],
        missing: vec![MissingFigure {
            metric: "throughput per host_cpu".to_owned(),
            why: "host_cpu was not measured".to_owned(),
        }],
        times: Vec::new(),
    }))
}

#[test]
fn runs_of_warm_up_and_figures_that_are_missing_are_told_as_such() {
    let (name, baseline) = ("nodes 1".to_owned(), "nodes 1".to_owned());
    let configuration = ConfigurationRecord { name, baseline, warm_up: 1, ..Default::default() };
    let conclusions = Conclusions { configurations: vec![configuration], ..shipped().0 };
    let tables = exported(&conclusions, &[ended(true, 90.0), ended(false, 100.0)]);
    let all = |table: &str, columns: &[&str]| -> Vec<String> {
        let told = |row: &Row| {
            cells(row, columns).iter().map(|cell| cell.unwrap_or("-")).collect::<Vec<_>>().join(" ")
        };
        tables[table].1.iter().map(told).collect()
    };
    assert_eq!(all("study_runs", &["block", "warm_up", "valid"]), ["1 true true", "1 false true"]);
    assert_eq!(
        all("figures", &["warm_up", "metric", "value"]),
        ["true throughput 90", "false throughput 100"]
    );
    let missing = "throughput per host_cpu host_cpu was not measured";
    assert_eq!(
        all("missing_figures", &["warm_up", "metric", "reason"]),
        [format!("true {missing}"), format!("false {missing}")]
    );
    assert_eq!(
        all("study_scores", &["warm_up", "window", "tile", "score"]),
        ["true 1 1 0.5", "true 1 2 0.75", "false 1 1 0.5", "false 1 2 0.75"]
    );
    assert_eq!(all("configurations", &["configuration", "warm_up_runs"]), ["nodes 1 1"]);
    are_told(tables);
}

/// A limit not reached at any level.
fn not_reached() -> CrossingRecord {
    CrossingRecord {
        factor: "delay".to_owned(),
        among: String::new(),
        metric: "response_p99".to_owned(),
        unit: "ms".to_owned(),
        limit: 50.0,
        at: None,
        low: f64::NAN,
        high: f64::NAN,
        reached: 0.25,
    }
}

/// Growth with a law, and growth with too few sizes for one.
fn growths() -> Vec<ScalingRecord> {
    let within = |low, high| IntervalRecord { low, high };
    let point = |n: f64, x: f64, serial| PointRecord {
        n,
        x,
        low: x - 1.0,
        high: f64::NAN,
        speedup: x / 10.0,
        speedup_within: within(x / 10.0 - 0.5, f64::NAN),
        efficiency: x / 10.0 / n,
        serial,
    };
    let amdahl = AmdahlRecord { serial: 0.125, within: within(0.0625, 0.25), gamma: 10.0 };
    let growth = |fit, no_fit: &str| ScalingRecord {
        factor: "nodes".to_owned(),
        metric: "capacity".to_owned(),
        unit: "users".to_owned(),
        points: vec![point(1.0, 10.0, None), point(2.0, 19.0, Some(0.05))],
        bounded: vec![2.0],
        fit,
        amdahl: (!no_fit.is_empty()).then_some(amdahl),
        no_fit: no_fit.to_owned(),
        band: vec![BandRecord { n: 1.0, low: 9.0, high: 11.0 }],
        knee: Some(KneeRecord { n: 1.5, within: within(1.25, 1.75), before: 10.0, after: 8.0 }),
        ..ScalingRecord::default()
    };
    let law = FitRecord {
        contention: 0.05,
        coherency: 0.0,
        gamma: 10.0,
        peak_n: None,
        contention_within: within(0.01, 0.09),
        coherency_within: IntervalRecord::default(),
        peak_within: IntervalRecord::default(),
    };
    vec![growth(Some(law), ""), growth(None, "Two sizes are too few.")]
}

#[test]
fn growth_and_limits_have_tables_of_their_own() {
    let conclusions = Conclusions {
        id: "study-20301120-184500-04f2".to_owned(),
        question: "How does it grow?".to_owned(),
        file: "s.toml".to_owned(),
        started_at: "2030-11-20T18:45:00Z".to_owned(),
        tool: "barograph 0.2.0 (1a2b3c4)".to_owned(),
        repeat: "barograph study s.toml".to_owned(),
        crossings: vec![not_reached()],
        scaling: growths(),
        ..Conclusions::default()
    };
    let tables = exported(&conclusions, &[]);
    let row = |table: &str, n: usize, columns: &[&str]| {
        let row = &tables[table].1[n];
        cells(row, columns)
            .into_iter()
            .map(|cell| cell.unwrap_or("-").to_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    let sizes = [
        "size",
        "median",
        "low",
        "high",
        "speedup",
        "speedup_low",
        "speedup_high",
        "efficiency_share",
        "serial_share",
        "is_bound",
    ];
    assert_eq!(row("scaling", 0, &sizes), "1 10 9 - 1 0.5 - 1 - false");
    assert_eq!(row("scaling", 1, &sizes), "2 19 18 - 1.9 1.4 - 0.95 0.05 true");
    let law = [
        "contention",
        "contention_high",
        "coherency",
        "coherency_low",
        "peak_size",
        "knee_size_low",
        "no_fit",
    ];
    assert_eq!(row("scaling_fits", 0, &law), "0.05 0.09 0 - - 1.25 -");
    assert_eq!(row("scaling_fits", 1, &law), "- - - - - 1.25 Two sizes are too few.");
    let serial =
        ["amdahl_serial_share", "amdahl_serial_low", "amdahl_serial_high", "amdahl_limit", "amdahl_gamma"];
    assert_eq!(row("scaling_fits", 0, &serial), "- - - - -");
    assert_eq!(row("scaling_fits", 1, &serial), "0.125 0.0625 0.25 8 10");
    assert_eq!(row("scaling_bands", 1, &["size", "low", "high"]), "1 9 11");
    assert_eq!(row("crossings", 0, &["factor", "limit", "at", "low", "reached_share"]), "delay 50 - - 0.25");
    assert_eq!(tables["study_runs"].1.len(), 0);
    are_told(tables);
}
