//! What can go wrong in a store.

/// Why a store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A unique value was taken.
    #[error("a unique value is taken")]
    Conflict,
    /// The store refused, or said something that cannot be.
    #[error("{store} failed to {what}")]
    Refused {
        /// Which store.
        store: &'static str,
        /// What was tried: "read a user", ...
        what: &'static str,
        /// What it says.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The store cannot be reached; nothing of the change is in it. Trying again later is sensible.
    #[error("{store} cannot be reached")]
    Unreachable {
        /// Which store.
        store: &'static str,
        /// What happened.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The connection broke while a change was being committed: nobody knows whether it is in the store.
    #[error("{store} was lost during a commit")]
    Unknown {
        /// Which store.
        store: &'static str,
        /// What happened.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// More work waits for the store than its queue holds.
    #[error("too much work waits for the store")]
    Full,
    /// The store is closed, or has struck the caller off.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// Whether doing the same again later may work.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(self, StoreError::Unreachable { .. } | StoreError::Unknown { .. } | StoreError::Full)
    }
}
