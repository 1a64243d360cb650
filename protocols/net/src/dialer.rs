//! Making connections: TCP or a socket file, then TLS where it is asked for.

use std::cell::OnceCell;
use std::rc::Rc;

use barograph_model::Nanos;
use barograph_reactor::{Peer, Socket};

use crate::endpoint::Routes;
use crate::fault::Fault;
use crate::pool::Policy;
use crate::stream::{Counters, Stream, Tally};
use crate::tls::TlsConfig;

/// Tells the time of the engine's clock to a dialer, which has none.
pub type Watch = Rc<dyn Fn() -> Nanos>;

/// Makes the connections of one worker to one target, and counts what they do.
pub struct Dialer {
    routes: Routes,
    tally: Rc<Tally>,
    watch: OnceCell<Watch>,
}

impl Dialer {
    /// For the thread that makes it. No connection is made yet.
    #[must_use]
    pub fn new(routes: &Routes) -> Self {
        Dialer { routes: routes.clone(), tally: Rc::default(), watch: OnceCell::new() }
    }

    /// Counts from now on how long connecting and TLS handshakes take. The first watch stays.
    pub fn time_by(&self, watch: &Watch) {
        self.watch.get_or_init(|| Rc::clone(watch));
    }

    fn now(&self) -> Option<Nanos> {
        self.watch.get().map(|watch| watch())
    }

    fn since(&self, begun: Option<Nanos>) -> Nanos {
        begun.zip(self.now()).map_or(Nanos::ZERO, |(begun, now)| now - begun)
    }

    /// Makes a connection in the clear. Must run on the thread of a reactor, as all that follows.
    ///
    /// # Errors
    /// When the target or this machine refuses it.
    pub async fn connect(&self, number: u32) -> Result<Stream, Fault> {
        let peer = self.routes.peer(number);
        let begun = self.now();
        match Socket::connect(peer, self.routes.source(number)).await {
            Ok(socket) => {
                let took = self.since(begun);
                self.tally.count(|c| c.connecting = c.connecting + took);
                Ok(Stream::new(socket, &self.tally))
            }
            Err(why) => Err(Fault::Connect { to: peer.clone(), why }),
        }
    }

    /// Makes a connection that begins with TLS.
    ///
    /// # Errors
    /// When the connection is refused, or no TLS session comes about on it.
    pub async fn connect_tls(&self, number: u32, tls: &TlsConfig) -> Result<Stream, Fault> {
        let stream = self.connect(number).await?;
        self.secure(stream, number, tls).await
    }

    /// Begins TLS on the connection of this number, which was in the clear until now, as after STARTTLS. The caller
    /// drops what it has read ahead: that came without protection. A connection through TLS stays as it is.
    ///
    /// # Errors
    /// When no TLS session comes about; the connection is closed.
    pub async fn secure(&self, stream: Stream, number: u32, tls: &TlsConfig) -> Result<Stream, Fault> {
        let begun = self.now();
        let secured = stream.secure(tls).await;
        let stream = secured.map_err(|why| Fault::Tls { to: self.peer(number).clone(), why })?;
        let took = self.since(begun);
        self.tally.count(|c| c.securing = c.securing + took);
        Ok(stream)
    }

    /// The number of the next connection for this user: its own all go one way, shared and passing ones take turns.
    #[must_use]
    pub fn number(&self, policy: Policy, user: u32) -> u32 {
        match policy {
            Policy::PerUser(_) => user,
            Policy::Shared(_) | Policy::New => self.tally.now().opened as u32,
        }
    }

    /// The address to which the connection of this number goes.
    #[must_use]
    pub fn peer(&self, number: u32) -> &Peer {
        self.routes.peer(number)
    }

    /// What its connections have done until now.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.tally.now()
    }
}
