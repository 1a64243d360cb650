//! A look at a target before any load, so that a wrong port or a wrong authority shows at once and not in failures.

use std::error::Error;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::{Fault, Resolved};

/// Longest wait for a connection; no target that can be reached takes as long.
const LONGEST: Duration = Duration::from_secs(10);

/// Largest file of certificates: a system's whole list is a tenth of it.
const MOST_CERTIFICATES: u64 = 4 << 20;

impl Resolved {
    /// The same target at those of its addresses that answer: a name such as `localhost` often has one at which nothing
    /// listens. Connects once to each, through TLS where the target has it. Blocks.
    ///
    /// # Errors
    /// When no address answers within `timeout`, at most 10 s; the text says what to look at.
    pub fn answering(&self, timeout: Duration) -> Result<Resolved, Box<dyn Error + Send + Sync>> {
        let timeout = timeout.min(LONGEST);
        let silent = |why: &io::Error| why.kind() == ErrorKind::TimedOut;
        match self.probe(timeout) {
            Ok(probed) => Ok(probed.resolved),
            Err(Fault::Connect { to, why }) if silent(&why) && self.target().is_tls() => {
                let within = timeout.as_secs_f64();
                Err(format!("no TLS session with {to} within {within} s; is this the right port?").into())
            }
            Err(Fault::Connect { to, why }) => {
                Err(format!("connect to {to}: {why}; is it started, and is this its address?").into())
            }
            Err(why) => Err(why.into()),
        }
    }
}

/// A file of certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificatesError {
    /// It cannot be read.
    #[error("read the certificates in `{}`", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why not.
        #[source]
        why: io::Error,
    },
    /// It is larger than any list of authorities.
    #[error("read the certificates in `{}`: {bytes} bytes, at most {MOST_CERTIFICATES} are allowed", file.display())]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// Its size.
        bytes: u64,
    },
}

/// The certificates of authorities in a PEM file.
///
/// # Errors
/// When it cannot be read, or is larger than 4 MiB.
pub fn certificates(file: &Path) -> Result<Arc<[u8]>, CertificatesError> {
    let failed = |why| CertificatesError::Read { file: file.to_owned(), why };
    let bytes = fs::metadata(file).map_err(failed)?.len();
    if bytes > MOST_CERTIFICATES {
        return Err(CertificatesError::TooLarge { file: file.to_owned(), bytes });
    }
    Ok(fs::read(file).map_err(failed)?.into())
}
