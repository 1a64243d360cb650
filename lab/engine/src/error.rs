//! What can go wrong in the engine itself.

/// The engine could not do its work. Failures of operations are outcomes, not errors.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A worker thread could not be started.
    #[error("start driver worker {worker}")]
    StartWorker {
        /// Which worker, from 0.
        worker: usize,
        /// What the system said.
        #[source]
        why: std::io::Error,
    },
    /// A worker ended without being told to.
    #[error("driver worker {worker} ended by itself; this is a fault of the tool")]
    WorkerGone {
        /// Which worker, from 0.
        worker: usize,
    },
}
