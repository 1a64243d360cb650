//! A look before the run: which of the target's addresses answer, and in which protocol.

use std::io;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use crate::client::Client;
use crate::connect::Speaks;
use crate::fault::Fault;
use crate::target::{Resolved, Route};

/// What a look at the target has shown.
#[derive(Debug)]
pub struct Probed {
    /// The target with those of its addresses that answer.
    pub resolved: Resolved,
    /// What the others said.
    pub refused: Vec<Fault>,
    /// The HTTP that will be spoken: `HTTP/1.1` or `HTTP/2`.
    pub protocol: &'static str,
}

impl Resolved {
    /// Makes one connection to each address, through TLS where it is asked for, and closes it again. A name often has
    /// addresses at which nobody listens: `localhost` has one of IPv6 and one of IPv4. Blocks.
    ///
    /// # Errors
    /// When no address answers within `wait`: what the first one said.
    pub fn probe(&self, wait: Duration) -> Result<Probed, Fault> {
        let looks: Vec<_> = (0..self.routes.len() as u32).map(|number| self.look(number)).collect();
        let (mut kept, mut refused, mut protocol) = (Vec::new(), Vec::new(), "");
        for (route, look) in self.routes.iter().zip(looks) {
            let silent = || Fault::Connect { to: route.peer.clone(), why: io::ErrorKind::TimedOut.into() };
            match look.recv_timeout(wait).unwrap_or_else(|_| Err(silent())) {
                Ok(speaks) => {
                    kept.push(Route::clone(route));
                    protocol = if speaks == Speaks::Http2 { "HTTP/2" } else { "HTTP/1.1" };
                }
                Err(why) => refused.push(why),
            }
        }
        if kept.is_empty() {
            return Err(refused.swap_remove(0));
        }
        Ok(Probed { resolved: self.keeping(kept), refused, protocol })
    }

    /// Connects in a thread of its own. The client knows no clock: the thread is left behind when it takes too long.
    fn look(&self, number: u32) -> std::sync::mpsc::Receiver<Result<Speaks, Fault>> {
        let (tell, told) = sync_channel(1);
        let resolved = self.clone();
        std::thread::spawn(move || {
            let connect = async { Client::new(&resolved).connect(number).await.map(|(_, speaks)| speaks) };
            let end = barograph_reactor::block_on(connect).map_err(Fault::Broken).flatten();
            // Nobody waits any more when the time is over.
            let _ = tell.send(end);
        });
        told
    }
}
