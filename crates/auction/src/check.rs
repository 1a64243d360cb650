//! Data checks: is what the stores hold after a run what the rules allow?

use std::collections::HashMap;
use std::path::PathBuf;

use barograph_auction_api::{Cents, CheckCounts, CheckReport, Millis};
use rusqlite::Connection;

use crate::codes;
use crate::live::UNSOLD;
use crate::schema::CLOCK_START_MS;
use crate::store::{Store, StoreError, count, open_for_reading};

/// Findings of one kind that are spelled out; the rest is only counted.
const MAX_FINDINGS: usize = 20;

/// What the stores held when the application started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Initial {
    credit: Cents,
    last_user: i64,
    users: u64,
}

impl Initial {
    /// Sums up the users.
    pub(crate) fn read(store: &Store) -> Result<Self, StoreError> {
        store.readers.read(|conn| {
            let sums = "SELECT coalesce(SUM(credit_cents), 0), coalesce(MAX(id), 0), COUNT(*) FROM user";
            conn.query_row(sums, [], |row| {
                Ok(Initial {
                    credit: row.get(0)?,
                    last_user: row.get(1)?,
                    users: u64::try_from(row.get::<_, i64>(2)?).unwrap_or(0),
                })
            })
        })
    }
}

/// A consistent view of both stores. Make it while no changes are being committed.
pub(crate) struct View {
    conn: Connection,
}

impl View {
    /// Opens the files and takes the view.
    pub(crate) fn take([relational, events]: &[PathBuf; 2]) -> Result<Self, StoreError> {
        let conn = open_for_reading(relational, events)?;
        conn.execute_batch("BEGIN")?;
        // A file's view is taken with the first read from it.
        for table in ["user", "events.bid"] {
            conn.query_row(&format!("SELECT COUNT(*) FROM (SELECT 1 FROM {table} LIMIT 1)"), [], |_| Ok(()))?;
        }
        Ok(View { conn })
    }

    /// Checks everything; `updates` are the published updates and how many of them left a gap.
    pub(crate) fn check(&self, initial: Initial, updates: (u64, u64)) -> Result<CheckReport, StoreError> {
        let mut findings = Findings::default();
        let mut bids = self.bids()?;
        let offers = self.offers()?;
        let mut counts = CheckCounts {
            offers: offers.len() as u64,
            bids: bids.values().map(|b| b.len() as u64).sum(),
            sales: offers.iter().filter(|o| o.state == codes::high_bid::SOLD).count() as u64,
            updates: updates.0,
            users: initial.users,
        };
        for offer in &offers {
            let all = bids.remove(&offer.item).unwrap_or_default();
            let (own, others): (Vec<Bid>, Vec<Bid>) = all.into_iter().partition(|b| offer.covers(b));
            check_offer(offer, &own, &mut findings);
            if !others.is_empty() {
                bids.insert(offer.item, others);
            }
        }
        for (item, stray) in &bids {
            findings.add("stray", format!("item {item} has {} bids while it was not on sale", stray.len()));
        }
        self.check_credit(initial, &mut findings)?;
        if updates.1 > 0 {
            findings.add("gap", format!("{} published updates did not follow on the one before", updates.1));
        }
        counts.users = initial.users;
        let findings = findings.finish();
        Ok(CheckReport { ok: findings.is_empty(), findings, counts })
    }

    /// Credit only moves by sales: what there is now and what was paid make up what there was.
    fn check_credit(&self, initial: Initial, findings: &mut Findings) -> Result<(), StoreError> {
        let now: Cents = self.conn.query_row(
            "SELECT coalesce(SUM(credit_cents), 0) FROM user WHERE id <= ?1",
            [initial.last_user],
            |row| row.get(0),
        )?;
        let paid: Cents = self.conn.query_row(
            "SELECT coalesce(SUM(amount_cents), 0) FROM high_bid WHERE state = ?1 AND end_ms >= ?2 AND bidder_id <= ?3",
            [codes::high_bid::SOLD, CLOCK_START_MS, initial.last_user],
            |row| row.get(0),
        )?;
        if now + paid != initial.credit {
            findings.add(
                "credit",
                format!(
                    "credit of {now} cents and sales of {paid} make {}, but there were {}",
                    now + paid,
                    initial.credit
                ),
            );
        }
        let below: u64 =
            self.conn.query_row("SELECT COUNT(*) FROM user WHERE credit_cents < 0", [], count)?;
        if below > 0 {
            findings.add("credit", format!("{below} users have less than no credit"));
        }
        Ok(())
    }

    /// Bids of this run by item, in the order they were accepted.
    fn bids(&self) -> Result<HashMap<i64, Vec<Bid>>, StoreError> {
        let mut query = self.conn.prepare(
            "SELECT item_id, bid_ms, bidder_id, amount_cents, sequence, state FROM events.bid \
             WHERE preloaded = 0 ORDER BY id",
        )?;
        let mut rows = query.query([])?;
        let mut bids: HashMap<i64, Vec<Bid>> = HashMap::new();
        while let Some(row) = rows.next()? {
            let bid = Bid {
                at: row.get(1)?,
                bidder: row.get(2)?,
                amount: row.get(3)?,
                sequence: row.get(4)?,
                state: row.get(5)?,
            };
            bids.entry(row.get(0)?).or_default().push(bid);
        }
        Ok(bids)
    }

    /// Every time an item was on sale in this run.
    fn offers(&self) -> Result<Vec<Offer>, StoreError> {
        let mut query = self.conn.prepare(
            "SELECT h.item_id, h.bidder_id, h.amount_cents, h.state, h.sequence, h.start_ms, h.end_ms, h.preloaded, \
             i.starting_bid_cents FROM high_bid h JOIN item i ON i.id = h.item_id \
             WHERE h.end_ms IS NULL OR h.end_ms >= ?1 ORDER BY h.id",
        )?;
        let rows = query.query_map([CLOCK_START_MS], |row| {
            Ok(Offer {
                item: row.get(0)?,
                bidder: row.get(1)?,
                amount: row.get(2)?,
                state: row.get(3)?,
                sequence: row.get(4)?,
                start: row.get(5)?,
                end: row.get(6)?,
                preloaded: row.get(7)?,
                starting_bid: row.get(8)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

struct Bid {
    at: Millis,
    bidder: i64,
    amount: Cents,
    sequence: i64,
    state: i64,
}

struct Offer {
    item: i64,
    bidder: i64,
    amount: Cents,
    state: i64,
    sequence: i64,
    start: Millis,
    end: Option<Millis>,
    /// Whether bidding had begun before this run.
    preloaded: bool,
    starting_bid: Cents,
}

impl Offer {
    fn covers(&self, bid: &Bid) -> bool {
        bid.at >= self.start && self.end.is_none_or(|end| bid.at < end)
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

fn check_offer(offer: &Offer, bids: &[Bid], findings: &mut Findings) {
    let item = offer.item;
    for pair in bids.windows(2) {
        if pair[1].amount <= pair[0].amount {
            findings.add(
                "order",
                format!("item {item}: a bid of {} followed one of {}", pair[1].amount, pair[0].amount),
            );
        }
        // Between two bids there is at most a last call.
        if !(1..=2).contains(&(pair[1].sequence - pair[0].sequence)) {
            findings.add(
                "sequence",
                format!("item {item}: bid number {} followed {}", pair[1].sequence, pair[0].sequence),
            );
        }
    }
    let sold = offer.state == codes::high_bid::SOLD;
    let ended = sold || offer.state == codes::high_bid::NOT_SOLD;
    match bids.last() {
        Some(last) => {
            if (last.amount, last.bidder) != (offer.amount, offer.bidder) {
                findings.add(
                    "high",
                    format!(
                        "item {item}: highest bid is {} by user {}, greatest accepted one {} by user {}",
                        offer.amount, offer.bidder, last.amount, last.bidder
                    ),
                );
            }
            let last_call = offer.state == codes::high_bid::LAST_CALL;
            let after = if ended { 2 } else { i64::from(last_call) };
            if offer.sequence != last.sequence + after {
                findings.add(
                    "sequence",
                    format!("item {item}: number {} after the last bid's {}", offer.sequence, last.sequence),
                );
            }
            let winning: Vec<bool> = bids.iter().map(|b| b.state == codes::bid::WINNING).collect();
            let expected: Vec<bool> = (1..=bids.len()).map(|n| sold && n == bids.len()).collect();
            if winning != expected {
                findings
                    .add("paid", format!("item {item}: not exactly the last bid of a sale is its winner"));
            }
        }
        None if !offer.preloaded
            && (sold || (offer.amount, offer.bidder) != (offer.starting_bid, UNSOLD.0)) =>
        {
            findings.add("high", format!("item {item}: has a highest bid but no bids"));
        }
        None => {}
    }
}
