//! Errors of the image store.

use std::path::PathBuf;
use std::time::Duration;

/// An error of a driver.
pub(crate) type Source = Box<dyn std::error::Error + Send + Sync>;

/// Failure of an operation on the image store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PictureError {
    /// The place is invalid: the setting is wrong.
    #[error("open the image store {place}: {why}")]
    BadPlace {
        /// The place, without its password.
        place: String,
        /// The fault.
        why: String,
    },
    /// The store cannot be reached.
    #[error("{what}: {store} cannot be reached")]
    Unreachable {
        /// The store.
        store: &'static str,
        /// The operation.
        what: &'static str,
        /// The cause.
        #[source]
        source: Source,
    },
    /// The store did not answer in time.
    #[error("{what}: {store} did not answer within {limit:?}")]
    Slow {
        /// The store.
        store: &'static str,
        /// The operation.
        what: &'static str,
        /// The time limit.
        limit: Duration,
    },
    /// The store refused, or sent an invalid answer.
    #[error("{what}: {store} refused")]
    Refused {
        /// The store.
        store: &'static str,
        /// The operation.
        what: &'static str,
        /// The cause.
        #[source]
        source: Source,
    },
    /// A local file or folder could not be used.
    #[error("{what} {}", path.display())]
    File {
        /// The operation: "read", "make folder", ...
        what: &'static str,
        /// Its file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
}

impl PictureError {
    /// Whether a later retry may succeed.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(self, PictureError::Unreachable { .. } | PictureError::Slow { .. })
    }

    /// The error with all its causes, on one line.
    pub(crate) fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let says = error.to_string();
            // Some drivers repeat their cause in their own text.
            if !text.contains(&says) {
                text.push_str(": ");
                text.push_str(&says);
            }
            cause = error.source();
        }
        text
    }
}

/// Makes the error of a file.
pub(crate) fn file(
    what: &'static str,
    path: impl Into<PathBuf>,
) -> impl FnOnce(std::io::Error) -> PictureError {
    let path = path.into();
    move |source| PictureError::File { what, path, source }
}

/// Reason for refusing an upload. The server answers that it is overloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// The queue has its largest number of pictures.
    #[error("too many pictures wait to be written")]
    Pictures,
    /// The queue has its largest number of bytes.
    #[error("the pictures that wait to be written are too large together")]
    Bytes,
    /// The store is closing.
    #[error("the image store is being closed")]
    Closed,
}
