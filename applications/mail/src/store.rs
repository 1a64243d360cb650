//! The store: a SQLite file, and one thread that does all work on it.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

/// Jobs that wait at most; senders wait beyond.
const QUEUE: usize = 1_024;

/// Most jobs of a transaction: they share one flush of the disk.
const BATCH: usize = 64;

/// Tables. Mail for several recipients is stored once.
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS folders (
        id INTEGER PRIMARY KEY, account TEXT NOT NULL, name TEXT NOT NULL, next_uid INTEGER NOT NULL,
        UNIQUE (account, name)) STRICT;
    CREATE TABLE IF NOT EXISTS contents (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS messages (
        folder INTEGER NOT NULL, uid INTEGER NOT NULL, flags TEXT NOT NULL, size INTEGER NOT NULL,
        content INTEGER NOT NULL, PRIMARY KEY (folder, uid)) STRICT, WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS messages_of_content ON messages (content);
";

/// Durability of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// A change is on the disk when it is answered.
    Full,
    /// A change is with the system when it is answered: it survives a killed server, not a failed machine.
    System,
    /// A change is in memory when it is answered, and stored with a later one: a killed server loses it.
    Memory,
}

/// Failure of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be opened.
    #[error("open the mail store `{}`", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        why: rusqlite::Error,
    },
    /// Another server has the folder.
    #[error("another mail server has the folder `{}`: stop it, or choose another folder", folder.display())]
    Taken {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder cannot be locked.
    #[error("lock the mail store by `{}`", path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        why: std::io::Error,
    },
    /// The thread cannot be started.
    #[error("start the thread of the mail store")]
    Thread(#[source] std::io::Error),
    /// A job failed, or others of its transaction did.
    #[error("change the mail store")]
    Job,
}

/// What a job does; it returns the step that sends its answer.
type Job = Box<dyn FnOnce(&Connection) -> rusqlite::Result<Answer> + Send>;

/// Sends an answer after the transaction.
type Answer = Box<dyn FnOnce() + Send>;

/// The handle of the store. Its thread ends with the last handle.
#[derive(Clone)]
pub(crate) struct Store {
    jobs: mpsc::Sender<Job>,
}

impl Store {
    /// Opens the file `mail.db` in a folder, and makes it if there is none. The folder is locked until the thread ends.
    ///
    /// # Errors
    /// If the file or the thread cannot be had, or another server has the folder.
    pub(crate) fn open(folder: &Path, durability: Durability) -> Result<Self, StoreError> {
        let lock = lock(folder)?;
        let path = folder.join("mail.db");
        let database = connect(&path, durability).map_err(|why| StoreError::Open { path, why })?;
        let (jobs, queue) = mpsc::channel(QUEUE);
        let thread = thread::Builder::new().name("mail store".to_owned());
        let spawned = thread.spawn(move || {
            match durability {
                Durability::Memory => answer_first(&database, queue),
                Durability::Full | Durability::System => store_first(&database, queue),
            }
            drop(lock);
        });
        spawned.map_err(StoreError::Thread)?;
        Ok(Store { jobs })
    }

    /// Does a job, and waits until its changes are as durable as the store makes them.
    ///
    /// # Errors
    /// [`StoreError::Job`].
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (send, answer) = oneshot::channel();
        let job: Job = Box::new(move |database| {
            let done = job(database)?;
            // Without a receiver the session is over.
            let answer: Answer = Box::new(move || drop(send.send(done)));
            Ok(answer)
        });
        self.jobs.send(job).await.map_err(|_| StoreError::Job)?;
        answer.await.map_err(|_| StoreError::Job)
    }
}

/// Takes the lock of a folder, which is that of an open file and ends with it.
fn lock(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join("mail.lock");
    let file = match File::create(&path) {
        Ok(file) => file,
        Err(why) => return Err(StoreError::Lock { path, why }),
    };
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Taken { folder: folder.to_owned() }),
        Err(TryLockError::Error(why)) => Err(StoreError::Lock { path, why }),
    }
}

fn connect(path: &Path, durability: Durability) -> rusqlite::Result<Connection> {
    let database = Connection::open(path)?;
    database.pragma_update(None, "journal_mode", "WAL")?;
    let is_full = durability == Durability::Full;
    database.pragma_update(None, "synchronous", if is_full { "FULL" } else { "OFF" })?;
    database.execute_batch(SCHEMA)?;
    Ok(database)
}

/// Does jobs in transactions of those that wait, and answers them after their commit.
fn store_first(database: &Connection, mut queue: mpsc::Receiver<Job>) {
    while let Some(first) = queue.blocking_recv() {
        let others = std::iter::from_fn(|| queue.try_recv().ok()).take(BATCH - 1);
        let answers = transaction(database, std::iter::once(first).chain(others));
        // After a failure the answers are dropped unsent, and the sessions are told.
        answers.into_iter().flatten().for_each(|answer| answer());
    }
}

fn transaction(database: &Connection, jobs: impl Iterator<Item = Job>) -> rusqlite::Result<Vec<Answer>> {
    let transaction = database.unchecked_transaction()?;
    let answers = jobs.map(|job| job(database)).collect::<rusqlite::Result<Vec<Answer>>>()?;
    transaction.commit()?;
    Ok(answers)
}

/// Answers jobs before their commit: for a study of the mail that is lost then.
fn answer_first(database: &Connection, mut queue: mpsc::Receiver<Job>) {
    while let Some(first) = queue.blocking_recv() {
        let Ok(transaction) = database.unchecked_transaction() else { return };
        let mut next = Some(first);
        for _ in 0..BATCH * BATCH {
            let Some(job) = next else { break };
            if let Ok(answer) = job(database) {
                answer();
            }
            next = queue.blocking_recv();
        }
        if transaction.commit().is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_store() {
        let folder = tempfile::tempdir().unwrap();
        let _first = Store::open(folder.path(), Durability::System).unwrap();
        let second = Store::open(folder.path(), Durability::System).err().unwrap().to_string();
        let expected = format!("another mail server has the folder `{}`", folder.path().display());
        assert!(second.starts_with(&expected), "{second}");
    }
}
