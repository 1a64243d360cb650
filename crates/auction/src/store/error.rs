//! What can go wrong in a store.

/// Why a store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite refused.
    #[error("a query of the store failed")]
    Sqlite(#[from] rusqlite::Error),
    /// The transaction that held the change could not be committed.
    #[error("a transaction could not be committed: {0}")]
    Commit(String),
    /// More changes wait than the queue holds.
    #[error("the write queue is full")]
    Full,
    /// The writer has ended.
    #[error("the store is closed")]
    Closed,
    /// The system gave no thread.
    #[error("cannot start a writer thread")]
    Thread(#[source] std::io::Error),
}

impl StoreError {
    /// Whether a unique value was taken.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, StoreError::Sqlite(e)
            if e.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation))
    }
}
