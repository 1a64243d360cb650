//! Each check that a figure depends on fails where it should.

use std::os::unix::fs::FileExt as _;

use barograph_model::words::in_one_line;

use super::*;
use crate::mark::Mark;

const BUFFERED: &str = "disk.direct = false\ndisk.engine = \"threads\"\n";

fn buffered(more: &str) -> String {
    format!("{BUFFERED}{more}")
}

/// Why a load does not begin.
fn why(ended: Option<Result<bool, LoadError>>) -> String {
    in_one_line(&ended.expect("there is something to fill").unwrap_err())
}

#[test]
fn a_file_is_filled_once_and_again_when_the_plan_is_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/x");
    let fill = |more: &str| Load::of(&path, &buffered(more)).fill().unwrap().unwrap();
    assert_eq!([fill(""), fill(""), fill("seed = 7\n")], [false, true, true]);
    assert_eq!([fill("disk.entropy = 0.5\n"), fill("disk.entropy = 0.5\n")], [false, true]);
    assert_eq!([fill("disk.size = \"2m\"\n"), fill("disk.size = \"2m\"\n")], [false, true]);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), (2 << 20) + crate::mark::BYTES);
    // What an earlier load wrote last is not known.
    assert_eq!([fill("disk.verify = true\n"), fill("disk.verify = true\n")], [false, false]);
}

#[test]
fn a_file_of_others_is_never_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let bytes = vec![7; SIZE as usize + crate::mark::BYTES as usize];
    std::fs::write(&path, &bytes).unwrap();
    for more in ["", "disk.mix.Write = 1\n", "disk.verify = true\n"] {
        let load = Load::of(&path, &buffered(more));
        let refused = load.refused();
        assert!(refused.starts_with("target.url") && refused.contains("Barograph has not made"), "{refused}");
        assert!(why(load.fill()).contains("Barograph has not made"));
        assert!(load.workload.load(&load.job()).is_err());
    }
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    std::fs::write(&path, "").unwrap();
    assert!(Load::of(&path, BUFFERED).refused().contains("Barograph has not made"));
}

#[test]
fn an_image_that_is_signed_is_named_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let marks: [(u64, &[u8], &str); 6] = [
        (1_080, &[0x53, 0xef], "ext4"),
        (512, b"EFI PART", "GPT"),
        (510, &[0x55, 0xaa], "MBR"),
        (512, b"LABELONE", "LVM"),
        (4_086, b"SWAPSPACE2", "swap"),
        (0, b"XFSB", "XFS"),
    ];
    for (at, magic, name) in marks {
        // An image of others, and one that was made in a file of ours.
        std::fs::write(&path, vec![0; SIZE as usize]).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().write_all_at(magic, at).unwrap();
        let refused = Load::of(&path, BUFFERED).refused();
        assert!(refused.contains("has not made") && refused.contains(name), "{refused}");
        std::fs::remove_file(&path).unwrap();
        Load::of(&path, &buffered("disk.entropy = 0.0\n")).fill().unwrap().unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().write_all_at(magic, at).unwrap();
        let before = std::fs::read(&path).unwrap();
        let load = Load::of(&path, BUFFERED);
        let refused = load.refused();
        assert!(refused.contains("was made by Barograph and holds") && refused.contains(name), "{refused}");
        assert!(why(load.fill()).contains(name));
        assert_eq!(std::fs::read(&path).unwrap(), before);
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_second_load_of_a_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let first = Load::of(&path, BUFFERED);
    first.fill().unwrap().unwrap();
    let second = Load::of(&path, BUFFERED);
    assert!(why(second.fill()).contains("another load or run uses now"));
    drop(first);
    assert!(second.fill().unwrap().unwrap());
}

#[test]
fn an_interrupted_fill_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    Load::of(&path, BUFFERED).fill().unwrap().unwrap();
    let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    let mark = Mark::of(&file).unwrap().unwrap();
    Mark { is_filled: false, ..mark }.write(&file).unwrap();
    assert!(!Load::of(&path, BUFFERED).fill().unwrap().unwrap());
}

#[test]
fn a_fill_that_is_stopped_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let load = Load::of(&path, BUFFERED);
    let plan = crate::plan::DiskPlan::of(&load.plan);
    let told = Told::default();
    let progress: barograph_workload::OnProgress = Arc::new({
        let told = Arc::clone(&told);
        move |progress| told.lock().unwrap().push((progress.done, progress.total))
    });
    let stopped = std::sync::atomic::AtomicBool::new(true);
    let fill = crate::fill::Fill { path: &path, plan, seed: 1, stopped: &stopped, progress: &progress };
    assert!(matches!(fill.take(), Err(crate::error::DiskError::Stopped)));
    assert!(!path.exists() && told.lock().unwrap().is_empty());
    stopped.store(false, std::sync::atomic::Ordering::Relaxed);
    let fill = crate::fill::Fill { path: &path, plan, seed: 1, stopped: &stopped, progress: &progress };
    assert!(!fill.take().unwrap().1);
    assert_eq!(told.lock().unwrap().as_slice(), [(1, 1)]);
}

#[test]
fn a_file_with_holes_is_filled_again_and_not_read() {
    // Memory knows holes, too.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    Load::of(&path, BUFFERED).fill().unwrap().unwrap();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    let hole = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
    if let Err(why) = rustix::fs::fallocate(&file, hole, SIZE / 2, SIZE / 4) {
        return skip(&format!("no holes here: {why}"));
    }
    assert!(!Load::of(&path, BUFFERED).fill().unwrap().unwrap(), "the hole was found");
    let sparse = folder.path().join("sparse");
    std::fs::File::create(&sparse).unwrap().set_len(SIZE).unwrap();
    let refused = Load::of(&sparse, &buffered("disk.mix.Read = 1\n")).refused();
    assert!(refused.contains("has holes"), "{refused}");
}

#[test]
fn a_file_of_another_entropy_than_its_mark_says_is_filled_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    for (entropy, byte) in [("0.5", 0_u8), ("0.5", 1), ("1.0", 0)] {
        let keys = buffered(&format!("disk.entropy = {entropy}\n"));
        Load::of(&path, &keys).fill().unwrap().unwrap();
        assert!(Load::of(&path, &keys).fill().unwrap().unwrap());
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.write_all_at(&vec![byte; SIZE as usize], 0).unwrap();
        assert!(!Load::of(&path, &keys).fill().unwrap().unwrap(), "{entropy} {byte}");
    }
}

#[test]
fn the_entropy_of_a_load_is_that_of_its_plan() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    Load::of(&path, &buffered("disk.entropy = 0.25\ndisk.mix.Write = 1\n")).run(2_000).assert_clean();
    let bytes = std::fs::read(&path).unwrap();
    let part = crate::contents::random_part(&bytes[..SIZE as usize]);
    assert!((part - 0.25).abs() < 0.01, "{part}");
}

#[test]
fn direct_access_that_the_system_does_not_confirm_is_refused() {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else { return skip("no /dev/shm") };
    let path = folder.path().join("x");
    let text = why(Load::of(&path, "").fill());
    assert!(text.contains("disk.direct") && text.contains("directly"), "{text}");
    assert!(!path.exists());
}

#[test]
fn blocks_that_direct_access_does_not_take_are_refused() {
    let Some(folder) = direct_folder() else { return skip("no folder with direct access") };
    let load = Load::of(&folder.path().join("x"), "");
    let own = crate::plan::DiskPlan::of(&load.plan);
    own.check_alignment(folder.path(), 4_096).unwrap();
    let misaligned = own.check_alignment(folder.path(), 8_192).unwrap_err();
    assert!(misaligned.to_string().contains("multiples of 8192"), "{misaligned}");
    assert_eq!(misaligned.blame().unwrap().0, "disk.block");
}

#[test]
fn a_damaged_block_is_a_wrong_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let load = Load::of(&path, &buffered("disk.verify = true\ndisk.mix.Read = 1\n"));
    load.fill().unwrap().unwrap();
    load.load(500).assert_clean();
    let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    // Every block: a byte of one half is changed, the other half changes its places.
    let blocks = SIZE / 4_096;
    let mut block = vec![0; 4_096];
    for number in 0..blocks / 2 {
        file.write_all_at(b"?", number * 4_096 + 2_000).unwrap();
    }
    file.read_exact_at(&mut block, SIZE - 4_096).unwrap();
    for number in blocks / 2..blocks - 1 {
        file.write_all_at(&block, number * 4_096).unwrap();
    }
    let ended = load.load(2_000);
    assert!(ended.outcomes("Read", Outcome::WrongAnswer) > 1_000);
    let reasons = format!("{:?}", ended.reasons);
    assert!(reasons.contains("its checksum is another one"), "{reasons}");
    assert!(reasons.contains("the block holds another one"), "{reasons}");
}

#[test]
fn a_lost_write_is_a_wrong_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let load = Load::of(&path, &buffered("disk.verify = true\ndisk.mix = { Read = 1, Write = 1 }\n"));
    load.fill().unwrap().unwrap();
    let filled = std::fs::read(&path).unwrap();
    load.load(4_000).assert_clean();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.write_all_at(&filled[..SIZE as usize], 0).unwrap();
    let ended = load.load(2_000);
    assert!(ended.outcomes("Read", Outcome::WrongAnswer) > 100);
    assert!(format!("{:?}", ended.reasons).contains("a write was lost"), "{:?}", ended.reasons);
}

#[test]
fn a_target_that_shrinks_under_way_is_a_wrong_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let load = Load::of(&path, &buffered("disk.mix.Read = 1\n"));
    load.fill().unwrap().unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(4_096).unwrap();
    let ended = load.load(500);
    assert!(ended.outcomes("Read", Outcome::WrongAnswer) > 100);
    assert!(format!("{:?}", ended.reasons).contains("0 of 4096 bytes were read"), "{:?}", ended.reasons);
    assert!(Load::of(&path, BUFFERED).refused().contains("Barograph has not made"));
}

#[test]
fn what_is_no_file_and_too_small_a_file_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let reads = buffered("disk.mix.Read = 1\n");
    assert!(Load::of(folder.path(), &reads).refused().contains("neither a file nor a block device"));
    assert!(Load::of(std::path::Path::new("/dev/null"), &reads).refused().contains("neither a file"));
    let small = folder.path().join("small");
    std::fs::write(&small, [1; 100]).unwrap();
    assert!(Load::of(&small, &reads).refused().contains("smaller than a block"));
    let verified = buffered("disk.mix.Read = 1\ndisk.verify = true\n");
    std::fs::write(&small, [1; 8_192]).unwrap();
    assert!(Load::of(&small, &verified).refused().contains("nothing in it can be verified"));
}

#[test]
fn a_full_disk_is_seen_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let text = why(Load::of(&path, &buffered("disk.size = \"1024t\"\n")).fill());
    assert!(text.contains("needs 1024 TiB") && !path.exists(), "{text}");
}

#[test]
fn the_record_has_the_conditions() {
    let Some(folder) = direct_folder() else { return skip("no disk below a folder") };
    let load = Load::of(&folder.path().join("not/yet/there"), "disk.entropy = 0.5\n");
    let all = load.workload.disclose();
    let section = &all["disk_load"];
    assert_eq!((section["direct"].as_bool(), section["entropy"].as_f64()), (Some(true), Some(0.5)));
    assert_eq!(section["way"].as_str(), Some("io_uring, past the page cache"));
    if section["queue"].as_object().is_none_or(serde_json::Map::is_empty) {
        return skip("the system does not tell the queue of this disk");
    }
    assert!(section["queue"]["scheduler"].is_string(), "{section}");
}
