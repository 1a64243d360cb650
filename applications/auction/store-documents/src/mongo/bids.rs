//! Bids: entries of their bidder's documents, and lists of possibly unsettled bids by auction.

use std::collections::{BTreeMap, HashMap};

use barograph_auction_api::{BidRecord, Page, UserId};
use barograph_auction_store::{BidRow, PageWindow, SettledBid, StoreError, codes};
use mongodb::bson::serialize_to_bson;
use serde::{Deserialize, Serialize};

use super::link::{Change, STORE, read, write};
use super::{LOADED_BIDS, Mongo, Pair, RUN_BIDS, UNSETTLED, parts};
use crate::documents::BidDocument;
use crate::failure::{StoreAction, refused};
use crate::histories;

/// Collections of bids.
pub(super) const BIDS: Pair = Pair { loaded: LOADED_BIDS, run: RUN_BIDS };

/// Bids whose auction is remembered until they are settled, so that they can be removed from the auction's
/// list: a second of the bids of a fast server. Bids beyond them stay on the list and cost useless lookups.
const REMEMBERED: usize = 65_536;

/// One part of a bidder's bids.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Bidder {
    #[serde(rename = "_id")]
    pub(super) id: String,
    /// Bids by id, as proposed or loaded.
    #[serde(default)]
    pub(super) b: BTreeMap<String, BidDocument>,
    /// Settled states, by id of the bid.
    #[serde(default)]
    pub(super) s: BTreeMap<String, i64>,
}

/// One part of an auction's list of possibly unsettled bids.
#[derive(Debug, Deserialize)]
struct Auction {
    #[serde(default)]
    u: BTreeMap<String, i64>,
}

/// Bids proposed through this store. It only saves work: a forgotten bid is found to be settled in its
/// bidder's documents.
#[derive(Debug, Default)]
pub(super) struct UnsettledBids {
    /// Auctions by unsettled bid.
    auctions: HashMap<i64, i64>,
    /// Settled bids that are still on their auction's list, by auction.
    settled: HashMap<i64, Vec<i64>>,
}

impl UnsettledBids {
    fn proposed(&mut self, bid: i64, auction: i64) {
        if self.auctions.len() < REMEMBERED {
            self.auctions.insert(bid, auction);
        }
    }

    fn settle(&mut self, bid: i64) {
        if let Some(auction) = self.auctions.remove(&bid) {
            self.settled.entry(auction).or_default().push(bid);
        }
    }
}

impl Mongo {
    pub(super) async fn write_bids(
        &self,
        proposed: &[BidRow],
        settled: &[SettledBid],
    ) -> Result<(), StoreError> {
        let _turn = self.parts.turn().await?;
        // First the lists: a bid that is only on a list does not exist, but a bid that is on no list is never
        // settled.
        let lists = self.list_changes(proposed);
        self.link.update(write("list proposed bids"), UNSETTLED, &lists).await?;
        let changes = self.bidder_changes(proposed, settled)?;
        self.link.update(write("write bids"), RUN_BIDS, &changes).await?;
        let mut unsettled = self.unsettled.lock().expect("nothing panics while this lock is held");
        for bid in proposed.iter().filter(|bid| bid.state == codes::bid::PROPOSED) {
            unsettled.proposed(bid.id, bid.auction_id);
        }
        for settlement in settled.iter().filter(|settlement| settlement.state != codes::bid::PROPOSED) {
            unsettled.settle(settlement.bid);
        }
        Ok(())
    }

    /// Puts proposed bids on their auctions' lists, and removes bids settled since.
    fn list_changes(&self, proposed: &[BidRow]) -> Vec<Change> {
        let mut unsettled = self.unsettled.lock().expect("nothing panics while this lock is held");
        let mut changes: BTreeMap<i64, Change> = BTreeMap::new();
        for bid in proposed.iter().filter(|bid| bid.state == codes::bid::PROPOSED) {
            let change =
                changes.entry(bid.auction_id).or_insert_with(|| Change::new(self.parts.own(bid.auction_id)));
            change.set.insert(format!("u.{}", bid.id), bid.bidder_id);
        }
        for (auction, change) in &mut changes {
            for bid in unsettled.settled.remove(auction).into_iter().flatten() {
                let field = format!("u.{bid}");
                if !change.set.contains_key(&field) {
                    change.unset.insert(field, "");
                }
            }
        }
        changes.into_values().collect()
    }

    fn bidder_changes(&self, proposed: &[BidRow], settled: &[SettledBid]) -> Result<Vec<Change>, StoreError> {
        let mut changes: BTreeMap<i64, Change> = BTreeMap::new();
        for bid in proposed {
            let document = serialize_to_bson(&BidDocument::of(bid))
                .map_err(|error| refused(STORE, "write a bid as a document", error.to_string()))?;
            let change =
                changes.entry(bid.bidder_id).or_insert_with(|| Change::new(self.parts.own(bid.bidder_id)));
            change.set.insert(format!("b.{}", bid.id), document);
        }
        for settlement in settled {
            let bidder = settlement.bidder.0;
            let change = changes.entry(bidder).or_insert_with(|| Change::new(self.parts.own(bidder)));
            change.set.insert(format!("s.{}", settlement.bid), settlement.state);
        }
        Ok(changes.into_values().collect())
    }

    pub(super) async fn unsettled_bids(&self, auction: i64) -> Result<Vec<BidRow>, StoreError> {
        let deed = read("read unsettled bids");
        let lists: Vec<Auction> = self.gather_written(deed, UNSETTLED, &[auction]).await?;
        let mut bidders: Vec<i64> = lists.iter().flat_map(|list| list.u.values().copied()).collect();
        bidders.sort_unstable();
        bidders.dedup();
        if bidders.is_empty() {
            return Ok(Vec::new());
        }
        let listed = |id: i64| lists.iter().any(|list| list.u.contains_key(&id.to_string()));
        let mut bids = self.bids_of(deed, &bidders).await?;
        bids.retain(|bid| bid.auction_id == auction && bid.state == codes::bid::PROPOSED && listed(bid.id));
        bids.sort_unstable_by_key(|bid| bid.id);
        let mut unsettled = self.unsettled.lock().expect("nothing panics while this lock is held");
        for bid in &bids {
            unsettled.proposed(bid.id, auction);
        }
        Ok(bids)
    }

    pub(super) async fn bid_history(
        &self,
        user: UserId,
        window: PageWindow,
    ) -> Result<Page<BidRecord>, StoreError> {
        let mut bids = self.bids_of(read("read a user's bids"), &[user.0]).await?;
        bids.retain(|bid| bid.state != codes::bid::VOID);
        histories::latest_first(&mut bids, |bid| (bid.bid_ms, bid.id));
        let (total, shown) = histories::slice(bids, window);
        let records = shown.map(|bid| histories::bid(STORE, &bid)).collect::<Result<_, _>>()?;
        Ok(histories::page(records, window, total))
    }

    async fn bids_of(&self, deed: StoreAction, bidders: &[i64]) -> Result<Vec<BidRow>, StoreError> {
        merge(self.gather(deed, BIDS, bidders).await?)
    }

    pub(super) async fn bids_of_run(&self) -> Result<Vec<BidRow>, StoreError> {
        let mut bids = merge(self.link.scan(read("read the bids of the run"), RUN_BIDS).await?)?;
        histories::sort_by_listing(&mut bids);
        Ok(bids)
    }
}

/// The bids in some parts, each in its settled state. One part holds only the last settlement of a bid.
/// Between parts of different writers, whose order is unknown, the more definite one counts; by the rules of
/// [`barograph_auction_store::fate`] they never disagree on whether a bid was accepted.
fn merge(bidders: Vec<Bidder>) -> Result<Vec<BidRow>, StoreError> {
    let mut settled: HashMap<String, i64> = HashMap::new();
    for (bid, state) in bidders.iter().flat_map(|bidder| &bidder.s) {
        let known = settled.entry(bid.clone()).or_insert(*state);
        if says(*state) > says(*known) {
            *known = *state;
        }
    }
    let mut bids = Vec::new();
    for bidder in bidders {
        let key = parts::key(&bidder.id).ok_or_else(|| damaged(&bidder.id))?;
        for (name, mut document) in bidder.b {
            let id = name.parse().map_err(|_| damaged(&bidder.id))?;
            document.state = settled.get(&name).copied().unwrap_or(document.state);
            bids.push(document.row(key, id));
        }
    }
    // A bid that was proposed again through another store is in two parts.
    bids.sort_unstable_by_key(|bid| bid.id);
    bids.dedup_by_key(|bid| bid.id);
    Ok(bids)
}

/// Definiteness of a state.
fn says(state: i64) -> u8 {
    match state {
        codes::bid::PROPOSED => 0,
        codes::bid::HIGH => 1,
        codes::bid::VOID => 2,
        _ => 3,
    }
}

pub(super) fn damaged(id: &str) -> StoreError {
    refused(STORE, "read a document", format!("the document {id} has a name that is no number"))
}
