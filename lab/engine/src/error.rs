//! Errors of the engine itself.

/// An error of the engine. Failures of operations are outcomes, not errors.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A worker thread could not be started.
    #[error("start driver worker {worker}")]
    StartWorker {
        /// Index of the worker, from 0.
        worker: usize,
        /// The cause.
        #[source]
        why: std::io::Error,
    },
    /// A worker ended without being told to end.
    #[error("driver worker {worker} ended by itself; this is a fault of the tool")]
    WorkerGone {
        /// Index of the worker, from 0.
        worker: usize,
    },
}
