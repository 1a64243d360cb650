//! A thread that writes to one file, and its queue.
//!
//! Everything that waits when the thread is free goes into one transaction; callers are answered after its
//! commit. One writer per file means no lock to wait for, and higher load means fewer commits per change.

use std::thread::JoinHandle;

use barograph_auction_store::StoreError;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::{STORE, failed};

/// Most waiting changes; at some 20 µs each the last of them waits for a tenth of a second.
const QUEUE: usize = 4096;

/// Most changes in one transaction, which bounds the wait for a commit.
const BATCH: usize = 256;

/// Answers the caller after the commit (`Err` carries its failure).
type Reply = Box<dyn FnOnce(Result<(), &str>) + Send>;

/// Makes one change and returns its reply.
type Job = Box<dyn FnOnce(&Connection) -> Reply + Send>;

/// Handle of the thread, which ends when this is dropped and the queue is empty.
pub(crate) struct Writer {
    jobs: mpsc::Sender<Job>,
}

impl Writer {
    /// Starts the thread.
    pub(crate) fn start(conn: Connection, name: &str) -> Result<(Writer, JoinHandle<()>), StoreError> {
        let (jobs, mut queue) = mpsc::channel::<Job>(QUEUE);
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                let mut batch = Vec::with_capacity(BATCH);
                while let Some(job) = queue.blocking_recv() {
                    batch.push(job);
                    while batch.len() < BATCH
                        && let Ok(job) = queue.try_recv()
                    {
                        batch.push(job);
                    }
                    run(&conn, &mut batch);
                }
            })
            .map_err(|why| StoreError::Refused {
                store: STORE,
                what: "start its writer",
                source: why.into(),
            })?;
        Ok((Writer { jobs }, thread))
    }

    /// Makes a change and waits for its commit; refused if the queue is full. `what` names the operation:
    /// "add a user".
    pub(crate) async fn write<T, F>(&self, what: &'static str, change: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let (job, answer) = job(what, change);
        self.jobs.try_send(job).map_err(|e| match e {
            mpsc::error::TrySendError::Full(_) => StoreError::Full,
            mpsc::error::TrySendError::Closed(_) => StoreError::Closed,
        })?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Makes a change that must not be refused: waits for room in the queue, then for the commit.
    pub(crate) async fn write_surely<T, F>(&self, what: &'static str, change: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let (job, answer) = job(what, change);
        self.jobs.send(job).await.map_err(|_| StoreError::Closed)?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }
}

fn job<T, F>(what: &'static str, change: F) -> (Job, oneshot::Receiver<Result<T, StoreError>>)
where
    T: Send + 'static,
    F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
{
    let (reply, answer) = oneshot::channel();
    let job: Job = Box::new(move |conn| {
        let result = apart(conn, change);
        Box::new(move |commit| {
            let result = match commit {
                Ok(()) => result.map_err(failed(what)),
                Err(text) => Err(StoreError::Refused { store: STORE, what: "commit", source: text.into() }),
            };
            // The caller may be gone: a client that disconnected does not undo its change.
            let _ = reply.send(result);
        })
    });
    (job, answer)
}

/// Runs one change so that its failure undoes all of it and nothing of the others.
fn apart<T>(
    conn: &Connection,
    change: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    conn.prepare_cached("SAVEPOINT change")?.execute([])?;
    let result = change(conn);
    if result.is_err() {
        conn.prepare_cached("ROLLBACK TO change")?.execute([])?;
    }
    conn.prepare_cached("RELEASE change")?.execute([])?;
    result
}

fn run(conn: &Connection, batch: &mut Vec<Job>) {
    let begun = conn.prepare_cached("BEGIN IMMEDIATE").and_then(|mut s| s.execute([]));
    if let Err(error) = begun {
        let text = error.to_string();
        // The jobs were never run, so their only result is failure.
        for job in batch.drain(..) {
            job(conn)(Err(&text));
        }
        let _ = conn.execute_batch("ROLLBACK");
        return;
    }
    let replies: Vec<Reply> = batch.drain(..).map(|job| job(conn)).collect();
    let committed = conn.prepare_cached("COMMIT").and_then(|mut s| s.execute([]));
    let failure = committed.err().map(|e| e.to_string());
    if failure.is_some() {
        let _ = conn.execute_batch("ROLLBACK");
    }
    for reply in replies {
        reply(failure.as_deref().map_or(Ok(()), Err));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer() -> (Writer, JoinHandle<()>) {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch("CREATE TABLE t (n INTEGER PRIMARY KEY)").unwrap();
        Writer::start(conn, "test").unwrap()
    }

    async fn count(writer: &Writer) -> i64 {
        writer.write("try", |c| c.query_row("SELECT COUNT(*) FROM t", [], |r| r.get(0))).await.unwrap()
    }

    #[tokio::test]
    async fn a_failed_change_is_undone_alone() {
        let (writer, _thread) = writer();
        let fine = writer.write("try", |c| c.execute("INSERT INTO t VALUES (1)", []));
        let broken = writer.write("try", |c| {
            c.execute("INSERT INTO t VALUES (2)", [])?;
            c.execute("INSERT INTO t VALUES (1)", [])
        });
        let (fine, broken) = tokio::join!(fine, broken);
        assert_eq!(fine.unwrap(), 1);
        assert!(matches!(broken, Err(StoreError::Conflict)));
        assert_eq!(count(&writer).await, 1);
    }

    #[tokio::test]
    async fn concurrent_changes_all_arrive() {
        let (writer, thread) = writer();
        let writer = std::sync::Arc::new(writer);
        let mut all = tokio::task::JoinSet::new();
        for n in 0..1000 {
            let writer = std::sync::Arc::clone(&writer);
            all.spawn(async move {
                writer.write("try", move |c| c.execute("INSERT INTO t VALUES (?1)", [n])).await.unwrap();
            });
        }
        assert_eq!(all.join_all().await.len(), 1000);
        assert_eq!(count(&writer).await, 1000);
        drop(writer);
        thread.join().unwrap();
    }
}
