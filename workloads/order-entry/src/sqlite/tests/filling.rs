//! Filling, finding and refusing files.

use std::fs;

use barograph_model::words::in_one_line;
use rusqlite::Connection;
use tempfile::TempDir;

use super::rig::{Rig, SIZE, digests};
use crate::generate::Generator;
use crate::sqlite::{Files, SqliteError, found};
use crate::tables::{Size, Table};

#[test]
fn one_seed_fills_the_same_tables_and_another_fills_others() {
    let (one, again, other) = (Rig::of_seed(7), Rig::of_seed(7), Rig::of_seed(8));
    assert_eq!(digests(&one.filled), digests(&again.filled));
    for (one, other) in digests(&one.filled).into_iter().zip(digests(&other.filled)) {
        assert_eq!(one.1 == other.1, one.0 == "new_order", "{}", one.0);
    }
}

#[test]
fn a_filled_file_is_found_again_and_never_worn() {
    let rig = Rig::new();
    let before = digests(&rig.filled);
    assert_eq!(rig.transact(2, 100), 0);
    assert_ne!(digests(&rig.copy), before);
    let again = rig.files.fill(&rig.generator, |_, _| panic!("nothing is filled again")).unwrap();
    assert!(again.reused && again.lines > 0 && again.bytes > 100_000, "{again:?}");
    assert_eq!(digests(&rig.filled), before);
    rig.files.reset().unwrap();
    assert_eq!(digests(&rig.copy), before);
}

#[test]
fn all_rows_are_told_while_they_are_inserted() {
    let folder = TempDir::new().unwrap();
    let generator = Generator::new(Size::new(SIZE.0, SIZE.1), 1);
    let files = Files::take(&folder.path().join("oe.db")).unwrap();
    let mut told = [0; 9];
    let filled = files.fill(&generator, |table, rows| {
        told[Table::ALL.iter().position(|known| *known == table).unwrap()] += rows;
        true
    });
    let lines = filled.unwrap().lines;
    let expected = Table::ALL.map(|table| match table {
        Table::OrderLine => lines,
        table => generator.size.rows(table),
    });
    assert_eq!(told, expected);
}

#[test]
fn a_fill_that_was_stopped_leaves_no_database_and_the_next_one_is_whole() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("folder/oe.db");
    let generator = Generator::new(Size::new(SIZE.0, SIZE.1), 1);
    let files = Files::take(&path).unwrap();
    let stopped = files.fill(&generator, |table, _| table != Table::Customer);
    assert!(matches!(stopped, Err(SqliteError::Stopped)), "{stopped:?}");
    let left: Vec<_> =
        fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["oe.db.lock"]);
    assert!(!files.fill(&generator, |_, _| true).unwrap().reused);
    assert!(found(&path, &generator).unwrap().is_some());
}

#[test]
fn one_run_at_a_time_has_a_file() {
    let rig = Rig::new();
    let second = Files::take(&rig.filled).unwrap_err();
    assert!(in_one_line(&second).ends_with("which another load or run uses now"), "{second}");
    let path = rig.filled.clone();
    drop(rig.files);
    Files::take(&path).unwrap();
}

/// What is refused of a file with these contents, which stay.
fn refused(make: impl FnOnce(&std::path::Path)) -> String {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("oe.db");
    make(&path);
    let before = fs::read(&path).unwrap();
    let files = Files::take(&path).unwrap();
    let why = files.fill(&Generator::new(Size::new(SIZE.0, SIZE.1), 1), |_, _| true).unwrap_err();
    assert_eq!(fs::read(&path).unwrap(), before);
    in_one_line(&why).replace(&folder.path().display().to_string(), "FOLDER")
}

#[test]
fn files_with_other_contents_are_refused_and_stay() {
    let other = "use `FOLDER/oe.db`, which holds something else than an Order-Entry database";
    assert_eq!(refused(|path| fs::write(path, "a letter").unwrap()), other);
    let table = "CREATE TABLE warehouse (w_id INTEGER); INSERT INTO warehouse VALUES (1);";
    assert_eq!(refused(|path| Connection::open(path).unwrap().execute_batch(table).unwrap()), other);
    let elsewhere = |warehouses, scale, seed| {
        let generator = Generator::new(Size::new(warehouses, scale), seed);
        refused(move |path| {
            Files::take(path).unwrap().fill(&generator, |_, _| true).unwrap();
        })
    };
    assert_eq!(
        elsewhere(1, 0.01, 2),
        "use `FOLDER/oe.db`, which was filled otherwise: warehouses = 1, scale = 0.01, seed = 2, version 1 of the workload"
    );
}

#[test]
fn the_place_of_the_copy_is_not_taken_from_another_file() {
    let rig = Rig::new();
    fs::write(&rig.copy, "a letter").unwrap();
    let why = rig.files.reset().unwrap_err();
    assert!(in_one_line(&why).contains("oe.db.run`, which holds something else"), "{why}");
    assert_eq!(fs::read(&rig.copy).unwrap(), b"a letter");
}
