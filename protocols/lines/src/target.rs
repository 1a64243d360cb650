//! A server with a resolved address.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use barograph_net::{Alpn, Endpoint, Routes, SetupError, Tls, TlsConfig, Verify, certificates};

use crate::address::{Address, Security};

/// A server, with the routes and the settings of connections to it. Cheap to clone; shared by all workers.
#[derive(Clone, Debug)]
pub struct Target {
    address: Arc<Address>,
    routes: Routes,
    tls: Option<TlsConfig>,
}

impl Target {
    /// Resolves an address and reads the certificates named in it. May use the network; blocks.
    ///
    /// # Errors
    /// If the name has no address, or the certificates cannot be used.
    pub fn resolve(address: Address) -> Result<Self, SetupError> {
        let endpoint = Endpoint::Host { host: address.host.clone(), port: address.port };
        let tls = match address.security {
            Security::Clear => None,
            Security::StartTls | Security::Tls => {
                let authorities = address.authorities.as_deref().map(certificates).transpose()?;
                let verify = if address.verify { Verify::Peer } else { Verify::Nothing };
                let tls = Tls { authorities, verify, ..Tls::default() };
                Some(TlsConfig::new(&tls, &address.host, Alpn::NONE)?)
            }
        };
        // Servers limit the rights of clients by address: the loopback addresses are not spread.
        let routes = endpoint.resolve(&[])?.without_sources();
        Ok(Target { address: Arc::new(address), routes, tls })
    }

    /// The same target with the network addresses that accept a connection within `timeout`. Blocks.
    ///
    /// # Errors
    /// If there is none; the text names the cause.
    pub fn answering(mut self, timeout: Duration) -> Result<Self, Box<dyn Error + Send + Sync>> {
        self.routes = self.routes.answering(None, timeout)?;
        Ok(self)
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

    /// The settings of TLS; `None` in the clear.
    #[must_use]
    pub fn tls(&self) -> Option<&TlsConfig> {
        self.tls.as_ref()
    }
}
