//! Conversion of a scenario's target to options of the HTTP client.

use barograph_http::{Detour, Identity, Options, Policy, Protocol, Proxy, Tls, Verify};
use barograph_scenario as scenario;

/// Options of the target that only a command line has.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RouteOptions {
    pub(crate) proxy: Option<Proxy>,
    pub(crate) detours: Vec<Detour>,
    /// Further origins, by their numbers in requests.
    pub(crate) origins: Vec<String>,
}

/// The client's options for a scenario's target.
///
/// Without `connect_timeout`: the client has no clock, and the engine's limit is that of a whole operation.
#[must_use]
pub fn reach(target: &scenario::Target) -> Options {
    Options {
        protocol: match target.protocol {
            scenario::Protocol::Auto => Protocol::Auto,
            scenario::Protocol::Http1 => Protocol::Http1,
            scenario::Protocol::Http2 => Protocol::Http2,
        },
        tls: Tls {
            authorities: target.tls.authorities.clone(),
            verify: if target.tls.trust_anyone { Verify::Nothing } else { Verify::Peer },
            server_name: target.tls.server_name.clone(),
            identity: identity(target),
        },
        unix_socket: target.unix_socket.clone(),
        sources: target.source_addresses.clone(),
        policy: match target.connections {
            scenario::Connections::PerUser(most) => Policy::PerUser(most),
            scenario::Connections::Pool(most) => Policy::Shared(most),
            scenario::Connections::New => Policy::New,
        },
        ..Options::default()
    }
}

/// The client certificate, if there is one.
pub(crate) fn identity(target: &scenario::Target) -> Option<Identity> {
    let (certificate, key) = target.tls.identity.clone()?;
    Some(Identity { certificate, key })
}
