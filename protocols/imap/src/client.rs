//! A worker's client.

use barograph_lines::{Link, Security, Target};
use barograph_net::{Counters, Dialer};

use crate::Fault;
use crate::flaw::Flaw;
use crate::session::Session;

/// Makes the sessions of one worker at one server.
pub struct Client {
    target: Target,
    dialer: Dialer,
}

impl Client {
    /// A client for the calling thread. Opens no connection yet.
    #[must_use]
    pub fn new(target: &Target) -> Self {
        Client { target: target.clone(), dialer: Dialer::new(target.routes()) }
    }

    /// Makes a session, and logs in with the login of the address, if it has one.
    ///
    /// # Errors
    /// [`Fault::Refused`] if the server denies it, [`Fault::Lacks`] if it offers no TLS.
    pub async fn connect(&self, number: u32) -> Result<Session, Fault> {
        match &self.target.address().login {
            None => self.open(number).await,
            Some((user, password)) => self.connect_as(number, user, password).await,
        }
    }

    /// Makes a session of this user.
    ///
    /// # Errors
    /// [`Fault::Refused`] if the server denies it, [`Fault::Lacks`] if it offers no TLS.
    pub async fn connect_as(&self, number: u32, user: &str, password: &str) -> Result<Session, Fault> {
        let mut session = self.open(number).await?;
        session.log_in(user, password).await?;
        Ok(session)
    }

    /// Counters of its connections so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.dialer.counters()
    }

    async fn open(&self, number: u32) -> Result<Session, Fault> {
        // In a box: a session begins once, and would make every waiting operation larger.
        Box::pin(self.begin(number)).await
    }

    async fn begin(&self, number: u32) -> Result<Session, Fault> {
        let link = Link::open(&self.dialer, &self.target, number).await?;
        let mut session = Session::new(link);
        session.greeting().await?;
        if self.target.address().security == Security::StartTls {
            session.start_tls().await?;
            if session.has_input() {
                return Err(Fault::Flawed(Flaw::Unprotected));
            }
            let link = session.into_link().secure(&self.dialer, &self.target, number).await?;
            session = Session::new(link);
        }
        Ok(session)
    }
}
