//! Unpacked files equal the packed ones, and the same record gives the same file.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use barograph_share::{Limits, ShareError, members, pack, unpack};

use crate::{RUN, run};

const FILES: [(&str, &[u8]); 5] = [
    ("run.jsonl", b"{\"kind\":\"header\"}\n"),
    ("plan.toml", b""),
    ("response.hlog", b"\xff\x00 bytes"),
    ("services/web-1.nginx.conf", b"worker_processes 1;\n"),
    ("loads/shop/run.jsonl", b"{}\n"),
];

fn names(folder: &Path) -> Vec<String> {
    members(folder).unwrap().into_iter().map(|member| member.name).collect()
}

#[test]
fn a_run_comes_back_as_it_was() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = run(here.path(), &FILES);
    let file = here.path().join("x.tar.zst");
    let packed = members(&folder).unwrap();
    pack(RUN, &packed, &file, &Limits::default()).unwrap();
    let back = unpack(&file, there.path(), &Limits::default()).unwrap();
    assert_eq!(back, there.path().join(RUN));
    assert_eq!(names(&back), names(&folder));
    for (name, bytes) in FILES {
        assert_eq!(fs::read(back.join(name)).unwrap(), bytes, "{name}");
    }
}

#[test]
fn the_same_record_gives_the_same_bytes() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut reversed = FILES;
    reversed.reverse();
    let both = [(here.path(), run(here.path(), &FILES)), (there.path(), run(there.path(), &reversed))];
    let bytes = both.map(|(place, folder)| {
        let file = place.join("x.tar.zst");
        pack(RUN, &members(&folder).unwrap(), &file, &Limits::default()).unwrap();
        fs::read(file).unwrap()
    });
    assert_eq!(bytes[0], bytes[1]);
}

#[test]
fn a_study_is_packed_with_its_runs_and_without_what_it_knows_of_the_machine() {
    let place = tempfile::tempdir().unwrap();
    let inner = format!("runs/{RUN}/run.jsonl");
    let files: [(&str, &[u8]); 4] = [
        ("study.jsonl", b"{}\n"),
        ("begin.json", b"{}"),
        (&inner, b"{}\n"),
        ("runs/other/run.jsonl", b"{}\n"),
    ];
    assert_eq!(names(&run(place.path(), &files)), [inner.as_str(), "study.jsonl"]);
}

#[test]
fn only_files_of_a_record_are_packed() {
    let place = tempfile::tempdir().unwrap();
    let more: [(&str, &[u8]); 5] = [
        ("run.jsonl", b"{}\n"),
        ("ledger.jsonl", b"{}\n"),
        ("site/db/data", b"x"),
        ("csv/run.csv", b"x"),
        ("services/.a.log.part", b"x"),
    ];
    let folder = run(place.path(), &more);
    symlink("/etc/passwd", folder.join("plan.toml")).unwrap();
    symlink("/etc", folder.join("loads")).unwrap();
    symlink("/etc/passwd", folder.join("services/a.log")).unwrap();
    assert_eq!(names(&folder), ["run.jsonl"]);
    assert!(matches!(members(place.path()), Err(ShareError::NoRecord { .. })));
}

#[test]
fn what_is_beyond_a_bound_is_refused_and_leaves_no_file() {
    let place = tempfile::tempdir().unwrap();
    let folder = run(place.path(), &FILES);
    let file = place.path().join("x.tar.zst");
    for (limits, bound) in [
        (Limits { files: 4, ..Limits::default() }, "4 files"),
        (Limits { file_bytes: 19, ..Limits::default() }, "19 bytes in one file"),
        (Limits { bytes: 40, ..Limits::default() }, "40 bytes in all"),
    ] {
        let why = pack(RUN, &members(&folder).unwrap(), &file, &limits).unwrap_err().to_string();
        assert!(why.ends_with(bound), "{why}");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }
}
