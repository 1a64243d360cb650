//! Checks of the stored data against the rules after a run.
//!
//! The relational store is read first and the events second, so that every change in the first has its bid in
//! the second. Writes of the last seconds may still be on their way between the stores, on this node or
//! another, and are not checked yet.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use barograph_auction_api::{CheckCounts, CheckReport, Millis};
use barograph_auction_rules::{IDLE_MS, UNSOLD};
use barograph_auction_store::{
    Audit, BidRow, BidSettlement, HighBidRow, ListingAudit, StoreError, StoreFuture, codes, fate,
};

use tokio::time::timeout;

use crate::app::App;

/// Findings of one kind that are listed; the rest is only counted.
const MAX_FINDINGS: usize = 20;

/// Age below which a change may not have reached all stores. It takes milliseconds, on a busy machine
/// seconds.
const ON_ITS_WAY_MS: Millis = 5_000;

/// Allowed difference between the clocks of nodes.
const CLOCKS_MS: Millis = 1_000;

/// Time limit of a check that waits for another one to end.
const WAIT: Duration = Duration::from_secs(30);

/// Checks all stored data, and what was published here. One check runs at a time; others wait, and are
/// refused as busy after a time limit.
pub(crate) async fn check(app: &App) -> Result<CheckReport, StoreError> {
    let _alone = timeout(WAIT, app.checking.lock()).await.map_err(|_| StoreError::Full)?;
    let settled_by = app.clock.now() - ON_ITS_WAY_MS;
    let audit = app.relational.audit().await?;
    let mut bids = app.events.run_bids().await?;
    as_audited(&audit, &mut bids, |listing| app.decisions.listing(listing)).await?;
    let doubles = app.events.double_attendance().await?;
    let published = app.channels.counts();
    let mut findings = Findings::default();
    let counts = CheckCounts {
        updates: published.updates,
        resynced: published.resyncs,
        ..stores(&audit, &bids, settled_by, &mut findings)
    };
    for (user, auction) in doubles {
        findings.add("attendance", format!("user {user} attends auction {auction} more than once at a time"));
    }
    if published.gaps > 0 {
        findings.add("gap", format!("{} published updates did not follow on the one before", published.gaps));
    }
    let findings = findings.finish();
    Ok(CheckReport { ok: findings.is_empty(), findings, counts })
}

/// Resets bids that won after the audit to their state at the audit. The sale is stored first, so a second
/// look at the listing shows whether there was one since.
async fn as_audited<'a>(
    audit: &Audit,
    bids: &mut [BidRow],
    look: impl Fn(i64) -> StoreFuture<'a, Option<HighBidRow>>,
) -> Result<(), StoreError> {
    let sold = |row: &HighBidRow| row.state == codes::high_bid::SOLD;
    let unsold: HashSet<i64> =
        audit.offers.iter().map(|o| &o.row).filter(|r| !sold(r)).map(|r| r.id).collect();
    for bid in bids.iter_mut().filter(|bid| bid.state == codes::bid::WINNING && unsold.contains(&bid.listing))
    {
        if look(bid.listing).await?.is_some_and(|row| sold(&row) && row.bid_id == bid.id) {
            bid.state = codes::bid::HIGH;
        }
    }
    Ok(())
}

/// Checks the two stores against each other and against the rules.
fn stores(audit: &Audit, bids: &[BidRow], settled_by: Millis, findings: &mut Findings) -> CheckCounts {
    let mut by_listing: HashMap<i64, Vec<&BidRow>> = HashMap::new();
    let listings: HashMap<i64, &HighBidRow> = audit.offers.iter().map(|o| (o.row.id, &o.row)).collect();
    let mut proposed = 0;
    for bid in bids {
        let row = listings.get(&bid.listing).copied();
        let counts = match bid.state {
            codes::bid::VOID => false,
            codes::bid::PROPOSED => fate(bid, row) == BidSettlement::Accepted,
            // Taken by both stores after the first one was read.
            _ => bid.bid_ms < settled_by || row.is_some_and(|row| row.sequence >= bid.sequence),
        };
        if counts {
            by_listing.entry(bid.listing).or_default().push(bid);
        } else {
            proposed += 1;
        }
    }
    let mut accepted = 0;
    for offer in &audit.offers {
        let own = by_listing.remove(&offer.row.id).unwrap_or_default();
        accepted += own.len() as u64;
        check_offer(offer, &own, settled_by, findings);
    }
    for (listing, stray) in &by_listing {
        findings
            .add("stray", format!("{} bids belong to listing {listing}, which does not exist", stray.len()));
    }
    check_rounds(audit, findings);
    check_credit(audit, findings);
    CheckCounts {
        offers: audit.offers.len() as u64,
        bids: accepted,
        sales: audit.offers.iter().filter(|o| o.row.state == codes::high_bid::SOLD).count() as u64,
        proposed,
        users: u64::try_from(audit.initial.users).unwrap_or(0),
        ..CheckCounts::default()
    }
}

/// Listings of an auction follow each other without gaps, and only the last may be open: no auction has two owners.
fn check_rounds(audit: &Audit, findings: &mut Findings) {
    for pair in audit.offers.windows(2) {
        let (before, after) = (&pair[0].row, &pair[1].row);
        if before.auction_id != after.auction_id {
            continue;
        }
        let auction = after.auction_id;
        if after.round != before.round + 1 {
            findings.add(
                "rounds",
                format!("auction {auction}: listing number {} followed {}", after.round, before.round),
            );
        }
        if matches!(before.state, codes::high_bid::OPEN | codes::high_bid::LAST_CALL) {
            findings.add("rounds", format!("auction {auction}: two items are on sale at the same time"));
        }
        if after.fence < before.fence {
            findings.add(
                "rounds",
                format!("auction {auction}: an owner that was followed by another wrote again"),
            );
        }
    }
}

/// Credit only moves by sales: the present credit and the payments add up to the initial credit.
fn check_credit(audit: &Audit, findings: &mut Findings) {
    let initial = &audit.initial;
    let paid: i64 = audit
        .offers
        .iter()
        .filter(|o| o.row.state == codes::high_bid::SOLD && o.row.bidder_id <= initial.last_user)
        .map(|o| o.row.amount_cents)
        .sum();
    let now = audit.credit_cents;
    if now + paid != initial.credit_cents {
        let (sum, before) = (now + paid, initial.credit_cents);
        findings.add(
            "credit",
            format!("credit of {now} cents and sales of {paid} make {sum}, but there were {before}"),
        );
    }
    if audit.below_zero > 0 {
        findings.add("credit", format!("{} users have less than no credit", audit.below_zero));
    }
}

/// One listing against its bids, in the order of their sequence numbers.
fn check_offer(offer: &ListingAudit, bids: &[&BidRow], settled_by: Millis, findings: &mut Findings) {
    let (row, item) = (&offer.row, offer.row.item_id);
    for pair in bids.windows(2) {
        if pair[1].amount_cents <= pair[0].amount_cents {
            let (first, second) = (pair[0].amount_cents, pair[1].amount_cents);
            findings.add("order", format!("item {item}: a bid of {second} followed one of {first}"));
        }
        if !follows((pair[0].sequence, pair[0].bid_ms), pair[1]) {
            let (first, second) = (pair[0].sequence, pair[1].sequence);
            findings.add("sequence", format!("item {item}: bid number {second} followed {first}"));
        }
    }
    let sold = row.state == codes::high_bid::SOLD;
    if sold && row.bidder_id == UNSOLD.0 {
        findings.add("paid", format!("item {item}: sold to nobody"));
    }
    let Some(last) = bids.last() else {
        // Bidding that had begun before the run may have no bid of this run.
        let untouched = (row.amount_cents, row.bidder_id) == (offer.starting_bid, UNSOLD.0);
        if !offer.preloaded && (sold || !untouched) {
            findings.add("high", format!("item {item}: has a highest bid but no bids"));
        }
        return;
    };
    if (last.amount_cents, last.bidder_id, last.id) != (row.amount_cents, row.bidder_id, row.bid_id) {
        findings.add(
            "high",
            format!(
                "item {item}: highest bid is {} by user {}, greatest accepted one {} by user {}",
                row.amount_cents, row.bidder_id, last.amount_cents, last.bidder_id
            ),
        );
    }
    let after = match row.state {
        codes::high_bid::OPEN => 0,
        codes::high_bid::LAST_CALL => 1,
        _ => 2,
    };
    if row.sequence != last.sequence + after {
        findings.add(
            "sequence",
            format!("item {item}: number {} after the last bid's {}", row.sequence, last.sequence),
        );
    }
    check_first(offer, bids[0], findings);
    check_winner(offer, bids, settled_by, findings);
}

/// Whether a bid directly follows a change, or follows the last call after it, which comes after the idle
/// limit.
fn follows((sequence, at_ms): (i64, Millis), bid: &BidRow) -> bool {
    match bid.sequence - sequence {
        1 => true,
        2 => bid.bid_ms - at_ms >= IDLE_MS - CLOCKS_MS,
        _ => false,
    }
}

/// The first bid of a fresh listing follows its beginning, or a last call after it.
fn check_first(offer: &ListingAudit, first: &BidRow, findings: &mut Findings) {
    if !offer.preloaded && !follows((1, offer.row.start_ms), first) {
        let item = offer.row.item_id;
        findings.add("sequence", format!("item {item}: the first bid has number {}", first.sequence));
    }
    if !offer.preloaded && first.amount_cents <= offer.starting_bid {
        findings.add("order", format!("item {}: the first bid is not above the start", offer.row.item_id));
    }
}

/// Only the last bid of a sale is marked as the winner; after a very recent sale the mark may be missing.
fn check_winner(offer: &ListingAudit, bids: &[&BidRow], settled_by: Millis, findings: &mut Findings) {
    let sold = offer.row.state == codes::high_bid::SOLD;
    let winners = bids.iter().filter(|b| b.state == codes::bid::WINNING).count();
    let last_wins = bids.last().is_some_and(|b| b.state == codes::bid::WINNING);
    let fresh = offer.row.end_ms.is_some_and(|end| end >= settled_by);
    let right = if sold { winners == usize::from(last_wins) && (last_wins || fresh) } else { winners == 0 };
    if !right {
        let item = offer.row.item_id;
        findings.add("paid", format!("item {item}: not exactly the last bid of a sale is its winner"));
    }
}

#[derive(Default)]
struct Findings(HashMap<&'static str, Vec<String>>);

impl Findings {
    fn add(&mut self, kind: &'static str, text: String) {
        self.0.entry(kind).or_default().push(text);
    }

    fn finish(self) -> Vec<String> {
        let mut all = Vec::new();
        for (kind, texts) in self.0 {
            let more = texts.len().saturating_sub(MAX_FINDINGS);
            all.extend(texts.into_iter().take(MAX_FINDINGS));
            if more > 0 {
                all.push(format!("and {more} more of the kind {kind}"));
            }
        }
        all.sort();
        all
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;
    use crate::publisher::tests::{bid, row};

    const BID: i64 = 22;

    /// Findings about a last call whose bid was marked as the winner when the bids were read; `now` is the
    /// listing at a second look.
    fn found(now: Option<&HighBidRow>) -> Vec<String> {
        let row = row(3, 1, codes::high_bid::LAST_CALL, BID);
        let audit = Audit {
            offers: vec![ListingAudit { row, preloaded: false, starting_bid: 300, item_state: 0 }],
            ..Audit::default()
        };
        let mut bids = [BidRow { state: codes::bid::WINNING, ..bid(BID, 2, 1) }];
        let look = |_: i64| -> StoreFuture<'_, _> { std::future::ready(Ok(now.cloned())).boxed() };
        as_audited(&audit, &mut bids, look).now_or_never().unwrap().unwrap();
        let mut findings = Findings::default();
        stores(&audit, &bids, IDLE_MS, &mut findings);
        findings.finish()
    }

    #[test]
    fn a_sale_between_the_two_looks_is_no_finding() {
        assert_eq!(found(Some(&row(4, 1, codes::high_bid::SOLD, BID))), Vec::<String>::new());
        let wrong = ["item 2: not exactly the last bid of a sale is its winner"];
        for now in [
            None,
            Some(row(3, 1, codes::high_bid::LAST_CALL, BID)),
            Some(row(4, 1, codes::high_bid::SOLD, BID + 1)),
        ] {
            assert_eq!(found(now.as_ref()), wrong, "{now:?}");
        }
    }
}
