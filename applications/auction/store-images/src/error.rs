//! What can go wrong with pictures.

use std::path::PathBuf;
use std::time::Duration;

/// What a driver says.
pub(crate) type Source = Box<dyn std::error::Error + Send + Sync>;

/// Why the image store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PictureError {
    /// The place cannot be one of pictures: the setting is wrong.
    #[error("open the image store {place}: {why}")]
    BadPlace {
        /// The place, without its password.
        place: String,
        /// What is wrong.
        why: String,
    },
    /// The store cannot be reached.
    #[error("{what}: {store} cannot be reached")]
    Unreachable {
        /// Which store.
        store: &'static str,
        /// What was tried.
        what: &'static str,
        /// What the driver says.
        #[source]
        source: Source,
    },
    /// The store did not answer in time.
    #[error("{what}: {store} did not answer within {limit:?}")]
    Slow {
        /// Which store.
        store: &'static str,
        /// What was tried.
        what: &'static str,
        /// How long it was waited for.
        limit: Duration,
    },
    /// The store refused, or said something that cannot be.
    #[error("{what}: {store} refused")]
    Refused {
        /// Which store.
        store: &'static str,
        /// What was tried.
        what: &'static str,
        /// What the driver says.
        #[source]
        source: Source,
    },
    /// A file or folder of this machine could not be used.
    #[error("{what} {}", path.display())]
    File {
        /// What was tried: "read", "make folder", ...
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
}

impl PictureError {
    /// Whether doing the same again later may work.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(self, PictureError::Unreachable { .. } | PictureError::Slow { .. })
    }

    /// The error with everything below it, on one line.
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

/// Why an upload was not taken. The server answers that it is overloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// As many pictures wait to be written as may.
    #[error("too many pictures wait to be written")]
    Pictures,
    /// The pictures that wait to be written take as much memory as they may.
    #[error("the pictures that wait to be written are too large together")]
    Bytes,
    /// The store is being closed.
    #[error("the image store is being closed")]
    Closed,
}
