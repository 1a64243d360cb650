//! A user at its warehouse: the choice of transactions, their inputs, retries and counts.

use std::sync::{Arc, Mutex};

use barograph_data::Stream;
use barograph_database::measures::WRITES;
use barograph_database::{CommitGaps, Transacts, with_retries};
use barograph_database_engines::Form;
use barograph_engine::OpContext;
use barograph_model::{OpId, OpSpec, Outcome, UserId};
use barograph_workload::{Failure, Reasons};
use rand::seq::SliceRandom;

use crate::input::{District, Input, Inputs};
use crate::measures::{LEFT_OUT, NEW_ORDERS, ROLLED_BACK};
use crate::session::{Access, Reply, Session};
use crate::tables::DISTRICTS;
use crate::tally::{Counts, Tally};
use crate::transactions::{self, End, TransactionBuffers};

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

    /// Cards of a published deck.
    pub(crate) const CARDS: [usize; 5] = [10, 10, 1, 1, 1];

    /// Cards of a deck of a sales application.
    const SALES_CARDS: [usize; 5] = [8, 5, 11, 1, 0];

    /// Cards of a deck: published ones, or those of a sales application.
    pub(crate) const fn cards(is_sales: bool) -> [usize; 5] {
        if is_sales { Transaction::SALES_CARDS } else { Transaction::CARDS }
    }

    pub(crate) const SPECS: [OpSpec; 5] = [
        OpSpec { name: "NewOrder", about: "places an order of 5 to 15 lines" },
        OpSpec { name: "Payment", about: "takes a payment of a customer" },
        OpSpec { name: "OrderStatus", about: "reads the latest order of a customer" },
        OpSpec { name: "Delivery", about: "delivers the oldest open order of each district" },
        OpSpec { name: "StockLevel", about: "counts the items of the latest orders of which there are few" },
    ];

    /// Whether it writes.
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

/// A shuffled deck of cards, each a transaction. An empty deck is filled and shuffled again.
#[derive(Debug)]
struct Deck {
    left: Vec<Transaction>,
    cards: [usize; 5],
}

impl Deck {
    /// The first deck of a user. Its first card, a New-Order, is drawn.
    fn opened(cards: [usize; 5], rng: &mut Stream) -> Self {
        let mut left: Vec<Transaction> = Deck::all(cards).skip(1).collect();
        left.shuffle(rng);
        Deck { left, cards }
    }

    /// The cards of a deck in the order of [`Transaction::ALL`].
    fn all(cards: [usize; 5]) -> impl Iterator<Item = Transaction> {
        let all = Transaction::ALL.into_iter().zip(cards);
        all.flat_map(|(card, count)| std::iter::repeat_n(card, count))
    }

    fn draw(&mut self, rng: &mut Stream) -> Transaction {
        if self.left.is_empty() {
            self.left.extend(Deck::all(self.cards));
            self.left.shuffle(rng);
        }
        self.left.pop().unwrap_or(Transaction::NewOrder)
    }
}

/// State that all users of a load share.
#[derive(Clone, Debug)]
pub(crate) struct LoadState {
    pub(crate) inputs: Inputs,
    pub(crate) form: Form,
    /// Cards of a deck.
    pub(crate) cards: [usize; 5],
    pub(crate) tally: Arc<Tally>,
    pub(crate) reasons: Arc<Mutex<Reasons>>,
}

/// A user at its warehouse.
#[derive(Debug)]
pub(crate) struct Terminal {
    shared: Arc<LoadState>,
    warehouse: i64,
    /// The district of its Stock-Levels.
    district: i64,
    deck: Option<Deck>,
    input: Input,
    room: TransactionBuffers,
}

impl barograph_database::Terminal for Terminal {
    type Shared = LoadState;

    /// Users are dealt to warehouses one after the other, and to districts of those.
    fn new(shared: &Arc<LoadState>, id: UserId) -> Self {
        let (user, warehouses) = (i64::from(id.0), shared.inputs.size.warehouses);
        Terminal {
            shared: Arc::clone(shared),
            warehouse: user % warehouses + 1,
            district: user / warehouses % DISTRICTS + 1,
            deck: None,
            input: Input::default(),
            room: TransactionBuffers::default(),
        }
    }

    fn access(&self, op: OpId) -> Access {
        Transaction::ALL[op.index()].access()
    }

    fn failed(&self, op: OpId, outcome: Outcome, why: String) -> Outcome {
        Reasons::note(&self.shared.reasons, op, &Failure { outcome, why, seen: &[] });
        outcome
    }

    fn gaps(&self) -> Option<&CommitGaps> {
        Some(&self.shared.tally.gaps)
    }

    fn choose(&mut self, context: &mut OpContext) -> usize {
        let deck = self.deck.get_or_insert_with(|| Deck::opened(self.shared.cards, &mut context.rng));
        deck.draw(&mut context.rng) as usize
    }
}

impl<S: Session> Transacts<S> for Terminal {
    async fn act(&mut self, session: &mut S, op: OpId, context: &mut OpContext) -> Outcome {
        let transaction = Transaction::ALL[op.index()];
        if transaction.access() == Access::Write {
            context.add(WRITES, 1);
        }
        let asked = self.ask(transaction, context);
        let attempt =
            async |session: &mut S, context: &mut OpContext| self.attempt(session, asked, context).await;
        match with_retries(session, context, attempt).await {
            Ok(ended) => {
                if !matches!(ended, End::RolledBack | End::Read) {
                    self.shared.tally.gaps.committed(context.watch()());
                }
                Self::count(ended, context)
            }
            Err((outcome, why)) => barograph_database::Terminal::failed(self, op, outcome, why),
        }
    }
}

impl Terminal {
    /// Draws the input of a transaction.
    fn ask(&mut self, transaction: Transaction, context: &mut OpContext) -> Request {
        let (inputs, w, rng) = (self.shared.inputs, self.warehouse, &mut context.rng);
        match transaction {
            Transaction::NewOrder => Request::NewOrder(inputs.new_order(w, rng, &mut self.input)),
            Transaction::Payment => Request::Payment(inputs.payment(w, rng, &mut self.input)),
            Transaction::OrderStatus => {
                let (of, who) = inputs.order_status(w, rng, &mut self.input);
                Request::OrderStatus(of, who)
            }
            Transaction::Delivery => Request::Delivery(w, Inputs::carrier(rng)),
            Transaction::StockLevel => {
                Request::StockLevel(District { w, d: self.district }, Inputs::threshold(rng))
            }
        }
    }

    /// Does a transaction once. From its commit to the answer it is in doubt.
    async fn attempt(
        &mut self,
        session: &mut impl Session,
        asked: Request,
        context: &mut OpContext,
    ) -> Reply<End> {
        let (input, room) = (&self.input, &mut self.room);
        let (tally, most) = (&self.shared.tally, Counts::most(asked));
        if self.shared.form == Form::Stored {
            tally.asked(most);
            let ended = session.call_function(asked, input, room).await;
            tally.answered(most, &ended);
            return ended;
        }
        let ended = match self.shared.form {
            Form::Pipelined => session.pipeline(asked, (input, room), context).await,
            _ => transactions::transact(session, asked, (input, room), context).await,
        };
        if matches!(ended, Err(_) | Ok(End::RolledBack)) {
            return ended;
        }
        tally.asked(most);
        let ended = session.commit().await.and(ended);
        tally.answered(most, &ended);
        ended
    }

    /// Counts a successful transaction. A planned rollback is successful, has a counter of its own, and is no new order.
    fn count(ended: End, context: &mut OpContext) -> Outcome {
        match ended {
            End::Ordered { .. } => context.add(NEW_ORDERS, 1),
            End::RolledBack => context.add(ROLLED_BACK, 1),
            End::Delivered { left_out, .. } => context.add(LEFT_OUT, left_out.unsigned_abs()),
            End::Paid { .. } | End::Read => {}
        }
        Outcome::Good
    }
}

/// The input of a transaction; see also [`Input`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Request {
    NewOrder(crate::input::NewOrder),
    Payment(crate::input::Payment),
    OrderStatus(District, crate::input::CustomerChoice),
    /// Of a warehouse, with a carrier.
    Delivery(i64, i64),
    /// Of a district, with a threshold.
    StockLevel(District, i64),
}

#[cfg(test)]
mod tests {
    use barograph_data::Streams;

    use super::*;

    #[test]
    fn each_deck_has_the_published_cards() {
        let mut rng = Streams::new(1).stream("a test", 0);
        for (cards, all) in [(Transaction::cards(false), 23), (Transaction::cards(true), 25)] {
            let mut deck = Deck::opened(cards, &mut rng);
            for round in 0..50 {
                let mut counts = [0; 5];
                // The first card of the first deck is the operation by which a behaviour begins.
                counts[0] = usize::from(round == 0);
                while counts.iter().sum::<usize>() < all {
                    counts[deck.draw(&mut rng) as usize] += 1;
                }
                assert_eq!(counts, cards, "round {round}");
            }
        }
    }

    #[test]
    fn operations_are_numbered_as_they_are_listed() {
        for (index, transaction) in Transaction::ALL.into_iter().enumerate() {
            assert_eq!((transaction as usize, transaction.op()), (index, OpId(index as u8)));
        }
    }
}
