//! Rows in a database server: a bounded pool of sessions, and tries of changes that the server undid in favour of others.
//!
//! A session that failed, or whose request was given up, is closed and not used again. A read that loses its session is
//! tried once more on another one; a change is not, since its commit may have been done. Durability is the server's
//! setting. Connections are not encrypted.

use std::error::Error;
use std::future::Future;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{sleep, timeout};

use crate::maria::MariaSession;
use crate::postgres::PostgresSession;
use crate::schema::Dialect;
use crate::store::{Changed, Row, Statement, StoreError, Value};

/// Wait for a session. The client of a later page has given up.
const PLACE_WAIT: Duration = Duration::from_secs(10);

/// Time limit of connecting; a starting server refuses within milliseconds.
const CONNECT_WAIT: Duration = Duration::from_secs(5);

/// Time limit of a read or a change: a step of the fill takes seconds on a slow disk.
const ANSWER_WAIT: Duration = Duration::from_secs(120);

/// Most tries of a change that the server undoes.
const TRIES: u32 = 6;

/// Pause before the second try; doubled for each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(2);

/// Statements that a session keeps prepared: more than the site has.
pub(crate) const PREPARED: usize = 128;

type Source = Box<dyn Error + Send + Sync>;

/// A failure of a session, by its remedy.
#[derive(Debug)]
pub(crate) enum Fault {
    /// A unique value is taken.
    Taken,
    /// The server undid the change in favour of another one.
    Undone(Source),
    /// The session is unusable.
    Lost(Source),
    /// The server refused.
    Refused(Source),
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Taken => StoreError::Taken,
            Fault::Undone(why) | Fault::Lost(why) | Fault::Refused(why) => StoreError::Refused(why),
        }
    }
}

/// The address of a server. It may hold a password, hence no `Debug`.
enum Target {
    Postgres(Box<tokio_postgres::Config>),
    Maria(Box<mysql_async::Opts>),
}

enum Session {
    Postgres(PostgresSession),
    Maria(Box<MariaSession>),
}

impl Target {
    async fn connect(&self) -> Result<Session, Fault> {
        Ok(match self {
            Target::Postgres(config) => Session::Postgres(PostgresSession::connect(config).await?),
            Target::Maria(opts) => Session::Maria(Box::new(MariaSession::connect(opts).await?)),
        })
    }
}

impl Session {
    fn is_open(&self) -> bool {
        match self {
            Session::Postgres(session) => session.is_open(),
            // It shows a lost connection at the next statement.
            Session::Maria(_) => true,
        }
    }

    async fn read(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Fault> {
        match self {
            Session::Postgres(session) => session.read(sql, values).await,
            Session::Maria(session) => session.read(sql, values).await,
        }
    }

    async fn change(&mut self, statements: &[Statement]) -> Result<Changed, Fault> {
        match self {
            Session::Postgres(session) => session.change(statements).await,
            Session::Maria(session) => session.change(statements).await,
        }
    }

    /// Ends a transaction that failed.
    async fn roll_back(&mut self) -> Result<(), Fault> {
        match self {
            Session::Postgres(session) => session.roll_back().await,
            Session::Maria(session) => session.roll_back().await,
        }
    }
}

/// The store in a server.
pub(crate) struct Server {
    target: Target,
    idle: Mutex<Vec<Session>>,
    places: Semaphore,
}

/// A session of one request. Unless it is given back, it is closed.
struct Lease<'s> {
    session: Session,
    _place: SemaphorePermit<'s>,
}

impl Server {
    /// The server at an address, with this many sessions at the most.
    pub(crate) fn new(url: &str, sessions: usize) -> Result<Self, StoreError> {
        let target = match url.split_once("://").map(|(scheme, _)| scheme) {
            Some("postgres" | "postgresql") => {
                crate::postgres::config(url).map(Box::new).map(Target::Postgres)
            }
            Some("mysql" | "mariadb") => crate::maria::opts(url).map(Box::new).map(Target::Maria),
            _ => None,
        };
        let target = target.ok_or(StoreError::Address)?;
        Ok(Server { target, idle: Mutex::default(), places: Semaphore::new(sessions.max(1)) })
    }

    pub(crate) fn dialect(&self) -> Dialect {
        match self.target {
            Target::Postgres(_) => Dialect::Postgres,
            Target::Maria(_) => Dialect::Maria,
        }
    }

    async fn lease(&self) -> Result<Lease<'_>, StoreError> {
        let Ok(Ok(place)) = timeout(PLACE_WAIT, self.places.acquire()).await else {
            return Err(StoreError::Full);
        };
        let idle = self.open_idle();
        let session = match idle {
            Some(session) => session,
            None => {
                timeout(CONNECT_WAIT, self.target.connect()).await.unwrap_or_else(|late| Err(lost(late)))?
            }
        };
        Ok(Lease { session, _place: place })
    }

    fn open_idle(&self) -> Option<Session> {
        let mut idle = self.idle.lock();
        std::iter::from_fn(|| idle.pop()).find(Session::is_open)
    }

    fn give_back(&self, lease: Lease<'_>) {
        self.idle.lock().push(lease.session);
    }

    /// Closes all idle sessions: the server is likely to have been restarted.
    fn distrust(&self) {
        self.idle.lock().clear();
    }

    /// Reads rows.
    pub(crate) async fn read(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        let mut is_first = true;
        loop {
            let mut lease = self.lease().await?;
            match bounded(lease.session.read(sql, values)).await {
                Ok(rows) => {
                    self.give_back(lease);
                    return Ok(rows);
                }
                Err(Fault::Lost(_)) if is_first => {
                    is_first = false;
                    self.distrust();
                }
                // The session is closed: a refused read is a fault of this program.
                Err(fault) => return Err(fault.into()),
            }
        }
    }

    /// Carries out statements in one transaction.
    pub(crate) async fn change(&self, statements: &[Statement]) -> Result<Changed, StoreError> {
        let mut pause = FIRST_PAUSE;
        for left in (0..TRIES).rev() {
            let mut lease = self.lease().await?;
            let fault = match bounded(lease.session.change(statements)).await {
                Ok(changed) => {
                    self.give_back(lease);
                    return Ok(changed);
                }
                Err(fault) => fault,
            };
            if matches!(fault, Fault::Lost(_)) {
                self.distrust();
            } else if bounded(lease.session.roll_back()).await.is_ok() {
                self.give_back(lease);
            }
            match fault {
                Fault::Undone(_) if left > 0 => sleep(pause).await,
                fault => return Err(fault.into()),
            }
            pause *= 2;
        }
        Err(StoreError::Full)
    }
}

/// A session whose connection does not answer.
pub(crate) fn lost(why: impl Into<Source>) -> Fault {
    Fault::Lost(why.into())
}

async fn bounded<T>(work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    timeout(ANSWER_WAIT, work).await.unwrap_or_else(|late| Err(lost(late)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_the_product() {
        let of = |url| Server::new(url, 1).map(|server| server.dialect()).ok();
        assert_eq!(of("postgres://me@127.0.0.1:5432/social"), Some(Dialect::Postgres));
        assert_eq!(of("mysql://me@127.0.0.1:3306/social"), Some(Dialect::Maria));
        for url in ["", "social.db", "redis://127.0.0.1", "postgres://[", "mysql://h:x/"] {
            assert_eq!(of(url), None, "{url}");
        }
    }

    #[tokio::test]
    async fn a_server_that_is_away_is_an_error() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // Every connection is closed before an answer.
        std::thread::spawn(move || listener.incoming().for_each(drop));
        for scheme in ["postgres", "mysql"] {
            let server = Server::new(&format!("{scheme}://me@{address}/social"), 1).unwrap();
            assert!(matches!(server.read("SELECT 1", &[]).await, Err(StoreError::Refused(_))), "{scheme}");
            assert!(matches!(server.change(&[]).await, Err(StoreError::Refused(_))), "{scheme}");
        }
    }
}
