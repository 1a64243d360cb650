//! Probe of a target before any load, so that a wrong port or a wrong authority shows at once and not as
//! failures.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use crate::dialer::Dialer;
use crate::endpoint::Routes;
use crate::fault::Fault;
use crate::tls::TlsConfig;

/// Longest wait for a connection; no reachable target takes as long.
const LONGEST: Duration = Duration::from_secs(10);

impl Routes {
    /// The routes to those addresses that answer: a name such as `localhost` often has one without a
    /// listener. Connects once to each, through TLS if given. Blocks.
    ///
    /// # Errors
    /// If no address answers within `timeout`, at most 10 s; the text names what to check.
    pub fn answering(
        &self,
        tls: Option<&TlsConfig>,
        timeout: Duration,
    ) -> Result<Routes, Box<dyn Error + Send + Sync>> {
        let timeout = timeout.min(LONGEST);
        let silent = |why: &io::Error| why.kind() == ErrorKind::TimedOut;
        match self.probe(tls, timeout) {
            Ok(routes) => Ok(routes),
            Err(Fault::Connect { to, why }) if silent(&why) && tls.is_some() => {
                let within = timeout.as_secs_f64();
                Err(format!("no TLS session with {to} within {within} s; is this the right port?").into())
            }
            Err(Fault::Connect { to, why }) => {
                Err(format!("connect to {to}: {why}; is it started, and is this its address?").into())
            }
            Err(why) => Err(why.into()),
        }
    }

    /// The routes to the addresses that answer within `timeout`, or the fault at the first address.
    fn probe(&self, tls: Option<&TlsConfig>, timeout: Duration) -> Result<Routes, Fault> {
        let looks: Vec<_> = (0..self.peers().len() as u32).map(|number| self.look(number, tls)).collect();
        let mut faults: Vec<Option<Fault>> = Vec::new();
        for (peer, look) in self.peers().zip(looks) {
            let silent = |_| Err(Fault::Connect { to: peer.clone(), why: ErrorKind::TimedOut.into() });
            faults.push(look.recv_timeout(timeout).unwrap_or_else(silent).err());
        }
        match self.filtered(|number| faults[number].is_none()) {
            Some(routes) => Ok(routes),
            None => Err(faults.swap_remove(0).expect("no address has answered")),
        }
    }

    /// Connects in a thread of its own. A dialer has no clock: the thread is abandoned after the time limit.
    fn look(&self, number: u32, tls: Option<&TlsConfig>) -> Receiver<Result<(), Fault>> {
        let (send, receive) = sync_channel(1);
        let (routes, tls) = (self.clone(), tls.cloned());
        std::thread::spawn(move || {
            let connect = async {
                let dialer = Dialer::new(&routes);
                let connected = match &tls {
                    Some(tls) => dialer.connect_tls(number, tls).await,
                    None => dialer.connect(number).await,
                };
                connected.map(|_| ())
            };
            let no_loop = |why| Fault::Connect { to: routes.peer(number).clone(), why };
            let end = barograph_reactor::block_on(connect).map_err(no_loop).flatten();
            // The receiver is gone after the time limit.
            let _ = send.send(end);
        });
        receive
    }
}
