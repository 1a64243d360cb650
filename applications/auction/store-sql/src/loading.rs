//! Loading: tables are made anew, rows are loaded by the product's fast way, indices and statistics come
//! last.

use std::future::Future;
use std::time::Duration;

use barograph_auction_store::{Loading, RelationalBatch, StoreError, StoreFuture};
use tokio::time::timeout;

use crate::fault::{AnswerTimeout, CommitProgress, Fault};
use crate::link::{Link, Target};
use crate::schema;
use crate::text::Flavour;
use crate::value::{Statement, values};

/// Time limit of a batch. Batches are some thousand rows, which a slow disk writes in seconds.
const BATCH_WAIT: Duration = Duration::from_secs(600);

/// Time limit of indices and statistics, for the largest data set on a slow disk.
const FINISH_WAIT: Duration = Duration::from_secs(4 * 3600);

/// A store being loaded.
pub(crate) struct Load {
    link: Link,
    store: &'static str,
}

impl Load {
    /// Connects, and makes empty tables.
    pub(crate) async fn begin(target: &Target) -> Result<Self, StoreError> {
        let store = target.store();
        let work = async {
            let mut link = target.connect().await?;
            link.script(schema::DROP).await?;
            link.script(schema::CREATE).await?;
            Ok(link)
        };
        Ok(Load { link: bounded(store, BATCH_WAIT, work).await?, store })
    }

    async fn add_rows(&mut self, batch: RelationalBatch) -> Result<(), StoreError> {
        let link = &mut self.link;
        let work = async {
            link.run(&[&Statement::plain("BEGIN")]).await?;
            link.load(&batch.users).await?;
            link.load(&batch.auctions).await?;
            link.load(&batch.items).await?;
            link.load(&batch.high_bids).await?;
            link.run(&[&Statement::plain("COMMIT")]).await.map(drop)
        };
        bounded(self.store, BATCH_WAIT, work).await
    }

    async fn finish_with(mut self, stamp: &str) -> Result<(), StoreError> {
        bounded(self.store, FINISH_WAIT, finish(&mut self.link, stamp)).await
    }
}

async fn finish(link: &mut Link, stamp: &str) -> Result<(), Fault> {
    let postgres = link.flavour() == Flavour::Postgres;
    link.script(schema::INDICES).await?;
    link.script(if postgres { schema::POSTGRES_SEARCH } else { schema::MARIA_SEARCH }).await?;
    let rows = [
        Statement::plain("INSERT INTO barograph_ownership SELECT id, NULL, 0 FROM barograph_auction"),
        Statement::plain("INSERT INTO barograph_assignment SELECT id, NULL FROM barograph_auction"),
        Statement::plain(
            "INSERT INTO barograph_registry (id, leader, until_ms, version, last_number, start_ms) \
             VALUES (1, NULL, 0, 1, 0, NULL)",
        ),
    ];
    for statement in &rows {
        link.run(&[statement]).await?;
    }
    link.script(if postgres { schema::POSTGRES_ANALYZE } else { schema::MARIA_ANALYZE }).await?;
    // Last, because a store with this row counts as loaded.
    let meta = "INSERT INTO barograph_meta (id, format, users, last_user, credit_cents, stamp) \
                SELECT 1, CAST(? AS {int}), COUNT(*), COALESCE(MAX(id), 0), \
                CAST(COALESCE(SUM(credit_cents), 0) AS {int}), ? FROM barograph_user";
    link.run(&[&Statement::new(meta, values![schema::FORMAT, stamp])]).await.map(drop)
}

async fn bounded<T>(
    store: &'static str,
    limit: Duration,
    work: impl Future<Output = Result<T, Fault>>,
) -> Result<T, StoreError> {
    timeout(limit, work)
        .await
        .unwrap_or_else(|_| Err(Fault::Lost(Box::new(AnswerTimeout { seconds: limit.as_secs() }))))
        .map_err(|fault| fault.into_error(store, "load a data set", CommitProgress::Nothing))
}

impl Loading<RelationalBatch> for Load {
    fn add(&mut self, batch: RelationalBatch) -> StoreFuture<'_, ()> {
        Box::pin(self.add_rows(batch))
    }

    fn finish<'a>(self: Box<Self>, stamp: &'a str) -> StoreFuture<'a, ()>
    where
        Self: 'a,
    {
        Box::pin((*self).finish_with(stamp))
    }
}
