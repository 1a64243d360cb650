//! Interface of the relational store.

use barograph_auction_api::{
    Auction, AuctionId, AuctionState, Cents, Item, ItemId, ItemState, Millis, Page, Purchase, User, UserId,
};
use barograph_auction_rules::{Event, Listing};

use crate::rows::{BidRow, HighBidRow, ItemRow, PageWindow, Span, UserRow};
use crate::{StoreDescription, StoreFuture, codes};
use barograph_auction_rules::EventKind;

/// A user, including data private to the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The user's public data.
    pub user: User,
    /// The password's hash as a PHC string.
    pub password: String,
}

/// A change of a profile; `None` keeps a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// New name, unique.
    pub name: Option<String>,
    /// New hash of the password.
    pub password: Option<String>,
    /// New first name.
    pub first_name: Option<String>,
    /// New last name.
    pub last_name: Option<String>,
}

/// Filter of auctions; `None` matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AuctionFilter {
    /// The state.
    pub state: Option<AuctionState>,
    /// The category, exactly.
    pub category: Option<String>,
    /// A text within the name, ignoring case.
    pub text: Option<String>,
}

/// Filter of items; `None` matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ItemFilter {
    /// Words in the short description, all of them, ignoring case; the last may be the beginning of a word. A
    /// word is a run of letters and digits.
    pub text: Option<String>,
    /// The state.
    pub state: Option<ItemState>,
    /// Position in `Condition::ALL`.
    pub condition: Option<i64>,
    /// Lowest starting bid.
    pub from_cents: Option<Cents>,
    /// Highest starting bid.
    pub to_cents: Option<Cents>,
}

/// Result of a change of an item by its seller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemUpdateOutcome {
    /// The item after the change.
    Done(Box<Item>),
    /// There is no such item.
    NoSuchItem,
    /// It belongs to another user.
    NotOwner,
    /// It is listed in an auction, hence fixed.
    Listed,
}

/// State of a running auction in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartState {
    /// The auction.
    pub auction: Auction,
    /// Its items, by id.
    pub items: Vec<Listing>,
    /// Its latest listing (greatest `round`), open or not, if there was one.
    pub latest: Option<HighBidRow>,
    /// The credit of its leading bidder, in cents.
    pub bidder_credit: Cents,
}

/// A change of an auction to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The auction.
    pub auction: AuctionId,
    /// The event, and the bidding after it.
    pub event: Event,
    /// Id of the listing.
    pub listing: i64,
    /// Number of the listing within the auction.
    pub round: i64,
    /// The leading bid: its row in the events; 0 before the first bid.
    pub bid: i64,
    /// The time of the leading bid; for a listing without one, the time it came on sale.
    pub bid_ms: Millis,
    /// The fence under which the auction is owned.
    pub fence: i64,
}

impl Change {
    /// The bid proposed by this change, if any.
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

/// Result of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeOutcome {
    /// It is in the store.
    Stored,
    /// A sale whose buyer can no longer pay, because the credit was used elsewhere: it is stored as not sold,
    /// with the same sequence number.
    Unpaid,
    /// The auction has another fence now: nothing of this change is in the store.
    Fenced,
}

/// Contents of the store after its loading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Initial {
    /// Users.
    pub users: i64,
    /// The greatest id of a user.
    pub last_user: i64,
    /// Their total credit, in cents.
    pub credit_cents: Cents,
}

/// A listing that was open during this run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListingAudit {
    /// The listing.
    pub row: HighBidRow,
    /// Whether bidding had begun before this run: the row was loaded.
    pub preloaded: bool,
    /// The starting bid, in cents.
    pub starting_bid: Cents,
    /// The present state of the item, see [`crate::codes::item`].
    pub item_state: i64,
}

/// A consistent view of the relational store, for the data checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Contents after loading.
    pub initial: Initial,
    /// Present total credit of the loaded users, in cents.
    pub credit_cents: Cents,
    /// Number of users with negative credit.
    pub below_zero: i64,
    /// Listings that were not over when the run began (`end_ms` is null or at or after
    /// [`crate::CLOCK_START_MS`]), by auction and round.
    pub offers: Vec<ListingAudit>,
}

/// The relational store.
///
/// Ids are given by the caller and never reused. Lists have a documented, total order. A method that changes
/// something is one transaction. After an error, [`crate::StoreError`], nothing of the change is in the
/// store, except after [`crate::StoreError::Unknown`].
pub trait Relational: Send + Sync + 'static {
    /// Description of the store.
    fn describe(&self) -> StoreDescription;

    /// Succeeds if the store works.
    fn ping(&self) -> StoreFuture<'_, ()>;

    /// The user with this id; `None` for a removed one.
    fn user(&self, id: UserId) -> StoreFuture<'_, Option<Account>>;

    /// The user with this name.
    fn user_by_name<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<Account>>;

    /// The user with this token.
    fn token_holder<'a>(&'a self, token: &'a str) -> StoreFuture<'a, Option<UserId>>;

    /// Replaces or removes a user's token; returns the previous one.
    fn set_token(&self, id: UserId, token: Option<String>) -> StoreFuture<'_, Option<String>>;

    /// Adds a user. Fails with [`crate::StoreError::Conflict`] if the name is taken.
    fn add_user(&self, user: UserRow) -> StoreFuture<'_, ()>;

    /// Changes a user's profile; `None` if there is no such user. Errors are those of
    /// [`Relational::add_user`].
    fn update_user(&self, id: UserId, profile: Profile) -> StoreFuture<'_, Option<User>>;

    /// Removes a user, who can then no longer be found or log in; the name becomes free. Bids and purchases
    /// stay, and so does the row, because its credit is counted. Returns the last token, or `Some(None)`
    /// without one.
    fn remove_user(&self, id: UserId) -> StoreFuture<'_, Option<Option<String>>>;

    /// One auction.
    fn auction(&self, id: AuctionId) -> StoreFuture<'_, Option<Auction>>;

    /// A page of auctions, by id.
    fn auctions<'a>(
        &'a self,
        filter: &'a AuctionFilter,
        window: PageWindow,
    ) -> StoreFuture<'a, Page<Auction>>;

    /// One item; its `images` are empty.
    fn item(&self, id: ItemId) -> StoreFuture<'_, Option<Item>>;

    /// A page of the items of an auction, by id; their `images` are empty.
    fn auction_items(&self, auction: AuctionId, window: PageWindow) -> StoreFuture<'_, Page<Item>>;

    /// A page of the items of a seller, latest (greatest id) first; their `images` are empty.
    fn seller_items(&self, seller: UserId, window: PageWindow) -> StoreFuture<'_, Page<Item>>;

    /// A page of items, by id; their `images` are empty.
    fn items<'a>(&'a self, filter: &'a ItemFilter, window: PageWindow) -> StoreFuture<'a, Page<Item>>;

    /// Adds an item.
    fn add_item(&self, item: ItemRow) -> StoreFuture<'_, ()>;

    /// Changes condition, texts, time of origin and starting bid of an item that its seller has not listed.
    /// The fields `id` and `auctioneer_id` identify item and seller; `auction_id` and `state` are ignored.
    fn update_item(&self, item: ItemRow) -> StoreFuture<'_, ItemUpdateOutcome>;

    /// A page of a user's purchases in a span of time, latest first (by time, then listing); `images` are
    /// empty.
    fn purchases(&self, user: UserId, span: Span, window: PageWindow) -> StoreFuture<'_, Page<Purchase>>;

    /// All running auctions, by id.
    fn running(&self) -> StoreFuture<'_, Vec<StartState>>;

    /// One running auction; `None` if it is not running.
    fn start_state(&self, id: AuctionId) -> StoreFuture<'_, Option<StartState>>;

    /// Begins future auctions that are due by `now`; returns those begun by this call.
    fn begin_due(&self, now: Millis) -> StoreFuture<'_, Vec<AuctionId>>;

    /// The start of the next future auction, if there is one.
    fn next_start(&self) -> StoreFuture<'_, Option<Millis>>;

    /// Applies changes in their order, all or nothing apart from the cases of [`ChangeOutcome`]; returns one answer
    /// each. May be repeated with changes of unknown fate: those already applied give the same answer. A
    /// change is already applied if its listing has reached the change's sequence number under the change's
    /// fence.
    fn apply<'a>(&'a self, changes: &'a [Change]) -> StoreFuture<'a, Vec<ChangeOutcome>>;

    /// The listing with this id.
    fn listing(&self, id: i64) -> StoreFuture<'_, Option<HighBidRow>>;

    /// The auction's latest listing that was sold in this run (written under a fence above 0), if there is one.
    fn last_sale(&self, auction: AuctionId) -> StoreFuture<'_, Option<HighBidRow>>;

    /// One consistent view for the data checks.
    fn audit(&self) -> StoreFuture<'_, Audit>;
}
