//! Implementation of the store traits, method by method.

use barograph_auction_api::{Auction, AuctionId, Item, ItemId, Millis, Page, Purchase, User, UserId};
use barograph_auction_store::{
    Account, Applied, Assignment, AuctionFilter, Audit, Beat, Change, Cluster, Described, Enlisted,
    HighBidRow, ItemFilter, ItemRow, Later, Led, Profile, Registry, Relational, Span, StartState, Updated,
    UserRow, Window,
};

use crate::sql::Sql;

impl Relational for Sql {
    fn describe(&self) -> Described {
        self.inner().described.clone()
    }

    fn ping(&self) -> Later<'_, ()> {
        Box::pin(self.answers())
    }

    fn user(&self, id: UserId) -> Later<'_, Option<Account>> {
        Box::pin(self.account(id))
    }

    fn user_by_name<'a>(&'a self, name: &'a str) -> Later<'a, Option<Account>> {
        Box::pin(self.account_by_name(name))
    }

    fn token_holder<'a>(&'a self, token: &'a str) -> Later<'a, Option<UserId>> {
        Box::pin(self.holder(token))
    }

    fn set_token(&self, id: UserId, token: Option<String>) -> Later<'_, Option<String>> {
        Box::pin(self.change_token(id, token))
    }

    fn add_user(&self, user: UserRow) -> Later<'_, ()> {
        Box::pin(self.insert_user(user))
    }

    fn update_user(&self, id: UserId, profile: Profile) -> Later<'_, Option<User>> {
        Box::pin(self.change_profile(id, profile))
    }

    fn remove_user(&self, id: UserId) -> Later<'_, Option<Option<String>>> {
        Box::pin(self.strike_off(id))
    }

    fn auction(&self, id: AuctionId) -> Later<'_, Option<Auction>> {
        Box::pin(self.auction_of(id))
    }

    fn auctions<'a>(&'a self, filter: &'a AuctionFilter, window: Window) -> Later<'a, Page<Auction>> {
        Box::pin(self.auction_page(filter, window))
    }

    fn item(&self, id: ItemId) -> Later<'_, Option<Item>> {
        Box::pin(self.item_of(id))
    }

    fn auction_items(&self, auction: AuctionId, window: Window) -> Later<'_, Page<Item>> {
        Box::pin(self.items_of_auction(auction, window))
    }

    fn seller_items(&self, seller: UserId, window: Window) -> Later<'_, Page<Item>> {
        Box::pin(self.items_of_seller(seller, window))
    }

    fn items<'a>(&'a self, filter: &'a ItemFilter, window: Window) -> Later<'a, Page<Item>> {
        Box::pin(self.items_where(filter, window))
    }

    fn add_item(&self, item: ItemRow) -> Later<'_, ()> {
        Box::pin(self.insert_item(item))
    }

    fn update_item(&self, item: ItemRow) -> Later<'_, Updated> {
        Box::pin(self.change_item(item))
    }

    fn purchases(&self, user: UserId, span: Span, window: Window) -> Later<'_, Page<Purchase>> {
        Box::pin(self.bought(user, span, window))
    }

    fn running(&self) -> Later<'_, Vec<StartState>> {
        Box::pin(self.start_states(None))
    }

    fn start_state(&self, id: AuctionId) -> Later<'_, Option<StartState>> {
        Box::pin(async move { Ok(self.start_states(Some(id)).await?.pop()) })
    }

    fn begin_due(&self, now: Millis) -> Later<'_, Vec<AuctionId>> {
        Box::pin(self.begin_auctions(now))
    }

    fn next_start(&self) -> Later<'_, Option<Millis>> {
        Box::pin(self.earliest_start())
    }

    fn apply<'a>(&'a self, changes: &'a [Change]) -> Later<'a, Vec<Applied>> {
        Box::pin(self.apply_changes(changes))
    }

    fn listing(&self, id: i64) -> Later<'_, Option<HighBidRow>> {
        Box::pin(self.listing_of(id))
    }

    fn last_sale(&self, auction: AuctionId) -> Later<'_, Option<HighBidRow>> {
        Box::pin(self.last_sale_of(auction))
    }

    fn audit(&self) -> Later<'_, Audit> {
        Box::pin(self.audit_all())
    }
}

impl Registry for Sql {
    fn enlist<'a>(&'a self, beat: &'a Beat) -> Later<'a, Enlisted> {
        Box::pin(self.enlist_node(beat))
    }

    fn beat<'a>(&'a self, beat: &'a Beat) -> Later<'a, Cluster> {
        Box::pin(self.beat_node(beat))
    }

    fn assignments(&self) -> Later<'_, Vec<Assignment>> {
        Box::pin(self.all_assignments())
    }

    fn assign<'a>(&'a self, leader: &'a str, moves: &'a [(AuctionId, String)]) -> Later<'a, Led> {
        Box::pin(self.assign_auctions(leader, moves))
    }

    fn claim<'a>(&'a self, node: &'a str, auctions: &'a [AuctionId]) -> Later<'a, Vec<(AuctionId, i64)>> {
        Box::pin(self.claim_auctions(node, auctions))
    }

    fn leave<'a>(&'a self, node: &'a str) -> Later<'a, ()> {
        Box::pin(self.strike_off_node(node))
    }
}
