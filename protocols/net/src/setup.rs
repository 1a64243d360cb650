//! Why connections cannot be set up, known before the load.

use std::io;
use std::path::PathBuf;

use barograph_reactor::Peer;

use crate::trust::MOST_CERTIFICATES;

/// Why connections to a target cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The host's name leads nowhere.
    #[error("find the host `{host}`: check the name, or give an address such as 127.0.0.1")]
    Resolve {
        /// The name.
        host: String,
        /// What the system reported.
        #[source]
        why: io::Error,
    },
    /// No source address can reach the target.
    #[error("no source address is of the same kind as {to}: give {wanted} addresses")]
    Sources {
        /// The target.
        to: Peer,
        /// IPv4 or IPv6.
        wanted: &'static str,
    },
    /// A file of certificates cannot be read.
    #[error("read the certificates in `{}`", file.display())]
    ReadCertificates {
        /// The file.
        file: PathBuf,
        /// Why not.
        #[source]
        why: io::Error,
    },
    /// A file of certificates is larger than any list of authorities.
    #[error("read the certificates in `{}`: {bytes} bytes, at most {MOST_CERTIFICATES} are allowed", file.display())]
    TooManyCertificates {
        /// The file.
        file: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// The authorities to trust cannot be used.
    #[error("read the certificates to trust: {why}")]
    Authorities {
        /// What is wrong and what to do.
        why: String,
    },
    /// The client certificate or its key cannot be used.
    #[error("use the client certificate: `{}`: {why}", file.display())]
    Identity {
        /// The file that is wrong.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The name to verify is not one.
    #[error("`{name}` cannot be the name in a certificate: give a host name or an address")]
    ServerName {
        /// What was given.
        name: String,
    },
}
