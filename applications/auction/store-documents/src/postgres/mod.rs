//! The event store in PostgreSQL, as JSONB documents beside their key columns.
//!
//! Every operation is one statement, except for writing bids: proposals and settlements are two statements in
//! one transaction, sent together.

mod attendance;
mod bids;
mod images;
mod link;
mod load;
mod schema;

use barograph_auction_api::{AttendanceRecord, AuctionId, BidRecord, ItemId, Page, UserId};
use barograph_auction_store::{
    AttendanceRow, BidRow, Events, ImageRow, PageWindow, SettledBid, StoreDescription, StoreError,
    StoreFuture,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_postgres::Row;

use crate::failure::{StoreAction, refused};
use link::{Link, STORE, read};

pub(crate) use load::Load;

/// An open event store.
pub(crate) struct Postgres {
    link: Link,
    described: StoreDescription,
}

impl Postgres {
    pub(crate) async fn open(url: &str, connections: usize) -> Result<Self, StoreError> {
        let link = Link::new(url, connections)?;
        let described = describe(&link).await?;
        loaded(&link).await?;
        Ok(Self { link, described })
    }
}

/// The form of its tables.
pub(crate) fn form() -> String {
    format!("{}\n{}", schema::EMPTY, schema::FINISH.join("\n"))
}

pub(crate) async fn stamp(url: &str) -> Result<String, StoreError> {
    loaded(&Link::new(url, 1)?).await
}

/// The stamp of the loaded data.
async fn loaded(link: &Link) -> Result<String, StoreError> {
    let deed = read("see what was loaded");
    let why =
        || refused(STORE, "be opened", "no data set was loaded into it, or the loading was not finished");
    let there = link.query(deed, "SELECT to_regclass('auction_events.meta') IS NOT NULL", &[]).await?;
    if !there.first().is_some_and(|row| row.get(0)) {
        return Err(why());
    }
    let rows = link.query(deed, "SELECT stamp FROM auction_events.meta", &[]).await?;
    rows.first().map(|row| row.get(0)).ok_or_else(why)
}

async fn describe(link: &Link) -> Result<StoreDescription, StoreError> {
    let sql = "SELECT current_setting('server_version'), current_setting('fsync'),
               current_setting('synchronous_commit'), current_setting('full_page_writes')";
    let rows = link.query(read("ask for its settings"), sql, &[]).await?;
    let row =
        rows.first().ok_or_else(|| refused(STORE, "be asked for its settings", "it gives no answer"))?;
    let [version, fsync, commit, pages]: [String; 4] = std::array::from_fn(|at| row.get(at));
    let survives = match (fsync.as_str(), commit.as_str()) {
        ("on", "off") => "a commit survives the server's process only some moments later",
        ("on", _) if pages == "on" => "a commit survives the process and the machine",
        ("on", _) => "a commit survives the process, and the machine unless a page is torn",
        _ => "a commit survives the server's process, not the machine",
    };
    let number = version.split(' ').next().unwrap_or_default();
    Ok(StoreDescription {
        product: format!("PostgreSQL {number}, JSONB documents"),
        durability: format!(
            "{survives} (fsync {fsync}, synchronous_commit {commit}, full_page_writes {pages})"
        ),
    })
}

impl Postgres {
    /// A page of a user's history, latest first, and its total length. Rows of `page` have the total in their
    /// fourth column; `total` is run only for a page behind the last row.
    async fn history(
        &self,
        deed: StoreAction,
        [page, total]: [&str; 2],
        (user, window): (i64, PageWindow),
    ) -> Result<(Vec<Row>, u64), StoreError> {
        let (size, before) = (i64::from(window.size), window.offset());
        let rows = self.link.query(deed, page, &[&user, &size, &before]).await?;
        let total: i64 = match rows.first() {
            Some(row) => row.get(3),
            None if window.page == 0 => 0,
            None => self.link.query(deed, total, &[&user]).await?.first().map_or(0, |row| row.get(0)),
        };
        Ok((rows, u64::try_from(total).unwrap_or_default()))
    }
}

/// A document as JSON text.
fn text<T: Serialize>(document: &T) -> Result<String, StoreError> {
    serde_json::to_string(document).map_err(|error| refused(STORE, "write a document", error.to_string()))
}

/// The document in a column of JSON text.
fn document<T: DeserializeOwned>(row: &Row, column: usize) -> Result<T, StoreError> {
    let text: &str =
        row.try_get(column).map_err(|error| refused(STORE, "read a document", error.to_string()))?;
    serde_json::from_str(text).map_err(|error| refused(STORE, "read a document", error.to_string()))
}

impl Events for Postgres {
    fn describe(&self) -> StoreDescription {
        self.described.clone()
    }

    fn ping(&self) -> StoreFuture<'_, ()> {
        Box::pin(async {
            self.link.query(read("answer a ping"), "SELECT 1", &[]).await?;
            Ok(())
        })
    }

    fn write<'a>(&'a self, proposed: &'a [BidRow], settled: &'a [SettledBid]) -> StoreFuture<'a, ()> {
        Box::pin(self.write_bids(proposed, settled))
    }

    fn unsettled(&self, auction: AuctionId) -> StoreFuture<'_, Vec<BidRow>> {
        Box::pin(self.unsettled_bids(auction.0))
    }

    fn user_bids(&self, user: UserId, window: PageWindow) -> StoreFuture<'_, Page<BidRecord>> {
        Box::pin(self.bid_history(user.0, window))
    }

    fn join(&self, attendance: AttendanceRow) -> StoreFuture<'_, AttendanceRecord> {
        Box::pin(self.join_auction(attendance))
    }

    fn leave(&self, user: UserId, auction: Option<AuctionId>) -> StoreFuture<'_, usize> {
        Box::pin(self.leave_auctions(user.0, auction.map(|auction| auction.0)))
    }

    fn user_attendance(&self, user: UserId, window: PageWindow) -> StoreFuture<'_, Page<AttendanceRecord>> {
        Box::pin(self.attendance_history(user.0, window))
    }

    fn images<'a>(&'a self, items: &'a [ItemId]) -> StoreFuture<'a, Vec<ImageRow>> {
        Box::pin(self.images_of(items))
    }

    fn add_image(&self, image: ImageRow) -> StoreFuture<'_, ()> {
        Box::pin(self.keep_image(image))
    }

    fn run_bids(&self) -> StoreFuture<'_, Vec<BidRow>> {
        Box::pin(self.bids_of_run())
    }

    fn double_attendance(&self) -> StoreFuture<'_, Vec<(UserId, AuctionId)>> {
        Box::pin(self.doubles())
    }
}
