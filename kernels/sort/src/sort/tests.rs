//! Sorts of any records with any memory, against the sort of the standard library; damage; failing files.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

use proptest::prelude::*;

use super::*;
use crate::{Checksum, Findings, KEY, check, generate};

static NEVER: AtomicBool = AtomicBool::new(false);

fn file_of(bytes: &[u8]) -> File {
    let file = tempfile::tempfile().unwrap();
    file.write_all_at(bytes, 0).unwrap();
    file
}

fn contents(file: &File) -> Vec<u8> {
    let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

fn sorted(sort: Sort, records: &[u8]) -> (Vec<u8>, Traffic) {
    let (input, scratch, output) = (file_of(records), file_of(&[]), file_of(&[]));
    let files = Files { input: &input, scratch: &scratch, output: &output };
    let traffic = sort.sort(files, &NEVER).unwrap();
    assert_eq!(contents(&input), records, "the input is not written");
    (contents(&output), traffic)
}

/// Records with keys of few values, so that many are equal; each record has its number.
fn records_of(keys: &[u16]) -> Vec<u8> {
    let record = |(number, few): (u32, &u16)| {
        let mut record = vec![b'.'; RECORD];
        record[..KEY].fill((few % 3) as u8);
        record[KEY - 2..KEY].copy_from_slice(&few.to_be_bytes());
        record[50..54].copy_from_slice(&number.to_be_bytes());
        record
    };
    (0..).zip(keys).flat_map(record).collect()
}

fn by_std(records: &[u8]) -> Vec<u8> {
    let mut all: Vec<&[u8]> = records.chunks_exact(RECORD).collect();
    all.sort_by_key(|record| &record[..KEY]);
    all.concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Up to 3,000 records in runs of 860: up to three passes of merges of two.
    #[test]
    fn any_records_are_sorted_as_by_the_standard_library(
        keys in prop::collection::vec(prop_oneof![0_u16..4, any::<u16>()], 0..3_000),
        memory in 0_usize..1_500_000,
        threads in 1_usize..4,
    ) {
        let records = records_of(&keys);
        let sort = Sort { records: keys.len() as u64, memory, threads };
        let (output, traffic) = sorted(sort, &records);
        prop_assert!(output == by_std(&records), "{sort:?}");
        prop_assert_eq!(traffic.written, u64::from(traffic.passes) * records.len() as u64);
    }
}

#[test]
fn memory_decides_how_many_passes_there_are() {
    let passes = |memory, threads| Sort { records: 10_000_000, memory, threads }.traffic().passes;
    assert_eq!(passes(2 << 30, 1), 1, "everything fits");
    assert_eq!(passes(2 << 30, 2), 2, "a run of each thread, and their merge");
    assert_eq!(passes(64 << 20, 2), 2);
    assert_eq!(passes(16 << 20, 2), 3);
    let few = Sort { records: 10, memory: 0, threads: 64 };
    assert_eq!((few.used_threads(), few.traffic().passes), (1, 1));
    let none = Sort { records: 0, ..few };
    assert_eq!(sorted(none, &[]), (Vec::new(), Traffic { passes: 1, read: 0, written: 0 }));
}

#[test]
fn several_passes_of_generated_records_end_in_the_output() {
    for records in [5_000_u64, 9_000] {
        let mut bytes = vec![0; records as usize * RECORD];
        generate(5, 0, &mut bytes);
        let sort = Sort { records, memory: LEAST_MEMORY, threads: 2 };
        let (output, traffic) = sorted(sort, &bytes);
        assert!(traffic.passes >= 4, "{traffic:?}");
        assert!(output == by_std(&bytes));
    }
}

/// A sorted file of 5,000 records with what a check finds in it after `damage`.
fn checked(damage: impl FnOnce(&mut Vec<u8>)) -> (Findings, Checksum) {
    let mut bytes = vec![0; 5_000 * RECORD];
    generate(9, 0, &mut bytes);
    let mut expected = Checksum::default();
    expected.take(&bytes);
    let mut bytes = by_std(&bytes);
    damage(&mut bytes);
    let file = file_of(&bytes);
    (check(&[file], 3, &NEVER).unwrap(), expected)
}

fn swap(bytes: &mut [u8], one: usize, other: usize) {
    for at in 0..RECORD {
        bytes.swap(one * RECORD + at, other * RECORD + at);
    }
}

#[test]
fn damage_is_found() {
    let (fine, expected) = checked(|_| {});
    assert_eq!((fine.checksum, fine.disorders, fine.first_disorder), (expected, 0, None));
    // Also at the border between the parts of two threads.
    for at in [100, 1_666, 1_667, 4_998] {
        let (swapped, expected) = checked(|bytes| swap(bytes, at, at + 1));
        assert_eq!((swapped.checksum, swapped.first_disorder), (expected, Some(at as u64 + 1)), "{at}");
    }
    let (duplicated, expected) = checked(|bytes| bytes.copy_within(700 * RECORD..701 * RECORD, 701 * RECORD));
    assert_eq!(duplicated.disorders, 0);
    assert_ne!(duplicated.checksum, expected, "one is lost, another is there twice");
    let (altered, expected) = checked(|bytes| bytes[4_999 * RECORD + 60] ^= 1);
    assert_eq!(altered.disorders, 0);
    assert_ne!(altered.checksum, expected);
    let (short, expected) = checked(|bytes| bytes.truncate(4_999 * RECORD));
    assert_eq!((short.disorders, short.checksum.records), (0, 4_999));
    assert_ne!(short.checksum, expected);
}

#[test]
fn files_are_checked_as_one() {
    let mut bytes = vec![0; 5_000 * RECORD];
    generate(9, 0, &mut bytes);
    let bytes = by_std(&bytes);
    let cut = |places: [usize; 4]| places.map(|at| at * RECORD);
    let [first, second, third, end] = cut([0, 10, 3_000, 5_000]);
    let part = |from: usize, to: usize| file_of(&bytes[from..to]);
    let inner = [part(first, second), file_of(&[]), part(second, third), part(third, end)];
    for threads in [1, 3, 8] {
        let fine = check(&inner, threads, &NEVER).unwrap();
        assert_eq!((fine.disorders, fine.checksum.records), (0, 5_000), "{threads}");
        let turned = [part(second, third), part(first, second), file_of(&[]), part(third, end)];
        let turned = check(&turned, threads, &NEVER).unwrap();
        assert_eq!((turned.disorders, turned.first_disorder), (1, Some(2_990)), "{threads}");
        assert_eq!(turned.checksum, fine.checksum);
    }
    let broken = check(&[file_of(&bytes[..150])], 1, &NEVER).unwrap_err();
    assert!(matches!(broken, SortError::Broken { bytes: 150 }), "{broken:?}");
}

#[test]
fn a_full_disk_is_told_and_ends_the_sort() {
    let mut bytes = vec![0; 3_000 * RECORD];
    generate(5, 0, &mut bytes);
    let (input, scratch) = (file_of(&bytes), file_of(&[]));
    let full = OpenOptions::new().read(true).write(true).open("/dev/full").unwrap();
    let sort = Sort { records: 3_000, memory: LEAST_MEMORY, threads: 1 };
    let (there, full) = (&scratch, &full);
    for (scratch, output) in [(there, full), (full, there)] {
        let why = sort.sort(Files { input: &input, scratch, output }, &NEVER).unwrap_err();
        assert!(why.is_full_disk(), "{why:?}");
    }
}

#[test]
fn a_request_to_end_is_followed() {
    let mut bytes = vec![0; 3_000 * RECORD];
    generate(5, 0, &mut bytes);
    let (input, scratch, output) = (file_of(&bytes), file_of(&[]), file_of(&[]));
    let sort = Sort { records: 3_000, memory: LEAST_MEMORY, threads: 2 };
    let files = Files { input: &input, scratch: &scratch, output: &output };
    let stopped = AtomicBool::new(true);
    assert!(matches!(sort.sort(files, &stopped), Err(SortError::Stopped)));
    assert!(matches!(check(&[input], 2, &stopped), Err(SortError::Stopped)));
}
