//! A model of a relational store's auctions in memory: the expected effect of changes.

use std::collections::BTreeMap;

use barograph_auction_rules::EventKind;

use super::relational_data;
use super::track::listing_state;
use crate::{
    Audit, CLOCK_START_MS, Change, ChangeOutcome, HighBidRow, Initial, ItemRow, ListingAudit, UserRow, codes,
};

/// Users, items, listings and fences.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) users: BTreeMap<i64, UserRow>,
    pub(super) items: BTreeMap<i64, ItemRow>,
    pub(super) listings: BTreeMap<i64, HighBidRow>,
    /// The current fence of each auction that is owned.
    pub(super) fences: BTreeMap<i64, i64>,
    preloaded: Vec<i64>,
    initial: Initial,
}

impl Model {
    /// The data set, with these auctions owned under these fences.
    pub(super) fn new(owned: &[i64], fences: &[i64]) -> Self {
        let mut all = crate::RelationalBatch::default();
        for batch in relational_data() {
            all.users.extend(batch.users);
            all.items.extend(batch.items);
            all.high_bids.extend(batch.high_bids);
        }
        let initial = Initial {
            users: all.users.len() as i64,
            last_user: all.users.iter().map(|u| u.id).max().unwrap_or(0),
            credit_cents: all.users.iter().map(|u| u.credit_cents).sum(),
        };
        Model {
            preloaded: all.high_bids.iter().map(|h| h.id).collect(),
            users: all.users.into_iter().map(|u| (u.id, u)).collect(),
            items: all.items.into_iter().map(|i| (i.id, i)).collect(),
            listings: all.high_bids.into_iter().map(|h| (h.id, h)).collect(),
            fences: owned.iter().copied().zip(fences.iter().copied()).collect(),
            initial,
        }
    }

    /// Applies changes in their order.
    pub(super) fn apply(&mut self, changes: &[Change]) -> Vec<ChangeOutcome> {
        changes.iter().map(|c| self.apply_one(c)).collect()
    }

    fn apply_one(&mut self, change: &Change) -> ChangeOutcome {
        let (event, sequence) = (change.event, i64::from(change.event.bidding.sequence));
        let before = self.listings.get(&change.listing);
        if let Some(row) = before.filter(|row| row.fence == change.fence && row.sequence >= sequence) {
            let unpaid = event.kind == EventKind::Sold && row.state == codes::high_bid::NOT_SOLD;
            return if unpaid { ChangeOutcome::Unpaid } else { ChangeOutcome::Stored };
        }
        if self.fences.get(&change.auction.0) != Some(&change.fence) {
            return ChangeOutcome::Fenced;
        }
        let start_ms = before.map_or(event.at_ms, |row| row.start_ms);
        let mut state = listing_state(event.kind);
        let mut applied = ChangeOutcome::Stored;
        if event.kind == EventKind::Sold {
            let buyer = self.users.get_mut(&event.bidding.bidder.0).expect("only users buy");
            if buyer.credit_cents >= event.bidding.amount {
                buyer.credit_cents -= event.bidding.amount;
            } else {
                state = codes::high_bid::NOT_SOLD;
                applied = ChangeOutcome::Unpaid;
            }
        }
        let over = matches!(event.kind, EventKind::Sold | EventKind::NotSold);
        let row = HighBidRow {
            id: change.listing,
            auction_id: change.auction.0,
            item_id: event.bidding.item.0,
            bidder_id: event.bidding.bidder.0,
            amount_cents: event.bidding.amount,
            state,
            sequence,
            start_ms,
            end_ms: over.then_some(event.at_ms),
            bid_ms: change.bid_ms,
            bid_id: change.bid,
            round: change.round,
            fence: change.fence,
        };
        self.items.get_mut(&row.item_id).expect("only items are sold").state = match state {
            codes::high_bid::SOLD => codes::item::SOLD,
            codes::high_bid::NOT_SOLD => codes::item::IN_AUCTION,
            _ => codes::item::ACTIVE,
        };
        self.listings.insert(row.id, row);
        applied
    }

    /// The auction's latest listing that was sold in this run.
    pub(super) fn last_sale(&self, auction: i64) -> Option<&HighBidRow> {
        let sold = |row: &&HighBidRow| {
            row.auction_id == auction && row.state == codes::high_bid::SOLD && row.fence > 0
        };
        self.listings.values().filter(sold).max_by_key(|row| row.round)
    }

    /// The expected audit.
    pub(super) fn audit(&self) -> Audit {
        let mut offers: Vec<ListingAudit> = self.listings.values().map(|row| self.offered(row)).collect();
        offers.retain(|o| o.row.end_ms.is_none_or(|end| end >= CLOCK_START_MS));
        offers.sort_by_key(|o| (o.row.auction_id, o.row.round));
        let loaded = self.users.values().filter(|u| u.id <= self.initial.last_user);
        Audit {
            initial: self.initial,
            credit_cents: loaded.map(|u| u.credit_cents).sum(),
            below_zero: self.users.values().filter(|u| u.credit_cents < 0).count() as i64,
            offers,
        }
    }

    fn offered(&self, row: &HighBidRow) -> ListingAudit {
        let item = &self.items[&row.item_id];
        ListingAudit {
            row: row.clone(),
            preloaded: self.preloaded.contains(&row.id),
            starting_bid: item.starting_bid_cents,
            item_state: item.state,
        }
    }
}
