//! Ids of new rows, unique among all nodes without coordination.

use std::sync::atomic::{AtomicI64, Ordering};

/// First id of rows made in a run; filled rows stay far below.
const RUN_IDS: i64 = 1 << 40;

/// Bits of the counter within a node's share: 8 thousand million rows.
const COUNTER_BITS: u32 = 33;

/// Number of nodes after which their numbers repeat, so that ids stay below 2^53, up to which numbers in JSON
/// are exact. By then a million nodes have registered since the stores were loaded.
const NODES: i64 = (1 << (53 - COUNTER_BITS)) - (RUN_IDS >> COUNTER_BITS) - 1;

/// A source of ids.
#[derive(Debug)]
pub(crate) struct Ids(AtomicI64);

impl Ids {
    /// The ids of the node with this number; no other node has them.
    pub(crate) fn of_node(number: i64) -> Self {
        Ids(AtomicI64::new(RUN_IDS + (number.rem_euclid(NODES) << COUNTER_BITS)))
    }

    /// Whether an id was given in a run, by any node.
    pub(crate) fn is_of_a_run(id: i64) -> bool {
        id >= RUN_IDS
    }

    /// Returns the next id.
    pub(crate) fn next(&self) -> i64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_shares_of_their_own_that_json_can_carry() {
        let (one, two) = (Ids::of_node(1), Ids::of_node(2));
        assert_eq!(one.next() + 1, one.next());
        assert_eq!(two.next() - Ids::of_node(1).next(), 1 << COUNTER_BITS);
        assert!(Ids::of_node(NODES - 1).next() + (1 << COUNTER_BITS) <= 1 << 53);
        assert!(Ids::of_node(1).next() > RUN_IDS);
    }
}
