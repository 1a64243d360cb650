//! Malicious and damaged files.

use std::fs;
use std::path::Path;

use barograph_share::{Limits, ShareError, members, pack, unpack};
use tar::{EntryType, Header};
use tempfile::TempDir;

use crate::{RUN, run};

/// An archive with one member after `first`, whose name is written unchanged.
fn archive(first: &[&str], name: &str, kind: EntryType, bytes: &[u8]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for name in first {
        builder.append(&header(name, EntryType::Regular, 1), &b"x"[..]).unwrap();
    }
    builder.append(&header(name, kind, bytes.len() as u64), bytes).unwrap();
    zstd::encode_all(builder.into_inner().unwrap().as_slice(), 1).unwrap()
}

fn header(name: &str, kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_ustar();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(0o777);
    header.set_size(size);
    if matches!(kind, EntryType::Symlink | EntryType::Link) {
        header.set_link_name("/etc/passwd").unwrap();
    }
    header.set_cksum();
    header
}

/// The result for a file with these bytes; asserts that nothing is written beside the folder of the record.
fn unpacked(bytes: &[u8], limits: &Limits) -> Result<TempDir, ShareError> {
    let place = tempfile::tempdir().unwrap();
    let (file, into) = (place.path().join("x.tar.zst"), place.path().join("into"));
    fs::write(&file, bytes).unwrap();
    fs::create_dir(&into).unwrap();
    let done = unpack(&file, &into, limits);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2, "something was written beside the folder");
    done.map(|folder| {
        assert!(folder.starts_with(&into));
        place
    })
}

fn refused(bytes: &[u8]) -> String {
    unpacked(bytes, &Limits::default()).unwrap_err().to_string()
}

#[test]
fn members_outside_of_the_folder_are_refused() {
    for name in ["../run.jsonl", "a/../../b", "/etc/passwd", "a/./../b/../../c", "alone", "a/b/c/d/e/f/g"] {
        let why = refused(&archive(&[], name, EntryType::Regular, b"x"));
        assert!(why.contains(name) && why.ends_with("is not below the folder of the record"), "{why}");
    }
}

#[test]
fn only_plain_files_are_unpacked() {
    let kinds = [
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Char,
        EntryType::Block,
        EntryType::Fifo,
        EntryType::Directory,
        EntryType::GNULongName,
        EntryType::GNULongLink,
        EntryType::XHeader,
        EntryType::XGlobalHeader,
    ];
    for kind in kinds {
        let why = refused(&archive(&["a/run.jsonl"], "a/plan.toml", kind, b""));
        assert!(why.ends_with("is no plain file"), "{kind:?}: {why}");
    }
    assert!(refused(&archive(&[], "a/plan.toml", EntryType::GNUSparse, b"")).starts_with("read `"));
}

#[test]
fn names_that_no_record_has_are_refused() {
    let twice = refused(&archive(&["a/run.jsonl"], "a/run.jsonl", EntryType::Regular, b"y"));
    assert!(twice.starts_with("write `") && twice.ends_with("a/run.jsonl`"), "{twice}");
    let other = refused(&archive(&["a/run.jsonl"], "b/run.jsonl", EntryType::Regular, b"y"));
    assert!(other.ends_with("is of another record than the first"), "{other}");
    let odd = refused(&archive(&[], "a\\..\\b/run.jsonl", EntryType::Regular, b"y"));
    assert!(odd.ends_with("has a name that no file of a record has"), "{odd}");
    let under_a_file = refused(&archive(&["a/run.jsonl"], "a/run.jsonl/x", EntryType::Regular, b"y"));
    assert!(under_a_file.starts_with("write `"), "{under_a_file}");
}

#[test]
fn sizes_are_bounded_whatever_heads_say() {
    let limits = Limits { files: 2, file_bytes: 1_000, bytes: 1_500 };
    let bound = |bytes: &[u8]| match unpacked(bytes, &limits) {
        Err(ShareError::TooLarge { bound, .. }) => bound,
        other => panic!("{other:?}"),
    };
    assert_eq!(bound(&archive(&[], "a/b", EntryType::Regular, &[0; 1_001])), "1000 bytes in one file");
    assert_eq!(bound(&archive(&["a/1", "a/2"], "a/3", EntryType::Regular, b"")), "2 files");
    // A head alone that announces more than any machine has.
    let mut huge = header("a/b", EntryType::Regular, u64::MAX >> 1).as_bytes().to_vec();
    huge.extend([0; 1_024]);
    assert_eq!(bound(&zstd::encode_all(huge.as_slice(), 1).unwrap()), "1000 bytes in one file");
    // Zeros after the end take neither space nor unlimited time.
    let mut tail = zstd::decode_all(archive(&[], "a/b", EntryType::Regular, b"x").as_slice()).unwrap();
    tail.resize(1 << 24, 0);
    assert_eq!(bound(&zstd::encode_all(tail.as_slice(), 1).unwrap()), "1500 bytes in all");
}

#[test]
fn what_is_no_shared_file_is_refused() {
    for bytes in [&b""[..], b"no archive", &[0; 4_096], &zstd::encode_all(&b"no archive"[..], 1).unwrap()] {
        assert!(unpacked(bytes, &Limits::default()).is_err());
    }
}

#[test]
fn a_file_that_was_cut_or_changed_is_refused_or_gives_the_same_names() {
    let place = tempfile::tempdir().unwrap();
    let noise: Vec<u8> = (0..9_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let folder = run(place.path(), &[("run.jsonl", b"{}\n"), ("services/a.log", &noise)]);
    let file = place.path().join("x.tar.zst");
    pack(RUN, &members(&folder).unwrap(), &file, &Limits::default()).unwrap();
    let whole = fs::read(&file).unwrap();
    for end in (0..whole.len()).step_by(97) {
        assert!(unpacked(&whole[..end], &Limits::default()).is_err(), "{end} of {} bytes", whole.len());
    }
    for at in (0..whole.len()).step_by(53) {
        let mut changed = whole.clone();
        changed[at] ^= 0x55;
        // Without a panic, and without a file elsewhere, which `unpacked` asserts.
        if let Ok(place) = unpacked(&changed, &Limits::default()) {
            assert!(Path::new(place.path()).join("into").is_dir());
        }
    }
}
