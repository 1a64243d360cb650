//! The market: a queue in the driver of the orders that customers have sent and that wait to be completed. It has a clock that
//! counts the cards that users draw, and no thread: users complete its orders in their turns.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Longest time of an order at the market before it can be completed, on the market's clock.
pub(crate) const LONGEST_DELAY: i64 = 40;

/// Orders from which on every turn completes one, which bounds the queue.
const MOST_WAITING: usize = 65_536;

/// Most turns of the market that are caught up on.
const MOST_OWED: u32 = 1_000;

/// The queue.
#[derive(Debug)]
pub(crate) struct Market(Mutex<State>);

#[derive(Debug)]
struct State {
    clock: i64,
    /// Orders by the time from which on they can be completed.
    waiting: BinaryHeap<Reverse<(i64, i64)>>,
    /// Turns of the market that found no order to complete.
    owed: u32,
}

/// What a user does in its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// What its card says.
    Card,
    /// Completes an order, and keeps its card unless it said so.
    Complete(i64),
    /// Draws another card, as there is no order to complete.
    Again,
}

impl Market {
    /// An empty queue whose clock stands at a date.
    pub(crate) fn new(clock: i64) -> Self {
        Market(Mutex::new(State { clock, waiting: BinaryHeap::new(), owed: 0 }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The turn of a user whose card is one of the market or of a customer.
    pub(crate) fn turn(&self, is_of_market: bool) -> Turn {
        let mut state = self.state();
        state.clock += 1;
        let is_due = state.waiting.peek().is_some_and(|Reverse((due, _))| *due <= state.clock);
        if is_due && (is_of_market || state.owed > 0 || state.waiting.len() >= MOST_WAITING) {
            state.owed = state.owed.saturating_sub(u32::from(!is_of_market));
            return state.waiting.pop().map_or(Turn::Card, |Reverse((_, trade))| Turn::Complete(trade));
        }
        if is_of_market {
            state.owed = (state.owed + 1).min(MOST_OWED);
            return Turn::Again;
        }
        Turn::Card
    }

    /// The time.
    pub(crate) fn now(&self) -> i64 {
        self.state().clock
    }

    /// Adds an order, which can be completed after a delay.
    pub(crate) fn add(&self, trade: i64, delay: i64) {
        let mut state = self.state();
        let due = state.clock + delay;
        state.waiting.push(Reverse((due, trade)));
    }

    /// The number of orders.
    pub(crate) fn backlog(&self) -> u64 {
        self.state().waiting.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_completed_when_they_are_due_and_turns_are_caught_up_on() {
        let market = Market::new(100);
        assert_eq!((market.turn(true), market.turn(false), market.now()), (Turn::Again, Turn::Card, 102));
        market.add(7, 3);
        market.add(8, 2);
        assert_eq!((market.turn(false), market.backlog()), (Turn::Card, 2));
        // The turn that found nothing is owed.
        assert_eq!((market.turn(false), market.turn(false)), (Turn::Complete(8), Turn::Card));
        assert_eq!(
            (market.turn(true), market.turn(true), market.backlog()),
            (Turn::Complete(7), Turn::Again, 0)
        );
    }

    #[test]
    fn a_full_queue_has_every_turn() {
        let market = Market::new(0);
        (0..=MOST_WAITING as i64).for_each(|trade| market.add(trade, 0));
        assert_eq!([market.turn(false), market.turn(false)], [Turn::Complete(0), Turn::Complete(1)]);
        assert_eq!(market.turn(false), Turn::Card);
    }
}
