//! The shelf: complete snapshots are found, others are removed, and the bounds hold.

use super::*;

struct TestFolder {
    root: tempfile::TempDir,
    ledger: Ledger,
}

const RUNS: [&str; 3] = ["20301120-184500-0001", "20301120-184500-0002", "20301120-184500-0003"];

impl TestFolder {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(root.path().join("ledger.jsonl")).unwrap();
        TestFolder { root, ledger }
    }

    fn shelf(&self, most: u32, gb: f64) -> SnapshotStore {
        let plan = barograph_spec::read(
            barograph_spec::Catalogue::default(),
            "test",
            "",
            &[format!("data.dir={}", self.root.path().display())],
        );
        SnapshotStore::of(&DataPlan { snapshots: most, snapshots_gb: gb, ..plan.unwrap().data }).unwrap()
    }

    fn begin(&self, shelf: &SnapshotStore, name: &str, run: usize) -> SnapshotDraft {
        shelf.begin(&key_of(name), &RUNS[run].parse().unwrap(), &self.ledger).unwrap()
    }

    /// Makes a complete snapshot of `bytes` bytes, last used `age` seconds ago.
    fn made(&self, shelf: &SnapshotStore, name: &str, bytes: u64, age: u64) {
        let draft = self.begin(shelf, name, 0);
        fs::write(draft.dir.join("rows"), name).unwrap();
        assert!(shelf.finish(draft, &marker(bytes)).unwrap());
        let marker = File::options().append(true).open(shelf.folder.join(key_of(name)).join(MARKER)).unwrap();
        let used = std::time::Duration::from_secs(1_000_000_000 - age);
        marker.set_modified(SystemTime::UNIX_EPOCH + used).unwrap();
    }

    fn names(&self) -> Vec<String> {
        let folder = self.root.path().join(FOLDER);
        let mut names: Vec<String> =
            fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names.iter().map(|name| name.replace(TAIL, "")).collect()
    }
}

/// End of every key in tests.
const TAIL: &str = "-0123456789abcdef";

fn key_of(name: &str) -> String {
    format!("{name}{TAIL}")
}

fn found(shelf: &SnapshotStore, name: &str) -> Option<CompleteSnapshot> {
    shelf.find(&key_of(name))
}

fn marker(bytes: u64) -> Marker {
    Marker { recipe: vec!["r".into()], run: "r".into(), parts: vec!["p".into()], bytes, load_s: 1.5 }
}

#[test]
fn what_is_whole_is_found_again_as_it_was() {
    let place = TestFolder::new();
    let shelf = place.shelf(4, 1.0);
    assert!(found(&shelf, "a").is_none());
    place.made(&shelf, "a", 9, 0);
    let whole = found(&shelf, "a").unwrap();
    assert_eq!((whole.marker.clone(), whole.dir.join("rows").is_file()), (marker(9), true));
    assert!(found(&shelf, "b").is_none());
    assert!(place.ledger.left().is_empty(), "a whole one is nobody's to remove");
}

#[test]
fn half_a_snapshot_is_never_found_and_goes_when_its_maker_has() {
    let place = TestFolder::new();
    let shelf = place.shelf(4, 1.0);
    let draft = place.begin(&shelf, "a", 0);
    assert!(found(&shelf, "a").is_none());
    // A draft in progress is left alone.
    let other = place.begin(&shelf, "a", 1);
    assert_eq!(place.names().len(), 2);
    assert_eq!(place.ledger.left().len(), 2);
    // The lock ends with its holder, as when a process is killed; the folder stays.
    drop(draft);
    let third = place.begin(&shelf, "b", 2);
    assert_eq!(place.names(), [format!("a.{}.part", RUNS[1]), format!("b.{}.part", RUNS[2])]);
    other.abandon().unwrap();
    third.abandon().unwrap();
    assert!(place.names().is_empty());
}

#[test]
fn a_folder_that_lost_its_marker_is_no_snapshot_and_makes_room_for_one() {
    let place = TestFolder::new();
    let shelf = place.shelf(4, 1.0);
    place.made(&shelf, "a", 9, 0);
    fs::remove_file(shelf.folder.join(key_of("a")).join(MARKER)).unwrap();
    assert!(found(&shelf, "a").is_none());
    place.made(&shelf, "a", 10, 0);
    assert_eq!(found(&shelf, "a").unwrap().marker.bytes, 10);
}

#[test]
fn of_two_that_make_the_same_the_first_counts() {
    let place = TestFolder::new();
    let shelf = place.shelf(4, 1.0);
    let (one, two) = (place.begin(&shelf, "a", 0), place.begin(&shelf, "a", 1));
    assert!(shelf.finish(two, &marker(2)).unwrap());
    assert!(!shelf.finish(one, &marker(1)).unwrap());
    assert_eq!((found(&shelf, "a").unwrap().marker.bytes, place.names().len()), (2, 1));
}

#[test]
fn one_that_is_there_already_makes_no_room_for_itself() {
    let place = TestFolder::new();
    let shelf = place.shelf(2, 1.0);
    let late = place.begin(&shelf, "a", 1);
    place.made(&shelf, "b", 1, 9);
    place.made(&shelf, "a", 1, 5);
    assert!(!shelf.finish(late, &marker(1)).unwrap());
    assert_eq!(place.names(), ["a", "b"]);
}

#[test]
fn what_cannot_be_used_is_made_anew() {
    let place = TestFolder::new();
    let shelf = place.shelf(4, 1.0);
    place.made(&shelf, "a", 1, 5);
    let other = found(&shelf, "a").unwrap();
    found(&shelf, "a").unwrap().condemn().unwrap();
    assert!(found(&shelf, "a").is_some(), "another run copies from it");
    other.condemn().unwrap();
    assert!(found(&shelf, "a").is_none());
    place.made(&shelf, "a", 2, 0);
    assert_eq!(found(&shelf, "a").unwrap().marker.bytes, 2);
}

#[test]
fn what_was_not_used_for_longest_goes_first_unless_somebody_uses_it() {
    let place = TestFolder::new();
    let shelf = place.shelf(2, 1.0);
    place.made(&shelf, "old", 1, 50);
    place.made(&shelf, "new", 1, 10);
    place.made(&shelf, "third", 1, 5);
    assert_eq!(place.names(), ["new", "third"]);
    // Use makes it the most recent.
    found(&shelf, "new").unwrap().used();
    place.made(&shelf, "fourth", 1, 1);
    assert_eq!(place.names(), ["fourth", "new"]);
    let used = found(&shelf, "fourth").unwrap();
    let marker = File::options().append(true).open(used.dir.join(MARKER)).unwrap();
    marker.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    place.made(&shelf, "fifth", 1, 0);
    assert_eq!(place.names(), ["fifth", "fourth"], "the oldest was in use");
}

#[test]
fn bytes_are_bounded_too() {
    let place = TestFolder::new();
    let shelf = place.shelf(9, 1e-6);
    place.made(&shelf, "a", 400, 9);
    place.made(&shelf, "b", 400, 8);
    place.made(&shelf, "c", 500, 7);
    assert_eq!(place.names(), ["b", "c"]);
    assert_eq!(shelf.no_room(1_000), None);
    assert!(shelf.no_room(1_001).unwrap().contains("data.snapshots_gb = 0.000001"));
    assert!(place.shelf(1, 1e6).no_room(900_000_000_000_000).unwrap().contains("free"));
}

#[test]
fn what_somebody_else_put_there_stays() {
    let place = TestFolder::new();
    let shelf = place.shelf(1, 1.0);
    place.made(&shelf, "a", 1, 0);
    fs::create_dir(shelf.folder.join("thesis")).unwrap();
    fs::write(shelf.folder.join("thesis.part"), "years of work").unwrap();
    place.made(&shelf, "b", 1, 0);
    remove_snapshots(place.root.path()).unwrap();
    assert_eq!(place.names(), ["thesis", "thesis.part"]);
}

proptest::proptest! {
    #[test]
    fn another_line_in_a_recipe_is_another_key(lines in proptest::collection::vec("[a-z0-9 ]{1,9}", 1..6), at in 0_usize..6, line in "[a-z0-9 ]{1,9}") {
        let mut other = lines.clone();
        let at = at % other.len();
        other[at] = line;
        proptest::prop_assert_eq!(key("nano", &lines) == key("nano", &other), lines == other);
        proptest::prop_assert!(is_ours(&key("run-30k", &lines)));
    }
}

#[test]
fn all_are_removed_but_those_in_use() {
    let place = TestFolder::new();
    let shelf = place.shelf(4, 1.0);
    assert_eq!(remove_snapshots(place.root.path()).unwrap(), RemovedSnapshots::default());
    place.made(&shelf, "a", 1, 0);
    place.made(&shelf, "b", 1, 0);
    drop(place.begin(&shelf, "c", 1));
    let used = found(&shelf, "b").unwrap();
    let done = remove_snapshots(place.root.path()).unwrap();
    assert_eq!((done.removed.len(), done.in_use.clone()), (2, vec![used.dir.clone()]));
    drop(used);
    assert_eq!(remove_snapshots(place.root.path()).unwrap().removed.len(), 1);
    assert!(place.names().is_empty());
}
