//! Anomalies at the address of an engine, in a database of their own that is removed at the end.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use barograph_database::sqlite::{Connection, ConnectionOptions, file_of};
use barograph_database::{Reply, TransactionError};
use barograph_reactor::block_on;
use futures::executor::block_on as ready;

use crate::anomalies::{Asks, TABLE, seen};
use crate::databases::Databases;
use crate::engine::is_of;
use crate::errors::Cause;
use crate::mariadb::Mariadb;
use crate::postgres::Postgres;
use crate::product::{MARKER, Product};
use crate::{DatabaseSettings, ServerError, ServerParts};

/// Limit on the wait for a lock; a longer wait is a conflict.
const BUSY: Duration = Duration::from_secs(1);

/// What a database of a probe is, in refusals.
const KIND: &str = "a database of a probe";

/// Whether each anomaly of concurrent transactions is seen at an address and an isolation level, by its name. Blocks.
///
/// # Errors
/// An address of another kind; a database of others in the place of the probe's; an engine that refuses.
pub fn anomalies(
    url: &str,
    isolation: &'static str,
) -> Result<Vec<(&'static str, bool)>, Box<dyn Error + Send + Sync>> {
    let settings = DatabaseSettings {
        database: "sqlite",
        is_durable: false,
        is_queued: false,
        isolation,
        busy: BUSY,
        parts: ServerParts::default(),
    };
    if let Some(file) = file_of(url) {
        let mut probe = file.as_os_str().to_owned();
        probe.push(".probe");
        return of_file(Path::new(&probe));
    }
    match url {
        url if is_of::<Postgres>(url) => Ok(of_server::<Postgres>(url, &settings)?),
        url if is_of::<Mariadb>(url) => Ok(of_server::<Mariadb>(url, &settings)?),
        _ => Err("the address is of no engine".into()),
    }
}

/// The error of a statement of a probe.
fn failed(why: TransactionError) -> Cause {
    match why {
        TransactionError::Failed { why, .. } => why.into(),
        TransactionError::Conflict(conflict) => format!("a conflict with nothing: {conflict:?}").into(),
    }
}

fn of_server<P: Product>(
    url: &str,
    settings: &DatabaseSettings,
) -> Result<Vec<(&'static str, bool)>, ServerError> {
    let databases = Databases::<P>::at(url)?;
    let name = format!("{}_probe", databases.name());
    databases.remove(&name, KIND)?;
    let create = format!("CREATE DATABASE {}", P::identifier(&name));
    databases.run(P::MAINTENANCE, ("make", &name), &create)?;
    let tables = format!("CREATE TABLE {MARKER} (stamp VARCHAR(500), loaded VARCHAR(500)); {TABLE}");
    databases.run(&name, ("make", &name), &tables)?;
    let probed = block_on(async {
        let (target, setup) = (databases.target(&name), P::setup(settings));
        let mut sessions = [
            P::session(&target, &setup).await.map_err(failed)?,
            P::session(&target, &setup).await.map_err(failed)?,
        ];
        seen(&mut sessions).await.map_err(failed)
    });
    databases.remove(&name, KIND)?;
    let of = |why| ServerError::Failed { what: "probe", name: name.clone(), why };
    probed.map_err(ServerError::Loop)?.map_err(of)
}

impl Asks for Connection {
    async fn ask(&mut self, sql: &str) -> Reply<Option<i64>> {
        self.row(sql, [], |row| row.get(0))
    }
}

fn of_file(file: &Path) -> Result<Vec<(&'static str, bool)>, Cause> {
    // An empty file is an empty database. That of others stays.
    std::fs::File::create_new(file)?;
    let options =
        ConnectionOptions { path: file.to_path_buf(), is_durable: false, busy: Duration::from_millis(1) };
    let probed = || {
        let mut sessions = [Connection::open(&options)?, Connection::open(&options)?];
        let journal = sessions[0].row("PRAGMA journal_mode=WAL", [], |row| row.get::<_, String>(0));
        journal.map_err(failed)?;
        sessions[0].change(TABLE, []).map_err(failed)?;
        ready(seen(&mut sessions)).map_err(failed)
    };
    let probed = probed();
    for suffix in ["", "-wal", "-shm"] {
        let mut path = file.as_os_str().to_owned();
        path.push(suffix);
        // The last connection has removed the log.
        let _ = std::fs::remove_file(path);
    }
    probed
}
