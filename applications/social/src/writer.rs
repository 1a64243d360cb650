//! The thread that writes to the SQLite file, and its queue. Changes that wait go into one transaction, and are
//! answered after its commit.

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::sqlite::{carry_out, refused};
use crate::store::{Changed, Statement, StoreError};

/// Changes that wait at the most.
const QUEUE: usize = 1_024;

/// Changes of one transaction at the most, which bounds the wait for a commit.
const BATCH: usize = 128;

/// A change that waits.
struct Job {
    statements: Vec<Statement>,
    done: oneshot::Sender<Result<Changed, StoreError>>,
}

/// The thread, which ends when this is dropped and the queue is empty.
pub(crate) struct Writer(mpsc::Sender<Job>);

impl Writer {
    /// Starts the thread.
    pub(crate) fn start(connection: Connection) -> Result<Self, StoreError> {
        let (send, mut queue) = mpsc::channel::<Job>(QUEUE);
        let work = move || {
            let mut batch = Vec::with_capacity(BATCH);
            while queue.blocking_recv_many(&mut batch, BATCH) > 0 {
                commit(&connection, &mut batch);
            }
        };
        let started = std::thread::Builder::new().name("writer".to_owned()).spawn(work);
        started.map_err(|why| StoreError::Refused(why.into()))?;
        Ok(Writer(send))
    }

    /// Makes a change, and waits for its commit.
    pub(crate) async fn change(&self, statements: Vec<Statement>) -> Result<Changed, StoreError> {
        let (done, answer) = oneshot::channel();
        self.0.try_send(Job { statements, done }).map_err(|_| StoreError::Full)?;
        answer.await.unwrap_or(Err(StoreError::Full))
    }
}

/// Carries out the changes, each apart from the failures of the others, and answers them.
fn commit(connection: &Connection, batch: &mut Vec<Job>) {
    let begun = connection.execute_batch("BEGIN IMMEDIATE");
    let results: Vec<_> = match &begun {
        Ok(()) => batch.iter().map(|job| apart(connection, &job.statements)).collect(),
        Err(_) => Vec::new(),
    };
    let committed = begun.and_then(|()| connection.execute_batch("COMMIT"));
    if committed.is_err() {
        // Without a transaction there is nothing to undo.
        let _ = connection.execute_batch("ROLLBACK");
    }
    let mut results = results.into_iter();
    for job in batch.drain(..) {
        let result = match (&committed, results.next()) {
            (Ok(()), Some(result)) => result.map_err(refused),
            (Err(why), _) => Err(StoreError::Refused(why.to_string().into())),
            (Ok(()), None) => Err(StoreError::Full),
        };
        // Without a receiver the client is gone; its change stays.
        let _ = job.done.send(result);
    }
}

fn apart(connection: &Connection, statements: &[Statement]) -> rusqlite::Result<Changed> {
    connection.prepare_cached("SAVEPOINT change")?.execute([])?;
    let changed = carry_out(connection, statements);
    if changed.is_err() {
        connection.prepare_cached("ROLLBACK TO change")?.execute([])?;
    }
    connection.prepare_cached("RELEASE change")?.execute([])?;
    changed
}
