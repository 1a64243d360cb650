//! Faults in the setup of connections, found before the load.

use std::io;
use std::path::PathBuf;

use barograph_reactor::Peer;

use crate::trust::MOST_CERTIFICATES;

/// Reason why connections to a target cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The host's name has no address.
    #[error("find the host `{host}`: check the name, or give an address such as 127.0.0.1")]
    Resolve {
        /// The name.
        host: String,
        /// The error of the system.
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
        /// The cause.
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
        /// The fault and its remedy.
        why: String,
    },
    /// The client certificate or its key cannot be used.
    #[error("use the client certificate: `{}`: {why}", file.display())]
    Identity {
        /// The faulty file.
        file: PathBuf,
        /// The fault.
        why: String,
    },
    /// The name to verify is invalid.
    #[error("`{name}` cannot be the name in a certificate: give a host name or an address")]
    ServerName {
        /// The name.
        name: String,
    },
}
