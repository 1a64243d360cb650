//! Failures of connections, in words that a user can act on.

use std::io;

use barograph_model::Outcome;
use barograph_reactor::Peer;
use rustix::io::Errno;
use tokio_rustls::rustls::{AlertDescription, CertificateError, Error};

/// Error numbers of this machine's own limits: no local port, open file or memory left, or a local rule
/// against the connection.
const OWN: [Errno; 7] = [
    Errno::MFILE,
    Errno::NFILE,
    Errno::ADDRNOTAVAIL,
    Errno::NOBUFS,
    Errno::NOMEM,
    Errno::PERM,
    Errno::ACCESS,
];

/// Reason why a connection could not be made.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The connection failed.
    #[error("connect to {to}")]
    Connect {
        /// The target.
        to: Peer,
        /// The error of the system.
        #[source]
        why: io::Error,
    },
    /// The connection was made, but the TLS handshake failed.
    #[error("agree on TLS with {to}")]
    Tls {
        /// The target.
        to: Peer,
        /// The reason.
        #[source]
        why: TlsFault,
    },
}

impl Fault {
    /// The outcome of an operation with this fault: a driver fault if the driver's machine is the cause, a
    /// broken connection if the target is.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let code = match self {
            Fault::Connect { why, .. } => why.raw_os_error(),
            Fault::Tls { .. } => None,
        };
        match code.is_some_and(|code| OWN.iter().any(|own| own.raw_os_error() == code)) {
            true => Outcome::DriverFault,
            false => Outcome::Broken,
        }
    }
}

/// Reason why a TLS handshake failed.
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
        /// The requested name.
        asked: String,
    },
    /// The certificate has expired.
    #[error("its certificate has expired: renew it, or ask not to verify")]
    Expired,
    /// The certificate is not yet valid.
    #[error("its certificate is not valid yet: look at the clocks of both machines")]
    NotYetValid,
    /// The peer supports none of the offered protocols.
    #[error("it does not speak {} over TLS: choose another protocol", offered.join(" or "))]
    Protocol {
        /// Their names in ALPN.
        offered: &'static [&'static str],
    },
    /// The peer's answer is not TLS.
    #[error("what it speaks is not TLS: is this the right port, or should it be spoken to in the clear?")]
    NotTls,
    /// The peer closed the connection.
    #[error(
        "it closed the connection in the handshake: is this the right port, and is a client certificate wanted?"
    )]
    Closed,
    /// Any other error.
    #[error("{0}")]
    Other(io::Error),
}

impl TlsFault {
    /// Reason for the failure of a handshake for the name `asked`, with these protocols `offered`.
    pub(crate) fn of(why: io::Error, asked: &str, offered: &'static [&'static str]) -> Self {
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
                // A self-signed certificate, in the words of the verifier.
                C::Other(_) => TlsFault::UnknownAuthority,
                _ => TlsFault::Other(why),
            },
            Some(
                Error::NoApplicationProtocol | Error::AlertReceived(AlertDescription::NoApplicationProtocol),
            ) => TlsFault::Protocol { offered },
            Some(Error::InvalidMessage(_)) => TlsFault::NotTls,
            Some(_) => TlsFault::Other(why),
            None if why.kind() == io::ErrorKind::UnexpectedEof => TlsFault::Closed,
            None => TlsFault::Other(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lack_in_the_driver_is_told_from_a_target_that_refuses() {
        let to = Peer::Tcp(([127, 0, 0, 1], 80).into());
        let outcome = |errno: Errno| {
            let why = io::Error::from_raw_os_error(errno.raw_os_error());
            Fault::Connect { to: to.clone(), why }.outcome()
        };
        for own in [Errno::MFILE, Errno::ADDRNOTAVAIL, Errno::NOBUFS, Errno::PERM] {
            assert_eq!(outcome(own), Outcome::DriverFault, "{own}");
        }
        for theirs in [Errno::CONNREFUSED, Errno::TIMEDOUT, Errno::HOSTUNREACH, Errno::CONNRESET] {
            assert_eq!(outcome(theirs), Outcome::Broken, "{theirs}");
        }
        assert_eq!(Fault::Tls { to: to.clone(), why: TlsFault::Closed }.outcome(), Outcome::Broken);
    }
}
