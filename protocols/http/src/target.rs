//! The target: an address with its options, and the network addresses of its host.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use barograph_net::{Endpoint, Policy, Routes};

use crate::connect::TlsSetup;
use crate::detour::Detour;
use crate::fault::TargetError;
use crate::options::{Options, Protocol};
use crate::url::Url;

/// An address and its options. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Target(Arc<TargetData>);

#[derive(Debug)]
struct TargetData {
    url: Url,
    authority: String,
    options: Options,
    secured: Option<TlsSetup>,
}

impl Target {
    /// Parses an address. For https the trusted authorities are read too.
    ///
    /// # Errors
    /// If the address is malformed, or the trust settings are faulty.
    pub fn parse(url: &str, options: &Options) -> Result<Target, TargetError> {
        let failed = |why| TargetError::Url { url: url.to_owned(), why };
        let url = Url::parse(url).map_err(failed)?;
        if options.proxy.is_some() && !url.tls && options.protocol == Protocol::Http2 {
            return Err(TargetError::Proxy);
        }
        let secured = match url.tls {
            true => Some(TlsSetup::new(&url.host, &options.tls, options.protocol)?),
            false => None,
        };
        Ok(Target(Arc::new(TargetData {
            authority: url.authority(),
            url,
            options: options.clone(),
            secured,
        })))
    }

    /// Path and query of the address.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.0.url.path
    }

    /// Host and port, as in the `host` header.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.0.authority
    }

    /// Whether the address begins with https.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.0.url.tls
    }

    /// Its options.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// Host and port, including the port of the scheme.
    pub(crate) fn host_and_port(&self) -> String {
        let Url { host, port, .. } = &self.0.url;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    pub(crate) fn secured(&self) -> Option<&TlsSetup> {
        self.0.secured.as_ref()
    }

    /// Resolves the host, before any clock starts. May use the network; blocks.
    ///
    /// # Errors
    /// If the name has no address, or no source address can reach those found.
    pub fn resolve(&self) -> Result<ResolvedTarget, TargetError> {
        let Url { host, port, .. } = &self.0.url;
        let Options { unix_socket, proxy, detours, .. } = &self.0.options;
        let endpoint = match (unix_socket, proxy) {
            (Some(path), _) => Endpoint::Unix(path.clone()),
            (None, Some(proxy)) => proxy.endpoint(),
            (None, None) => {
                let (host, port) = Detour::of(detours, host, *port);
                Endpoint::Host { host, port }
            }
        };
        Ok(ResolvedTarget { target: self.clone(), routes: endpoint.resolve(&self.0.options.sources)? })
    }
}

/// A target and the routes to its network addresses. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ResolvedTarget {
    target: Target,
    routes: Routes,
}

impl ResolvedTarget {
    /// A target that speaks HTTP/1.1 in the clear at a known address.
    #[must_use]
    pub fn at(address: SocketAddr, policy: Policy) -> ResolvedTarget {
        let url =
            Url { tls: false, host: address.ip().to_string(), port: address.port(), path: "/".to_owned() };
        let options = Options { protocol: Protocol::Http1, policy, ..Options::default() };
        let inner = TargetData { authority: address.to_string(), url, options, secured: None };
        ResolvedTarget { target: Target(Arc::new(inner)), routes: Routes::at(address) }
    }

    /// The original target.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The routes to its addresses.
    #[must_use]
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// The same target with the addresses of another one as well.
    #[must_use]
    pub fn beside(&self, other: &ResolvedTarget) -> ResolvedTarget {
        ResolvedTarget { target: self.target.clone(), routes: self.routes.beside(&other.routes) }
    }

    /// The same target with only those addresses that answer: a name such as `localhost` often has one
    /// without a listener. Connects once to each, through TLS if the target has it; of a proxy only the
    /// connection to it is tried. Blocks.
    ///
    /// # Errors
    /// If no address answers within `timeout`, at most 10 s; the text names what to check.
    pub fn answering(&self, timeout: Duration) -> Result<ResolvedTarget, Box<dyn Error + Send + Sync>> {
        let proxied = self.target.options().proxy.is_some();
        let tls = self.target.secured().filter(|_| !proxied).map(|secured| &secured.any);
        Ok(ResolvedTarget { target: self.target.clone(), routes: self.routes.answering(tls, timeout)? })
    }
}
