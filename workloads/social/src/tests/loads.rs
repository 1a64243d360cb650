//! Loads, and the check after them.

use std::fs;
use std::path::{Path, PathBuf};

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
fn added(folder: &Path) -> Vec<PathBuf> {
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
    assert!(!added(folder.path()).is_empty());
    // A second load begins with the loaded state.
    let again = Load::at(&url, 1);
    assert_eq!(again.fill("people"), Ok(400));
    assert_eq!(added(folder.path()), Vec::<PathBuf>::new());
    again.until(has_all).all_good();
    assert!(again.verify().ok, "{:?}", again.verify().findings);
    let findings = load.verify().findings;
    assert!(
        findings.iter().any(|finding| finding.contains("acknowledged and not there as sent")),
        "the first load finds nothing of its own: {findings:?}"
    );
    // A missing file, and one that is cut.
    let file = added(folder.path()).pop().unwrap();
    let bytes = fs::read(&file).unwrap();
    let lost =
        || again.verify().findings.iter().any(|finding| finding.contains("not there as sent: 1 of them"));
    fs::remove_file(&file).unwrap();
    assert!(lost());
    fs::write(&file, &bytes[..10]).unwrap();
    assert!(lost());
    fs::write(&file, bytes).unwrap();
    assert!(again.verify().ok);
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
