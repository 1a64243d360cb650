//! Connections to PostgreSQL, their time limits, and the meaning of errors.

use std::str::FromStr;
use std::time::Duration;

use barograph_auction_store::StoreError;
use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Config, Error, NoTls, Row};

use crate::failure::{ANSWER_LIMIT, Access, BULK_LIMIT, CONNECT_LIMIT, StoreAction, refused};

/// Name of the store in errors.
pub(super) const STORE: &str = "the PostgreSQL document store";

/// Silence of an idle connection after which the kernel probes the server.
const KEEPALIVE: Duration = Duration::from_secs(10);

pub(super) fn read(what: &'static str) -> StoreAction {
    StoreAction { store: STORE, what, access: Access::Read, limit: ANSWER_LIMIT }
}

pub(super) fn write(what: &'static str) -> StoreAction {
    StoreAction { store: STORE, what, access: Access::Write, limit: ANSWER_LIMIT }
}

pub(super) fn bulk(deed: StoreAction) -> StoreAction {
    StoreAction { limit: BULK_LIMIT, ..deed }
}

/// Values of a statement's `$1`, `$2`, ...
pub(super) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Connections to one database.
pub(super) struct Link {
    pool: Pool,
}

impl Link {
    /// Connects with the first statement.
    pub(super) fn new(url: &str, connections: usize) -> Result<Self, StoreError> {
        // Without the driver's words, and without the address: it may hold a password.
        let wrong = || refused(STORE, "read its address", "it is no address of a PostgreSQL database");
        let mut config = Config::from_str(url).map_err(|_| wrong())?;
        config
            .connect_timeout(CONNECT_LIMIT)
            .keepalives_idle(KEEPALIVE)
            .application_name("barograph auction");
        let ways = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let pool = Pool::builder(Manager::from_config(config, NoTls, ways))
            .max_size(connections)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(ANSWER_LIMIT))
            .create_timeout(Some(CONNECT_LIMIT))
            .build()
            .map_err(|error| refused(STORE, "make its connections", error.to_string()))?;
        Ok(Self { pool })
    }

    /// A free connection.
    pub(super) async fn lease(&self, deed: StoreAction) -> Result<Lease, StoreError> {
        // Nothing is changed during this wait.
        let waiting = StoreAction { access: Access::Read, ..deed };
        let got = async { self.pool.get().await.map_err(|error| not_connected(deed, error)) };
        Ok(Lease { object: Some(waiting.within(got).await?) })
    }

    /// Runs one statement; returns its rows.
    pub(super) async fn query(
        &self,
        deed: StoreAction,
        sql: &str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let lease = self.lease(deed).await?;
        let rows = lease.query(deed, sql, values).await?;
        lease.give_back();
        Ok(rows)
    }

    /// Runs one change; returns the number of rows.
    pub(super) async fn execute(
        &self,
        deed: StoreAction,
        sql: &str,
        values: Values<'_>,
    ) -> Result<u64, StoreError> {
        let lease = self.lease(deed).await?;
        let rows = lease.execute(deed, sql, values).await?;
        lease.give_back();
        Ok(rows)
    }
}

/// A connection that is closed when dropped, unless it is given back: after an error, or a late answer, it
/// may be within a transaction.
pub(super) struct Lease {
    object: Option<Object>,
}

impl Lease {
    pub(super) fn client(&self) -> &Object {
        self.object
            .as_ref()
            .expect("it is taken only by `give_back` and by the drop, after which there is no lease")
    }

    pub(super) fn give_back(mut self) {
        drop(self.object.take());
    }

    pub(super) async fn query(
        &self,
        deed: StoreAction,
        sql: &str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let rows = async {
            let statement = self.client().prepare_cached(sql).await?;
            self.client().query(&statement, values).await
        };
        deed.within(async { rows.await.map_err(|error| failed(deed, error)) }).await
    }

    pub(super) async fn execute(
        &self,
        deed: StoreAction,
        sql: &str,
        values: Values<'_>,
    ) -> Result<u64, StoreError> {
        let done = async {
            let statement = self.client().prepare_cached(sql).await?;
            self.client().execute(&statement, values).await
        };
        deed.within(async { done.await.map_err(|error| failed(deed, error)) }).await
    }

    /// Runs statements without values, one after the other.
    pub(super) async fn batch(&self, deed: StoreAction, sql: &str) -> Result<(), StoreError> {
        let done = async { self.client().batch_execute(sql).await.map_err(|error| failed(deed, error)) };
        deed.within(done).await
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(object) = self.object.take() {
            drop(Object::take(object));
        }
    }
}

fn not_connected(deed: StoreAction, error: PoolError) -> StoreError {
    match error {
        PoolError::Backend(error) => match error.code() {
            Some(code) if !is_passing(code) => deed.refused(error.into()),
            _ => deed.unreachable(error.into()),
        },
        other => deed.unreachable(other.into()),
    }
}

/// Whether a transaction was undone by a conflict with another one.
pub(super) fn lost_race(error: &Error) -> bool {
    matches!(error.code(), Some(&SqlState::T_R_DEADLOCK_DETECTED | &SqlState::T_R_SERIALIZATION_FAILURE))
}

/// Whether the server is stopping, starting, or out of resources: classes 57P, 53.
fn is_passing(code: &SqlState) -> bool {
    code.code().starts_with("57P") || code.code().starts_with("53")
}

pub(super) fn failed(deed: StoreAction, error: Error) -> StoreError {
    match error.code() {
        None => deed.lost(error.into()),
        Some(_) if lost_race(&error) => deed.unreachable(error.into()),
        Some(code) if is_passing(code) => deed.lost(error.into()),
        Some(_) => deed.refused(error.into()),
    }
}
