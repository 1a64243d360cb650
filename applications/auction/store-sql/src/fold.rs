//! Effect of a batch of changes on the rows: pure, so that both products behave the same and tests need
//! neither.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use barograph_auction_api::Cents;
use barograph_auction_rules::EventKind;
use barograph_auction_store::{Change, ChangeOutcome, HighBidRow, codes};

/// The rows concerned by changes, all of them locked.
#[derive(Default)]
pub(crate) struct LockedRows {
    /// Fences by auction.
    pub(crate) fences: HashMap<i64, i64>,
    /// Listings by id.
    pub(crate) listings: HashMap<i64, HighBidRow>,
    /// Credit of buyers, in cents.
    pub(crate) credits: HashMap<i64, Cents>,
}

/// Rows to write.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FoldedChanges {
    /// One for each change.
    pub(crate) answers: Vec<ChangeOutcome>,
    /// New or changed listings.
    pub(crate) listings: BTreeMap<i64, HighBidRow>,
    /// States of items.
    pub(crate) items: BTreeMap<i64, i64>,
    /// Remaining credit of buyers, in cents.
    pub(crate) credits: BTreeMap<i64, Cents>,
}

/// The auctions, listings and possible buyers of changes, each in the order of their ids.
pub(crate) fn concerned(changes: &[Change]) -> [Vec<i64>; 3] {
    let sorted = |ids: BTreeSet<i64>| ids.into_iter().collect();
    let sales = changes.iter().filter(|change| change.event.kind == EventKind::Sold);
    [
        sorted(changes.iter().map(|change| change.auction.0).collect()),
        sorted(changes.iter().map(|change| change.listing).collect()),
        sorted(sales.map(|change| change.event.bidding.bidder.0).collect()),
    ]
}

/// Applies changes in their order.
pub(crate) fn fold(changes: &[Change], mut held: LockedRows) -> FoldedChanges {
    let mut folded = FoldedChanges::default();
    for change in changes {
        let known = held.listings.get(&change.listing).filter(|row| is_there(row, change));
        let answer = match known {
            // Even if the auction has another owner by now: an applied change stays applied.
            Some(row) => as_before(row, change),
            None if held.fences.get(&change.auction.0) != Some(&change.fence) => ChangeOutcome::Fenced,
            None => apply(change, &mut held, &mut folded),
        };
        folded.answers.push(answer);
    }
    folded
}

fn is_there(row: &HighBidRow, change: &Change) -> bool {
    row.fence == change.fence && row.sequence >= i64::from(change.event.bidding.sequence)
}

/// The answer to a change that was applied before: a sale is the last change of its listing, so the row shows
/// it.
fn as_before(row: &HighBidRow, change: &Change) -> ChangeOutcome {
    if change.event.kind == EventKind::Sold && row.state == codes::high_bid::NOT_SOLD {
        ChangeOutcome::Unpaid
    } else {
        ChangeOutcome::Stored
    }
}

fn apply(change: &Change, held: &mut LockedRows, folded: &mut FoldedChanges) -> ChangeOutcome {
    let bidding = change.event.bidding;
    let (mut kind, mut answer) = (change.event.kind, ChangeOutcome::Stored);
    if kind == EventKind::Sold {
        let credit = held.credits.get_mut(&bidding.bidder.0).filter(|credit| **credit >= bidding.amount);
        match credit {
            Some(credit) => {
                *credit -= bidding.amount;
                folded.credits.insert(bidding.bidder.0, *credit);
            }
            None => (kind, answer) = (EventKind::NotSold, ChangeOutcome::Unpaid),
        }
    }
    let (state, item) = match kind {
        EventKind::ItemStarted => (codes::high_bid::OPEN, Some(codes::item::ACTIVE)),
        EventKind::NewHighBid => (codes::high_bid::OPEN, None),
        EventKind::LastCall => (codes::high_bid::LAST_CALL, None),
        EventKind::Sold => (codes::high_bid::SOLD, Some(codes::item::SOLD)),
        EventKind::NotSold => (codes::high_bid::NOT_SOLD, Some(codes::item::IN_AUCTION)),
    };
    let over = matches!(kind, EventKind::Sold | EventKind::NotSold);
    let before = held.listings.get(&change.listing);
    let row = HighBidRow {
        id: change.listing,
        auction_id: change.auction.0,
        item_id: bidding.item.0,
        bidder_id: bidding.bidder.0,
        amount_cents: bidding.amount,
        state,
        sequence: i64::from(bidding.sequence),
        start_ms: before.map_or(change.event.at_ms, |row| row.start_ms),
        end_ms: over.then_some(change.event.at_ms),
        bid_ms: change.bid_ms,
        bid_id: change.bid,
        round: change.round,
        fence: change.fence,
    };
    folded.listings.insert(row.id, row.clone());
    held.listings.insert(row.id, row);
    if let Some(item) = item {
        folded.items.insert(bidding.item.0, item);
    }
    answer
}
