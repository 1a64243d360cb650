//! Tables in both formats, read back by general-purpose libraries.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use barograph_export::{Format, Histograms, TableFile, export};
use barograph_record::{ActionRecord, Entry, PartRecord, ProbeRow, Run, RunWriter, TopologyRecord};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;

use crate::record::{self, sample, written};

/// Rows by column, as text; absent values have no entry.
pub(crate) type Row = BTreeMap<String, String>;

pub(crate) fn read_csv(path: &Path) -> (Vec<String>, Vec<Row>) {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let heads: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let row = |record: csv::StringRecord| {
        let cells = heads.iter().cloned().zip(record.iter().map(str::to_owned));
        cells.filter(|(_, cell)| !cell.is_empty()).collect()
    };
    let rows = reader.records().map(|record| row(record.unwrap())).collect();
    (heads, rows)
}

pub(crate) fn read_parquet(path: &Path) -> (Vec<String>, Vec<Row>) {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr();
    let heads = schema.columns().iter().map(|column| column.name().to_owned()).collect();
    let cell = |field: &Field| match field {
        Field::Null => None,
        Field::Str(text) => Some(text.clone()),
        Field::Long(n) => Some(n.to_string()),
        Field::Double(x) => Some(x.to_string()),
        Field::Bool(truth) => Some(truth.to_string()),
        other => panic!("{other:?} is of a kind that is not written"),
    };
    let row = |row: parquet::record::Row| {
        row.get_column_iter().filter_map(|(name, field)| Some((name.clone(), cell(field)?))).collect()
    };
    let rows = reader.get_row_iter(None).unwrap().map(|found| row(found.unwrap())).collect();
    (heads, rows)
}

fn exported(root: &Path, format: Format) -> (Run, Vec<TableFile>) {
    let run = Run::open(&root.join("runs").join(record::id().as_str())).unwrap();
    let tables = export(&run, format, &root.join(format.name()), Histograms::Written).unwrap();
    (run, tables)
}

fn made() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    written(&root.path().join("runs"), Vec::new());
    root
}

/// Every table by its name: its columns, and its rows.
pub(crate) type Tables = BTreeMap<&'static str, (Vec<String>, Vec<Row>)>;

fn all_csv(root: &Path) -> Tables {
    exported(root, Format::Csv).1.into_iter().map(|w| (w.table, read_csv(&w.path))).collect()
}

#[test]
fn both_formats_hold_the_same_and_every_row_names_its_run() {
    let root = made();
    let csv = all_csv(root.path());
    for TableFile { table, path, rows } in exported(root.path(), Format::Parquet).1 {
        let (heads, found) = read_parquet(&path);
        assert_eq!((&heads, &found), (&csv[table].0, &csv[table].1), "{table}");
        assert_eq!(found.len() as u64, rows, "{table}");
        assert!(!found.is_empty(), "the made-up record has something for {table}");
        assert!(found.iter().all(|row| row["run"] == record::id().as_str()), "{table}");
    }
    let left: Vec<PathBuf> =
        fs::read_dir(root.path().join("parquet")).unwrap().map(|e| e.unwrap().path()).collect();
    assert!(left.iter().all(|path| path.extension().unwrap() == "parquet"), "{left:?}");
}

#[test]
fn a_text_that_says_nothing_is_absent_in_both_formats() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(root.path(), &record::id()).unwrap();
    for entry in record::beginning() {
        writer.append(&entry).unwrap();
    }
    // A job: it has no address, uses nothing, and has no version.
    let (name, tier, service) = ("load-1".to_owned(), "relational".to_owned(), "job".to_owned());
    let part = PartRecord { name, tier, service, ..PartRecord::default() };
    let platform = "process".to_owned();
    let topology = TopologyRecord { platform, parts: vec![part], ..TopologyRecord::default() };
    writer.append(&Entry::Topology(Box::new(topology))).unwrap();
    let everything = ActionRecord { at_s: 1.5, act: "cut".into(), took_s: 0.5, ..ActionRecord::default() };
    writer.append(&Entry::Action(everything)).unwrap();
    writer.finish().unwrap();
    let run = Run::open(writer.dir()).unwrap();
    let to =
        |format: Format| export(&run, format, &root.path().join(format.name()), Histograms::Left).unwrap();
    let (csv, parquet) = (to(Format::Csv), to(Format::Parquet));
    for (table, column) in [("parts", "url"), ("parts", "uses"), ("parts", "version"), ("actions", "part")] {
        let path =
            |written: &[TableFile]| written.iter().find(|one| one.table == table).unwrap().path.clone();
        let (found, same) = (read_csv(&path(&csv)), read_parquet(&path(&parquet)));
        assert_eq!(found, same, "{table}");
        assert!(found.1.len() == 1 && !found.1[0].contains_key(column), "{table} {column}");
    }
}

#[test]
fn figures_and_texts_are_those_of_the_record() {
    let root = made();
    let tables = all_csv(root.path());
    let cell = |table: &str, row: usize, column: &str| tables[table].1[row].get(column).map(String::as_str);
    assert_eq!(cell("notes", 0, "note"), Some("a note, \"quoted\",\nof two lines"));
    assert_eq!(cell("verdict", 0, "capacity"), Some("1000"));
    assert_eq!(cell("verdict", 0, "application_cores"), Some("0.8"));
    assert_eq!(cell("verdict", 0, "lowest_fail"), None);
    assert_eq!(cell("trials", 0, "throughput_operations_per_s"), Some("300.25"));
    assert_eq!(cell("trial_operations", 0, "response_p99_ms"), None, "not a number is absent");
    assert_eq!(cell("trial_operations", 0, "response_mean_ms"), Some("4.5"));
    assert_eq!(cell("trial_operations", 0, "service_p95_ms"), Some("6.5"));
    assert_eq!(cell("trial_operations", 0, "passed"), Some("false"));
    assert_eq!(cell("checks", 0, "found"), Some("p99 6.25 ms"));
    let measure = ["measure", "title", "unit", "better", "value"].map(|column| cell("measures", 0, column));
    assert_eq!(measure, ["received", "data received", "MB/s", "higher", "1.5"].map(Some));
    let counted = ["from_s", "counter", "count"].map(|column| cell("interval_counters", 1, column));
    assert_eq!((counted[0], counted[1]), (Some("1"), Some("bytes")));
    let bytes =
        tables["interval_counters"].1.iter().map(|row| row["count"].parse::<u64>().unwrap()).sum::<u64>();
    assert_eq!(bytes, 300_000);
    assert_eq!(cell("phases", 0, "outcome"), Some("failed"));
    assert_eq!(cell("parts", 0, "uses"), Some("sql bus"));
    assert_eq!(cell("fill", 1, "value"), Some("9000000000"));
    assert!(tables["plan"].1.iter().any(|row| row["key"] == "load.users" && row["value"] == "5"));
    assert_eq!(cell("disclosure", 1, "value"), Some("2"));
    assert_eq!(cell("unknown", 0, "kind"), Some("weather"));
    assert_eq!(cell("runs", 0, "interrupted_by"), Some("it broke"));
    assert_eq!(cell("probes", 0, "rss_bytes"), Some("3000000123"));
    assert_eq!(cell("probes", 0, "throttled_s_per_s"), Some("0.0625"));
    assert_eq!(cell("probes", 0, "steal_share"), None);
    let power = |row| ["trial", "source", "watts", "joules"].map(|column| cell("power", row, column));
    assert_eq!(power(0), [None, None, Some("20.5"), Some("41")], "the machine before the load");
    assert_eq!(power(3), [Some("1"), Some("package-0"), Some("51.5"), Some("154.5")]);
    let counts: u64 =
        tables["interval_operations"].1.iter().map(|row| row["count"].parse::<u64>().unwrap()).sum();
    assert_eq!(counts, 300);
    let refused = tables["outcomes"].1.iter().filter(|row| row["outcome"] == "refused");
    assert_eq!(refused.map(|row| row["count"].parse::<u64>().unwrap()).sum::<u64>(), 30);
}

#[test]
fn any_quantile_follows_from_the_table_of_histograms() {
    let root = made();
    let tables = all_csv(root.path());
    let number = |row: &Row, column: &str| row[column].parse::<u64>().unwrap();
    let mut values: Vec<(u64, u64)> = tables["histograms"]
        .1
        .iter()
        .filter(|row| row["time"] == "response" && row["operation"] == "Login")
        .map(|row| (number(row, "highest_us"), number(row, "count")))
        .collect();
    values.sort_unstable();
    assert_eq!(values.iter().map(|value| value.1).sum::<u64>(), 300);
    // 1 to 100 ms and 1 to 200 ms together: 200 of 300 are up to 100 ms.
    let mut below = 0;
    let at = values.iter().find(|value| {
        below += value.1;
        below >= 200
    });
    let median_ms = at.unwrap().0 as f64 / 1e3;
    assert!((median_ms / 100.0 - 1.0).abs() < 2e-3, "{median_ms}");
}

/// The scalar values of a JSON value, without nulls.
fn leaves<'v>(value: &'v Value, found: &mut Vec<&'v Value>) {
    match value {
        Value::Null => {}
        Value::Object(fields) => fields.values().for_each(|value| leaves(value, found)),
        Value::Array(items) => items.iter().for_each(|value| leaves(value, found)),
        leaf => found.push(leaf),
    }
}

/// Such a value in its form in a table.
fn told(leaf: &Value) -> String {
    match leaf {
        Value::String(text) => text.clone(),
        other => other.as_f64().map_or_else(|| other.to_string(), |x| x.to_string()),
    }
}

/// The tables with the values of an entry.
fn tables_of(entry: &Entry) -> &'static [&'static str] {
    match entry {
        Entry::Header(_) | Entry::LoadStarted(_) | Entry::Interrupted(_) => &["runs"],
        Entry::PhaseStarted(_) | Entry::PhaseEnded(_) => &["phases"],
        Entry::Note(_) => &["notes"],
        Entry::Fill(_) => &["fill"],
        Entry::Topology(_) => &["parts", "platform", "snapshot"],
        Entry::Action(_) => &["actions", "action_operations"],
        Entry::Demand(_) => &["demand_curve"],
        Entry::Supply(_) => &["supply"],
        Entry::Level(_) => &["load_levels"],
        Entry::Tiers(_) => &["tiers"],
        Entry::Decisions(_) => &["decisions"],
        Entry::Interval(_) => &["intervals", "interval_operations", "interval_counters", "outcomes"],
        Entry::Control(_) => &["controls"],
        Entry::Trial(_) => {
            &["trials", "trial_operations", "trial_rules", "measures", "checks", "check_figures"]
        }
        Entry::Expected(_) => &["runs", "rules", "interval_counters"],
        Entry::Verdict(_) => &[
            "verdict",
            "reasons",
            "doubts",
            "estimate",
            "pass_curve",
            "scores",
            "ratios",
            "operation_ratios",
        ],
        Entry::Tiles(_) => &["tiles", "tile_operations", "copies"],
        // The names of folders, each exported like a run.
        Entry::Loads(_) | Entry::Finished(_) => &[],
        Entry::Unknown(_) => &["unknown"],
    }
}

/// All cells of these tables.
fn cells<'t>(tables: &'t Tables, names: &[&str]) -> BTreeSet<&'t str> {
    let rows = names.iter().flat_map(|name| &tables[*name].1);
    rows.flat_map(|row| row.values().map(String::as_str)).collect()
}

#[test]
fn no_value_of_a_record_is_left_out() {
    let root = made();
    let (run, _) = exported(root.path(), Format::Csv);
    let tables = all_csv(root.path());
    // Units have other words in tables, and lists of names are in one cell.
    let known = ["starts_per_second", "sql", "bus"];
    for entry in &run.entries {
        if matches!(entry, Entry::Unknown(_)) {
            continue;
        }
        let mut value = serde_json::to_value(entry).unwrap();
        value.as_object_mut().unwrap().remove("kind");
        let mut found = Vec::new();
        leaves(&value, &mut found);
        let numbers: Vec<String> =
            found.iter().filter(|leaf| leaf.is_number()).map(|leaf| told(leaf)).collect();
        let different: BTreeSet<&String> = numbers.iter().collect();
        // The load consists of histograms, in which a number may be repeated.
        let once = different.len() == numbers.len() || matches!(entry, Entry::Interval(_));
        assert!(once, "a number that is there twice may hide a column that is missing: {numbers:?}");
        let cells = cells(&tables, tables_of(entry));
        let missing: Vec<String> = found
            .into_iter()
            .map(told)
            .filter(|leaf| !cells.contains(leaf.as_str()) && !known.contains(&leaf.as_str()))
            .collect();
        assert!(
            missing.is_empty(),
            "a field of this entry has no column in lab/export/src/tables: {missing:?} of {entry:?}"
        );
    }
    let probes = cells(&tables, &["probes"]);
    for (name, value) in ProbeRow::figure_names().zip(sample(5.0).figures()) {
        let there = value.is_none_or(|value| probes.contains(value.to_string().as_str()));
        assert!(there, "{name} of the samples has no column");
    }
    let statistics = cells(&tables, &["statistics"]);
    assert_eq!(run.statistics.len(), 2);
    for row in &run.statistics {
        let texts = [&row.part, &row.statistic, &row.kind, &row.unit].map(String::as_str);
        assert!(texts.iter().all(|text| statistics.contains(text)), "{row:?}");
        let numbers = [row.at_s, row.value].map(|number| number.to_string());
        assert!(numbers.iter().all(|number| statistics.contains(number.as_str())), "{row:?}");
    }
}

#[test]
fn the_page_on_exports_names_every_table_and_column() {
    let root = made();
    are_told(all_csv(root.path()));
}

/// Asserts that the page on exports has a row for each table with all of its columns.
pub(crate) fn are_told(tables: Tables) {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/export.md")).unwrap();
    for (table, (heads, _)) in tables {
        let line = page.lines().find(|line| line.starts_with(&format!("| `{table}` |")));
        let line = line.unwrap_or_else(|| panic!("docs/export.md has no row for the table `{table}`"));
        // The columns of samples are those of `probe.csv`.
        let most = if table == "probes" { 3 } else { heads.len() };
        for head in &heads[1..most] {
            assert!(
                line.contains(&format!("`{head}`")),
                "docs/export.md does not name `{head}` of `{table}`"
            );
        }
    }
}
