//! Loads of static servers: whole sets, wrong files, servers that do not answer.

use std::fs;

use barograph_testkit::ClosedPort;
use barograph_workload::LoadError;

use super::rig::{Load, ended, served};
use crate::measures::{BYTES, FILES};
use crate::sets::{self, Sets};

#[test]
fn every_fetch_brings_the_whole_set_of_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let sets = Sets::new(1).unwrap();
    sets.write(folder.path(), 3).unwrap();
    let bytes = |server| sets.of(server).iter().map(|file| file.bytes.len() as u64).sum::<u64>();
    let load = Load::at(&served(folder.path(), 3), &["farm.verify=true"]);
    load.answers().unwrap();
    let sum = load.until(3, |sum| ended(sum).0 >= 60);
    let (good, failed) = ended(&sum);
    assert_eq!(failed, 0, "{}", load.reasons());
    // A fetch that was stopped counts the files that it had.
    let files = sum.counters.get(FILES);
    assert!(files >= good * sets::FILES.len() as u64 && sum.ops[0].requests >= files);
    let least = (1..=3).map(bytes).min().unwrap();
    assert!(sum.counters.get(BYTES) >= good * least, "{}", sum.counters.get(BYTES));
    assert_eq!(sum.skipped, 0);
}

#[test]
fn a_file_of_another_length_or_content_is_a_wrong_answer() {
    let folder = tempfile::tempdir().unwrap();
    let sets = Sets::new(1).unwrap();
    sets.write(folder.path(), 2).unwrap();
    let picture = folder.path().join("1/two.jpg");
    let whole = fs::read(&picture).unwrap();
    let mut altered = whole.clone();
    altered[5_000] ^= 1;
    for (content, set, why) in [
        (&whole[1..], "farm.verify=false", "bytes instead of"),
        (&altered[..], "farm.verify=true", "other content than that of the set"),
    ] {
        fs::write(&picture, content).unwrap();
        let load = Load::at(&served(folder.path(), 2), &[set]);
        let sum = load.until(2, |sum| ended(sum).0 >= 10 && ended(sum).1 >= 10);
        assert!(load.reasons().contains(why), "{}", load.reasons());
        assert!(ended(&sum).1 >= 10);
    }
    fs::write(&picture, &altered).unwrap();
    let load = Load::at(&served(folder.path(), 2), &[]);
    load.until(2, |sum| ended(sum).0 >= 20);
    assert_eq!(load.reasons(), "", "content is compared on demand only");
    fs::remove_file(&picture).unwrap();
    let load = Load::at(&served(folder.path(), 2), &[]);
    load.until(2, |sum| ended(sum).1 >= 5);
    assert!(load.reasons().contains("status 404"), "{}", load.reasons());
}

#[test]
fn a_server_that_does_not_answer_is_named_before_the_load() {
    let folder = tempfile::tempdir().unwrap();
    Sets::new(1).unwrap().write(folder.path(), 1).unwrap();
    let closed = ClosedPort::new().unwrap();
    let url = format!("{},{}", served(folder.path(), 1), closed.addr());
    let load = Load::at(&url, &[]);
    assert!(matches!(load.prepared(), Err(LoadError::Unreachable { .. })));
    assert!(load.answers().is_err());
    let other_seed = Load::at(&served(folder.path(), 1), &["seed=2", "farm.verify=true"]);
    let why = other_seed.answers().unwrap_err();
    assert!(why.contains("other content") || why.contains("bytes instead of"), "{why}");
}
