//! Bids in PostgreSQL: written in batches, settled, and read by user.

use std::collections::BTreeMap;

use barograph_auction_api::{BidRecord, Page};
use barograph_auction_store::{BidRow, PageWindow, SettledBid, StoreError};
use tokio_postgres::Row;

use super::link::{STORE, bulk, failed, lost_race, read, write};
use super::{Postgres, document, text};
use crate::documents::BidDocument;
use crate::failure::{RACES, StoreAction};
use crate::histories;

/// Inserts proposed bids. Those already inserted are unchanged.
const PROPOSE: &str = "
    INSERT INTO auction_events.bid (bidder, ms, id, auction, doc)
    SELECT bidder, ms, id, auction, doc::jsonb
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[]) AS new (bidder, ms, id, auction, doc)
    ON CONFLICT DO NOTHING";

/// Changes the states of bids. Only a proposed bid becomes the highest.
const SETTLE: &str = "
    UPDATE auction_events.bid SET doc = jsonb_set(bid.doc, '{state}', to_jsonb(new.state))
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) AS new (bidder, ms, id, state)
    WHERE bid.bidder = new.bidder AND bid.ms = new.ms AND bid.id = new.id AND bid.doc->>'state' <> new.state::text
      AND (new.state <> 0 OR bid.doc->>'state' = '2')";

/// Proposed bids of an auction, by id.
const UNSETTLED: &str = "
    SELECT bidder, id, doc::text FROM auction_events.bid WHERE auction = $1 AND doc->>'state' = '2' ORDER BY id";

/// One scan of the user's rows gives the page and the total.
const HISTORY: &str = "
    SELECT bidder, id, doc::text, count(*) OVER () FROM auction_events.bid
    WHERE bidder = $1 AND doc->>'state' <> '3' ORDER BY ms DESC, id DESC LIMIT $2 OFFSET $3";

/// The total, for a page behind the last row.
const TOTAL: &str = "SELECT count(*) FROM auction_events.bid WHERE bidder = $1 AND doc->>'state' <> '3'";

/// All bids except the loaded ones, for the data checks.
const OF_THE_RUN: &str = "SELECT bidder, id, doc::text FROM auction_events.bid WHERE NOT loaded";

/// The columns of proposed bids.
#[derive(Default)]
struct ProposedBids {
    bidders: Vec<i64>,
    times: Vec<i64>,
    ids: Vec<i64>,
    auctions: Vec<i64>,
    documents: Vec<String>,
}

/// The columns of settlements.
#[derive(Default)]
struct Settlements {
    bidders: Vec<i64>,
    times: Vec<i64>,
    ids: Vec<i64>,
    states: Vec<i64>,
}

impl ProposedBids {
    /// The columns, in the order of the key, so that two writers of the same bids do not deadlock.
    fn of(bids: &[BidRow]) -> Result<Self, StoreError> {
        let mut sorted: Vec<&BidRow> = bids.iter().collect();
        sorted.sort_unstable_by_key(|bid| (bid.bidder_id, bid.bid_ms, bid.id));
        let mut columns = Self::default();
        for bid in sorted {
            columns.bidders.push(bid.bidder_id);
            columns.times.push(bid.bid_ms);
            columns.ids.push(bid.id);
            columns.auctions.push(bid.auction_id);
            columns.documents.push(text(&BidDocument::of(bid))?);
        }
        Ok(columns)
    }
}

impl Settlements {
    /// The last settlement of each bid.
    fn of(settled: &[SettledBid]) -> Self {
        let last: BTreeMap<(i64, i64, i64), i64> = settled
            .iter()
            .map(|settlement| ((settlement.bidder.0, settlement.bid_ms, settlement.bid), settlement.state))
            .collect();
        let mut columns = Self::default();
        for ((bidder, time, id), state) in last {
            columns.bidders.push(bidder);
            columns.times.push(time);
            columns.ids.push(id);
            columns.states.push(state);
        }
        columns
    }
}

impl Postgres {
    pub(super) async fn write_bids(
        &self,
        proposed: &[BidRow],
        settled: &[SettledBid],
    ) -> Result<(), StoreError> {
        let deed = write("write bids");
        let (proposed, settled) = (ProposedBids::of(proposed)?, Settlements::of(settled));
        match (proposed.ids.is_empty(), settled.ids.is_empty()) {
            (true, true) => Ok(()),
            (false, true) => {
                let ProposedBids { bidders, times, ids, auctions, documents } = &proposed;
                self.link.execute(deed, PROPOSE, &[bidders, times, ids, auctions, documents]).await.map(drop)
            }
            (true, false) => {
                let Settlements { bidders, times, ids, states } = &settled;
                self.link.execute(deed, SETTLE, &[bidders, times, ids, states]).await.map(drop)
            }
            (false, false) => self.write_both(deed, &proposed, &settled).await,
        }
    }

    /// Writes both in one transaction, with all statements sent before the first is answered. If one fails,
    /// the commit that follows undoes the others.
    async fn write_both(
        &self,
        deed: StoreAction,
        proposed: &ProposedBids,
        settled: &Settlements,
    ) -> Result<(), StoreError> {
        let mut tries = 1;
        loop {
            let lease = self.link.lease(deed).await?;
            let client = lease.client();
            let written = async {
                let propose = client.prepare_cached(PROPOSE).await?;
                let settle = client.prepare_cached(SETTLE).await?;
                let ProposedBids { bidders, times, ids, auctions, documents } = proposed;
                let proposals: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
                    [bidders, times, ids, auctions, documents];
                let Settlements { bidders, times, ids, states } = settled;
                let settlements: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
                    [bidders, times, ids, states];
                futures::future::try_join4(
                    client.batch_execute("BEGIN"),
                    client.execute(&propose, &proposals),
                    client.execute(&settle, &settlements),
                    client.batch_execute("COMMIT"),
                )
                .await
            };
            match deed.within(async { Ok(written.await) }).await? {
                Ok(_) => {
                    lease.give_back();
                    return Ok(());
                }
                Err(error) if lost_race(&error) && tries < RACES => tries += 1,
                Err(error) => return Err(failed(deed, error)),
            }
        }
    }

    pub(super) async fn unsettled_bids(&self, auction: i64) -> Result<Vec<BidRow>, StoreError> {
        self.link.query(read("read unsettled bids"), UNSETTLED, &[&auction]).await?.iter().map(bid).collect()
    }

    pub(super) async fn bid_history(
        &self,
        user: i64,
        window: PageWindow,
    ) -> Result<Page<BidRecord>, StoreError> {
        let deed = read("read a user's bids");
        let (rows, total) = self.history(deed, [HISTORY, TOTAL], (user, window)).await?;
        let records = rows.iter().map(|row| histories::bid(STORE, &bid(row)?)).collect::<Result<_, _>>()?;
        Ok(histories::page(records, window, total))
    }

    pub(super) async fn bids_of_run(&self) -> Result<Vec<BidRow>, StoreError> {
        let rows = self.link.query(bulk(read("read the bids of the run")), OF_THE_RUN, &[]).await?;
        let mut bids = rows.iter().map(bid).collect::<Result<Vec<_>, _>>()?;
        histories::sort_by_listing(&mut bids);
        Ok(bids)
    }
}

/// A bid in the columns bidder, id, document.
fn bid(row: &Row) -> Result<BidRow, StoreError> {
    Ok(document::<BidDocument>(row, 2)?.row(row.get(0), row.get(1)))
}
