//! The seam to the relational store.

use barograph_auction_api::{
    Auction, AuctionId, AuctionState, Cents, Item, ItemId, ItemState, Millis, Page, Purchase, User, UserId,
};
use barograph_auction_rules::{Event, Listing};

use crate::rows::{BidRow, HighBidRow, ItemRow, Span, UserRow, Window};
use crate::{Described, Later, codes};
use barograph_auction_rules::EventKind;

/// A user with what only the application may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// What the user may see.
    pub user: User,
    /// The password's hash as a PHC string.
    pub password: String,
}

/// A change of a profile: what is `None` stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Another name, unique.
    pub name: Option<String>,
    /// Another password's hash.
    pub password: Option<String>,
    /// Another first name.
    pub first_name: Option<String>,
    /// Another last name.
    pub last_name: Option<String>,
}

/// Which auctions are listed. What is `None` does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AuctionFilter {
    /// In this state.
    pub state: Option<AuctionState>,
    /// In this category, exactly.
    pub category: Option<String>,
    /// With this text in the name, whatever the case.
    pub text: Option<String>,
}

/// Which items are listed. What is `None` does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ItemFilter {
    /// With all of these words in the short description, whatever the case; the last may be the beginning of a word.
    /// A word is a run of letters and digits.
    pub text: Option<String>,
    /// In this state.
    pub state: Option<ItemState>,
    /// Position in `Condition::ALL`.
    pub condition: Option<i64>,
    /// With a starting bid of at least this.
    pub from_cents: Option<Cents>,
    /// With a starting bid of at most this.
    pub to_cents: Option<Cents>,
}

/// What became of a change of an item by its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Updated {
    /// It is as given now.
    Done(Box<Item>),
    /// There is no such item.
    NoSuchItem,
    /// It belongs to somebody else.
    NotOwner,
    /// It is listed in an auction, so that it cannot be changed any more.
    Listed,
}

/// A running auction as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartState {
    /// The auction.
    pub auction: Auction,
    /// Its items, by id.
    pub items: Vec<Listing>,
    /// Its latest listing (greatest `round`), ended or not, if there was one.
    pub latest: Option<HighBidRow>,
    /// The credit of whoever bids most in it, in cents.
    pub bidder_credit: Cents,
}

/// A change of an auction on its way into the stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The auction.
    pub auction: AuctionId,
    /// What happened, and the bidding after it.
    pub event: Event,
    /// Names the listing.
    pub listing: i64,
    /// Counts the listings of the auction.
    pub round: i64,
    /// The leading bid: its row in the events; 0 while nobody has bid.
    pub bid: i64,
    /// When the leading bid was accepted; for a listing without one, when it came on sale.
    pub bid_ms: Millis,
    /// The fence under which the auction is owned.
    pub fence: i64,
}

impl Change {
    /// The bid that this change proposes, if it is one.
    #[must_use]
    pub fn proposes(&self) -> Option<BidRow> {
        let bidding = self.event.bidding;
        (self.event.kind == EventKind::NewHighBid).then(|| BidRow {
            id: self.bid,
            bidder_id: bidding.bidder.0,
            bid_ms: self.bid_ms,
            auction_id: self.auction.0,
            item_id: bidding.item.0,
            listing: self.listing,
            amount_cents: bidding.amount,
            state: codes::bid::PROPOSED,
            sequence: i64::from(bidding.sequence),
            fence: self.fence,
        })
    }
}

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It is in the store.
    Stored,
    /// A sale whose buyer cannot pay any more, because the money went elsewhere: it is stored as not sold, with the same
    /// sequence number.
    Unpaid,
    /// The auction has another fence by now: nothing of this change is in the store.
    Fenced,
}

/// What the store held when it was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Initial {
    /// Users.
    pub users: i64,
    /// The greatest id of a user.
    pub last_user: i64,
    /// Their credit together, in cents.
    pub credit_cents: Cents,
}

/// One time that an item was on sale in this run, or went on being.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// The listing.
    pub row: HighBidRow,
    /// Whether bidding had begun before this run: the row was loaded.
    pub preloaded: bool,
    /// The amount bidding began at, in cents.
    pub starting_bid: Cents,
    /// See [`crate::codes::item`]; the item's state now.
    pub item_state: i64,
}

/// One consistent view of what the relational store holds, for the data checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// What was loaded.
    pub initial: Initial,
    /// Credit now of the users that were loaded, in cents.
    pub credit_cents: Cents,
    /// Users with less than no credit.
    pub below_zero: i64,
    /// Listings that were not over when the run began (`end_ms` is null or at or after
    /// [`crate::CLOCK_START_MS`]), by auction and round.
    pub offers: Vec<Offered>,
}

/// The relational store.
///
/// Ids are given by the caller and never reused. Lists have an order that is stated and total. A method that changes
/// something is one transaction. Errors: [`crate::StoreError`]; after one, nothing of the change is in the store, except
/// for [`crate::StoreError::Unknown`].
pub trait Relational: Send + Sync + 'static {
    /// What it is.
    fn describe(&self) -> Described;

    /// Answers when the store works.
    fn ping(&self) -> Later<'_, ()>;

    /// The user of this number; a removed one is not found.
    fn user(&self, id: UserId) -> Later<'_, Option<Account>>;

    /// The user of this name.
    fn user_by_name<'a>(&'a self, name: &'a str) -> Later<'a, Option<Account>>;

    /// Who holds this token.
    fn token_holder<'a>(&'a self, token: &'a str) -> Later<'a, Option<UserId>>;

    /// Gives a user another token, or none; answers with the token before.
    fn set_token(&self, id: UserId, token: Option<String>) -> Later<'_, Option<String>>;

    /// Adds a user. Errors: [`crate::StoreError::Conflict`] when the name is taken.
    fn add_user(&self, user: UserRow) -> Later<'_, ()>;

    /// Changes a user's profile; `None` when there is no such user. Errors: as [`Relational::add_user`].
    fn update_user(&self, id: UserId, profile: Profile) -> Later<'_, Option<User>>;

    /// Removes a user: it cannot log in or be found any more and its name is free. What it bid and bought stays, and so
    /// does its row, because money is counted. Answers its last token; `None` in `Some` when it had none.
    fn remove_user(&self, id: UserId) -> Later<'_, Option<Option<String>>>;

    /// One auction.
    fn auction(&self, id: AuctionId) -> Later<'_, Option<Auction>>;

    /// A page of auctions, by id.
    fn auctions<'a>(&'a self, filter: &'a AuctionFilter, window: Window) -> Later<'a, Page<Auction>>;

    /// One item; its `images` are empty.
    fn item(&self, id: ItemId) -> Later<'_, Option<Item>>;

    /// A page of the items of an auction, by id; their `images` are empty.
    fn auction_items(&self, auction: AuctionId, window: Window) -> Later<'_, Page<Item>>;

    /// A page of the items of a seller, latest (greatest id) first; their `images` are empty.
    fn seller_items(&self, seller: UserId, window: Window) -> Later<'_, Page<Item>>;

    /// A page of items, by id; their `images` are empty.
    fn items<'a>(&'a self, filter: &'a ItemFilter, window: Window) -> Later<'a, Page<Item>>;

    /// Adds an item.
    fn add_item(&self, item: ItemRow) -> Later<'_, ()>;

    /// Changes condition, texts, time of origin and starting bid of an item that its owner has not listed. Of `item`, the
    /// fields `id` and `auctioneer_id` say which and who; `auction_id` and `state` are not looked at.
    fn update_item(&self, item: ItemRow) -> Later<'_, Updated>;

    /// A page of what a user bought in a span of time, latest first (by time, then listing); `images` are empty.
    fn purchases(&self, user: UserId, span: Span, window: Window) -> Later<'_, Page<Purchase>>;

    /// All running auctions, by id.
    fn running(&self) -> Later<'_, Vec<StartState>>;

    /// One running auction; `None` when it does not run.
    fn start_state(&self, id: AuctionId) -> Later<'_, Option<StartState>>;

    /// Begins future auctions whose time has come by `now`; answers which are begun by this call.
    fn begin_due(&self, now: Millis) -> Later<'_, Vec<AuctionId>>;

    /// When the next future auction begins, if there is one.
    fn next_start(&self) -> Later<'_, Option<Millis>>;

    /// Applies changes in their order, all or nothing but for what [`Applied`] says, one answer each. May be called again
    /// with changes of which the caller does not know whether they were applied: those that were answer as they did. A
    /// change is there already when its listing has come to the change's sequence number under the change's fence.
    fn apply<'a>(&'a self, changes: &'a [Change]) -> Later<'a, Vec<Applied>>;

    /// The listing of this number.
    fn listing(&self, id: i64) -> Later<'_, Option<HighBidRow>>;

    /// The auction's latest listing that was sold in this run (written under a fence above 0), if there is one.
    fn last_sale(&self, auction: AuctionId) -> Later<'_, Option<HighBidRow>>;

    /// One consistent view for the data checks.
    fn audit(&self) -> Later<'_, Audit>;
}
