//! The event store in the events file.

use barograph_auction_api::{AttendanceRecord, AuctionId, BidRecord, ItemId, Page, UserId};
use barograph_auction_store::{
    AttendanceRow, BidRow, Events, ImageRow, PageWindow, SettledBid, StoreDescription, StoreFuture,
};
use rusqlite::Connection;

use crate::{Sqlite, attendance, bids, described};

impl Events for Sqlite {
    fn describe(&self) -> StoreDescription {
        described()
    }

    fn ping(&self) -> StoreFuture<'_, ()> {
        Box::pin(self.events.writer.write("answer", |_| Ok(())))
    }

    fn write<'a>(&'a self, proposed: &'a [BidRow], settled: &'a [SettledBid]) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            // Copies for the writer's thread, which cannot take the borrowed ones.
            let (proposed, settled) = (proposed.to_vec(), settled.to_vec());
            let change = move |conn: &Connection| bids::write(conn, &proposed, &settled);
            self.events.writer.write_surely("write bids", change).await
        })
    }

    fn unsettled(&self, auction: AuctionId) -> StoreFuture<'_, Vec<BidRow>> {
        Box::pin(async move {
            self.events.readers.read("list unsettled bids", |conn| bids::unsettled(conn, auction))
        })
    }

    fn user_bids(&self, user: UserId, window: PageWindow) -> StoreFuture<'_, Page<BidRecord>> {
        Box::pin(async move {
            self.events.readers.read_together("list bids", |conn| bids::of_user(conn, user, window))
        })
    }

    fn join(&self, new: AttendanceRow) -> StoreFuture<'_, AttendanceRecord> {
        Box::pin(self.events.writer.write("join an auction", move |conn| attendance::join(conn, &new)))
    }

    fn leave(&self, user: UserId, auction: Option<AuctionId>) -> StoreFuture<'_, usize> {
        Box::pin(
            self.events.writer.write("leave an auction", move |conn| attendance::leave(conn, user, auction)),
        )
    }

    fn user_attendance(&self, user: UserId, window: PageWindow) -> StoreFuture<'_, Page<AttendanceRecord>> {
        Box::pin(async move {
            let readers = &self.events.readers;
            readers.read_together("list attendance", |conn| attendance::of_user(conn, user, window))
        })
    }

    fn images<'a>(&'a self, items: &'a [ItemId]) -> StoreFuture<'a, Vec<ImageRow>> {
        Box::pin(async move {
            let readers = &self.events.readers;
            match items {
                [] => Ok(Vec::new()),
                [one] => readers.read("list images", |conn| bids::images(conn, std::slice::from_ref(one))),
                many => readers.read_together("list images", |conn| bids::images(conn, many)),
            }
        })
    }

    fn add_image(&self, image: ImageRow) -> StoreFuture<'_, ()> {
        Box::pin(self.events.writer.write("add an image", move |conn| bids::add_image(conn, &image)))
    }

    fn run_bids(&self) -> StoreFuture<'_, Vec<BidRow>> {
        Box::pin(async move { self.events.readers.read("list the bids of the run", bids::of_run) })
    }

    fn double_attendance(&self) -> StoreFuture<'_, Vec<(UserId, AuctionId)>> {
        Box::pin(async move { self.events.readers.read("look for double attendance", attendance::doubled) })
    }
}
