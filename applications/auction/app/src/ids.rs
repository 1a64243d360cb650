//! Names for new rows, unique among all nodes without asking anybody.

use std::sync::atomic::{AtomicI64, Ordering};

/// Ids of rows made in a run begin here; filled rows stay far below.
const RUN_IDS: i64 = 1 << 40;

/// Bits of the counter within a node's share: 8 thousand million rows.
const COUNTER_BITS: u32 = 33;

/// Numbers of nodes start again here, so that ids stay below 2^53, up to which numbers in JSON are exact. By then a
/// million nodes have enlisted since the stores were loaded.
const NODES: i64 = (1 << (53 - COUNTER_BITS)) - (RUN_IDS >> COUNTER_BITS) - 1;

/// Gives ids.
#[derive(Debug)]
pub(crate) struct Ids(AtomicI64);

impl Ids {
    /// The ids of the node with this number, which no other node has.
    pub(crate) fn of_node(number: i64) -> Self {
        Ids(AtomicI64::new(RUN_IDS + (number.rem_euclid(NODES) << COUNTER_BITS)))
    }

    /// Whether an id was given in a run, by whichever node.
    pub(crate) fn is_of_a_run(id: i64) -> bool {
        id >= RUN_IDS
    }

    /// The next id.
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
