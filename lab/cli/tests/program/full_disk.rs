//! Full disks: small file systems in memory, mounted for the test.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::going::RunningProgram;
use crate::place::{TestFolders, fixed};

/// A small file system; unmounted when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one; `None`, with a message, if mounting is not allowed.
    #[expect(clippy::print_stdout, reason = "a skipped test says why")]
    fn mount(at: &Path, options: &str) -> Option<Self> {
        fs::create_dir(at).unwrap();
        let done = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(at).output();
        if done.is_ok_and(|d| d.status.success()) {
            return Some(SmallDisk(at.to_owned()));
        }
        println!("skipped: mounting a small file system needs root");
        None
    }

    /// Leaves not a byte free.
    fn stuff(&self) {
        let mut ballast = fs::File::create(self.0.join("ballast")).unwrap();
        for size in [64 * 1024, 1024, 1] {
            let full = loop {
                if let Err(full) = ballast.write_all(&vec![7; size]) {
                    break full;
                }
            };
            assert_eq!(full.kind(), ErrorKind::StorageFull);
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn a_record_that_cannot_be_written_ends_the_run_and_names_the_file() {
    let place = TestFolders::new();
    let Some(small) = SmallDisk::mount(&place.runs(), "size=16m") else { return };
    let going = RunningProgram::start(place.run(None, &fixed(30, 600)));
    going.enters("hold");
    small.stuff();
    let ended = going.end();
    assert_eq!(ended.code, Some(8), "{ended:?}");
    let record = &place.records()[0];
    let named = format!("barograph: write the record\n  because: write to `{}/", record.display());
    assert!(ended.err.contains(&named), "{}", ended.err);
    assert!(ended.err.ends_with("\n  because: No space left on device (os error 28)\n"), "{}", ended.err);
    // Entries written before the disk was full can be read.
    assert!(place.record().intervals().count() >= 1);
    place.assert_nothing_left();
}

#[test]
fn no_room_for_records_at_all_is_said_before_anything_runs() {
    let place = TestFolders::new();
    let Some(small) = SmallDisk::mount(&place.runs(), "size=16k") else { return };
    small.stuff();
    let ended = RunningProgram::start(place.run(None, &fixed(30, 5))).end();
    assert_eq!(ended.code, Some(8), "{ended:?}");
    let runs = place.runs();
    assert!(ended.err.contains(&format!("`{}/", runs.display())), "{}", ended.err);
    assert!(ended.err.ends_with("because: No space left on device (os error 28)\n"), "{}", ended.err);
    place.assert_nothing_left();
}

#[test]
fn too_little_room_for_the_data_is_refused_by_name() {
    let place = TestFolders::without_data();
    let Some(_small) = SmallDisk::mount(place.data(), "size=64k") else { return };
    let ended = RunningProgram::start(place.run(None, &fixed(30, 5))).end();
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{ended:?}");
    let head = format!(
        "barograph: the plan cannot be run\n--set: `data.dir` = {}\n  allowed: a folder with ",
        place.data().display()
    );
    let tail = "; there are 0.000 GB\n  to do:   free some, choose another data.dir, or smaller data.history and data.images\n";
    assert!(ended.err.starts_with(&head) && ended.err.ends_with(tail), "{}", ended.err);
}

#[test]
fn a_disk_that_fills_up_in_the_fill_ends_it_and_names_the_file() {
    let place = TestFolders::without_data();
    // Enough space, but not for that many files, which free bytes do not show.
    let Some(_small) = SmallDisk::mount(place.data(), "size=256m,nr_inodes=40") else { return };
    let ended = RunningProgram::start(place.run(None, &fixed(30, 5))).end();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.err.contains(": the disk is full"), "{}", ended.err);
    assert!(ended.err.contains(&format!("write {}/nano-", place.data().display())), "{}", ended.err);
    assert_eq!(place.record().interrupted().unwrap().phase, "fill");
    assert_eq!(fs::read_dir(place.data()).unwrap().count(), 0, "half a data set is left");
    place.assert_nothing_left();
}
