//! Loads, and the check after them.

use std::fs;
use std::path::Path;

use super::rig::{Load, RunResult, site};
use crate::measures::{
    ATTENDED, CYCLES, EVENT_NAMED, HOME_LOADED, HOME_NAMED, POSTED, STATIC_KNOWN, STATIC_LOADED,
};
use crate::operation::Operation;

/// Whether every operation was done, and an event attended.
fn has_all(ended: &RunResult) -> bool {
    Operation::ALL.iter().all(|operation| ended.good(*operation) >= 2) && ended.counter(ATTENDED) > 0
}

/// Files of people and events that users have added.
fn added(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for part in fs::read_dir(folder.join("files")).unwrap() {
        for file in fs::read_dir(part.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if path.file_name().unwrap().len() > 30 {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

#[test]
fn the_site_carries_every_operation_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let url = site(folder.path());
    let load = Load::at(&url, 1);
    load.answers().unwrap();
    assert_eq!(load.fill("people"), Ok(400));
    let ended = load.until(has_all);
    ended.all_good();
    assert_eq!(ended.counter(HOME_NAMED), 10 * ended.good(Operation::Home));
    assert_eq!(ended.counter(EVENT_NAMED), ended.good(Operation::Event));
    for counter in [HOME_LOADED, STATIC_KNOWN, STATIC_LOADED, POSTED, CYCLES] {
        assert!(ended.counter(counter) > 0, "{counter:?}");
    }
    let verified = load.verify();
    assert!(verified.ok, "{:?}", verified.findings);
    let of_first = added(folder.path());
    // A second load begins with what the first one has left.
    let again = Load::at(&url, 1);
    assert!(again.fill("people").unwrap() > 400);
    again.until(has_all).all_good();
    assert!(again.verify().ok, "{:?}", again.verify().findings);
    let findings = load.verify().findings;
    assert!(
        findings[0].contains(" people, where 400 and from "),
        "the first load knows nothing of the second: {findings:?}"
    );
    let of_second = added(folder.path()).into_iter().find(|file| !of_first.contains(file)).unwrap();
    fs::remove_file(&of_first[0]).unwrap();
    fs::write(of_second, "short").unwrap();
    let findings = load.verify().findings.into_iter().chain(again.verify().findings);
    let lost: Vec<String> =
        findings.filter(|finding| finding.contains("not there as sent: 1 of them")).collect();
    assert_eq!(lost.len(), 2, "a missing and a cut file, each of one load: {lost:?}");
}

#[test]
fn a_site_with_other_data_is_not_filled() {
    let folder = tempfile::tempdir().unwrap();
    let url = site(folder.path());
    assert_eq!(Load::at(&url, 1).fill("events"), Ok(300));
    assert_eq!(Load::at(&url, 1).fill("events"), Ok(300), "the same data stay");
    let refused = Load::at(&url, 2).fill("events").unwrap_err();
    assert!(refused.contains("other data"), "{refused}");
}
