//! The published state, the followers and the owner of each live auction, as known to this node.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use barograph_auction_api::{Auction, AuctionId, BidState, BidUpdate, ItemId};
use bytes::Bytes;
use parking_lot::RwLock;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use barograph_auction_rules::{Bidding, UNSOLD};

use crate::messages::moves_item;

/// Round and sequence number of a state. States are ordered by it.
pub(crate) type StateNumber = (i64, u32);

/// A state of the bidding, serialised once for all followers.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) bidding: Bidding,
    round: i64,
    /// As JSON: the answer to a poll.
    body: Bytes,
    /// As a server-sent event; shares its memory with the body.
    event: Bytes,
}

impl Snapshot {
    fn new(auction: AuctionId, round: i64, bidding: Bidding) -> Self {
        let body = body(&bidding.update(auction));
        let head = format!("event: bid\nid: {round}-{}\ndata: ", bidding.sequence);
        let event = Bytes::from([head.as_bytes(), &body[..], b"\n\n"].concat());
        Snapshot { bidding, round, body: event.slice(head.len()..head.len() + body.len()), event }
    }

    fn seen(&self) -> StateNumber {
        (self.round, self.bidding.sequence)
    }
}

/// The published state of an auction.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChannelState {
    /// Number of the listing within the auction; with the sequence number of the bidding it orders all
    /// states.
    round: i64,
    /// The sequence number last published in this round.
    sequence: u32,
    /// The item on sale; none between two items.
    current: Option<Snapshot>,
    /// The end of the bidding for the previous item: a follower may see the next item first.
    over: Option<Snapshot>,
    /// Whether the application is about to stop.
    stopping: bool,
}

impl ChannelState {
    /// The states after `seen`, as events: the end of the previous item, then the present state. With `None`,
    /// the present state alone.
    pub(crate) fn unseen(
        &self,
        seen: Option<StateNumber>,
    ) -> impl Iterator<Item = (StateNumber, Bytes)> + use<> {
        let (over, current) = (self.over.as_ref(), self.current.as_ref());
        let told = match seen {
            // Between two items the end of the previous one is the present state.
            None => [None, current.or(over)],
            Some(seen) => [over, current].map(|s| s.filter(|s| s.seen() > seen)),
        };
        told.map(|s| s.map(|s| (s.seen(), s.event.clone()))).into_iter().flatten()
    }

    /// Whether a state directly follows the last one, with none missing in between.
    fn goes_on(&self, round: i64, sequence: u32) -> bool {
        if round == self.round {
            return self.sequence + 1 == sequence;
        }
        round == self.round + 1 && sequence == 1 && self.current.is_none()
    }

    /// Whether a follower is ahead of this node about the item on sale, having just seen another node.
    fn is_behind(&self, item: ItemId, count: u32) -> bool {
        let current = self.current.as_ref().filter(|s| s.bidding.item == item);
        !self.stopping && current.is_some_and(|s| s.bidding.sequence < count)
    }

    /// Whether the application is about to stop.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping
    }
}

/// Answer to a poll.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WaitResult<T> {
    /// The news.
    Got(T),
    /// Nothing happened within the time limit.
    Nothing,
    /// The application is about to stop.
    Stopping,
}

/// The channel of one live auction.
pub(crate) struct Channel {
    /// The auction.
    pub(crate) auction: Auction,
    state: watch::Sender<ChannelState>,
    watched: AtomicBool,
    version: AtomicU32,
    owner: RwLock<Option<Owner>>,
}

/// Owner of an auction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The node.
    pub(crate) node: Arc<str>,
    /// The fence of its ownership.
    pub(crate) fence: i64,
}

/// Effect of a new state on what is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// Whether items of the auction have changed.
    pub(crate) items: bool,
    /// The item that was on sale before.
    pub(crate) before: Option<ItemId>,
}

/// Source of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateSource {
    /// This node owns the auction and has just stored the change.
    Own,
    /// Another node, or a repeated announcement.
    Hearsay,
}

/// Serialises an update. All bodies that followers see are made here.
fn body(update: &BidUpdate) -> Bytes {
    Bytes::from(serde_json::to_vec(update).expect("numbers and names serialise"))
}

impl Channel {
    /// Marks the auction as followed; true the first time.
    pub(crate) fn first_watched(&self) -> bool {
        // The load spares the cache line of a popular auction a write per poll.
        !self.watched.load(Ordering::Relaxed) && !self.watched.swap(true, Ordering::Relaxed)
    }

    /// Withdraws the mark after a failed wake: the next follower is the first again.
    pub(crate) fn forget_watcher(&self) {
        self.watched.store(false, Ordering::Relaxed);
    }

    /// Whether the auction has ever had a follower.
    pub(crate) fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed)
    }

    /// Marks the auction as followed, here or at another node.
    pub(crate) fn mark_watched(&self) {
        self.watched.store(true, Ordering::Relaxed);
    }

    /// The state last published, if there is one: round and bidding.
    pub(crate) fn state(&self) -> Option<(i64, Bidding)> {
        let now = self.state.borrow();
        let snapshot = now.current.as_ref().or(now.over.as_ref())?;
        Some((now.round, snapshot.bidding))
    }

    /// The owner of the auction, as far as this node knows.
    pub(crate) fn owner(&self) -> Option<Owner> {
        self.owner.read().clone()
    }

    /// Records the owner of the auction, unless `fence` is older than the known one. Returns whether this was
    /// news.
    pub(crate) fn owned_by(&self, node: &Arc<str>, fence: i64) -> bool {
        let mut owner = self.owner.write();
        if owner.as_ref().is_some_and(|known| known.fence >= fence) {
            return false;
        }
        *owner = Some(Owner { node: Arc::clone(node), fence });
        true
    }

    /// Receives every state from here on, beginning with the present one.
    pub(crate) fn subscribe(&self) -> watch::Receiver<ChannelState> {
        let mut watch = self.state.subscribe();
        watch.mark_changed();
        watch
    }

    /// Rises whenever an item of the auction changes state; part of the key of everything cached about them.
    pub(crate) fn version(&self) -> u32 {
        self.version.load(Ordering::SeqCst)
    }

    /// Waits until the bidding for `item` has passed sequence number `count`, at most until `deadline`.
    ///
    /// Answers at once for 0, and for an item that is no longer on sale.
    pub(crate) async fn next_bid(&self, item: ItemId, count: u32, deadline: Instant) -> WaitResult<Bytes> {
        let mut watch = self.state.subscribe();
        let patience = deadline - (POLL_LIMIT - BEHIND_LIMIT);
        while watch.borrow_and_update().is_behind(item, count) {
            if timeout_at(patience.min(deadline), watch.changed()).await.is_err() {
                break;
            }
        }
        loop {
            if let Some(answer) = self.answer(&watch.borrow_and_update(), item, count) {
                return answer;
            }
            // One timer of the runtime per poll: entering and leaving its wheel costs some 100 ns, and
            // because a last call comes after 30 s, hardly any poll of a live auction reaches its limit.
            match timeout_at(deadline, watch.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return WaitResult::Stopping,
                Err(_) => return WaitResult::Nothing,
            }
        }
    }

    fn answer(&self, now: &ChannelState, item: ItemId, count: u32) -> Option<WaitResult<Bytes>> {
        if now.stopping {
            return Some(WaitResult::Stopping);
        }
        if let Some(current) = now.current.as_ref().filter(|s| s.bidding.item == item) {
            let sequence = current.bidding.sequence;
            if count == 0 || sequence > count {
                return Some(WaitResult::Got(current.body.clone()));
            }
            if sequence == count {
                return None;
            }
            // A higher count that this node does not catch up with belongs to an earlier listing of the item.
        }
        let over = now.over.as_ref().filter(|s| s.bidding.item == item && s.bidding.sequence > count);
        if let Some(over) = over {
            return Some(WaitResult::Got(over.body.clone()));
        }
        Some(WaitResult::Got(body(&BidUpdate {
            auction_id: self.auction.id,
            item_id: item,
            bidder_id: UNSOLD,
            amount_cents: 0,
            sequence: count,
            state: BidState::ItemNotActive,
        })))
    }

    /// The item on sale; between two items, waits until `deadline`.
    pub(crate) async fn current_item(&self, deadline: Instant) -> WaitResult<ItemId> {
        let mut watch = self.state.subscribe();
        let found = timeout_at(deadline, watch.wait_for(|p| p.current.is_some() || p.stopping)).await;
        match found {
            Ok(Ok(now)) => match &now.current {
                Some(current) if !now.stopping => WaitResult::Got(current.bidding.item),
                _ => WaitResult::Stopping,
            },
            Ok(Err(_)) => WaitResult::Stopping,
            Err(_) => WaitResult::Nothing,
        }
    }
}

/// All live auctions.
#[derive(Default)]
pub(crate) struct Channels {
    channels: RwLock<HashMap<AuctionId, Arc<Channel>>>,
    updates: AtomicU64,
    gaps: AtomicU64,
    resyncs: AtomicU64,
    followers: AtomicU64,
}

/// Figures of the channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Changes of auctions that this node owns.
    pub(crate) updates: u64,
    /// Those that did not directly follow the previous state: must be zero.
    pub(crate) gaps: u64,
    /// States of other nodes' auctions that did not directly follow the previous one: a message on the bus
    /// was lost and made up for.
    pub(crate) resyncs: u64,
    /// Followers that wait at present.
    pub(crate) followers: u64,
}

impl Channels {
    /// Opens the channel of an auction, unless there is one.
    pub(crate) fn open(&self, auction: Auction) -> Arc<Channel> {
        let mut channels = self.channels.write();
        let channel = channels.entry(auction.id).or_insert_with(|| {
            Arc::new(Channel {
                auction,
                state: watch::Sender::new(ChannelState::default()),
                watched: AtomicBool::new(false),
                version: AtomicU32::new(1),
                owner: RwLock::new(None),
            })
        });
        Arc::clone(channel)
    }

    /// The channel of a live auction.
    pub(crate) fn channel(&self, id: AuctionId) -> Option<Arc<Channel>> {
        self.channels.read().get(&id).cloned()
    }

    /// All channels.
    pub(crate) fn all(&self) -> Vec<Arc<Channel>> {
        self.channels.read().values().cloned().collect()
    }

    /// Number of live auctions.
    pub(crate) fn len(&self) -> usize {
        self.channels.read().len()
    }

    /// Returns the figures.
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            updates: self.updates.load(Ordering::Relaxed),
            gaps: self.gaps.load(Ordering::Relaxed),
            resyncs: self.resyncs.load(Ordering::Relaxed),
            followers: self.followers.load(Ordering::Relaxed),
        }
    }

    /// Counts a follower for the lifetime of the returned value.
    pub(crate) fn follow(self: &Arc<Self>) -> FollowGuard {
        self.followers.fetch_add(1, Ordering::Relaxed);
        FollowGuard(Arc::clone(self))
    }

    /// The effect of a state on what is served here: nothing for old news.
    pub(crate) fn news(&self, id: AuctionId, round: i64, bidding: &Bidding) -> Option<Change> {
        let channel = self.channel(id)?;
        let now = channel.state.borrow();
        let newer = (round, bidding.sequence) > (now.round, now.sequence);
        newer.then(|| Change {
            items: moves_item(bidding) || !now.goes_on(round, bidding.sequence),
            before: now.current.as_ref().map(|s| s.bidding.item),
        })
    }

    /// Publishes a state and wakes all that wait for it. A state that is not newer than the known one is
    /// dropped. Returns whether it was news.
    pub(crate) fn publish(&self, id: AuctionId, (round, bidding): (i64, Bidding), from: StateSource) -> bool {
        let Some(channel) = self.channel(id) else { return false };
        let snapshot = Snapshot::new(id, round, bidding);
        let ended = matches!(bidding.state, BidState::Sold | BidState::NotSold);
        // Cached items must be known as outdated before followers get the change.
        let mut follows = true;
        let news = channel.state.send_if_modified(|now| {
            if (round, bidding.sequence) <= (now.round, now.sequence) {
                return false;
            }
            follows = now.goes_on(round, bidding.sequence);
            if moves_item(&bidding) || !follows {
                channel.version.fetch_add(1, Ordering::SeqCst);
            }
            (now.round, now.sequence) = (round, bidding.sequence);
            if ended {
                now.current = None;
                now.over = Some(snapshot);
            } else {
                now.current = Some(snapshot);
            }
            true
        });
        match from {
            StateSource::Own => {
                self.updates.fetch_add(1, Ordering::Relaxed);
                // A known state arrived earlier by way of the next owner.
                self.gaps.fetch_add(u64::from(news && !follows), Ordering::Relaxed);
            }
            StateSource::Hearsay => {
                self.resyncs.fetch_add(u64::from(news && !follows), Ordering::Relaxed);
            }
        }
        news
    }

    /// Ends all waiting; later calls are refused.
    pub(crate) fn stop(&self) {
        for channel in self.channels.read().values() {
            channel.state.send_modify(|now| now.stopping = true);
        }
    }
}

/// A waiting follower, counted until dropped.
pub(crate) struct FollowGuard(Arc<Channels>);

impl Drop for FollowGuard {
    fn drop(&mut self) {
        self.0.followers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Time limit of a poll for the next bid: one and a half times the idle limit, so that a live auction always
/// answers.
pub(crate) const POLL_LIMIT: Duration = Duration::from_secs(45);

/// Time limit for catching up with a state that a follower has seen elsewhere.
const BEHIND_LIMIT: Duration = Duration::from_secs(2);

/// Time limit of a request for the current item between two items.
pub(crate) const CURRENT_ITEM_LIMIT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use barograph_auction_api::{AuctionState, UserId};

    const ID: AuctionId = AuctionId(1);

    fn channels() -> Channels {
        let channels = Channels::default();
        channels.open(Auction {
            id: ID,
            name: "an auction".to_owned(),
            category: "things".to_owned(),
            state: AuctionState::Running,
            start_ms: 0,
            end_ms: None,
            auctioneer_id: UserId(1),
        });
        channels
    }

    fn state(item: i64, sequence: u32, state: BidState) -> Bidding {
        Bidding { item: ItemId(item), bidder: UserId(2), amount: 100, sequence, state }
    }

    #[test]
    fn old_news_is_dropped_and_a_gap_is_counted_by_whose_it_is() {
        let channels = channels();
        let open = |sequence| state(5, sequence, BidState::Open);
        assert!(channels.publish(ID, (1, open(1)), StateSource::Own));
        assert!(channels.publish(ID, (1, open(2)), StateSource::Own));
        // The echo of this node's own message.
        assert!(!channels.publish(ID, (1, open(2)), StateSource::Hearsay));
        assert_eq!(channels.counts(), Counts { updates: 2, ..Counts::default() });
        // Another node has gone on, and one of its messages was lost.
        assert!(channels.publish(ID, (2, state(6, 4, BidState::Open)), StateSource::Hearsay));
        assert_eq!(channels.counts(), Counts { updates: 2, resyncs: 1, ..Counts::default() });
        // An owner that skips a state is wrong.
        assert!(channels.publish(ID, (2, state(6, 6, BidState::Open)), StateSource::Own));
        assert_eq!(channels.counts().gaps, 1);
    }

    #[test]
    fn an_owner_is_replaced_by_one_with_a_later_fence_only() {
        let channels = channels();
        let channel = channels.channel(ID).unwrap();
        let (one, two): (Arc<str>, Arc<str>) = ("one".into(), "two".into());
        assert!(channel.owned_by(&two, 4));
        assert!(!channel.owned_by(&one, 3) && !channel.owned_by(&one, 4));
        assert_eq!(channel.owner(), Some(Owner { node: two, fence: 4 }));
        assert!(channel.owned_by(&one, 5));
    }
}
