//! Opening of connections: TCP or a socket file, then optionally TLS.

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
    /// A dialer for the calling thread. Opens no connection yet.
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

    /// Opens a connection in the clear. Must run on the thread of a reactor, like all later calls.
    ///
    /// # Errors
    /// If the target or this machine refuses it.
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

    /// Opens a connection that begins with TLS.
    ///
    /// # Errors
    /// If the connection is refused, or the TLS handshake fails.
    pub async fn connect_tls(&self, number: u32, tls: &TlsConfig) -> Result<Stream, Fault> {
        let stream = self.connect(number).await?;
        self.secure(stream, number, tls).await
    }

    /// Begins TLS on the connection of this number, which was in the clear until now, as after STARTTLS. The
    /// caller must discard bytes read ahead: they arrived without protection. A connection through TLS is
    /// returned unchanged.
    ///
    /// # Errors
    /// If the TLS handshake fails; the connection is closed.
    pub async fn secure(&self, stream: Stream, number: u32, tls: &TlsConfig) -> Result<Stream, Fault> {
        let begun = self.now();
        let secured = stream.secure(tls).await;
        let stream = secured.map_err(|why| Fault::Tls { to: self.peer(number).clone(), why })?;
        let took = self.since(begun);
        self.tally.count(|c| c.securing = c.securing + took);
        Ok(stream)
    }

    /// The number of the next connection for this user: the user's own all have one route, shared and
    /// single-use ones take turns.
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

    /// Counters of its connections so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.tally.now()
    }
}
