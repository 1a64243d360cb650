//! The contract of all interfaces, and properties of the files.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use barograph_auction_api::{AuctionId, UserId};
use barograph_auction_store::{
    Batch, EventBatch, Events, Loading, Relational, RelationalBatch, StoreError, codes, contract,
};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::{EventFile, Files, Pristine, RelationalFile, Sqlite, WriterThreads, open, reset};

fn fill_relational(dir: &Path) -> Result<Box<dyn Loading<RelationalBatch>>, StoreError> {
    Ok(Box::new(RelationalFile::create(&Files::in_folder(dir).relational)?))
}

fn fill_events(dir: &Path) -> Result<Box<dyn Loading<EventBatch>>, StoreError> {
    Ok(Box::new(EventFile::create(&Files::in_folder(dir).events)?))
}

/// Both files in a folder, filled with the small data set.
async fn fill(dir: &Path) {
    std::fs::create_dir_all(dir).unwrap();
    contract::load(fill_relational(dir).unwrap(), contract::relational_data()).await.unwrap();
    contract::load(fill_events(dir).unwrap(), contract::event_data()).await.unwrap();
}

/// A filled store, opened.
async fn filled() -> (TempDir, Arc<Sqlite>, WriterThreads) {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path()).await;
    let (store, threads) = open(dir.path(), 2).unwrap();
    (dir, store, threads)
}

/// A folder whose files the contract makes anew for each case.
///
/// The last connection to close removes its log by name, which may by then be the log of the next case's
/// file. Hence the wait for the writers of earlier cases.
struct FreshFolder {
    dir: TempDir,
    writers: RefCell<Vec<WriterThreads>>,
}

impl FreshFolder {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fill(dir.path()).await;
        FreshFolder { dir, writers: RefCell::default() }
    }

    /// The folder, once no writer has its files open.
    fn idle(&self) -> &Path {
        self.writers.take().into_iter().for_each(WriterThreads::join);
        self.dir.path()
    }

    fn open(&self) -> Result<Arc<Sqlite>, StoreError> {
        let (store, writers) = open(self.dir.path(), 2)?;
        self.writers.borrow_mut().push(writers);
        Ok(store)
    }
}

#[tokio::test]
async fn keeps_the_relational_contract() {
    let files = FreshFolder::new().await;
    contract::relational(async || fill_relational(files.idle()), async || files.open()).await;
}

#[tokio::test]
async fn keeps_the_contract_of_events() {
    let files = FreshFolder::new().await;
    contract::events(async || fill_events(files.idle()), async || files.open()).await;
}

#[tokio::test]
async fn keeps_the_contract_of_the_register() {
    let files = FreshFolder::new().await;
    contract::registry(async || fill_relational(files.idle()), async || files.open()).await;
}

#[tokio::test]
async fn random_runs_agree_with_the_model_and_repeat() {
    for seed in [1, 2, 20_260_706] {
        let (_first, store, _threads) = filled().await;
        let once = contract::seeded_run(&*store, &*store, seed).await;
        let (_second, store, _threads) = filled().await;
        let twice = contract::seeded_run(&*store, &*store, seed).await;
        assert_eq!(once.to_string(), twice.to_string(), "seed {seed}");
        assert!(once.to_string().lines().count() > 500, "a run leaves a lot:\n{once}");
    }
}

#[tokio::test]
async fn a_filled_folder_gives_its_rows_back() {
    let dir = tempfile::tempdir().unwrap();
    fill(&dir.path().join("pristine")).await;
    let pristine = Pristine::open(dir.path()).unwrap();
    assert_eq!(pristine.stamp().unwrap(), "contract");
    assert_eq!(pristine.initial().unwrap().users, 12);
    let again = tempfile::tempdir().unwrap();
    let path = again.path().join("pristine");
    std::fs::create_dir_all(&path).unwrap();
    let relational: Vec<_> = pristine.relational().collect::<Result<_, _>>().unwrap();
    let events: Vec<_> = pristine.events().collect::<Result<_, _>>().unwrap();
    let rows: usize = relational.iter().map(Batch::rows).sum();
    assert_eq!(rows, contract::relational_data().iter().map(Batch::rows).sum::<usize>());
    let mut user_rows = relational[0].users.clone();
    user_rows.sort_by_key(|u| u.id);
    assert_eq!(user_rows, contract::relational_data()[0].users);
    contract::load(fill_relational(&path).unwrap(), relational).await.unwrap();
    contract::load(fill_events(&path).unwrap(), events).await.unwrap();
    let copy = Pristine::open(again.path()).unwrap();
    assert!(pristine.relational().map(Result::unwrap).eq(copy.relational().map(Result::unwrap)));
    assert!(pristine.events().map(Result::unwrap).eq(copy.events().map(Result::unwrap)));
}

#[tokio::test]
async fn rows_come_back_in_batches_without_gaps() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pristine");
    fill(&path).await;
    let mut file = EventFile::create(&Files::in_folder(&path).events).unwrap();
    let mut batch = EventBatch::default();
    let model = contract::event_data().remove(0).bids.remove(0);
    for id in 0..12_345 {
        batch.bids.push(barograph_auction_store::BidRow {
            id,
            bidder_id: id % 7,
            bid_ms: id % 5,
            ..model.clone()
        });
    }
    file.insert(&batch).unwrap();
    file.close("many").unwrap();
    let pristine = Pristine::open(dir.path()).unwrap();
    let sizes: Vec<usize> = pristine.events().map(|b| b.unwrap().rows()).collect();
    assert_eq!(sizes, [5_000, 5_000, 2_345]);
    let mut ids: Vec<i64> = pristine.events().flat_map(|b| b.unwrap().bids).map(|b| b.id).collect();
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..12_345));
}

#[tokio::test]
async fn the_same_rows_make_the_same_files() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fill(one.path()).await;
    fill(two.path()).await;
    let bytes = |dir: &TempDir| {
        let files = Files::in_folder(dir.path());
        [files.relational, files.events].map(|path| std::fs::read(path).unwrap())
    };
    assert!(bytes(&one) == bytes(&two));
}

#[tokio::test]
async fn a_reset_undoes_a_run() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    fill(&dir.path().join("pristine")).await;
    for _ in 0..2 {
        reset(dir.path(), &state).unwrap();
        let (store, threads) = open(&state, 1).unwrap();
        assert_eq!(store.remove_user(UserId(1)).await.unwrap(), Some(None), "user 1 is there again");
        drop(store);
        threads.join();
    }
    let (store, _threads) = open(&state, 1).unwrap();
    assert_eq!(store.user(UserId(1)).await.unwrap(), None, "without a reset the change stays");
}

#[tokio::test]
async fn what_was_answered_is_in_the_file_when_the_process_dies() {
    let (dir, store, _threads) = filled().await;
    store.remove_user(UserId(3)).await.unwrap();
    // The files as after kill -9: with no connection closed.
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let entry = entry.unwrap();
        if !entry.file_name().to_string_lossy().ends_with("-shm") {
            std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
    }
    let (after, _threads) = open(copy.path(), 1).unwrap();
    assert_eq!(after.user(UserId(3)).await.unwrap(), None);
    assert!(after.user(UserId(4)).await.unwrap().is_some());
}

#[tokio::test]
async fn twice_the_same_attendance_is_found() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path()).await;
    let mut data = contract::event_data();
    let open_visit = data[1].attendance.iter().find(|a| a.id == 50).unwrap().clone();
    data[1].attendance.push(barograph_auction_store::AttendanceRow { id: 51, ..open_visit });
    contract::load(fill_events(dir.path()).unwrap(), data).await.unwrap();
    let (store, _threads) = open(dir.path(), 2).unwrap();
    assert_eq!(store.double_attendance().await.unwrap(), [(UserId(4), AuctionId(1))]);
}

#[test]
fn what_is_no_fill_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let missing = open(dir.path(), 1).map(drop);
    assert!(
        matches!(missing, Err(StoreError::Refused { what: "open a file for writing", .. })),
        "{missing:?}"
    );
    let files = Files::in_folder(dir.path());
    Connection::open(&files.relational).unwrap().execute_batch("CREATE TABLE user (id)").unwrap();
    let other = open(dir.path(), 1).map(drop);
    assert!(matches!(other, Err(StoreError::Refused { what: "find out what was loaded", .. })), "{other:?}");
}

/// SQLite's plan for a query.
fn plan(conn: &Connection, query: &str) -> String {
    let mut explain = conn.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
    let places = explain.parameter_count();
    let values = rusqlite::params_from_iter(std::iter::repeat_n(1, places));
    let lines = explain.query_map(values, |row| row.get::<_, String>(3)).unwrap();
    lines.collect::<rusqlite::Result<Vec<_>>>().unwrap().join("\n")
}

#[tokio::test]
async fn what_runs_ask_for_uses_an_index() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path()).await;
    let files = Files::in_folder(dir.path());
    let (relational, events) =
        (Connection::open(files.relational).unwrap(), Connection::open(files.events).unwrap());
    for (conn, query, index) in [
        (&relational, "SELECT 1 FROM user WHERE name = ? AND removed = 0", "user_name"),
        (&relational, "SELECT 1 FROM user WHERE token = ?", "user_token"),
        (
            &relational,
            "SELECT 1 FROM high_bid WHERE bidder_id = ? AND state = 2 AND end_ms >= ?",
            "high_bid_bought",
        ),
        (&relational, "SELECT 1 FROM high_bid WHERE auction_id = ? ORDER BY round DESC", "high_bid_auction"),
        (&relational, "SELECT COUNT(*) FROM item WHERE state = ? AND condition = ?", "item_filter"),
        (&events, "SELECT 1 FROM bid WHERE auction_id = ? AND state = 2 ORDER BY id", "bid_unsettled"),
        (&events, "SELECT * FROM bid WHERE preloaded = 0 ORDER BY listing, sequence, id", "bid_run"),
        (
            &events,
            "UPDATE attendance SET state = ? WHERE user_id = ? AND auction_id = ? AND state = 0",
            "attendance_open",
        ),
        (&events, "SELECT 1 FROM bid WHERE (bidder_id, bid_ms, id) > (?, ?, ?) LIMIT 1", "PRIMARY KEY"),
    ] {
        let plan = plan(conn, query);
        assert!(plan.contains(index), "{query}: {plan}");
        assert!(!plan.contains("TEMP B-TREE"), "{query}: {plan}");
    }
}

#[test]
fn the_numbers_in_partial_indices_are_the_codes() {
    assert_eq!(codes::high_bid::SOLD, 2);
    assert_eq!((codes::bid::PROPOSED, codes::bid::VOID), (2, 3));
    assert_eq!(codes::attendance::ATTENDING, 0);
}
