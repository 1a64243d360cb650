//! A worker's client: makes sessions, and cancels what they do.

use barograph_net::{Counters, Dialer, Stream};

use crate::authentication::{Credentials, log_in};
use crate::backend::{CancelKey, Message};
use crate::binding;
use crate::connection::{Connection, order};
use crate::fault::Fault;
use crate::flaw::Flaw;
use crate::frontend;
use crate::target::Target;

/// Makes the sessions of one worker at one server.
pub struct Client {
    target: Target,
    dialer: Dialer,
}

impl Client {
    /// A client for the calling thread. No connection is made yet.
    #[must_use]
    pub fn new(target: &Target) -> Self {
        Client { target: target.clone(), dialer: Dialer::new(target.routes()) }
    }

    /// Makes a session: connection, TLS where the address asks for it, login. A login with a password costs the worker
    /// some milliseconds of CPU.
    ///
    /// # Errors
    /// [`Fault`]: [`Fault::Refused`] where the server says no.
    pub async fn connect(&self, number: u32) -> Result<Connection, Fault> {
        // In a box: a session is begun once, and would make every waiting operation larger.
        Box::pin(self.begin(number)).await.map_err(|fault| match fault {
            Fault::Ended(said) => Fault::Refused(said),
            fault => fault,
        })
    }

    async fn begin(&self, number: u32) -> Result<Connection, Fault> {
        let stream = self.open(number).await?;
        let binding = stream.peer_certificate().and_then(binding::end_point);
        let mut connection = Connection::new(stream);
        let address = self.target.address();
        frontend::startup(&mut connection.out, &address.settings());
        connection.begin()?;
        let password = address.password.as_ref();
        log_in(&mut connection, &Credentials { user: &address.user, password, binding }).await?;
        loop {
            let arrival = connection.message().await?;
            match connection.read(&arrival)? {
                Message::Key(key) => connection.key = Some(key),
                Message::Ready(transaction) => {
                    connection.end(transaction);
                    return Ok(connection);
                }
                Message::Error(body) => return Err(Fault::Refused(crate::Diagnostic::read(b'E', body)?)),
                _ => return Err(order(&arrival, "a login")),
            }
        }
    }

    /// Asks the server to cancel what another session does, over a connection of its own. Ends when the server has taken
    /// the request; whether there was something to cancel shows in the other session.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn cancel(&self, number: u32, key: CancelKey) -> Result<(), Fault> {
        let mut stream = self.open(number).await?;
        let mut out = Vec::new();
        frontend::cancel(&mut out, key);
        stream.write_all(&out).await.map_err(Fault::Broken)?;
        let mut answer = Vec::with_capacity(1);
        match stream.read_into(&mut answer).await.map_err(Fault::Broken)? {
            0 => Ok(()),
            _ => Err(Flaw::Order { tag: char::from(answer[0]), to: "a request to cancel" }.into()),
        }
    }

    /// What its connections have done until now.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.dialer.counters()
    }

    /// Makes a connection, through TLS where the address asks for it.
    async fn open(&self, number: u32) -> Result<Stream, Fault> {
        let mut stream = self.dialer.connect(number).await?;
        let Some(tls) = self.target.tls() else { return Ok(stream) };
        let mut out = Vec::new();
        frontend::tls(&mut out);
        stream.write_all(&out).await.map_err(Fault::Broken)?;
        let mut answer = Vec::with_capacity(2);
        if stream.read_into(&mut answer).await.map_err(Fault::Broken)? == 0 {
            return Err(Fault::Broken(std::io::ErrorKind::UnexpectedEof.into()));
        }
        match answer[..] {
            [b'S'] => Ok(self.dialer.secure(stream, number, tls).await?),
            [b'N'] => Err(Fault::NoTls { to: self.dialer.peer(number).clone() }),
            [b'S', ..] => Err(Flaw::Unprotected.into()),
            _ => Err(Flaw::TlsAnswer(answer[0]).into()),
        }
    }
}
