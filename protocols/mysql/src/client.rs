//! A worker's client: makes sessions, and cancels their statements.

use barograph_net::{Counters, Dialer};

use crate::address::Host;
use crate::authentication::log_in;
use crate::connection::{Connection, SessionId};
use crate::fault::Fault;
use crate::greeting::{Greeting, Login};
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

    /// Makes a session: connection, TLS where the address asks for it, login.
    ///
    /// # Errors
    /// [`Fault`]: [`Fault::Refused`] where the server says no.
    pub async fn connect(&self, number: u32) -> Result<Connection, Fault> {
        // In a box: a session is begun once, and would make every waiting operation larger.
        Box::pin(self.begin(number)).await.map_err(|fault| match fault {
            Fault::Ended(said) | Fault::Server(said) => Fault::Refused(said),
            fault => fault,
        })
    }

    async fn begin(&self, number: u32) -> Result<Connection, Fault> {
        let mut connection = Connection::new(self.dialer.connect(number).await?);
        let place = connection.message().await?;
        let greeting = Greeting::read(connection.inbox.bytes(&place))?;
        let address = self.target.address();
        let tls = self.target.tls();
        let login = Login { user: &address.user, database: &address.database, through_tls: tls.is_some() };
        if let Some(tls) = tls {
            if !greeting.has_tls() {
                return Err(Fault::NoTls { to: self.dialer.peer(number).clone() });
            }
            connection.answer(|out| login.write_head(&greeting, out));
            connection = connection.secure(&self.dialer, number, tls).await?;
        }
        connection.id = SessionId(greeting.session);
        connection.version = greeting.version.clone();
        let password = address.password.as_ref().map_or(&[][..], |password| password.0.as_bytes());
        let protected = connection.is_secured() || matches!(address.host, Host::Unix(_));
        log_in(&mut connection, &greeting, &login, password, protected).await?;
        Ok(connection)
    }

    /// Cancels the statement of another session, by a session of its own. Ends when the server has taken the request;
    /// whether there was a statement to cancel shows in the other session.
    ///
    /// # Errors
    /// [`Fault`], an error of the server among them.
    pub async fn cancel(&self, number: u32, session: SessionId) -> Result<(), Fault> {
        let mut connection = self.connect(number).await?;
        connection.query(&format!("KILL QUERY {session}"))?.finish().await.map(drop)
    }

    /// What its connections have done until now.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.dialer.counters()
    }
}
