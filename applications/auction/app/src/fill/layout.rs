//! Ids and times of all rows: pure arithmetic on the counts, so that any part of the data can be made without
//! the others.

use crate::fill::marker::Rows;
use crate::sizes::{
    ATTENDEES_PER_AUCTION, BIDS_PER_ITEM, Counts, EXTRA_ACCOUNTS, FUTURE_DAYS, HISTORY_DAYS,
    IMAGES_PER_CURRENT_ITEM, ITEMS_PER_AUCTION, ITEMS_PER_CURRENT_AUCTION,
};
use barograph_auction_store::CLOCK_START_MS;
use barograph_data::{Stream, Streams};
use rand::RngExt;
use std::ops::Range;

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;
/// Time on sale of an item of the past.
pub(super) const ITEM_MS: i64 = 300_000;

/// Whether an auction is past, current or future.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    Current,
    History,
    Future,
}

/// Place of an auction: its id, and its index within its era.
#[derive(Debug, Clone, Copy)]
pub(super) struct AuctionPosition {
    pub(super) era: Era,
    pub(super) id: u64,
    pub(super) index: u64,
}

/// Ids and times of all rows. Ids run from 1: current auctions and their items come first, then the past,
/// then the future.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) counts: Counts,
    pub(super) streams: Streams,
    /// Items of current auctions before the n-th one; the last entry is their total.
    current_items_before: Vec<u64>,
}

impl Layout {
    pub(super) fn new(counts: Counts, seed: u64) -> Self {
        let streams = Streams::new(seed);
        let mut items = 0;
        let mut current_items_before = vec![0];
        for auction in 0..counts.current_auctions {
            items += streams.stream("current items", auction).random_range(ITEMS_PER_CURRENT_AUCTION);
            current_items_before.push(items);
        }
        Self { counts, streams, current_items_before }
    }

    pub(super) fn current_items(&self) -> u64 {
        self.current_items_before.last().copied().unwrap_or(0)
    }

    pub(super) fn auctions(&self) -> u64 {
        self.counts.current_auctions + self.counts.history_auctions + self.counts.future_auctions
    }

    /// The place of the auction with an id between 1 and [`Self::auctions`].
    pub(super) fn place(&self, id: u64) -> AuctionPosition {
        let (current, history) = (self.counts.current_auctions, self.counts.history_auctions);
        let index = id - 1;
        if index < current {
            AuctionPosition { era: Era::Current, id, index }
        } else if index < current + history {
            AuctionPosition { era: Era::History, id, index: index - current }
        } else {
            AuctionPosition { era: Era::Future, id, index: index - current - history }
        }
    }

    /// The ids of an auction's items.
    pub(super) fn items(&self, place: AuctionPosition) -> Range<u64> {
        if place.era == Era::Current {
            let at = place.index as usize;
            return self.current_items_before[at] + 1..self.current_items_before[at + 1] + 1;
        }
        let first =
            self.current_items() + (place.id - self.counts.current_auctions - 1) * ITEMS_PER_AUCTION + 1;
        first..first + ITEMS_PER_AUCTION
    }

    /// The ids of an item's images.
    pub(super) fn images(&self, item: u64) -> Range<u64> {
        let current = self.current_items();
        if item <= current {
            let first = (item - 1) * IMAGES_PER_CURRENT_ITEM + 1;
            return first..first + IMAGES_PER_CURRENT_ITEM;
        }
        let id = current * IMAGES_PER_CURRENT_ITEM + (item - current);
        id..id + 1
    }

    /// The greatest image id of current items, which alone have full pictures, and the greatest of all.
    pub(super) fn last_images(&self) -> (u64, u64) {
        let current = self.current_items() * IMAGES_PER_CURRENT_ITEM;
        (current, current + self.counts.history_items() + self.counts.future_items())
    }

    /// The id of the high bid of an item of the past; current auctions have the ids before, one each.
    pub(super) fn history_high_bid(&self, item: u64) -> u64 {
        self.counts.current_auctions + (item - self.current_items())
    }

    /// The id of the first bid on an item of the past; current auctions have the ids before, one each.
    pub(super) fn history_bids(&self, item: u64) -> u64 {
        self.counts.current_auctions + (item - self.current_items() - 1) * BIDS_PER_ITEM + 1
    }

    /// The ids of an auction's attendance rows.
    pub(super) fn attendance(&self, place: AuctionPosition) -> Range<u64> {
        let each = self.counts.attendance_per_current_auction;
        let (first, rows) = match place.era {
            Era::Current => (place.index * each, each),
            Era::History => (
                self.counts.current_auctions * each + place.index * ATTENDEES_PER_AUCTION,
                ATTENDEES_PER_AUCTION,
            ),
            Era::Future => return 0..0,
        };
        first + 1..first + 1 + rows
    }

    /// Start time of an auction. Those of the past and the future are spread evenly, each at random within
    /// its slot.
    pub(super) fn start_ms(&self, place: AuctionPosition, rng: &mut Stream) -> i64 {
        // Past auctions end before the present, and no future one starts within a day: neither occurs in a
        // run.
        let (from, to, slots) = match place.era {
            Era::Current => return CLOCK_START_MS - rng.random_range(60_000..3_600_000),
            Era::History => {
                let length = ITEM_MS * ITEMS_PER_AUCTION as i64;
                (-HISTORY_DAYS * DAY_MS, -length, self.counts.history_auctions)
            }
            Era::Future => (DAY_MS, FUTURE_DAYS * DAY_MS, self.counts.future_auctions),
        };
        let slot = (to - from) / slots as i64;
        CLOCK_START_MS + from + slot * place.index as i64 + rng.random_range(0..slot.max(1))
    }

    /// The rows of each table.
    pub(super) fn rows(&self) -> Rows {
        let counts = &self.counts;
        let (current_images, images) = self.last_images();
        Rows {
            users: counts.users + EXTRA_ACCOUNTS,
            auctions: self.auctions(),
            items: self.current_items() + counts.history_items() + counts.future_items(),
            high_bids: counts.current_auctions + counts.history_items(),
            bids: counts.current_auctions + counts.history_bids(),
            attendance: counts.current_auctions * counts.attendance_per_current_auction
                + counts.history_attendance(),
            images,
            files: current_images * 3 + (images - current_images) * 2,
        }
    }
}
