//! A user of the store, one visit after the other: the choice of operations, their inputs, retries and counts.

use std::sync::{Arc, Mutex};

use barograph_database::measures::WRITES;
use barograph_database::{
    Access, CommitGaps, Reply, Terminal, TransactionError, Transacts, Value, with_retries,
};
use barograph_engine::OpContext;
use barograph_model::{OpId, OpSpec, Outcome, UserId};
use barograph_workload::{Failure, Reasons};
use rand::RngExt;

use crate::generate::Generator;
use crate::input::{Inputs, LineInput, Login, Order, Search};
use crate::measures::{ORDERS, RESTOCKS, SHORTAGES, TITLE_HITS};
use crate::operations::{self, End, Sale};
use crate::session::{Field, Page, Session};
use crate::tally::Tally;

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Login,
    NewCustomer,
    BrowseByCategory,
    BrowseByTitle,
    BrowseByActor,
    Purchase,
}

impl Operation {
    /// All operations, by index.
    pub(crate) const ALL: [Operation; 6] = [
        Operation::Login,
        Operation::NewCustomer,
        Operation::BrowseByCategory,
        Operation::BrowseByTitle,
        Operation::BrowseByActor,
        Operation::Purchase,
    ];

    /// The searches.
    pub(crate) const SEARCHES: [Operation; 3] =
        [Operation::BrowseByCategory, Operation::BrowseByTitle, Operation::BrowseByActor];

    pub(crate) const SPECS: [OpSpec; 6] = [
        OpSpec { name: "Login", about: "finds a customer and reads the latest purchases" },
        OpSpec { name: "NewCustomer", about: "inserts a customer" },
        OpSpec { name: "BrowseByCategory", about: "reads special offers of a category" },
        OpSpec { name: "BrowseByTitle", about: "searches for titles with two words" },
        OpSpec { name: "BrowseByActor", about: "searches for products of an actor" },
        OpSpec { name: "Purchase", about: "places an order" },
    ];

    /// Whether it writes.
    pub(crate) const fn access(self) -> Access {
        match self {
            Operation::NewCustomer | Operation::Purchase => Access::Write,
            _ => Access::Read,
        }
    }

    pub(crate) const fn op(self) -> OpId {
        OpId(self as u8)
    }
}

/// State that all users of a load share.
#[derive(Debug)]
pub(crate) struct LoadState {
    pub(crate) inputs: Inputs,
    pub(crate) tally: Arc<Tally>,
    pub(crate) reasons: Arc<Mutex<Reasons>>,
}

/// A user.
#[derive(Debug)]
pub(crate) struct Visitor {
    pub(crate) shared: Arc<LoadState>,
    id: UserId,
    /// The customer of the visit; `None` between visits.
    customer: Option<i64>,
    /// Searches that are left in the visit.
    searches: i64,
    pub(crate) room: InputBuffers,
}

/// Inputs, reused by each operation of a user.
#[derive(Debug, Default)]
pub(crate) struct InputBuffers {
    pub(crate) login: Login,
    pub(crate) row: Vec<Value>,
    /// A category, and how many of its offers are asked for at the most.
    pub(crate) category: (i64, i64),
    pub(crate) search: Search,
    pub(crate) order: Order,
    prices: Vec<i64>,
}

impl Terminal for Visitor {
    type Shared = LoadState;

    fn new(shared: &Arc<LoadState>, id: UserId) -> Self {
        let (shared, room) = (Arc::clone(shared), InputBuffers::default());
        Visitor { shared, id, customer: None, searches: 0, room }
    }

    fn access(&self, op: OpId) -> Access {
        Operation::ALL[op.index()].access()
    }

    fn failed(&self, op: OpId, outcome: Outcome, why: String) -> Outcome {
        Reasons::note(&self.shared.reasons, op, &Failure { outcome, why, seen: &[] });
        outcome
    }

    fn gaps(&self) -> Option<&CommitGaps> {
        Some(&self.shared.tally.gaps)
    }

    /// A visit is a login or a registration, some searches, and a purchase. A visit whose registration failed is over.
    fn choose(&mut self, context: &mut OpContext) -> usize {
        let rng = &mut context.rng;
        let next = if self.customer.is_none() {
            if self.shared.inputs.is_new(rng) { Operation::NewCustomer } else { Operation::Login }
        } else if self.searches == 0 {
            Operation::Purchase
        } else {
            self.searches -= 1;
            Operation::SEARCHES[rng.random_range(0..Operation::SEARCHES.len())]
        };
        next as usize
    }
}

impl<S: Session> Transacts<S> for Visitor {
    async fn act(&mut self, session: &mut S, op: OpId, context: &mut OpContext) -> Outcome {
        let operation = Operation::ALL[op.index()];
        if operation.access() == Access::Write {
            context.add(WRITES, 1);
        }
        self.ask(operation, context);
        let attempt =
            async |session: &mut S, context: &mut OpContext| self.attempt(session, operation, context).await;
        match with_retries(session, context, attempt).await {
            Ok(ended) => {
                if operation.access() == Access::Write && !matches!(ended, End::Shortage) {
                    self.shared.tally.gaps.committed(context.watch()());
                }
                self.count(operation, ended, context)
            }
            Err((outcome, why)) => self.failed(op, outcome, why),
        }
    }
}

impl Visitor {
    /// Draws the input of an operation.
    pub(crate) fn ask(&mut self, operation: Operation, context: &mut OpContext) {
        let (inputs, room, rng) = (&self.shared.inputs, &mut self.room, &mut context.rng);
        match operation {
            Operation::Login => {
                inputs.login(rng, &mut room.login);
                self.customer = Some(room.login.customer);
                self.searches = inputs.searches(rng);
            }
            Operation::NewCustomer => {
                room.row.clear();
                let login = (self.shared.tally.name(self.id), rng.random_range(10_000_000..100_000_000));
                let is_near = rng.random_bool(0.5);
                Generator::customer(login, is_near, rng, &mut room.row);
                self.searches = inputs.searches(rng);
            }
            Operation::BrowseByCategory => room.category = inputs.category(rng),
            Operation::BrowseByTitle => inputs.title(rng, &mut room.search),
            Operation::BrowseByActor => inputs.actor(rng, &mut room.search),
            Operation::Purchase => {
                inputs.order(rng, &mut room.order);
                // The visit is over. A purchase outside of a visit is of any customer.
                room.order.customer = self.customer.take().unwrap_or_else(|| inputs.customer(rng));
            }
        }
    }

    /// Does an operation once. From its commit to the answer it is in doubt.
    async fn attempt(
        &mut self,
        session: &mut impl Session,
        operation: Operation,
        context: &mut OpContext,
    ) -> Reply<End> {
        let (room, page) = (&mut self.room, &mut Page::default());
        let ended = match operation {
            Operation::Login => {
                let login = (&*room.login.name, &*room.login.password);
                operations::login(session, login, page, context).await
            }
            Operation::NewCustomer => operations::new_customer(session, &room.row, context).await,
            Operation::BrowseByCategory => operations::browse_category(session, room.category, page).await,
            Operation::BrowseByTitle => {
                operations::search(session, Field::Title, room.search.asked(), page).await
            }
            Operation::BrowseByActor => {
                operations::search(session, Field::Actor, room.search.asked(), page).await
            }
            Operation::Purchase => {
                let order = (room.order.customer, &*room.order.lines);
                operations::purchase(session, order, &mut room.prices, context).await
            }
        }?;
        self.judge(operation, ended)
            .map_err(|why| TransactionError::Failed { outcome: Outcome::WrongAnswer, why: why.to_owned() })?;
        if ended.is_committed() {
            let tally = &self.shared.tally;
            tally.asked(ended);
            let answer = session.commit().await;
            tally.answered(ended, answer.as_ref().map(|()| ended));
            answer?;
        }
        Ok(ended)
    }

    /// Judges the end of an operation by its input.
    ///
    /// # Errors
    /// The end is wrong, with the reason.
    pub(crate) fn judge(&self, operation: Operation, ended: End) -> Result<(), &'static str> {
        let InputBuffers { login, category, search, order, .. } = &self.room;
        let right = |is_right: bool, why| if is_right { Ok(()) } else { Err(why) };
        let few = |found: i64, most: i64| right(found <= most, "more products than asked for");
        match (operation, ended) {
            (Operation::Login, End::Login(found)) => {
                right(found == Some(login.customer), "no customer with this name and password")
            }
            (Operation::NewCustomer, End::Registration(_)) => Ok(()),
            // Each category has an offer at least.
            (Operation::BrowseByCategory, End::Search(found)) => {
                right(found > 0, "no special offer of a category").and(few(found, category.1))
            }
            (Operation::BrowseByTitle | Operation::BrowseByActor, End::Search(found)) => {
                right(found > 0 || !search.is_known, "no product with words that one has")
                    .and(right(found == 0 || search.is_known, "a product with words that none has"))
                    .and(few(found, search.most))
            }
            (Operation::Purchase, End::Shortage) => {
                right(order.is_short, "no stock of a product that is restocked")
            }
            (Operation::Purchase, End::Order(placed)) => {
                let most = self.sale();
                let fits = Sale { restocks: most.restocks, ..placed } == most
                    && (0..=most.restocks).contains(&placed.restocks);
                right(!order.is_short, "stock of a product that is sold out")
                    .and(right(fits, "sums of an order that are not those of its lines"))
            }
            _ => Err("the answer to another request"),
        }
    }

    /// The most that an operation can commit.
    pub(crate) fn most(&self, operation: Operation) -> End {
        match operation {
            Operation::NewCustomer => End::Registration(0),
            Operation::Purchase => End::Order(self.sale()),
            _ => End::Search(0),
        }
    }

    /// The sums of the order that is asked for, with the most products that it can restock.
    fn sale(&self) -> Sale {
        let (lines, generator) = (&self.room.order.lines, &self.shared.inputs.generator);
        let count = lines.len() as i64;
        let mut sale = Sale { lines: count, restocks: count, ..Sale::default() };
        for LineInput { product, quantity } in lines {
            sale.units += quantity;
            sale.cents += quantity * generator.price(*product);
        }
        sale
    }

    /// Counts a successful operation. A planned shortage is successful, has a counter of its own, and is no order.
    pub(crate) fn count(&mut self, operation: Operation, ended: End, context: &mut OpContext) -> Outcome {
        match ended {
            End::Registration(customer) => self.customer = Some(customer),
            End::Order(placed) => {
                context.add(ORDERS, 1);
                context.add(RESTOCKS, placed.restocks.unsigned_abs());
            }
            End::Shortage => context.add(SHORTAGES, 1),
            End::Search(1..) if operation == Operation::BrowseByTitle => context.add(TITLE_HITS, 1),
            End::Login(_) | End::Search(_) => {}
        }
        Outcome::Good
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_numbered_as_they_are_listed() {
        for (index, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!((operation as usize, operation.op()), (index, OpId(index as u8)));
        }
    }
}
