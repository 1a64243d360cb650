//! An event store spread over several servers: users' histories by user, images by item.

use std::sync::Arc;

use barograph_auction_api::{AttendanceRecord, AuctionId, BidRecord, ItemId, Page, UserId};
use barograph_auction_store::{
    AttendanceRow, Batch, BidRow, EventBatch, Events, ImageRow, Loading, PageWindow, SettledBid,
    StoreDescription, StoreError, StoreFuture,
};
use futures::future::try_join_all;

use crate::failure::refused;

/// Name of the store in messages.
const STORE: &str = "the document store in shards";

/// Number of the shard of a key.
fn shard_of(key: i64, shards: usize) -> usize {
    key.rem_euclid(shards as i64) as usize
}

/// Stamp of one shard, so that neither a part of the shards nor another order of them is opened.
fn stamp_of(stamp: &str, number: usize, shards: usize) -> String {
    format!("{stamp}, shard {} of {shards}", number + 1)
}

/// The stamp common to the shards.
pub(crate) fn common_stamp(stamps: &[String]) -> Result<String, StoreError> {
    let wrong = |number: usize| {
        let why =
            format!("it holds `{}` where shard {} of {} belongs", stamps[number], number + 1, stamps.len());
        refused(STORE, "be opened", why)
    };
    let ending = stamp_of("", 0, stamps.len());
    let stamp = stamps[0].strip_suffix(&ending).ok_or_else(|| wrong(0))?;
    match (0..stamps.len()).find(|&number| stamps[number] != stamp_of(stamp, number, stamps.len())) {
        None => Ok(stamp.to_owned()),
        Some(number) => Err(wrong(number)),
    }
}

/// Rows spread over shards.
fn spread<T>(rows: Vec<T>, shards: usize, key: impl Fn(&T) -> i64) -> Vec<Vec<T>> {
    let mut spread: Vec<Vec<T>> = (0..shards).map(|_| Vec::new()).collect();
    for row in rows {
        let number = shard_of(key(&row), shards);
        spread[number].push(row);
    }
    spread
}

/// An opened store.
pub(crate) struct Shards(pub(crate) Vec<Arc<dyn Events>>);

impl Shards {
    fn of(&self, key: i64) -> &dyn Events {
        &*self.0[shard_of(key, self.0.len())]
    }

    async fn write(&self, proposed: &[BidRow], settled: &[SettledBid]) -> Result<(), StoreError> {
        let proposed = spread(proposed.to_vec(), self.0.len(), |bid| bid.bidder_id);
        let settled = spread(settled.to_vec(), self.0.len(), |bid| bid.bidder.0);
        let writes = self.0.iter().zip(proposed.iter().zip(&settled));
        let some = writes.filter(|(_, (proposed, settled))| !proposed.is_empty() || !settled.is_empty());
        try_join_all(some.map(|(shard, (proposed, settled))| shard.write(proposed, settled))).await?;
        Ok(())
    }

    async fn images(&self, items: &[ItemId]) -> Result<Vec<ImageRow>, StoreError> {
        let items = spread(items.to_vec(), self.0.len(), |item| item.0);
        let some = self.0.iter().zip(&items).filter(|(_, items)| !items.is_empty());
        let mut rows = try_join_all(some.map(|(shard, items)| shard.images(items))).await?.concat();
        rows.sort_unstable_by_key(|row| (row.item_id, row.number, row.id));
        Ok(rows)
    }

    /// The answers of all shards, one after another.
    async fn all<'a, T: Clone>(
        &'a self,
        ask: impl Fn(&'a dyn Events) -> StoreFuture<'a, Vec<T>>,
    ) -> Result<Vec<T>, StoreError> {
        Ok(try_join_all(self.0.iter().map(|shard| ask(&**shard))).await?.concat())
    }
}

impl Events for Shards {
    fn describe(&self) -> StoreDescription {
        let mut described = self.0[0].describe();
        described.product = format!("{} in {} shards", described.product, self.0.len());
        described
    }

    fn ping(&self) -> StoreFuture<'_, ()> {
        Box::pin(async { try_join_all(self.0.iter().map(|shard| shard.ping())).await.map(|_| ()) })
    }

    fn write<'a>(&'a self, proposed: &'a [BidRow], settled: &'a [SettledBid]) -> StoreFuture<'a, ()> {
        Box::pin(self.write(proposed, settled))
    }

    fn unsettled(&self, auction: AuctionId) -> StoreFuture<'_, Vec<BidRow>> {
        Box::pin(async move {
            let mut rows = self.all(|shard| shard.unsettled(auction)).await?;
            rows.sort_unstable_by_key(|row| row.id);
            Ok(rows)
        })
    }

    fn user_bids(&self, user: UserId, window: PageWindow) -> StoreFuture<'_, Page<BidRecord>> {
        self.of(user.0).user_bids(user, window)
    }

    fn join(&self, attendance: AttendanceRow) -> StoreFuture<'_, AttendanceRecord> {
        self.of(attendance.user_id).join(attendance)
    }

    fn leave(&self, user: UserId, auction: Option<AuctionId>) -> StoreFuture<'_, usize> {
        self.of(user.0).leave(user, auction)
    }

    fn user_attendance(&self, user: UserId, window: PageWindow) -> StoreFuture<'_, Page<AttendanceRecord>> {
        self.of(user.0).user_attendance(user, window)
    }

    fn images<'a>(&'a self, items: &'a [ItemId]) -> StoreFuture<'a, Vec<ImageRow>> {
        Box::pin(self.images(items))
    }

    fn add_image(&self, image: ImageRow) -> StoreFuture<'_, ()> {
        self.of(image.item_id).add_image(image)
    }

    fn run_bids(&self) -> StoreFuture<'_, Vec<BidRow>> {
        Box::pin(async {
            let mut rows = self.all(|shard| shard.run_bids()).await?;
            rows.sort_unstable_by_key(|row| (row.listing, row.sequence, row.id));
            Ok(rows)
        })
    }

    fn double_attendance(&self) -> StoreFuture<'_, Vec<(UserId, AuctionId)>> {
        Box::pin(self.all(|shard| shard.double_attendance()))
    }
}

/// A store being loaded.
pub(crate) struct ShardLoads(pub(crate) Vec<Box<dyn Loading<EventBatch>>>);

impl ShardLoads {
    async fn add(&mut self, batch: EventBatch) -> Result<(), StoreError> {
        let shards = self.0.len();
        let bids = spread(batch.bids, shards, |row| row.bidder_id);
        let attendance = spread(batch.attendance, shards, |row| row.user_id);
        let images = spread(batch.images, shards, |row| row.item_id);
        let parts = bids.into_iter().zip(attendance).zip(images);
        let parts = parts.map(|((bids, attendance), images)| EventBatch { bids, attendance, images });
        let some = self.0.iter_mut().zip(parts).filter(|(_, part)| part.rows() > 0);
        try_join_all(some.map(|(shard, part)| shard.add(part))).await?;
        Ok(())
    }

    async fn finish(self, stamp: &str) -> Result<(), StoreError> {
        let shards = self.0.len();
        let loads = self
            .0
            .into_iter()
            .enumerate()
            .map(|(number, load)| async move { load.finish(&stamp_of(stamp, number, shards)).await });
        try_join_all(loads).await?;
        Ok(())
    }
}

impl Loading<EventBatch> for ShardLoads {
    fn add(&mut self, batch: EventBatch) -> StoreFuture<'_, ()> {
        Box::pin(self.add(batch))
    }

    fn finish<'a>(self: Box<Self>, stamp: &'a str) -> StoreFuture<'a, ()>
    where
        Self: 'a,
    {
        Box::pin((*self).finish(stamp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_one_key_share_a_shard() {
        let rows = spread(vec![0, 1, 2, 3, 4, -1], 3, |row| *row);
        assert_eq!(rows, [vec![0, 3], vec![1, 4], vec![2, -1]]);
    }

    #[test]
    fn shards_are_opened_whole_and_in_order() {
        let of = |stamp, number, shards| stamp_of(stamp, number, shards);
        assert_eq!(common_stamp(&[of("one", 0, 2), of("one", 1, 2)]).unwrap(), "one");
        for wrong in [
            [of("one", 1, 2), of("one", 0, 2)],
            [of("one", 0, 2), of("two", 1, 2)],
            [of("one", 0, 2), "one".to_owned()],
            [of("one", 0, 3), of("one", 1, 3)],
        ] {
            let refused = common_stamp(&wrong).unwrap_err();
            assert!(matches!(refused, StoreError::Refused { store: STORE, .. }), "{wrong:?}");
        }
    }
}
