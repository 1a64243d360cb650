//! A user, who is a customer or the market in each turn: the choice of transactions, their inputs, retries and counts.

use std::sync::{Arc, Mutex};

use barograph_data::Stream;
use barograph_database::measures::WRITES;
use barograph_database::{Access, CommitGaps, Reply, Terminal, TransactionError, Transacts, with_retries};
use barograph_database_engines::Form;
use barograph_engine::OpContext;
use barograph_model::{OpId, OpSpec, Outcome, UserId};
use barograph_workload::{Failure, Reasons};
use rand::RngExt;
use rand::seq::SliceRandom;

use crate::input::{Inputs, Request, Tick};
use crate::market::{LONGEST_DELAY, Market, Turn};
use crate::measures::{BACKLOG, COMPLETED_ORDERS, ROLLED_BACK, TRIGGERED};
use crate::session::Session;
use crate::tally::{Tally, counts, most};
use crate::trading::{self, Lot};
use crate::transactions::{self, End};

/// A transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transaction {
    OrderStatus,
    MarketWatch,
    SecurityPage,
    CustomerPosition,
    PlaceOrder,
    CompleteOrder,
    HistoryLookup,
    BrokerVolume,
    AmendHistory,
    MarketFeed,
}

impl Transaction {
    /// All transactions, by index of operation.
    pub(crate) const ALL: [Transaction; 10] = [
        Transaction::OrderStatus,
        Transaction::MarketWatch,
        Transaction::SecurityPage,
        Transaction::CustomerPosition,
        Transaction::PlaceOrder,
        Transaction::CompleteOrder,
        Transaction::HistoryLookup,
        Transaction::BrokerVolume,
        Transaction::AmendHistory,
        Transaction::MarketFeed,
    ];

    /// Cards of ten decks.
    pub(crate) const CARDS: [usize; 10] = [190, 180, 140, 130, 101, 100, 80, 49, 20, 10];

    pub(crate) const SPECS: [OpSpec; 10] = [
        OpSpec { name: "OrderStatus", about: "reads the latest trades of an account" },
        OpSpec { name: "MarketWatch", about: "adds up changes of prices since a day" },
        OpSpec { name: "SecurityPage", about: "reads a security, its company and daily prices" },
        OpSpec { name: "CustomerPosition", about: "reads cash and value of the accounts of a customer" },
        OpSpec { name: "PlaceOrder", about: "places an order" },
        OpSpec { name: "CompleteOrder", about: "completes an order that is at the market" },
        OpSpec { name: "HistoryLookup", about: "reads trades with settlements and cash" },
        OpSpec { name: "BrokerVolume", about: "adds up the pending orders of a sector" },
        OpSpec { name: "AmendHistory", about: "changes texts of settlements" },
        OpSpec { name: "MarketFeed", about: "sets prices and sends pending orders to the market" },
    ];

    /// Whether it writes.
    pub(crate) const fn access(self) -> Access {
        match self {
            Transaction::PlaceOrder
            | Transaction::CompleteOrder
            | Transaction::AmendHistory
            | Transaction::MarketFeed => Access::Write,
            _ => Access::Read,
        }
    }

    pub(crate) const fn op(self) -> OpId {
        OpId(self as u8)
    }
}

/// Shuffled decks of a hundred cards, each a transaction. An empty deck is filled and shuffled again.
#[derive(Debug, Default)]
struct Deck {
    cards: Vec<Transaction>,
    opened: usize,
}

impl Deck {
    /// The next card. In every tenth deck PlaceOrder has the place of one BrokerVolume.
    fn draw(&mut self, rng: &mut Stream) -> Transaction {
        if self.cards.is_empty() {
            self.opened += 1;
            for (card, tenfold) in Transaction::ALL.into_iter().zip(Transaction::CARDS) {
                let more = match card {
                    Transaction::BrokerVolume => usize::from(!self.opened.is_multiple_of(10)),
                    Transaction::PlaceOrder => usize::from(self.opened.is_multiple_of(10)),
                    _ => 0,
                };
                self.cards.extend(std::iter::repeat_n(card, tenfold / 10 + more));
            }
            self.cards.shuffle(rng);
        }
        self.cards.pop().unwrap_or(Transaction::OrderStatus)
    }
}

/// State that all users of a load share.
#[derive(Debug)]
pub(crate) struct LoadState {
    pub(crate) inputs: Inputs,
    pub(crate) form: Form,
    pub(crate) market: Market,
    pub(crate) tally: Arc<Tally>,
    pub(crate) reasons: Arc<Mutex<Reasons>>,
}

/// A user.
#[derive(Debug)]
pub(crate) struct Trader {
    shared: Arc<LoadState>,
    deck: Deck,
    /// The order that it completes next.
    order: Option<i64>,
    room: Room,
}

/// Buffers of a user, reused by each transaction.
#[derive(Debug, Default)]
struct Room {
    ticks: Vec<Tick>,
    triggered: Vec<i64>,
    lots: Vec<Lot>,
}

impl Terminal for Trader {
    type Shared = LoadState;

    fn new(shared: &Arc<LoadState>, _: UserId) -> Self {
        Trader { shared: Arc::clone(shared), deck: Deck::default(), order: None, room: Room::default() }
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
        // Its operation was dropped, or had no session: another turn tries it again.
        if let Some(trade) = self.order.take() {
            self.shared.market.add(trade, LONGEST_DELAY);
        }
        loop {
            let card = self.deck.draw(&mut context.rng);
            let is_of_market = card == Transaction::CompleteOrder;
            match self.shared.market.turn(is_of_market) {
                Turn::Card => return card as usize,
                Turn::Again => {}
                Turn::Complete(trade) => {
                    if !is_of_market {
                        self.deck.cards.push(card);
                    }
                    self.order = Some(trade);
                    return Transaction::CompleteOrder as usize;
                }
            }
        }
    }
}

impl<S: Session> Transacts<S> for Trader {
    async fn act(&mut self, session: &mut S, op: OpId, context: &mut OpContext) -> Outcome {
        let transaction = Transaction::ALL[op.index()];
        context.add(BACKLOG, self.shared.market.backlog());
        if transaction.access() == Access::Write {
            context.add(WRITES, 1);
        }
        let Some(request) = self.ask(transaction, context) else {
            return self.failed(op, Outcome::WrongAnswer, "no order at the market".to_owned());
        };
        let attempt =
            async |session: &mut S, context: &mut OpContext| self.attempt(session, request, context).await;
        let ended = with_retries(session, context, attempt).await;
        self.order = None;
        match ended {
            Ok(ended) => {
                if !matches!(ended, End::Read | End::RolledBack | End::Left) {
                    self.shared.tally.gaps.committed(context.watch()());
                }
                self.count(ended, context)
            }
            Err((outcome, why)) => {
                // Another turn tries it again.
                if let Request::CompleteOrder(trade, _) = request {
                    self.shared.market.add(trade, LONGEST_DELAY);
                }
                self.failed(op, outcome, why)
            }
        }
    }
}

impl Trader {
    /// Draws the input of a transaction; `None` for an order to complete without one.
    fn ask(&mut self, transaction: Transaction, context: &mut OpContext) -> Option<Request> {
        let (shared, rng) = (&self.shared, &mut context.rng);
        let inputs = shared.inputs;
        Some(match transaction {
            Transaction::OrderStatus => Request::OrderStatus(inputs.account(rng)),
            Transaction::MarketWatch => inputs.market_watch(rng),
            Transaction::SecurityPage => inputs.security_page(rng),
            Transaction::CustomerPosition => inputs.customer_position(rng),
            Transaction::PlaceOrder => inputs.place_order(shared.market.now(), rng),
            Transaction::CompleteOrder => Request::CompleteOrder(self.order?, shared.market.now()),
            Transaction::HistoryLookup => inputs.history_lookup(rng),
            Transaction::BrokerVolume => Request::BrokerVolume(Inputs::sector(rng)),
            Transaction::AmendHistory => inputs.amend_history(rng),
            Transaction::MarketFeed => {
                inputs.ticks(rng, &mut self.room.ticks);
                Request::MarketFeed(shared.market.now())
            }
        })
    }

    /// Does a transaction once. From its commit to the answer it is in doubt.
    async fn attempt(
        &mut self,
        session: &mut impl Session,
        request: Request,
        context: &mut OpContext,
    ) -> Reply<End> {
        let tally = Arc::clone(&self.shared.tally);
        if self.shared.form == Form::Stored && has_function(&request) {
            let most = most(&request);
            tally.counts.asked(most);
            let ended = self.call(session, &request).await;
            tally.counts.answered(most, ended.as_ref().map(|ended| counts(*ended)));
            return ended;
        }
        let ended = self.statements(session, request, context).await?;
        if matches!(ended, End::RolledBack | End::Left) {
            return Ok(ended);
        }
        let counts = counts(ended);
        tally.counts.asked(counts);
        let answer = session.commit().await;
        tally.counts.answered(counts, answer.as_ref().map(|()| counts));
        answer.map(|()| ended)
    }

    /// Does a transaction up to its commit by statements.
    async fn statements(
        &mut self,
        session: &mut impl Session,
        request: Request,
        context: &mut OpContext,
    ) -> Reply<End> {
        let Room { ticks, triggered, lots } = &mut self.room;
        match request {
            Request::OrderStatus(account) => transactions::order_status(session, account, context).await,
            Request::MarketWatch(watch, day) => {
                transactions::market_watch(session, (watch, day), context).await
            }
            Request::SecurityPage(security, days) => {
                transactions::security_page(session, (security, days), context).await
            }
            Request::CustomerPosition(customer, account) => {
                transactions::customer_position(session, (customer, account), context).await
            }
            Request::PlaceOrder(order) => trading::place_order(session, order, context).await,
            Request::CompleteOrder(trade, date) => {
                trading::complete_order(session, (trade, date), lots, context).await
            }
            Request::HistoryLookup(lookup) => transactions::history_lookup(session, lookup, context).await,
            Request::BrokerVolume(sector) => transactions::broker_volume(session, sector, context).await,
            Request::AmendHistory(first) => transactions::amend_history(session, first, context).await,
            Request::MarketFeed(date) => {
                trading::market_feed(session, (ticks, date), triggered, context).await
            }
        }
    }

    /// Does a transaction by its function.
    async fn call(&mut self, session: &mut impl Session, request: &Request) -> Reply<End> {
        let Room { ticks, triggered, .. } = &mut self.room;
        triggered.clear();
        let done = session.call_function(request, ticks, |number| triggered.push(number)).await?;
        let result = triggered.first().copied();
        Ok(match (request, done, result) {
            (_, false, _) => End::RolledBack,
            (Request::MarketFeed(_), ..) => {
                End::Fed { ticks: ticks.len() as i64, triggered: triggered.len() as i64 }
            }
            (Request::PlaceOrder(order), _, Some(trade)) => {
                End::Placed { trade, is_pending: order.kind.has_limit() }
            }
            (_, _, Some(commission @ 0..)) => End::Completed { commission },
            (_, _, Some(_)) => End::Left,
            (_, _, None) => return Err(TransactionError::missing("result of a function")),
        })
    }

    /// Counts a successful transaction, and adds its orders to the market. A planned rollback is successful and no order.
    fn count(&mut self, ended: End, context: &mut OpContext) -> Outcome {
        let market = &self.shared.market;
        let mut delay = || context.rng.random_range(1..=LONGEST_DELAY);
        match ended {
            End::Placed { trade, is_pending: false } => market.add(trade, delay()),
            End::Completed { .. } => context.add(COMPLETED_ORDERS, 1),
            End::RolledBack => context.add(ROLLED_BACK, 1),
            End::Fed { triggered, .. } => {
                self.room.triggered.iter().for_each(|trade| market.add(*trade, delay()));
                context.add(TRIGGERED, triggered.unsigned_abs());
            }
            End::Read | End::Placed { .. } | End::Left | End::Amended { .. } => {}
        }
        Outcome::Good
    }
}

/// Whether a transaction is a function in the stored form.
fn has_function(request: &Request) -> bool {
    matches!(request, Request::PlaceOrder(_) | Request::CompleteOrder(..) | Request::MarketFeed(_))
}

#[cfg(test)]
mod tests {
    use barograph_data::Streams;

    use super::*;

    #[test]
    fn ten_decks_have_the_shares() {
        let (mut rng, mut deck) = (Streams::new(1).stream("a test", 0), Deck::default());
        for round in 0..5 {
            let mut counts = [0; 10];
            for _ in 0..1_000 {
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
