//! A bounded fuzz test of the record reader: for any content, reading ends without a panic and keeps the
//! rest.
//!
//! Seeds are in `tests/corpus`: a whole record of the first version, and single damaged files.

use std::fs;
use std::path::{Path, PathBuf};

use barograph_record::{LogReader, Run};
use proptest::prelude::*;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

fn copy_of_a_record() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for file in fs::read_dir(corpus().join("first-version")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), dir.path().join(file.file_name())).unwrap();
    }
    dir
}

/// Reads everything that can be read, and returns the number of histograms and entries.
fn read_all(dir: &Path) -> (usize, usize) {
    let histograms = ["response.hlog", "service.hlog"]
        .iter()
        .filter_map(|name| LogReader::open(&dir.join(name)).ok())
        .map(|log| log.histograms().filter(Result::is_ok).count())
        .sum();
    let Ok(run) = Run::open(dir) else { return (histograms, 0) };
    let _ =
        (run.phases(), run.verdict(), run.deciding_trial(), run.expected(), run.fill(), run.load_start_s());
    let _ = (run.intervals().count(), run.trials().count(), run.notes().count(), run.controls().count());
    (histograms, run.entries.len())
}

#[test]
fn a_record_of_the_first_version_is_read_whole() {
    let dir = copy_of_a_record();
    let run = Run::open(dir.path()).unwrap();
    assert_eq!(run.damage, Vec::<String>::new());
    assert!(run.complete);
    let (histograms, entries) = read_all(dir.path());
    let lines = fs::read_to_string(dir.path().join("run.jsonl")).unwrap().lines().count();
    assert_eq!(entries, lines);
    assert!(histograms > 10, "{histograms} histograms");
    let interval = run.intervals().last().unwrap();
    assert_eq!((interval.late, interval.dropped, interval.skipped), (0, 0, 0));
}

#[test]
fn every_damaged_file_of_the_corpus_is_survived() {
    for file in fs::read_dir(corpus()).unwrap().map(Result::unwrap).filter(|f| f.path().is_file()) {
        let bytes = fs::read(file.path()).unwrap();
        for name in ["run.jsonl", "response.hlog", "probe.csv", "disclosure.json"] {
            let dir = copy_of_a_record();
            fs::write(dir.path().join(name), &bytes).unwrap();
            read_all(dir.path());
        }
    }
}

/// A kind of damage to a file.
#[derive(Clone, Debug)]
enum Damage {
    Cut(prop::sample::Index),
    Flip(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
    Repeat(prop::sample::Index, prop::sample::Index),
}

fn hurt() -> impl Strategy<Value = Damage> {
    let piece = prop_oneof![
        prop::collection::vec(any::<u8>(), 1..20),
        Just(b"1e999".to_vec()),
        Just(b"-1".to_vec()),
        Just(b"null".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"18446744073709551616".to_vec()),
        Just(b"[[[[[[[[".to_vec()),
    ];
    prop_oneof![
        any::<prop::sample::Index>().prop_map(Damage::Cut),
        (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, with)| Damage::Flip(at, with)),
        (any::<prop::sample::Index>(), piece).prop_map(|(at, what)| Damage::Insert(at, what)),
        (any::<prop::sample::Index>(), any::<prop::sample::Index>()).prop_map(|(a, b)| Damage::Repeat(a, b)),
    ]
}

fn apply(bytes: &mut Vec<u8>, hurt: &Damage) {
    if bytes.is_empty() {
        return;
    }
    match hurt {
        Damage::Cut(at) => bytes.truncate(at.index(bytes.len())),
        Damage::Flip(at, with) => {
            let at = at.index(bytes.len());
            bytes[at] ^= with;
        }
        Damage::Insert(at, what) => {
            let at = at.index(bytes.len());
            bytes.splice(at..at, what.iter().copied());
        }
        Damage::Repeat(a, b) => {
            let (a, b) = (a.index(bytes.len()), b.index(bytes.len()));
            let piece = bytes[a.min(b)..a.max(b)].to_vec();
            bytes.extend_from_slice(&piece[..piece.len().min(2_000)]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damage_anywhere_is_survived(
        name in prop::sample::select(vec!["run.jsonl", "response.hlog", "probe.csv", "disclosure.json", "plan.toml"]),
        hurts in prop::collection::vec(hurt(), 1..6),
    ) {
        let dir = copy_of_a_record();
        let path = dir.path().join(name);
        let mut bytes = fs::read(&path).unwrap();
        for hurt in &hurts {
            apply(&mut bytes, hurt);
        }
        fs::write(&path, &bytes).unwrap();
        read_all(dir.path());
    }

    #[test]
    fn a_damaged_line_costs_that_line_and_no_other(at in any::<prop::sample::Index>(), with in any::<u8>()) {
        let dir = copy_of_a_record();
        let path = dir.path().join("run.jsonl");
        let mut bytes = fs::read(&path).unwrap();
        let first = bytes.iter().position(|b| *b == b'\n').unwrap() + 1;
        let at = first + at.index(bytes.len() - first);
        // A line must stay a line: the damage neither removes nor adds a line end.
        prop_assume!(bytes[at] != b'\n' && with != b'\n');
        let lines = bytes.split(|b| *b == b'\n').count() - 1;
        bytes[at] = with;
        fs::write(&path, &bytes).unwrap();
        let (_, entries) = read_all(dir.path());
        prop_assert!(entries + 1 >= lines, "{entries} of {lines} lines");
    }
}
