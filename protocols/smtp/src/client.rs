//! A worker's client.

use barograph_lines::{Link, Security, Target};
use barograph_net::{Counters, Dialer};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::Fault;
use crate::session::Session;

/// The name that the client gives for itself.
const NAME: &str = "barograph.invalid";

/// The dialect of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SMTP: one reply to a mail.
    Smtp,
    /// LMTP: a reply to a mail for each recipient.
    Lmtp,
}

/// Makes the sessions of one worker at one server.
pub struct Client {
    target: Target,
    dialer: Dialer,
    dialect: Dialect,
}

impl Client {
    /// A client for the calling thread. Opens no connection yet.
    #[must_use]
    pub fn new(target: &Target, dialect: Dialect) -> Self {
        Client { target: target.clone(), dialer: Dialer::new(target.routes()), dialect }
    }

    /// Makes a session: connection, greeting, EHLO, TLS and login as required by the address.
    ///
    /// # Errors
    /// [`Fault::Refused`] if the server denies a step, [`Fault::Lacks`] if it offers no TLS or login.
    pub async fn connect(&self, number: u32) -> Result<Session, Fault> {
        // In a box: a session begins once, and would make every waiting operation larger.
        Box::pin(self.begin(number)).await
    }

    /// Counters of its connections so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.dialer.counters()
    }

    async fn begin(&self, number: u32) -> Result<Session, Fault> {
        let link = Link::open(&self.dialer, &self.target, number).await?;
        let mut session = Session::new(link, self.dialect);
        session.greeting().await?;
        session.hello(NAME).await?;
        let address = self.target.address();
        if address.security == Security::StartTls {
            if !session.extensions().starttls {
                return Err(Fault::Lacks("STARTTLS"));
            }
            session.start_tls().await?;
            let link = session.into_link().secure(&self.dialer, &self.target, number).await?;
            session = Session::new(link, self.dialect);
            session.hello(NAME).await?;
        }
        if let Some((user, password)) = &address.login {
            log_in(&mut session, user, password).await?;
        }
        Ok(session)
    }
}

async fn log_in(session: &mut Session, user: &str, password: &str) -> Result<(), Fault> {
    if session.extensions().plain {
        let secret = BASE64_STANDARD.encode(format!("\0{user}\0{password}"));
        return session.authenticate(&[&format!("AUTH PLAIN {secret}")]).await;
    }
    if session.extensions().login {
        let (user, password) = (BASE64_STANDARD.encode(user), BASE64_STANDARD.encode(password));
        return session.authenticate(&["AUTH LOGIN", &user, &password]).await;
    }
    Err(Fault::Lacks("login by PLAIN or LOGIN"))
}
