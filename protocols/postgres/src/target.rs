//! A server whose address was looked up, before any clock starts.

use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use barograph_net::{Alpn, Endpoint, Routes, SetupError, Tls, TlsConfig, Verify, certificates};

use crate::address::{Address, Host, SslMode};

/// The name that an address gives its socket in a folder.
const SOCKET: &str = ".s.PGSQL.";

/// A server, with the routes and the settings of connections to it. Cheap to clone; shared by all workers.
#[derive(Clone, Debug)]
pub struct Target {
    address: Arc<Address>,
    routes: Routes,
    tls: Option<TlsConfig>,
}

impl Target {
    /// Looks an address up and reads the certificates that it names. May ask the network; blocks. Connections come from
    /// `sources` in turn; without any the system chooses.
    ///
    /// # Errors
    /// When the name leads nowhere, or the certificates cannot be used.
    pub fn resolve(address: Address, sources: &[IpAddr]) -> Result<Self, SetupError> {
        let (endpoint, tls) = match &address.host {
            Host::Tcp { name, port } => {
                let endpoint = Endpoint::Host { host: name.clone(), port: *port };
                (endpoint, tls(&address, name)?)
            }
            Host::Unix { folder, port } => (Endpoint::Unix(folder.join(format!("{SOCKET}{port}"))), None),
        };
        let routes = endpoint.resolve(sources)?;
        // The rules of a server for its own machine name 127.0.0.1, and it has a few hundred connections at most.
        let routes = if sources.is_empty() { routes.without_sources() } else { routes };
        Ok(Target { routes, tls, address: Arc::new(address) })
    }

    /// The same with the addresses that answer within `timeout`. Connects once to each; blocks.
    ///
    /// # Errors
    /// No address answers; the text names what to look at.
    pub fn answering(mut self, timeout: Duration) -> Result<Self, Box<dyn Error + Send + Sync>> {
        self.routes = self.routes.answering(None, timeout)?;
        Ok(self)
    }

    /// Another database of the server, with further options of the session.
    #[must_use]
    pub fn database(&self, name: &str, options: &str) -> Self {
        let mut address = Address::clone(&self.address);
        address.database = name.to_owned();
        let options = format!("{} {options}", address.options.unwrap_or_default());
        address.options = Some(options.trim().to_owned()).filter(|options| !options.is_empty());
        Target { address: Arc::new(address), ..self.clone() }
    }

    /// The address.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The routes to it.
    #[must_use]
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    pub(crate) fn tls(&self) -> Option<&TlsConfig> {
        self.tls.as_ref()
    }
}

fn tls(address: &Address, host: &str) -> Result<Option<TlsConfig>, SetupError> {
    let verify = match address.tls {
        SslMode::Disable => return Ok(None),
        SslMode::Require => Verify::Nothing,
        SslMode::VerifyFull => Verify::Peer,
    };
    let authorities = address.authorities.as_deref().map(certificates).transpose()?;
    TlsConfig::new(&Tls { authorities, verify, server_name: None, identity: None }, host, Alpn::NONE)
        .map(Some)
}
