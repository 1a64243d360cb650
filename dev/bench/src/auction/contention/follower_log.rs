//! Times at which followers learned of each state.

use std::collections::HashMap;

use barograph_auction_api::BidUpdate;

/// Most bids that wait for an answer: each bidder has one, and some never get an answer.
const MOST_SENT: usize = 100_000;

/// A state's position: the number of the listing, and the sequence number within it.
pub(super) type StateId = (i64, u32);

/// A sent bid: item, bidder, amount.
type SentBid = (i64, i64, i64);

/// A state that not all followers know yet.
#[derive(Default)]
struct PendingState {
    /// Time at which its bid was sent, if any follower saw it before a later state.
    sent: Option<u64>,
    /// Times at which followers learned of it, in order.
    told: Vec<u64>,
}

/// The results. Times in nanoseconds.
#[derive(Clone, Default)]
pub(super) struct ContentionResult {
    /// From sending a bid to the last follower's news.
    pub(super) last: Vec<f64>,
    /// … and to the median follower.
    pub(super) median: Vec<f64>,
    /// States that no follower saw before a later one.
    pub(super) overtaken: u64,
    /// States received by all followers together.
    pub(super) tellings: u64,
    /// Bids queued by the node.
    pub(super) bids: u64,
    /// Missing or refusing answers.
    pub(super) faults: u64,
}

/// Accounts of all followers.
pub(super) struct FollowerLog {
    seen: Vec<Option<StateId>>,
    sent: HashMap<SentBid, u64>,
    open: HashMap<StateId, PendingState>,
    pub(super) measured: ContentionResult,
}

impl FollowerLog {
    pub(super) fn new(followers: usize) -> FollowerLog {
        FollowerLog {
            seen: vec![None; followers],
            sent: HashMap::new(),
            open: HashMap::new(),
            measured: ContentionResult::default(),
        }
    }

    /// Followers with any news so far.
    pub(super) fn present(&self) -> usize {
        self.seen.iter().flatten().count()
    }

    /// Records a sent bid.
    pub(super) fn sends(&mut self, bid: SentBid, now: u64) {
        if self.sent.len() >= MOST_SENT {
            self.sent.clear();
        }
        self.sent.insert(bid, now);
    }

    /// Records that a follower received a state; `update` parses it, which is needed the first time only.
    pub(super) fn saw(
        &mut self,
        follower: usize,
        place: StateId,
        now: u64,
        update: impl FnOnce() -> Option<BidUpdate>,
    ) {
        self.measured.tellings += 1;
        let before = self.seen[follower].replace(place);
        let from = match before {
            Some((listing, sequence)) if listing == place.0 => sequence + 1,
            // The first state received is old.
            None => return,
            Some(_) => {
                // Followers that have not received the previous listing will not.
                self.open.retain(|known, _| known.0 == place.0);
                place.1
            }
        };
        if self.open.get(&place).is_none_or(|state| state.sent.is_none())
            && let Some(update) = update()
        {
            let bid = (update.item_id.0, update.bidder_id.0, update.amount_cents);
            self.open.entry(place).or_default().sent = self.sent.remove(&bid);
        }
        for sequence in from..=place.1 {
            let known = (place.0, sequence);
            let state = self.open.entry(known).or_default();
            state.told.push(now);
            if state.told.len() == self.seen.len() {
                self.complete(known);
            }
        }
    }

    /// Completes a state known to all followers.
    fn complete(&mut self, place: StateId) {
        let Some(mut state) = self.open.remove(&place) else { return };
        let Some(sent) = state.sent else {
            self.measured.overtaken += 1;
            return;
        };
        state.told.sort_unstable();
        let since = |at: u64| at.saturating_sub(sent) as f64;
        self.measured.last.extend(state.told.last().map(|at| since(*at)));
        self.measured.median.extend(state.told.get(state.told.len() / 2).map(|at| since(*at)));
    }
}

#[cfg(test)]
mod tests {
    use barograph_auction_api::{AuctionId, BidState, ItemId, UserId};

    use super::*;

    fn update(sequence: u32, amount_cents: i64) -> Option<BidUpdate> {
        let (auction_id, item_id, bidder_id) = (AuctionId(1), ItemId(2), UserId(3));
        Some(BidUpdate { auction_id, item_id, bidder_id, amount_cents, sequence, state: BidState::Open })
    }

    #[test]
    fn a_bid_is_timed_when_the_last_follower_knows_it_or_a_later_one() {
        let mut told = FollowerLog::new(3);
        for follower in 0..3 {
            told.saw(follower, (1, 1), 0, || update(1, 100));
        }
        assert_eq!((told.present(), told.measured.last.len()), (3, 0));
        told.sends((2, 3, 110), 1_000);
        told.sends((2, 3, 120), 2_000);
        told.saw(0, (1, 2), 4_000, || update(2, 110));
        told.saw(1, (1, 3), 5_000, || update(3, 120));
        told.saw(0, (1, 3), 6_000, || None);
        assert!(told.measured.last.is_empty());
        told.saw(2, (1, 3), 9_000, || None);
        assert_eq!(told.measured.last, [8_000.0, 7_000.0]);
        assert_eq!(told.measured.median, [4_000.0, 4_000.0]);
        assert_eq!((told.measured.overtaken, told.measured.tellings), (0, 7));
    }

    #[test]
    fn a_state_that_nobody_saw_is_overtaken_and_a_new_listing_begins_anew() {
        let mut told = FollowerLog::new(2);
        for follower in 0..2 {
            told.saw(follower, (1, 1), 0, || update(1, 100));
        }
        told.sends((2, 3, 130), 0);
        told.saw(0, (1, 3), 10, || update(3, 130));
        told.saw(1, (1, 3), 20, || None);
        assert_eq!((told.measured.overtaken, told.measured.last.as_slice()), (1, &[20.0][..]));
        told.saw(0, (2, 1), 30, || update(1, 100));
        told.saw(1, (2, 1), 40, || update(1, 100));
        assert_eq!((told.measured.overtaken, told.open.len()), (2, 0));
    }
}
