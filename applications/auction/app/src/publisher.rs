//! The publisher: stores the auctioneer's decisions, then publishes them.
//!
//! The bids of a batch are proposed in the events, the changes applied in the relational store, the states
//! published here and to the other nodes, and the bids settled with the next batch or soon after. Because a
//! node has one publisher, followers see the changes of an auction in the order of the decisions, and only
//! stored ones.
//!
//! While a store cannot be reached the same batch is retried, and the queues in front of it fill until bids
//! are refused: no decision is dropped or published early.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use barograph_auction_api::{AuctionId, BidState, UserId};
use barograph_auction_rules::EventKind;
use barograph_auction_store::{
    BidRow, BidSettlement, Change, ChangeOutcome, HighBidRow, SettledBid, StoreError, StoreFuture, codes,
    fate,
};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::app::App;
use crate::auctioneer::Command;
use crate::channels::StateSource;

/// Changes in one transaction at most.
const BATCH: usize = 256;

/// Longest wait of settlements for a batch to go with.
const SETTLE_WITHIN: Duration = Duration::from_millis(100);

/// First and longest pause before another try to reach a store.
const RETRY: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];

/// A fault of the application, with its description.
#[derive(Default)]
pub(crate) struct PublisherFault(Mutex<Option<String>>);

impl PublisherFault {
    /// Sets the fault; the first one stays.
    pub(crate) fn set(&self, text: String) {
        self.0.lock().get_or_insert(text);
    }

    /// Clears the fault.
    pub(crate) fn clear(&self) {
        *self.0.lock() = None;
    }

    /// Returns the description of the fault, if any.
    pub(crate) fn get(&self) -> Option<String> {
        self.0.lock().clone()
    }

    /// Whether there is a fault.
    pub(crate) fn is_set(&self) -> bool {
        self.0.lock().is_some()
    }
}

/// State of the publisher; not shared.
struct Publisher {
    app: Arc<App>,
    /// Bids that are applied but still proposed in the events.
    unsettled: Vec<SettledBid>,
    /// Auctions found to have another owner, with the fence under which they were lost.
    lost: HashMap<AuctionId, i64>,
}

/// Runs until the auctioneer has ended and everything is stored, or until a store refuses for good: otherwise
/// the auctioneer's state and the store would diverge. Then polls are ended and the health check shows the
/// fault.
pub(crate) async fn run(app: Arc<App>, mut changes: mpsc::Receiver<Change>) {
    let mut publisher = Publisher { app: Arc::clone(&app), unsettled: Vec::new(), lost: HashMap::new() };
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        let came = if publisher.unsettled.is_empty() {
            changes.recv_many(&mut batch, BATCH).await
        } else {
            match timeout(SETTLE_WITHIN, changes.recv_many(&mut batch, BATCH)).await {
                Ok(came) => came,
                Err(_) => {
                    publisher.settle().await;
                    continue;
                }
            }
        };
        if came == 0 {
            publisher.settle().await;
            return;
        }
        if app.broken.is_set() {
            batch.clear();
            continue;
        }
        if let Err(error) = publisher.work(&batch).await {
            app.broken.set(with_cause(&error));
            app.channels.stop();
        }
        batch.clear();
    }
}

impl Publisher {
    async fn work(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        let applied = self.store(changes).await?;
        for (change, what) in changes.iter().zip(applied) {
            self.applied(change, what);
        }
        Ok(())
    }

    async fn store(&mut self, changes: &[Change]) -> Result<Vec<ChangeOutcome>, StoreError> {
        let app = Arc::clone(&self.app);
        let proposed: Vec<BidRow> = changes.iter().filter_map(Change::proposes).collect();
        if !proposed.is_empty() || !self.unsettled.is_empty() {
            let settled = std::mem::take(&mut self.unsettled);
            until_reached(&app, || app.events.write(&proposed, &settled)).await?;
        }
        until_reached(&app, || app.decisions.apply(changes)).await
    }

    /// Settles the rest when no batch comes to go with.
    async fn settle(&mut self) {
        let settled = std::mem::take(&mut self.unsettled);
        if settled.is_empty() || self.app.broken.is_set() {
            return;
        }
        let app = Arc::clone(&self.app);
        if let Err(error) = until_reached(&app, || app.events.write(&[], &settled)).await {
            app.broken.set(with_cause(&error));
        }
    }

    fn applied(&mut self, change: &Change, what: ChangeOutcome) {
        let app = Arc::clone(&self.app);
        let mut bidding = change.event.bidding;
        if what != ChangeOutcome::Stored && change.event.kind == EventKind::Sold {
            app.command_later(Command::Refund(bidding.bidder, bidding.amount));
        }
        match what {
            ChangeOutcome::Fenced => {
                app.metrics.fenced();
                // One message is enough, even if more is decided before the auctioneer handles it.
                if self.lost.insert(change.auction, change.fence) != Some(change.fence) {
                    app.command_later(Command::Lose(change.auction, change.fence));
                    app.look.notify_one();
                }
                return;
            }
            ChangeOutcome::Unpaid => {
                bidding.state = BidState::NotSold;
                app.command_later(Command::GiveBack(change.auction, bidding.item));
            }
            ChangeOutcome::Stored => self.unsettled.extend(settlement(change)),
        }
        app.tell_followers(change.auction, (change.round, bidding), StateSource::Own);
        app.metrics.stored(change.event.kind);
    }
}

/// The settlement of an applied change.
fn settlement(change: &Change) -> Option<SettledBid> {
    let state = match change.event.kind {
        EventKind::NewHighBid => codes::bid::HIGH,
        EventKind::Sold => codes::bid::WINNING,
        EventKind::ItemStarted | EventKind::LastCall | EventKind::NotSold => return None,
    };
    Some(SettledBid { bidder: change.event.bidding.bidder, bid_ms: change.bid_ms, bid: change.bid, state })
}

/// Retries until the store is reached. Sets `passing` meanwhile.
pub(crate) async fn until_reached<'a, T>(
    app: &App,
    mut attempt: impl FnMut() -> StoreFuture<'a, T>,
) -> Result<T, StoreError> {
    let [mut pause, longest] = RETRY;
    let mut failed = false;
    loop {
        match attempt().await {
            Err(error) if error.is_passing() => {
                tracing::warn!(error = with_cause(&error), "a store cannot be reached; trying again");
                app.passing.clear();
                app.passing.set(with_cause(&error));
                failed = true;
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(longest);
            }
            other => {
                if failed {
                    tracing::info!("the store is reached again");
                    app.passing.clear();
                }
                return other;
            }
        }
    }
}

/// Settlement of the bids that previous owners left proposed.
pub(crate) fn settle_left(left: &[BidRow], listing: impl Fn(i64) -> Option<HighBidRow>) -> Vec<SettledBid> {
    left.iter()
        .map(|bid| {
            let row = listing(bid.listing);
            let won = row.as_ref().is_some_and(|r| r.state == codes::high_bid::SOLD && r.bid_id == bid.id);
            let state = match fate(bid, row.as_ref()) {
                BidSettlement::Accepted if won => codes::bid::WINNING,
                BidSettlement::Accepted => codes::bid::HIGH,
                BidSettlement::Void => codes::bid::VOID,
            };
            SettledBid { bidder: UserId(bid.bidder_id), bid_ms: bid.bid_ms, bid: bid.id, state }
        })
        .collect()
}

/// An error with all its causes, in one line.
pub(crate) fn with_cause(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Listing 7 of item 2, whose highest bid is by user 3.
    pub(crate) fn row(sequence: i64, fence: i64, state: i64, bid_id: i64) -> HighBidRow {
        HighBidRow {
            id: 7,
            auction_id: 1,
            item_id: 2,
            bidder_id: 3,
            amount_cents: 400,
            state,
            sequence,
            start_ms: 0,
            end_ms: None,
            bid_ms: 10,
            bid_id,
            round: 1,
            fence,
        }
    }

    /// A bid of that listing with this number, as proposed.
    pub(crate) fn bid(id: i64, sequence: i64, fence: i64) -> BidRow {
        BidRow {
            id,
            bidder_id: 3,
            bid_ms: 10,
            auction_id: 1,
            item_id: 2,
            listing: 7,
            amount_cents: 400,
            state: codes::bid::PROPOSED,
            sequence,
            fence,
        }
    }

    /// Final states of bids 20 (number 4), 21 (number 5) and 22 (number 6) of fence 2, given the listing.
    fn states(listing: Option<&HighBidRow>) -> Vec<i64> {
        let left = [bid(20, 4, 2), bid(21, 5, 2), bid(22, 6, 2)];
        settle_left(&left, |_| listing.cloned()).iter().map(|s| s.state).collect()
    }

    #[test]
    fn what_was_applied_is_accepted_and_what_was_not_is_void() {
        use codes::bid::{HIGH, VOID, WINNING};
        let open = codes::high_bid::OPEN;
        assert_eq!(states(Some(&row(5, 2, open, 21))), [HIGH, HIGH, VOID]);
        // The node died before any of the batch was applied: the listing is as the previous owner left it.
        assert_eq!(states(Some(&row(5, 1, open, 19))), [VOID, VOID, VOID]);
        assert_eq!(states(None), [VOID, VOID, VOID]);
        // Last call and sale count one each.
        assert_eq!(states(Some(&row(8, 2, codes::high_bid::SOLD, 22))), [HIGH, HIGH, WINNING]);
    }
}
