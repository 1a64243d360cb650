//! A connection to any of the products.

use crate::fault::{Fault, StoreMessage};
use crate::maria;
use crate::postgres;
use crate::sheet::Sheet;
use crate::text::Flavour;
use crate::value::{Answer, Statement};

/// Time after which the server ends an idle transaction, in seconds. Otherwise a process that is stopped
/// between its locks and its commit would bar all others from claiming its auctions until it continues.
pub(crate) const OPEN_SECONDS: u32 = 3;

/// Address of a server, possibly with a password; hence without `Debug`.
#[derive(Clone)]
pub(crate) enum Target {
    Postgres(Box<tokio_postgres::Config>),
    Maria(Box<mysql_async::Opts>),
}

impl Target {
    /// Parses an address.
    pub(crate) fn read(url: &str) -> Result<Self, StoreMessage> {
        match url.split_once("://").map(|(scheme, _)| scheme) {
            Some("postgres" | "postgresql") => Ok(Target::Postgres(Box::new(postgres::read_url(url)?))),
            Some("mysql" | "mariadb") => Ok(Target::Maria(Box::new(maria::read_url(url)?))),
            _ => Err(StoreMessage(
                "the address begins with none of postgres://, mysql://, mariadb://".to_owned(),
            )),
        }
    }

    /// The store's name in errors.
    pub(crate) fn store(&self) -> &'static str {
        match self {
            Target::Postgres(_) => postgres::STORE,
            Target::Maria(_) => maria::STORE,
        }
    }

    pub(crate) async fn connect(&self) -> Result<Link, Fault> {
        match self {
            Target::Postgres(config) => Ok(Link::Postgres(Box::new(postgres::Link::connect(config).await?))),
            Target::Maria(opts) => Ok(Link::Maria(Box::new(maria::Link::connect(opts).await?))),
        }
    }
}

/// A connection.
pub(crate) enum Link {
    Postgres(Box<postgres::Link>),
    Maria(Box<maria::Link>),
}

impl Link {
    pub(crate) fn flavour(&self) -> Flavour {
        match self {
            Link::Postgres(_) => Flavour::Postgres,
            Link::Maria(link) => link.flavour(),
        }
    }

    /// Whether it is known to be unusable; a connection to MariaDB shows it at the next statement only.
    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Link::Postgres(link) => link.is_closed(),
            Link::Maria(_) => false,
        }
    }

    /// Runs statements in their order with one wait for the server; returns the first error, and skips the
    /// statements after it.
    pub(crate) async fn run(&mut self, statements: &[&Statement]) -> Result<Vec<Answer>, Fault> {
        match self {
            Link::Postgres(link) => link.run(statements).await,
            Link::Maria(link) => link.run(statements).await,
        }
    }

    /// Runs statements without values, separated by semicolons.
    pub(crate) async fn script(&mut self, sql: &str) -> Result<(), Fault> {
        match self {
            Link::Postgres(link) => link.script(sql).await,
            Link::Maria(link) => link.script(sql).await,
        }
    }

    /// Loads rows of a table by the fast way of the product.
    pub(crate) async fn load<S: Sheet>(&mut self, rows: &[S]) -> Result<(), Fault> {
        match self {
            Link::Postgres(link) => link.load(rows).await,
            Link::Maria(link) => link.load(rows).await,
        }
    }
}
