//! Loading: rows are gathered in memory and written as whole documents, one per key and round.

use std::collections::BTreeMap;

use barograph_auction_store::{
    AttendanceRow, Batch, BidRow, EventBatch, ImageRow, Loading, StoreError, StoreFuture, codes,
};
use serde::Serialize;

use super::attendance::{Attendee, OpenAttendance, entry};
use super::bids::Bidder;
use super::images::Item;
use super::link::{Change, Link, STORE, bulk, write};
use super::{
    ATTENDING, COLLECTIONS, LOADED, LOADED_ATTENDANCE, LOADED_BIDS, LOADED_IMAGES, META, Meta,
    RUN_ATTENDANCE, UNSETTLED, parts,
};
use crate::documents::{AttendanceDocument, BidDocument, ImageDocument};
use crate::failure::refused;

/// Rows gathered before a round is written: about 100 MB. Every round costs every later read a lookup.
const ROUND_ROWS: usize = 1_000_000;

/// Documents built before they are sent.
const DOCUMENTS: usize = 5_000;

/// A store being loaded.
pub(crate) struct Load {
    link: Link,
    rounds: u32,
    gathered: EventBatch,
}

impl Load {
    pub(crate) async fn start(url: &str) -> Result<Self, StoreError> {
        let link = Link::new(url, 2).await?;
        // `meta` is the first of them: without it the store cannot be opened.
        for collection in COLLECTIONS {
            link.drop(bulk(write("empty itself")), collection).await?;
        }
        Ok(Self { link, rounds: 0, gathered: EventBatch::default() })
    }

    async fn take(&mut self, mut batch: EventBatch) -> Result<(), StoreError> {
        self.gathered.bids.append(&mut batch.bids);
        self.gathered.attendance.append(&mut batch.attendance);
        self.gathered.images.append(&mut batch.images);
        if self.gathered.rows() >= ROUND_ROWS { self.write_round().await } else { Ok(()) }
    }

    async fn write_round(&mut self) -> Result<(), StoreError> {
        let EventBatch { mut bids, mut attendance, mut images } = std::mem::take(&mut self.gathered);
        self.write_live(&bids, &attendance).await?;
        let round = self.rounds;
        bids.sort_unstable_by_key(|row| (row.bidder_id, row.id));
        self.write_documents(
            LOADED_BIDS,
            bids.chunk_by(|a, b| a.bidder_id == b.bidder_id).map(|of| bidder(of, round)),
        )
        .await?;
        attendance.sort_unstable_by_key(|row| (row.user_id, row.id));
        let by_user = attendance.chunk_by(|a, b| a.user_id == b.user_id);
        self.write_documents(LOADED_ATTENDANCE, by_user.map(|of| attendee(of, round))).await?;
        images.sort_unstable_by_key(|row| (row.item_id, row.id));
        let by_item = images.chunk_by(|a, b| a.item_id == b.item_id);
        self.write_documents(LOADED_IMAGES, by_item.map(|of| item(of, round))).await?;
        self.rounds += 1;
        Ok(())
    }

    async fn write_documents<T: Serialize + Send + Sync>(
        &self,
        collection: &str,
        mut documents: impl Iterator<Item = T> + Send,
    ) -> Result<(), StoreError> {
        loop {
            let part: Vec<T> = documents.by_ref().take(DOCUMENTS).collect();
            if part.is_empty() {
                return Ok(());
            }
            self.link.insert_all(bulk(write("take documents")), collection, &part).await?;
        }
    }

    /// Writes loaded rows that are still open to the collections of runs; a fill has none of these.
    async fn write_live(&self, bids: &[BidRow], attendance: &[AttendanceRow]) -> Result<(), StoreError> {
        let deed = bulk(write("take what is still open"));
        for row in attendance.iter().filter(|row| row.state == codes::attendance::ATTENDING) {
            self.link.insert(deed, ATTENDING, &OpenAttendance::of(row)).await?;
            self.link.update(deed, RUN_ATTENDANCE, &[entry(parts::name(row.user_id, 0), row)?]).await?;
        }
        let mut lists: BTreeMap<i64, Change> = BTreeMap::new();
        for bid in bids.iter().filter(|bid| bid.state == codes::bid::PROPOSED) {
            let list =
                lists.entry(bid.auction_id).or_insert_with(|| Change::new(parts::name(bid.auction_id, 0)));
            list.set.insert(format!("u.{}", bid.id), bid.bidder_id);
        }
        self.link.update(deed, UNSETTLED, &lists.into_values().collect::<Vec<_>>()).await
    }

    async fn complete(mut self, stamp: &str) -> Result<(), StoreError> {
        if self.gathered.rows() > 0 {
            self.write_round().await?;
        }
        let meta = Meta { id: LOADED.to_owned(), stamp: stamp.to_owned(), rounds: i64::from(self.rounds) };
        if self.link.insert(write("remember what was loaded"), META, &meta).await? {
            return Ok(());
        }
        Err(refused(STORE, "be loaded", "somebody else loaded it at the same time"))
    }
}

fn bidder(rows: &[BidRow], round: u32) -> Bidder {
    let b = rows.iter().map(|row| (row.id.to_string(), BidDocument::of(row))).collect();
    Bidder { id: parts::name(rows[0].bidder_id, round), b, ..Bidder::default() }
}

fn attendee(rows: &[AttendanceRow], round: u32) -> Attendee {
    let a = rows.iter().map(|row| (row.id.to_string(), AttendanceDocument::of(row))).collect();
    Attendee { id: parts::name(rows[0].user_id, round), a, ..Attendee::default() }
}

fn item(rows: &[ImageRow], round: u32) -> Item {
    let i = rows.iter().map(|row| (row.id.to_string(), ImageDocument::of(row))).collect();
    Item { id: parts::name(rows[0].item_id, round), i }
}

impl Loading<EventBatch> for Load {
    fn add(&mut self, batch: EventBatch) -> StoreFuture<'_, ()> {
        Box::pin(self.take(batch))
    }

    fn finish<'a>(self: Box<Self>, stamp: &'a str) -> StoreFuture<'a, ()>
    where
        Self: 'a,
    {
        Box::pin(self.complete(stamp))
    }
}
