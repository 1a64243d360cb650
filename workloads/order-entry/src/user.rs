//! A user at its warehouse: which transaction is next, what it asks for, and what becomes of it.

use std::sync::{Arc, Mutex};

use barograph_data::Stream;
use barograph_engine::Turn;
use barograph_model::{CounterId, OpId, OpSpec, Outcome};
use barograph_workload::{Failure, Reasons};
use rand::seq::SliceRandom;

use crate::input::{District, Input, Inputs};
use crate::measures::{BUSY, LEFT_OUT, NEW_ORDERS, ROLLED_BACK, SNAPSHOT, WRITES};
use crate::session::{Access, Conflict, Done, Session, Trouble};
use crate::tables::DISTRICTS;
use crate::tally::Tally;
use crate::transactions::{self, Ended, Room};

/// A transaction is tried so often at the most.
const MOST_TRIES: u32 = 10;

/// A transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transaction {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Transaction {
    /// All transactions, by index of operation.
    pub(crate) const ALL: [Transaction; 5] = [
        Transaction::NewOrder,
        Transaction::Payment,
        Transaction::OrderStatus,
        Transaction::Delivery,
        Transaction::StockLevel,
    ];

    /// Cards of a deck.
    pub(crate) const CARDS: [usize; 5] = [10, 10, 1, 1, 1];

    pub(crate) const SPECS: [OpSpec; 5] = [
        OpSpec { name: "NewOrder", about: "places an order of 5 to 15 lines" },
        OpSpec { name: "Payment", about: "takes a payment of a customer" },
        OpSpec { name: "OrderStatus", about: "reads the latest order of a customer" },
        OpSpec { name: "Delivery", about: "delivers the oldest open order of each district" },
        OpSpec { name: "StockLevel", about: "counts the items of the latest orders of which there are few" },
    ];

    /// What it does to the data.
    pub(crate) const fn access(self) -> Access {
        match self {
            Transaction::NewOrder | Transaction::Payment | Transaction::Delivery => Access::Write,
            Transaction::OrderStatus | Transaction::StockLevel => Access::Read,
        }
    }

    pub(crate) const fn op(self) -> OpId {
        OpId(self as u8)
    }
}

/// The shuffled cards of a user, each a transaction. A new deck is shuffled when the last card is drawn.
#[derive(Debug)]
struct Deck(Vec<Transaction>);

impl Deck {
    /// A deck of which the first transaction of a user is drawn: a New-Order.
    fn opened(rng: &mut Stream) -> Self {
        let mut cards: Vec<Transaction> = Deck::cards().skip(1).collect();
        cards.shuffle(rng);
        Deck(cards)
    }

    /// The cards of a deck in the order of [`Transaction::ALL`].
    fn cards() -> impl Iterator<Item = Transaction> {
        let all = Transaction::ALL.into_iter().zip(Transaction::CARDS);
        all.flat_map(|(card, count)| std::iter::repeat_n(card, count))
    }

    fn draw(&mut self, rng: &mut Stream) -> Transaction {
        if self.0.is_empty() {
            self.0.extend(Deck::cards());
            self.0.shuffle(rng);
        }
        self.0.pop().unwrap_or(Transaction::NewOrder)
    }
}

/// What all users of a load share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) inputs: Inputs,
    pub(crate) tally: Arc<Tally>,
    pub(crate) reasons: Arc<Mutex<Reasons>>,
}

/// A user at its warehouse.
#[derive(Debug)]
pub(crate) struct Terminal {
    shared: Arc<Shared>,
    warehouse: i64,
    /// The district of its Stock-Levels.
    district: i64,
    deck: Option<Deck>,
    input: Input,
    room: Room,
}

impl Terminal {
    /// The user with this number. Users are dealt to warehouses one after the other, and to districts of those.
    pub(crate) fn new(shared: &Arc<Shared>, user: u32) -> Self {
        let (user, warehouses) = (i64::from(user), shared.inputs.size.warehouses);
        Terminal {
            shared: Arc::clone(shared),
            warehouse: user % warehouses + 1,
            district: user / warehouses % DISTRICTS + 1,
            deck: None,
            input: Input::default(),
            room: Room::default(),
        }
    }

    /// The next transaction, by its index.
    pub(crate) fn next(&mut self, turn: &mut Turn) -> usize {
        let deck = self.deck.get_or_insert_with(|| Deck::opened(&mut turn.rng));
        deck.draw(&mut turn.rng) as usize
    }

    /// Does a transaction. One that met another is tried again with the same input.
    pub(crate) async fn transact(
        &mut self,
        session: &mut impl Session,
        transaction: Transaction,
        turn: &mut Turn,
    ) -> Outcome {
        if transaction.access() == Access::Write {
            turn.add(WRITES, 1);
        }
        let asked = self.ask(transaction, turn);
        for _ in 0..MOST_TRIES {
            turn.sent();
            match self.attempt(session, asked, turn).await {
                Ok(ended) => return self.count(ended, turn),
                Err(trouble) => {
                    if let Err(why) = session.roll_back().await {
                        return self.failed(transaction, why);
                    }
                    match trouble {
                        Trouble::Conflict(conflict) => turn.add(counter(conflict), 1),
                        failed @ Trouble::Failed { .. } => return self.failed(transaction, failed),
                    }
                }
            }
        }
        let why = format!("met other transactions {MOST_TRIES} times");
        self.failed(transaction, Trouble::Failed { outcome: Outcome::Refused, why })
    }

    /// Draws the input of a transaction.
    fn ask(&mut self, transaction: Transaction, turn: &mut Turn) -> Asked {
        let (inputs, w, rng) = (self.shared.inputs, self.warehouse, &mut turn.rng);
        match transaction {
            Transaction::NewOrder => Asked::NewOrder(inputs.new_order(w, rng, &mut self.input)),
            Transaction::Payment => Asked::Payment(inputs.payment(w, rng, &mut self.input)),
            Transaction::OrderStatus => {
                let (of, who) = inputs.order_status(w, rng, &mut self.input);
                Asked::OrderStatus(of, who)
            }
            Transaction::Delivery => Asked::Delivery(Inputs::carrier(rng)),
            Transaction::StockLevel => Asked::StockLevel(Inputs::threshold(rng)),
        }
    }

    async fn attempt(&mut self, session: &mut impl Session, asked: Asked, turn: &mut Turn) -> Done<Ended> {
        let (input, room, w) = (&self.input, &mut self.room, self.warehouse);
        match asked {
            Asked::NewOrder(order) => {
                transactions::new_order(session, (order, &input.lines), room, turn).await
            }
            Asked::Payment(payment) => transactions::payment(session, (payment, input), room, turn).await,
            Asked::OrderStatus(district, who) => {
                transactions::order_status(session, (district, who, input), room, turn).await
            }
            Asked::Delivery(carrier) => transactions::delivery(session, (w, carrier), turn).await,
            Asked::StockLevel(threshold) => {
                transactions::stock_level(session, (District { w, d: self.district }, threshold), turn).await
            }
        }
    }

    /// Counts a transaction that has ended well. A planned rollback has: it is counted apart, and is no new order.
    fn count(&self, ended: Ended, turn: &mut Turn) -> Outcome {
        self.shared.tally.add(ended);
        match ended {
            Ended::Ordered { .. } => turn.add(NEW_ORDERS, 1),
            Ended::RolledBack => turn.add(ROLLED_BACK, 1),
            Ended::Delivered { left_out, .. } => turn.add(LEFT_OUT, left_out.unsigned_abs()),
            Ended::Paid { .. } | Ended::Read => {}
        }
        Outcome::Good
    }

    fn failed(&self, transaction: Transaction, trouble: Trouble) -> Outcome {
        let (outcome, why) = match trouble {
            Trouble::Failed { outcome, why } => (outcome, why),
            Trouble::Conflict(_) => (Outcome::Refused, "could not be rolled back".to_owned()),
        };
        Reasons::note(&self.shared.reasons, transaction.op(), &Failure { outcome, why, seen: &[] });
        outcome
    }

    /// Notes that there is no connection.
    pub(crate) fn broken(&self, transaction: Transaction, why: String) -> Outcome {
        self.failed(transaction, Trouble::Failed { outcome: Outcome::Broken, why })
    }
}

/// The input of one transaction, beside what is in [`Input`].
#[derive(Clone, Copy, Debug)]
enum Asked {
    NewOrder(crate::input::NewOrder),
    Payment(crate::input::Payment),
    OrderStatus(District, crate::input::Who),
    Delivery(i64),
    StockLevel(i64),
}

fn counter(conflict: Conflict) -> CounterId {
    match conflict {
        Conflict::Busy => BUSY,
        Conflict::Snapshot => SNAPSHOT,
    }
}

#[cfg(test)]
mod tests {
    use barograph_data::Streams;

    use super::*;

    #[test]
    fn each_deck_has_the_published_cards() {
        let mut rng = Streams::new(1).stream("a test", 0);
        let mut deck = Deck::opened(&mut rng);
        for round in 0..50 {
            let mut counts = [0; 5];
            // The first card of the first deck is the operation by which a behaviour begins.
            counts[0] = usize::from(round == 0);
            while counts.iter().sum::<usize>() < 23 {
                counts[deck.draw(&mut rng) as usize] += 1;
            }
            assert_eq!(counts, Transaction::CARDS, "round {round}");
        }
    }

    #[test]
    fn operations_are_numbered_as_they_are_listed() {
        for (index, transaction) in Transaction::ALL.into_iter().enumerate() {
            assert_eq!((transaction as usize, transaction.op()), (index, OpId(index as u8)));
        }
    }
}
