//! Counts of what the users of a load have committed, to be compared with the database after the run.

use barograph_database::CommitGaps;

use crate::input::{Request, TICKS};
use crate::transactions::End;

/// Counts of all users, and the times without a commit.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) counts: barograph_database::Tally<7>,
    pub(crate) gaps: CommitGaps,
}

/// Placed orders, those of them that wait for a price, triggered ones, completed ones, cents of their commissions, new prices,
/// changed settlements.
pub(crate) type Counts = [i64; 7];

/// The highest commission: of 800 units at the highest price and rate.
const MOST_COMMISSION: i64 = 60_000;

/// Pending orders that a feed triggers at the most.
const MOST_TRIGGERED: i64 = 10_000;

/// The counts of a transaction.
pub(crate) fn counts(ended: End) -> Counts {
    match ended {
        End::Read | End::RolledBack | End::Left => [0; 7],
        End::Placed { is_pending, .. } => [1, is_pending.into(), 0, 0, 0, 0, 0],
        End::Completed { commission } => [0, 0, 0, 1, commission, 0, 0],
        End::Fed { ticks, triggered } => [0, 0, triggered, 0, 0, ticks, 0],
        End::Amended { rows } => [0, 0, 0, 0, 0, 0, rows],
    }
}

/// The highest counts of a transaction whose result is not known yet.
pub(crate) fn most(request: &Request) -> Counts {
    match request {
        Request::PlaceOrder(order) => [1, order.kind.has_limit().into(), 0, 0, 0, 0, 0],
        Request::CompleteOrder(..) => [0, 0, 0, 1, MOST_COMMISSION, 0, 0],
        Request::MarketFeed(_) => [0, 0, MOST_TRIGGERED, 0, 0, TICKS as i64, 0],
        _ => [0; 7],
    }
}
