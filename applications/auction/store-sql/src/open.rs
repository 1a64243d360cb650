//! Opening of a loaded store, and loading.

use std::collections::HashMap;

use barograph_auction_store::{Initial, Loading, RelationalBatch, StoreError};
use parking_lot::Mutex;

use crate::fault::{CommitProgress, Fault, StoreMessage};
use crate::link::Target;
use crate::loading::Load;
use crate::pool::{Lease, Pool};
use crate::sql::{Sql, SqlState, exchange};
use crate::value::{Row, Statement};
use crate::{schema, settings};

/// The operation in errors of opening.
const OPEN: &str = "open its data set";

/// Opens the store at an address such as `postgres://user:password@host:5432/database` or
/// `mariadb://user:password@host:3306/database`, with at most `connections` connections.
///
/// Errors: [`StoreError::Refused`] if no data set was loaded there, or one by another version of this
/// program; [`StoreError::Unreachable`] if no server answers.
pub async fn open(url: &str, connections: usize) -> Result<Sql, StoreError> {
    let pool = Pool::new(target(url)?, connections);
    let store = pool.store();
    let failed = |fault: Fault| fault.into_error(store, OPEN, CommitProgress::Nothing);
    let mut lease = pool.take().await.map_err(failed)?;
    let flavour = lease.link().map_err(failed)?.flavour();
    let meta = Statement::plain(
        "SELECT format, users, last_user, credit_cents, stamp FROM barograph_meta WHERE id = 1",
    );
    let meta = match one(&mut lease, &meta).await {
        Ok(Some(row)) => row,
        Ok(None) => return Err(told(store, "no data set was loaded into it, or not to its end")),
        Err(Fault::Refused(cause)) => {
            return Err(told(store, &format!("no data set was loaded into it ({cause})")));
        }
        Err(fault) => return Err(failed(fault)),
    };
    if meta.int(0)? != schema::FORMAT {
        return Err(told(store, "its data set was loaded by another version of this program"));
    }
    let Some(row) = one(&mut lease, &settings::question(flavour)).await.map_err(failed)? else {
        return Err(told(store, "it does not say what it is"));
    };
    lease.give_back();
    Ok(Sql::new(SqlState {
        pool,
        flavour,
        described: settings::described(&row, flavour)?,
        initial: Initial { users: meta.int(1)?, last_user: meta.int(2)?, credit_cents: meta.int(3)? },
        stamp: meta.text(4)?,
        enlisted: Mutex::new(HashMap::new()),
    }))
}

/// Empties the store at an address, as for [`open`], and prepares it for loading. Tables of an earlier load
/// are removed; nothing else in the database is touched.
pub async fn load(url: &str) -> Result<Box<dyn Loading<RelationalBatch>>, StoreError> {
    Ok(Box::new(Load::begin(&target(url)?).await?))
}

fn target(url: &str) -> Result<Target, StoreError> {
    Target::read(url).map_err(|told| StoreError::Refused {
        store: "SQL",
        what: "connect",
        source: Box::new(told),
    })
}

async fn one(lease: &mut Lease, statement: &Statement) -> Result<Option<Row>, Fault> {
    let mut answers = exchange(lease, &[statement]).await?;
    Ok(answers.pop().and_then(|answer| answer.rows.into_iter().next()))
}

fn told(store: &'static str, says: &str) -> StoreError {
    StoreError::Refused { store, what: OPEN, source: Box::new(StoreMessage(says.to_owned())) }
}
