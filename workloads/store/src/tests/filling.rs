//! Filled files: equal for equal seeds, of the stated size, found again, refused.

use barograph_database::sqlite::Target;
use barograph_model::words::in_one_line;

use super::rig::{HABITS, Rig, digests};
use crate::generate::Generator;
use crate::tables::{Size, Table};

#[test]
fn one_seed_fills_the_same_tables_and_another_fills_others() {
    let (one, again, other) = (Rig::of(7, HABITS), Rig::of(7, HABITS), Rig::of(8, HABITS));
    assert_eq!(digests(&one.copy), digests(&again.copy));
    for (one, other) in digests(&one.copy).into_iter().zip(digests(&other.copy)) {
        assert_eq!(one.1 == other.1, ["categories", "reorder"].contains(&one.0), "{}", one.0);
    }
}

#[test]
fn a_filled_file_is_found_again_and_never_worn() {
    let rig = Rig::new();
    let before = digests(&rig.copy);
    assert_eq!(rig.visit(2, 100), 0);
    assert_ne!(digests(&rig.copy), before);
    assert_eq!(digests(rig.target.file()), before);
    assert_eq!(rig.target.found().unwrap().unwrap().len(), Table::ALL.len());
    let other = Target::new(rig.target.file().to_owned(), Generator::new(Size::new(2), 1));
    let why = in_one_line(&other.found().unwrap_err());
    assert!(
        why.ends_with("was filled otherwise: megabytes = 1, seed = 1, version 1 of the workload"),
        "{why}"
    );
}

#[test]
fn a_size_is_that_of_the_file() {
    let folder = tempfile::TempDir::new().unwrap();
    let size = Size::new(4);
    let target = Target::new(folder.path().join("store.db"), Generator::new(size, 1));
    let (mut told, expected) = (0, Table::ALL.into_iter().map(|table| size.rows(table)).sum::<u64>());
    let filled = target.prepare(|_, rows| {
        told += rows;
        true
    });
    let filled = filled.unwrap();
    assert_eq!(told, filled.rows.iter().map(|(_, rows)| rows).sum::<u64>());
    assert!(told.abs_diff(expected) < expected / 50, "{told} rows of {expected}");
    let megabytes = filled.bytes as f64 / 1e6;
    assert!((3.9..4.1).contains(&megabytes), "{megabytes} MB");
}
