//! Why there is no answer, in words a user can act on.

use std::io;

use barograph_reactor::Peer;
use tokio_rustls::rustls::{AlertDescription, CertificateError, Error};

/// Why there is no answer, or none that counts.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The connection could not be made.
    #[error("connect to {to}")]
    Connect {
        /// The target.
        to: Peer,
        /// What the system said.
        #[source]
        why: io::Error,
    },
    /// The connection was made, but no TLS session on it.
    #[error("agree on TLS with {to}")]
    Tls {
        /// The target.
        to: Peer,
        /// What did not fit.
        #[source]
        why: TlsFault,
    },
    /// The connection broke, or the peer closed it in the middle of an answer.
    #[error("connection broke")]
    Broken(#[source] io::Error),
    /// What came is not an answer in the protocol that is spoken.
    #[error("answer is not HTTP")]
    Garbage,
    /// The body is larger than `Options::body_limit`.
    #[error("answer is larger than the limit of {limit} bytes")]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// HTTP/2: the peer reset the stream of this request.
    #[error("the target reset the stream: {reason}")]
    Reset {
        /// The protocol's word for it.
        reason: &'static str,
    },
    /// HTTP/2: the peer ended the connection with this request on it.
    #[error("the target ended the connection: {reason}")]
    GoneAway {
        /// The protocol's word for it.
        reason: &'static str,
    },
    /// An event stream or a WebSocket was asked for, and something else came.
    #[error("asked for a stream and was answered with status {0}")]
    Status(u16),
    /// Events were asked for, and an answer of another kind came.
    #[error("asked for text/event-stream and got `{kind}`")]
    NoEvents {
        /// Its content type.
        kind: String,
    },
    /// What was to be sent is no request.
    #[error("the request cannot be sent: {why}")]
    Request {
        /// What is wrong with it.
        why: String,
    },
}

impl Fault {
    /// Did something come that does not count as an answer? In all other cases nothing did.
    #[must_use]
    pub fn is_wrong_answer(&self) -> bool {
        matches!(self, Fault::Garbage | Fault::TooLarge { .. } | Fault::Status(_) | Fault::NoEvents { .. })
    }

    /// Was it the driver's own machine that could not, rather than the target? No local port or open file was left, no
    /// memory, or a rule of its own forbade the connection.
    #[must_use]
    pub fn is_drivers(&self) -> bool {
        use rustix::io::Errno;
        const OWN: [Errno; 7] = [
            Errno::MFILE,
            Errno::NFILE,
            Errno::ADDRNOTAVAIL,
            Errno::NOBUFS,
            Errno::NOMEM,
            Errno::PERM,
            Errno::ACCESS,
        ];
        let Fault::Connect { why, .. } = self else { return false };
        why.raw_os_error().is_some_and(|code| OWN.iter().any(|own| own.raw_os_error() == code))
    }

    pub(crate) fn request(why: impl Into<String>) -> Self {
        Fault::Request { why: why.into() }
    }
}

/// Why no TLS session came about.
#[derive(Debug, thiserror::Error)]
pub enum TlsFault {
    /// The certificate leads to no trusted authority.
    #[error(
        "its certificate is signed by nobody this driver trusts: name the authority's PEM file (ca), or ask not to verify"
    )]
    UnknownAuthority,
    /// The certificate is for other names.
    #[error(
        "its certificate is not for the name `{asked}`: connect by a name that is in it, or set the server name"
    )]
    WrongName {
        /// The name that was asked for.
        asked: String,
    },
    /// The certificate is past its last day.
    #[error("its certificate has expired: renew it, or ask not to verify")]
    Expired,
    /// The certificate's first day is yet to come.
    #[error("its certificate is not valid yet: look at the clocks of both machines")]
    NotYetValid,
    /// The peer does not speak the HTTP that was asked for.
    #[error("it does not speak {wanted} over TLS: choose another protocol")]
    Protocol {
        /// What was asked for.
        wanted: &'static str,
    },
    /// The peer spoke first of one protocol, then of another.
    #[error("it agreed on another protocol than on the connection before")]
    Changed,
    /// What came is not TLS.
    #[error("what it speaks is not TLS: is this the right port, or should the address begin with http://?")]
    NotTls,
    /// The peer closed the connection.
    #[error(
        "it closed the connection in the handshake: is this the right port, and is a client certificate wanted?"
    )]
    Closed,
    /// Anything else.
    #[error("{0}")]
    Other(io::Error),
}

impl TlsFault {
    /// Puts into words what a handshake for `asked` ended with.
    pub(crate) fn of(why: io::Error, asked: &str, wanted: &'static str) -> Self {
        use CertificateError as C;
        let found = why.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
        match found {
            Some(Error::InvalidCertificate(bad)) => match bad {
                C::UnknownIssuer | C::BadSignature => TlsFault::UnknownAuthority,
                C::NotValidForName | C::NotValidForNameContext { .. } => {
                    TlsFault::WrongName { asked: asked.to_owned() }
                }
                C::Expired | C::ExpiredContext { .. } => TlsFault::Expired,
                C::NotValidYet | C::NotValidYetContext { .. } => TlsFault::NotYetValid,
                // A certificate that signed itself, in the words of the verifier.
                C::Other(_) => TlsFault::UnknownAuthority,
                _ => TlsFault::Other(why),
            },
            Some(
                Error::NoApplicationProtocol | Error::AlertReceived(AlertDescription::NoApplicationProtocol),
            ) => TlsFault::Protocol { wanted },
            Some(Error::InvalidMessage(_)) => TlsFault::NotTls,
            Some(_) => TlsFault::Other(why),
            None if why.kind() == io::ErrorKind::UnexpectedEof => TlsFault::Closed,
            None => TlsFault::Other(why),
        }
    }
}

/// Why a target cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The address cannot be read.
    #[error("`{url}` is not an address: {why}")]
    Url {
        /// What was given.
        url: String,
        /// What is wrong with it and what would be right.
        why: String,
    },
    /// The host's name leads nowhere.
    #[error("find the host `{host}`: check the name, or give an address such as 127.0.0.1")]
    Resolve {
        /// The name.
        host: String,
        /// What the system said.
        #[source]
        why: io::Error,
    },
    /// The authorities to trust cannot be read.
    #[error("read the certificates to trust: {why}")]
    Authorities {
        /// What is wrong and what to do.
        why: String,
    },
    /// The name to verify is not one.
    #[error("`{name}` cannot be the name in a certificate: give a host name or an address")]
    ServerName {
        /// What was given.
        name: String,
    },
    /// No source address can reach the target.
    #[error("no source address is of the same kind as {to}: give {wanted} addresses")]
    Sources {
        /// The target.
        to: Peer,
        /// IPv4 or IPv6.
        wanted: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn a_lack_in_the_driver_is_told_from_a_target_that_refuses() {
        let failed = |errno: Errno| Fault::Connect {
            to: Peer::Tcp(([127, 0, 0, 1], 80).into()),
            why: io::Error::from_raw_os_error(errno.raw_os_error()),
        };
        for own in [Errno::MFILE, Errno::ADDRNOTAVAIL, Errno::NOBUFS, Errno::PERM] {
            assert!(failed(own).is_drivers(), "{own}");
        }
        for theirs in [Errno::CONNREFUSED, Errno::TIMEDOUT, Errno::HOSTUNREACH, Errno::CONNRESET] {
            assert!(!failed(theirs).is_drivers(), "{theirs}");
        }
        assert!(!Fault::Broken(io::ErrorKind::ConnectionReset.into()).is_drivers());
    }
}
