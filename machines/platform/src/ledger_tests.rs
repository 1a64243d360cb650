//! The ledger across crashes, truncated lines and second handles.

use std::fs;

use super::*;
use crate::ProcessId;

fn process(id: Option<ProcessId>) -> Resource {
    Resource::Process { program: "/bin/x".into(), id }
}

const ID: ProcessId = ProcessId { pid: 77, start_ticks: 1234 };

#[test]
fn what_was_announced_created_or_removed_is_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.jsonl");
    let (announced, created) = {
        let ledger = Ledger::open(&path).unwrap();
        let announced = ledger.will(process(None)).unwrap();
        let created = ledger.will(process(None)).unwrap();
        ledger.done(created, process(Some(ID))).unwrap();
        let removed = ledger.will(process(None)).unwrap();
        ledger.removed(removed).unwrap();
        (announced, created)
    };
    let ledger = Ledger::open(&path).unwrap();
    let wanted = [
        Leftover { entry: created, thing: process(Some(ID)) },
        Leftover { entry: announced, thing: process(None) },
    ];
    assert_eq!(ledger.left(), wanted, "newest first");
    assert_eq!(ledger.unreadable(), 0);
    let next = ledger.will(process(None)).unwrap();
    assert_eq!(next.number(), 3, "numbers are never used twice, not even those of removed things");
}

#[test]
fn an_announcement_is_in_the_file_before_will_returns() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.jsonl");
    let ledger = Ledger::open(&path).unwrap();
    ledger.will(process(None)).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let line = r#"{"event":"will","entry":0,"thing":{"kind":"process","program":"/bin/x","id":null}}"#;
    assert_eq!(text, format!("{line}\n"));
}

#[test]
fn a_ledger_cut_at_any_byte_opens_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.jsonl");
    {
        let ledger = Ledger::open(&path).unwrap();
        let entry = ledger.will(process(None)).unwrap();
        ledger.done(entry, process(Some(ID))).unwrap();
    }
    let whole = fs::read(&path).unwrap();
    let first = whole.iter().position(|b| *b == b'\n').unwrap();
    for cut in 0..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let left = Ledger::open(&path).unwrap().left();
        let wanted = if cut < first {
            None
        } else if cut < whole.len() - 1 {
            Some(process(None))
        } else {
            Some(process(Some(ID)))
        };
        assert_eq!(left.first().map(|l| l.thing.clone()), wanted, "cut at {cut}");
        let added = Ledger::open(&path).unwrap().will(process(Some(ID))).unwrap();
        let after = Ledger::open(&path).unwrap();
        assert!(
            after.left().iter().any(|l| l.entry == added),
            "cut at {cut}: a new line must not join the torn one"
        );
    }
}

#[test]
fn unknown_lines_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.jsonl");
    fs::write(&path, "{\"event\":\"will\",\"entry\":4,\"thing\":{\"kind\":\"moon\"}}\n\n\u{0}\n").unwrap();
    let ledger = Ledger::open(&path).unwrap();
    assert_eq!((ledger.unreadable(), ledger.left().len()), (2, 0));
}

#[test]
fn a_ledger_in_use_cannot_be_swept_by_somebody_else() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.jsonl");
    let first = Ledger::open(&path).unwrap();
    let clone = first.clone();
    drop(first);
    assert!(matches!(Ledger::open(&path), Err(LedgerError::InUse { .. })));
    drop(clone);
    assert!(Ledger::open(&path).is_ok());
}

#[test]
fn an_empty_ledger_goes_with_the_last_who_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.jsonl");
    let ledger = Ledger::open(&path).unwrap();
    let clone = ledger.clone();
    let entry = clone.will(process(None)).unwrap();
    ledger.forget_when_empty();
    drop(ledger);
    drop(clone);
    let again = Ledger::open(&path).unwrap();
    assert_eq!(again.left().len(), 1, "what names something stays");
    again.forget_when_empty();
    let clone = again.clone();
    drop(again);
    assert!(path.exists(), "somebody has it");
    clone.removed(entry).unwrap();
    drop(clone);
    assert!(!path.exists());
}

#[test]
fn folders_are_made_noted_and_removed() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path().join("ledger.jsonl")).unwrap();
    let made = dir.path().join("data");
    let entry = ledger.make_directory(&made).unwrap();
    fs::write(made.join("file"), "x").unwrap();
    assert_eq!(ledger.left()[0].thing, Resource::Directory { path: made.clone() });
    ledger.remove_directory(entry).unwrap();
    ledger.remove_directory(entry).unwrap();
    assert!(!made.exists() && ledger.left().is_empty());
}

#[test]
fn a_folder_that_was_there_is_never_noted() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path().join("ledger.jsonl")).unwrap();
    let theirs = dir.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    let error = ledger.make_directory(&theirs).unwrap_err();
    assert!(matches!(error, LedgerError::MakeDirectory { .. }));
    assert!(ledger.make_directory(&dir.path().join("no/parent")).is_err());
    assert!(ledger.left().is_empty(), "neither is left: none was made");
    assert!(theirs.exists());
}

#[test]
fn a_full_disk_is_an_error_before_anything_is_created() {
    let full = OpenOptions::new().append(true).open("/dev/full").unwrap();
    let inner = LedgerState { file: full, cut: false, next: 0, left: BTreeMap::new(), unreadable: 0 };
    let ledger = Ledger {
        shared: Arc::new(SharedLedger {
            path: "/dev/full".into(),
            is_to_go: AtomicBool::new(false),
            inner: Mutex::new(inner),
        }),
    };
    let error = ledger.will(process(None)).unwrap_err();
    assert_eq!(error.to_string(), "write ledger `/dev/full`");
    assert!(ledger.left().is_empty());
    assert!(ledger.inner().cut, "the next line must not join what may be there of this one");
}

#[test]
fn what_is_too_large_is_not_read() {
    assert!(matches!(Ledger::open("/dev/full"), Err(LedgerError::Open { .. })), "endless zeros");
}
