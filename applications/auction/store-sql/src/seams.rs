//! Implementation of the store traits, method by method.

use barograph_auction_api::{Auction, AuctionId, Item, ItemId, Millis, Page, Purchase, User, UserId};
use barograph_auction_store::{
    Account, Assignment, AuctionFilter, Audit, Change, ChangeOutcome, Cluster, Enlistment, Heartbeat,
    HighBidRow, ItemFilter, ItemRow, ItemUpdateOutcome, LeaderState, PageWindow, Profile, Registry,
    Relational, Span, StartState, StoreDescription, StoreFuture, UserRow,
};

use crate::sql::Sql;

impl Relational for Sql {
    fn describe(&self) -> StoreDescription {
        self.inner().described.clone()
    }

    fn ping(&self) -> StoreFuture<'_, ()> {
        Box::pin(self.answers())
    }

    fn user(&self, id: UserId) -> StoreFuture<'_, Option<Account>> {
        Box::pin(self.account(id))
    }

    fn user_by_name<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<Account>> {
        Box::pin(self.account_by_name(name))
    }

    fn token_holder<'a>(&'a self, token: &'a str) -> StoreFuture<'a, Option<UserId>> {
        Box::pin(self.holder(token))
    }

    fn set_token(&self, id: UserId, token: Option<String>) -> StoreFuture<'_, Option<String>> {
        Box::pin(self.change_token(id, token))
    }

    fn add_user(&self, user: UserRow) -> StoreFuture<'_, ()> {
        Box::pin(self.insert_user(user))
    }

    fn update_user(&self, id: UserId, profile: Profile) -> StoreFuture<'_, Option<User>> {
        Box::pin(self.change_profile(id, profile))
    }

    fn remove_user(&self, id: UserId) -> StoreFuture<'_, Option<Option<String>>> {
        Box::pin(self.strike_off(id))
    }

    fn auction(&self, id: AuctionId) -> StoreFuture<'_, Option<Auction>> {
        Box::pin(self.auction_of(id))
    }

    fn auctions<'a>(
        &'a self,
        filter: &'a AuctionFilter,
        window: PageWindow,
    ) -> StoreFuture<'a, Page<Auction>> {
        Box::pin(self.auction_page(filter, window))
    }

    fn item(&self, id: ItemId) -> StoreFuture<'_, Option<Item>> {
        Box::pin(self.item_of(id))
    }

    fn auction_items(&self, auction: AuctionId, window: PageWindow) -> StoreFuture<'_, Page<Item>> {
        Box::pin(self.items_of_auction(auction, window))
    }

    fn seller_items(&self, seller: UserId, window: PageWindow) -> StoreFuture<'_, Page<Item>> {
        Box::pin(self.items_of_seller(seller, window))
    }

    fn items<'a>(&'a self, filter: &'a ItemFilter, window: PageWindow) -> StoreFuture<'a, Page<Item>> {
        Box::pin(self.items_where(filter, window))
    }

    fn add_item(&self, item: ItemRow) -> StoreFuture<'_, ()> {
        Box::pin(self.insert_item(item))
    }

    fn update_item(&self, item: ItemRow) -> StoreFuture<'_, ItemUpdateOutcome> {
        Box::pin(self.change_item(item))
    }

    fn purchases(&self, user: UserId, span: Span, window: PageWindow) -> StoreFuture<'_, Page<Purchase>> {
        Box::pin(self.bought(user, span, window))
    }

    fn running(&self) -> StoreFuture<'_, Vec<StartState>> {
        Box::pin(self.start_states(None))
    }

    fn start_state(&self, id: AuctionId) -> StoreFuture<'_, Option<StartState>> {
        Box::pin(async move { Ok(self.start_states(Some(id)).await?.pop()) })
    }

    fn begin_due(&self, now: Millis) -> StoreFuture<'_, Vec<AuctionId>> {
        Box::pin(self.begin_auctions(now))
    }

    fn next_start(&self) -> StoreFuture<'_, Option<Millis>> {
        Box::pin(self.earliest_start())
    }

    fn apply<'a>(&'a self, changes: &'a [Change]) -> StoreFuture<'a, Vec<ChangeOutcome>> {
        Box::pin(self.apply_changes(changes))
    }

    fn listing(&self, id: i64) -> StoreFuture<'_, Option<HighBidRow>> {
        Box::pin(self.listing_of(id))
    }

    fn last_sale(&self, auction: AuctionId) -> StoreFuture<'_, Option<HighBidRow>> {
        Box::pin(self.last_sale_of(auction))
    }

    fn audit(&self) -> StoreFuture<'_, Audit> {
        Box::pin(self.audit_all())
    }
}

impl Registry for Sql {
    fn enlist<'a>(&'a self, beat: &'a Heartbeat) -> StoreFuture<'a, Enlistment> {
        Box::pin(self.enlist_node(beat))
    }

    fn beat<'a>(&'a self, beat: &'a Heartbeat) -> StoreFuture<'a, Cluster> {
        Box::pin(self.beat_node(beat))
    }

    fn assignments(&self) -> StoreFuture<'_, Vec<Assignment>> {
        Box::pin(self.all_assignments())
    }

    fn assign<'a>(
        &'a self,
        leader: &'a str,
        moves: &'a [(AuctionId, String)],
    ) -> StoreFuture<'a, LeaderState> {
        Box::pin(self.assign_auctions(leader, moves))
    }

    fn claim<'a>(
        &'a self,
        node: &'a str,
        auctions: &'a [AuctionId],
    ) -> StoreFuture<'a, Vec<(AuctionId, i64)>> {
        Box::pin(self.claim_auctions(node, auctions))
    }

    fn leave<'a>(&'a self, node: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(self.strike_off_node(node))
    }
}
