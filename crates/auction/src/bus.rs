//! The in-process bus: the published state of each live auction, and who waits for news of it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use barograph_auction_api::{Auction, AuctionId, BidState, BidUpdate, ItemId};
use bytes::Bytes;
use parking_lot::RwLock;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::live::{Bidding, UNSOLD};

/// A state of the bidding, serialised once for all followers.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) bidding: Bidding,
    body: Bytes,
}

/// What followers of an auction can know.
#[derive(Clone, Debug, Default)]
struct Published {
    /// The item on sale; none between two items.
    current: Option<Snapshot>,
    /// How the item before ended: followers may see the next one first.
    over: Option<Snapshot>,
    /// The application is about to stop.
    stopping: bool,
}

/// The answer to somebody who waited.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum News<T> {
    /// There it is.
    Got(T),
    /// Nothing happened in the time allowed.
    Nothing,
    /// The application is about to stop.
    Stopping,
}

/// One live auction on the bus.
pub(crate) struct Channel {
    /// The auction.
    pub(crate) auction: Auction,
    state: watch::Sender<Published>,
    watched: AtomicBool,
    version: AtomicU32,
}

/// Serialises an update. Kept apart because all bodies that followers see must come from the same place.
fn body(update: &BidUpdate) -> Bytes {
    Bytes::from(serde_json::to_vec(update).expect("numbers and names serialise"))
}

impl Channel {
    /// True the first time somebody watches.
    pub(crate) fn first_watched(&self) -> bool {
        // The load spares the cache line of a popular auction a write per poll.
        !self.watched.load(Ordering::Relaxed) && !self.watched.swap(true, Ordering::Relaxed)
    }

    /// The auctioneer could not be told: the next one who watches is the first again.
    pub(crate) fn forget_watcher(&self) {
        self.watched.store(false, Ordering::Relaxed);
    }

    /// Rises whenever an item of the auction changes its state; part of the key of whatever is cached of them.
    pub(crate) fn version(&self) -> u32 {
        self.version.load(Ordering::SeqCst)
    }

    /// Waits until the bidding for `item` has got beyond sequence number `count`, at most until `deadline`.
    ///
    /// 0 is answered at once, and so is a question about an item that is not on sale any more.
    pub(crate) async fn next_bid(&self, item: ItemId, count: u32, deadline: Instant) -> News<Bytes> {
        let mut watch = self.state.subscribe();
        loop {
            if let Some(answer) = self.answer(&watch.borrow_and_update(), item, count) {
                return answer;
            }
            // A timer of the runtime per poll: entering and leaving its wheel costs some 100 ns, and because a last
            // call comes after 30 s, hardly any poll of a living auction ever reaches its limit.
            match timeout_at(deadline, watch.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return News::Stopping,
                Err(_) => return News::Nothing,
            }
        }
    }

    fn answer(&self, now: &Published, item: ItemId, count: u32) -> Option<News<Bytes>> {
        if now.stopping {
            return Some(News::Stopping);
        }
        if let Some(current) = now.current.as_ref().filter(|s| s.bidding.item == item) {
            let sequence = current.bidding.sequence;
            if count == 0 || sequence > count {
                return Some(News::Got(current.body.clone()));
            }
            if sequence == count {
                return None;
            }
            // A higher count belongs to an earlier time that the item was on sale.
        }
        let over = now.over.as_ref().filter(|s| s.bidding.item == item && s.bidding.sequence > count);
        if let Some(over) = over {
            return Some(News::Got(over.body.clone()));
        }
        Some(News::Got(body(&BidUpdate {
            auction_id: self.auction.id,
            item_id: item,
            bidder_id: UNSOLD,
            amount_cents: 0,
            sequence: count,
            state: BidState::ItemNotActive,
        })))
    }

    /// The item on sale; between two items waits until `deadline`.
    pub(crate) async fn current_item(&self, deadline: Instant) -> News<ItemId> {
        let mut watch = self.state.subscribe();
        let found = timeout_at(deadline, watch.wait_for(|p| p.current.is_some() || p.stopping)).await;
        match found {
            Ok(Ok(now)) => match &now.current {
                Some(current) if !now.stopping => News::Got(current.bidding.item),
                _ => News::Stopping,
            },
            Ok(Err(_)) => News::Stopping,
            Err(_) => News::Nothing,
        }
    }
}

/// All live auctions.
#[derive(Default)]
pub(crate) struct Bus {
    channels: RwLock<HashMap<AuctionId, Arc<Channel>>>,
    updates: AtomicU64,
    gaps: AtomicU64,
}

impl Bus {
    /// Opens the channel of an auction, with the bidding that is going on, if any.
    pub(crate) fn open(&self, auction: Auction, bidding: Option<Bidding>) {
        let id = auction.id;
        let current = bidding.map(|bidding| Snapshot { bidding, body: body(&bidding.update(id)) });
        let channel = Channel {
            auction,
            state: watch::Sender::new(Published { current, ..Published::default() }),
            watched: AtomicBool::new(false),
            version: AtomicU32::new(1),
        };
        self.channels.write().insert(id, Arc::new(channel));
    }

    /// The channel of an auction that is live here.
    pub(crate) fn channel(&self, id: AuctionId) -> Option<Arc<Channel>> {
        self.channels.read().get(&id).cloned()
    }

    /// How many auctions are live.
    pub(crate) fn len(&self) -> usize {
        self.channels.read().len()
    }

    /// Updates published, and how many of them did not follow on the one before.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.updates.load(Ordering::Relaxed), self.gaps.load(Ordering::Relaxed))
    }

    /// The items of an auction have changed in the store.
    pub(crate) fn items_changed(&self, id: AuctionId) {
        if let Some(channel) = self.channel(id) {
            channel.version.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Publishes a change and wakes everybody who waits for it.
    pub(crate) fn publish(&self, id: AuctionId, bidding: Bidding) {
        let Some(channel) = self.channel(id) else { return };
        let snapshot = Snapshot { bidding, body: body(&bidding.update(id)) };
        let ended = matches!(bidding.state, BidState::Sold | BidState::NotSold);
        channel.state.send_modify(|now| {
            let follows = match &now.current {
                Some(before) => {
                    before.bidding.item == bidding.item && before.bidding.sequence + 1 == bidding.sequence
                }
                None => bidding.sequence == 1,
            };
            self.gaps.fetch_add(u64::from(!follows), Ordering::Relaxed);
            if ended {
                now.current = None;
                now.over = Some(snapshot);
            } else {
                now.current = Some(snapshot);
            }
        });
        self.updates.fetch_add(1, Ordering::Relaxed);
    }

    /// Lets everybody go who waits.
    pub(crate) fn stop(&self) {
        for channel in self.channels.read().values() {
            channel.state.send_modify(|now| now.stopping = true);
        }
    }
}

/// How long a next-bid poll is held: one and a half times the idle limit, so that a living auction always answers.
pub(crate) const POLL_LIMIT: Duration = Duration::from_secs(45);

/// How long a question for the current item waits between two items.
pub(crate) const CURRENT_ITEM_LIMIT: Duration = Duration::from_secs(10);
