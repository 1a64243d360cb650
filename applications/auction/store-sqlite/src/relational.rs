//! The relational store in the relational file.

use barograph_auction_api::{Auction, AuctionId, Item, ItemId, Millis, Page, Purchase, User, UserId};
use barograph_auction_store::{
    Account, AuctionFilter, Audit, Change, ChangeOutcome, HighBidRow, ItemFilter, ItemRow, ItemUpdateOutcome,
    PageWindow, Profile, Relational, Span, StartState, StoreDescription, StoreFuture, UserRow,
};

use crate::{Sqlite, auctions, changes, described, items, users};

/// A query on the calling thread.
macro_rules! read {
    ($self:ident, $what:literal, $query:expr) => {
        Box::pin(async move { $self.relational.readers.read($what, $query) })
    };
}

/// Several queries on the same state.
macro_rules! read_together {
    ($self:ident, $what:literal, $query:expr) => {
        Box::pin(async move { $self.relational.readers.read_together($what, $query) })
    };
}

/// A change that is refused if the queue is full.
macro_rules! write {
    ($self:ident, $what:literal, $change:expr) => {
        Box::pin(async move { $self.relational.writer.write($what, $change).await })
    };
}

impl Relational for Sqlite {
    fn describe(&self) -> StoreDescription {
        described()
    }

    fn ping(&self) -> StoreFuture<'_, ()> {
        write!(self, "answer", |_| Ok(()))
    }

    fn user(&self, id: UserId) -> StoreFuture<'_, Option<Account>> {
        read!(self, "read a user", |conn| users::by_id(conn, id))
    }

    fn user_by_name<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<Account>> {
        read!(self, "find a user by name", |conn| users::by_name(conn, name))
    }

    fn token_holder<'a>(&'a self, token: &'a str) -> StoreFuture<'a, Option<UserId>> {
        read!(self, "find a token", |conn| users::token_holder(conn, token))
    }

    fn set_token(&self, id: UserId, token: Option<String>) -> StoreFuture<'_, Option<String>> {
        write!(self, "set a token", move |conn| users::set_token(conn, id, token.as_deref()))
    }

    fn add_user(&self, user: UserRow) -> StoreFuture<'_, ()> {
        write!(self, "add a user", move |conn| users::add(conn, &user))
    }

    fn update_user(&self, id: UserId, profile: Profile) -> StoreFuture<'_, Option<User>> {
        write!(self, "change a user", move |conn| users::update(conn, id, &profile))
    }

    fn remove_user(&self, id: UserId) -> StoreFuture<'_, Option<Option<String>>> {
        write!(self, "remove a user", move |conn| users::remove(conn, id))
    }

    fn auction(&self, id: AuctionId) -> StoreFuture<'_, Option<Auction>> {
        read!(self, "read an auction", |conn| auctions::by_id(conn, id))
    }

    fn auctions<'a>(
        &'a self,
        filter: &'a AuctionFilter,
        window: PageWindow,
    ) -> StoreFuture<'a, Page<Auction>> {
        read_together!(self, "list auctions", |conn| auctions::list(conn, filter, window))
    }

    fn item(&self, id: ItemId) -> StoreFuture<'_, Option<Item>> {
        read!(self, "read an item", |conn| items::by_id(conn, id))
    }

    fn auction_items(&self, auction: AuctionId, window: PageWindow) -> StoreFuture<'_, Page<Item>> {
        read_together!(self, "list an auction's items", |conn| items::of_auction(conn, auction, window))
    }

    fn seller_items(&self, seller: UserId, window: PageWindow) -> StoreFuture<'_, Page<Item>> {
        read_together!(self, "list a seller's items", |conn| items::of_seller(conn, seller, window))
    }

    fn items<'a>(&'a self, filter: &'a ItemFilter, window: PageWindow) -> StoreFuture<'a, Page<Item>> {
        read_together!(self, "find items", |conn| items::list(conn, filter, window))
    }

    fn add_item(&self, item: ItemRow) -> StoreFuture<'_, ()> {
        write!(self, "add an item", move |conn| items::add(conn, &item))
    }

    fn update_item(&self, item: ItemRow) -> StoreFuture<'_, ItemUpdateOutcome> {
        write!(self, "change an item", move |conn| items::update(conn, &item))
    }

    fn purchases(&self, user: UserId, span: Span, window: PageWindow) -> StoreFuture<'_, Page<Purchase>> {
        read_together!(self, "list purchases", |conn| items::purchases(conn, user, span, window))
    }

    fn running(&self) -> StoreFuture<'_, Vec<StartState>> {
        read_together!(self, "list running auctions", auctions::running)
    }

    fn start_state(&self, id: AuctionId) -> StoreFuture<'_, Option<StartState>> {
        read_together!(self, "read a running auction", |conn| auctions::running_one(conn, id))
    }

    fn begin_due(&self, now: Millis) -> StoreFuture<'_, Vec<AuctionId>> {
        Box::pin(async move {
            let change = move |conn: &rusqlite::Connection| auctions::begin_due(conn, now);
            let begun = self.relational.writer.write_surely("begin auctions", change).await?;
            if !begun.is_empty() {
                self.alone.changed();
            }
            Ok(begun)
        })
    }

    fn next_start(&self) -> StoreFuture<'_, Option<Millis>> {
        read!(self, "find the next auction", auctions::next_start)
    }

    fn apply<'a>(&'a self, changes: &'a [Change]) -> StoreFuture<'a, Vec<ChangeOutcome>> {
        Box::pin(async move {
            // A copy for the writer's thread, which cannot take the borrowed one.
            let own = changes.to_vec();
            let change = move |conn: &rusqlite::Connection| changes::apply(conn, &own);
            self.relational.writer.write_surely("apply changes", change).await
        })
    }

    fn listing(&self, id: i64) -> StoreFuture<'_, Option<HighBidRow>> {
        read!(self, "read a listing", |conn| changes::listing(conn, id))
    }

    fn last_sale(&self, auction: AuctionId) -> StoreFuture<'_, Option<HighBidRow>> {
        read!(self, "read the last sale", |conn| changes::last_sale(conn, auction))
    }

    fn audit(&self) -> StoreFuture<'_, Audit> {
        read_together!(self, "audit", changes::audit)
    }
}
