//! Errors of stores.

/// Failure of an operation on a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A unique value is taken.
    #[error("a unique value is taken")]
    Conflict,
    /// The store refused, or sent an invalid answer.
    #[error("{store} failed to {what}")]
    Refused {
        /// The store.
        store: &'static str,
        /// The operation: "read a user", ...
        what: &'static str,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The store cannot be reached; nothing of the change is in it. A later retry is sensible.
    #[error("{store} cannot be reached")]
    Unreachable {
        /// The store.
        store: &'static str,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The connection broke during a commit: it is unknown whether the change is in the store.
    #[error("{store} was lost during a commit")]
    Unknown {
        /// The store.
        store: &'static str,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The queue of the store is full.
    #[error("too much work waits for the store")]
    Full,
    /// The store is closed, or has removed the caller from the register.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// Whether a later retry may succeed.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(self, StoreError::Unreachable { .. } | StoreError::Unknown { .. } | StoreError::Full)
    }
}
