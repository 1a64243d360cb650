//! Data shared by all tests of all processes: filled once for each version of the filling code.
//!
//! Runs keep snapshots of loaded stores beside the data and lock them, so snapshots are shared as well.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use barograph_auction::fill::{FillPlan, fill};
use barograph_auction::sizes::{self, Factors};

/// Sources that determine data and snapshots.
const SOURCES: [&str; 2] = ["../data/src", "../../applications/auction"];

/// Folder of the shared data set itself, which nothing writes to.
pub(crate) fn shared_set() -> PathBuf {
    shared_data().join(set_name(&plan(PathBuf::new())))
}

/// Folder of the shared data sets, with that of [`crate::place::SIZE`].
pub(crate) fn shared_data() -> &'static Path {
    static DIR: OnceLock<(PathBuf, File)> = OnceLock::new();
    let (dir, _) = DIR.get_or_init(|| shared_in(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("data")));
    dir
}

/// Data below a folder, filled if missing, and held as long as the returned file is open.
fn shared_in(root: &Path) -> (PathBuf, File) {
    fs::create_dir_all(root).unwrap();
    // Released with this function, or with the process.
    let door = File::create(root.join("lock")).unwrap();
    door.lock().unwrap();
    let unplaced = plan(PathBuf::new());
    let whole = root.join(format!("{}-{}", unplaced.stamp(), version()));
    forget_others(root, &whole);
    if !whole.exists() {
        let part = root.join("part");
        fill(&plan(part.join(set_name(&unplaced))), &mut |_| {}).unwrap();
        fs::rename(part, &whole).unwrap();
    }
    let held = File::open(&whole).unwrap();
    held.lock_shared().unwrap();
    (whole, held)
}

/// The shared data set, filled into this folder.
fn plan(dir: PathBuf) -> FillPlan {
    FillPlan {
        dir,
        size: sizes::find("nano").unwrap(),
        factors: Factors::new(0.1, 0.02).unwrap(),
        seed: 1,
        threads: 2,
    }
}

/// Name of its folder, as runs look for it.
fn set_name(plan: &FillPlan) -> String {
    format!("{}-{}", plan.size.name, plan.stamp())
}

/// Removes incomplete data, and data of other versions that no process holds.
fn forget_others(root: &Path, whole: &Path) {
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path != whole && path.is_dir() && File::open(&path).unwrap().try_lock().is_ok() {
            fs::remove_dir_all(path).unwrap();
        }
    }
}

/// Digest of the sources.
fn version() -> String {
    let mut hasher = DefaultHasher::new();
    for folder in SOURCES {
        add(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut hasher);
    }
    format!("{:016x}", hasher.finish())
}

fn add(path: &Path, hasher: &mut DefaultHasher) {
    if path.is_dir() {
        let mut below: Vec<PathBuf> =
            fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        below.sort();
        below.iter().for_each(|path| add(path, hasher));
    } else {
        hasher.write(path.file_name().unwrap().as_encoded_bytes());
        hasher.write(&fs::read(path).unwrap());
    }
}

#[test]
fn data_are_filled_once_and_old_ones_go_when_no_process_holds_them() {
    let root = tempfile::TempDir::new().unwrap();
    let old = root.path().join("old");
    fs::create_dir(&old).unwrap();
    let held = File::open(&old).unwrap();
    held.lock_shared().unwrap();
    let made = |dir: &Path| fs::metadata(dir).unwrap().modified().unwrap();
    let (first, _first) = shared_in(root.path());
    let before = made(&first);
    assert!(old.exists(), "a process uses it");
    drop(held);
    let (second, _second) = shared_in(root.path());
    assert_eq!((&second, made(&second)), (&first, before));
    assert!(!old.exists());
}
