//! Application of changes of auctions: the hot path.
//!
//! Two exchanges with the server for any number of changes. The first locks: the auctions' fences, so that a
//! claim waits and two applications of the same changes come one after the other, and the buyers' credit;
//! rows of users are locked in the order of their ids, as everything here is. The second writes the result of
//! [`crate::fold`], and commits.

use barograph_auction_store::{Change, ChangeOutcome, HighBidRow, StoreError};

use crate::fold::{FoldedChanges, LockedRows, concerned, fold};
use crate::rows::{self, HIGH_BID};
use crate::sql::Sql;
use crate::value::{Answer, Statement, Value, values};

/// Locks the fences of auctions, in order of their ids.
pub(crate) const LOCK_FENCES: &str =
    "SELECT auction_id, fence FROM barograph_ownership WHERE auction_id ?in ORDER BY auction_id FOR UPDATE";

/// Locks the credits of users, in order of their ids.
const LOCK_CREDITS: &str = "SELECT id, credit_cents FROM barograph_user WHERE id ?in ORDER BY id FOR UPDATE";

/// Inserts listings, or replaces their state.
const WRITE_LISTINGS: &str = "INSERT INTO barograph_high_bid (id, auction_id, item_id, bidder_id, amount_cents, state, \
     sequence, start_ms, end_ms, bid_ms, bid_id, round, fence, preloaded) ?rows {conflict id} \
     bidder_id = {new bidder_id}, amount_cents = {new amount_cents}, state = {new state}, sequence = {new sequence}, \
     end_ms = {new end_ms}, bid_ms = {new bid_ms}, bid_id = {new bid_id}, round = {new round}, fence = {new fence}";

impl Sql {
    pub(crate) async fn apply_changes(&self, changes: &[Change]) -> Result<Vec<ChangeOutcome>, StoreError> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let [auctions, listings, buyers] = concerned(changes);
        let mut locks = vec![
            Statement::new(LOCK_FENCES, values![auctions]),
            Statement::new(format!("{HIGH_BID} WHERE h.id ?in"), values![listings]),
        ];
        if !buyers.is_empty() {
            locks.push(Statement::new(LOCK_CREDITS, values![buyers]));
        }
        self.transact("apply changes", locks, |answers| {
            let mut folded = fold(changes, held(answers)?);
            let answers = std::mem::take(&mut folded.answers);
            Ok((writes(&folded), answers))
        })
        .await
    }
}

fn held(answers: &[Answer]) -> Result<LockedRows, StoreError> {
    let mut held = LockedRows::default();
    if let [fences, listings, credits @ ..] = answers {
        for row in &fences.rows {
            held.fences.insert(row.int(0)?, row.int(1)?);
        }
        for row in &listings.rows {
            let row = rows::high_bid(row)?;
            held.listings.insert(row.id, row);
        }
        for row in credits.iter().flat_map(|answer| &answer.rows) {
            held.credits.insert(row.int(0)?, row.int(1)?);
        }
    }
    Ok(held)
}

fn writes(folded: &FoldedChanges) -> Vec<Statement> {
    let mut statements = Vec::new();
    if !folded.listings.is_empty() {
        let columns = columns(folded.listings.values());
        statements.push(Statement::new(WRITE_LISTINGS, vec![Value::Columns(columns)]));
    }
    // One after the other: a batch has few sales, and each is of another user.
    for (user, credit) in &folded.credits {
        let sql = "UPDATE barograph_user SET credit_cents = ? WHERE id = ?";
        statements.push(Statement::new(sql, values![*credit, *user]));
    }
    let mut states: Vec<i64> = folded.items.values().copied().collect();
    states.sort_unstable();
    states.dedup();
    for state in states {
        let items: Vec<i64> = folded.items.iter().filter(|(_, s)| **s == state).map(|(id, _)| *id).collect();
        let sql = "UPDATE barograph_item SET state = ? WHERE id ?in";
        statements.push(Statement::new(sql, values![state, items]));
    }
    statements
}

/// Listings column by column, in the order of [`WRITE_LISTINGS`].
fn columns<'a>(rows: impl Iterator<Item = &'a HighBidRow>) -> Vec<Vec<Option<i64>>> {
    const NOT_PRELOADED: i64 = 0;
    let mut columns: Vec<Vec<Option<i64>>> = vec![Vec::new(); 14];
    for row in rows {
        let values = [
            Some(row.id),
            Some(row.auction_id),
            Some(row.item_id),
            Some(row.bidder_id),
            Some(row.amount_cents),
            Some(row.state),
            Some(row.sequence),
            Some(row.start_ms),
            row.end_ms,
            Some(row.bid_ms),
            Some(row.bid_id),
            Some(row.round),
            Some(row.fence),
            Some(NOT_PRELOADED),
        ];
        for (column, value) in columns.iter_mut().zip(values) {
            column.push(value);
        }
    }
    columns
}
