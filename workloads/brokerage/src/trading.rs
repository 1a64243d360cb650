//! The transactions of orders: placing, completing, and prices that trigger pending ones. Each up to its commit and once for all
//! engines.

use barograph_database::{Access, Reply, TransactionError};
use barograph_engine::OpContext;

use crate::generate::{Kind, commission, tax};
use crate::input::{OrderInput, Tick};
use crate::session::Session;
use crate::statements::Sql;
use crate::tables::{COMPLETED, SUBMITTED};
use crate::transactions::End;

/// The settlement of a trade is due so long after it, on the market's clock.
const DUE: i64 = 20;

/// A lot of a position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lot {
    trade: i64,
    /// Negative for securities that were sold without being there.
    quantity: i64,
    price: i64,
}

/// An order at the market.
#[derive(Clone, Copy, Debug)]
struct Order {
    trade: i64,
    account: i64,
    security: i64,
    kind: Kind,
    quantity: i64,
    is_lifo: bool,
}

/// PlaceOrder: an order of a customer. The counter of open orders locks the account first, so orders of one account come one after
/// the other.
pub(crate) async fn place_order(
    session: &mut impl Session,
    order: OrderInput,
    context: &mut OpContext,
) -> Reply<End> {
    let OrderInput { account, kind, quantity, limit, date, .. } = order;
    session.begin(Access::Write, context).await?;
    session.change_one(Sql::OpenOrder, [account]).await?;
    let [customer, _, _, tier] = session.one(Sql::Account, [account]).await?;
    let found = match order.by_company {
        true => session.one(Sql::SecurityByCompany, [order.security]).await?,
        false => session.one(Sql::SecurityById, [order.security]).await?,
    };
    let [security, price] = found;
    if (customer, security) != (order.customer, order.security) {
        return Err(TransactionError::missing("account of a customer, or security of a company"));
    }
    let value = quantity * if kind.has_limit() { limit } else { price };
    let [fee, rate] = session.one(Sql::Terms, [kind.0, tier, value]).await?;
    if order.is_rolled_back {
        session.roll_back().await?;
        return Ok(End::RolledBack);
    }
    let status = order.status();
    let row = [account, security, kind.0, status, quantity, limit, order.is_lifo.into(), fee, rate, date];
    let [trade] = session.one(Sql::InsertTrade, row).await?;
    session.change_one(Sql::InsertEvent, [trade, 1, status, date]).await?;
    if kind.has_limit() {
        let row = [trade, security, kind.is_above().into(), limit];
        session.change_one(Sql::InsertPending, row).await?;
    }
    Ok(End::Placed { trade, is_pending: kind.has_limit() })
}

/// CompleteOrder: an order at the last price, with lots and position, tax, settlement, cash and the broker's commission.
pub(crate) async fn complete_order(
    session: &mut impl Session,
    (trade, date): (i64, i64),
    lots: &mut Vec<Lot>,
    context: &mut OpContext,
) -> Reply<End> {
    session.begin(Access::Write, context).await?;
    if session.change(Sql::TakeOrder, [date, trade]).await? == 0 {
        session.roll_back().await?;
        return Ok(End::Left);
    }
    let [account, security, kind, quantity, is_lifo, fee, rate] = session.one(Sql::Order, [trade]).await?;
    let (kind, is_lifo) = (Kind(kind), is_lifo == 1);
    session.change_one(Sql::CloseOrder, [account]).await?;
    let [_, broker, is_taxed] = session.one(Sql::Account, [account]).await?;
    let [price] = session.one(Sql::LastPrice, [security]).await?;
    let order = Order { trade, account, security, kind, quantity, is_lifo };
    let gain = settle_lots(session, order, price, lots).await?;
    let (commission, tax) = (commission(price * quantity, rate), tax(is_taxed == 1, gain));
    session.change_one(Sql::PriceTrade, [price, commission, tax, trade]).await?;
    session.change_one(Sql::InsertEvent, [trade, kind.event(COMPLETED), COMPLETED, date]).await?;
    let amount = -kind.sign() * price * quantity - fee - commission - tax;
    session.change_one(Sql::InsertSettlement, [trade, amount, date + DUE]).await?;
    session.change_one(Sql::InsertCash, [trade, account, amount, date]).await?;
    session.change_one(Sql::Pay, [amount, account]).await?;
    session.change_one(Sql::Earn, [commission, broker]).await?;
    Ok(End::Completed { commission })
}

/// Closes lots of the other direction, the oldest or the latest first, and makes a lot of the rest. Returns the gain.
async fn settle_lots(
    session: &mut impl Session,
    order: Order,
    price: i64,
    lots: &mut Vec<Lot>,
) -> Reply<i64> {
    let Order { trade, account, security, kind, quantity, is_lifo } = order;
    let sql = if is_lifo { Sql::LatestLots } else { Sql::OldestLots };
    lots.clear();
    let keep = |[trade, quantity, price]: [i64; 3]| lots.push(Lot { trade, quantity, price });
    session.rows(sql, [account, security], keep).await?;
    let sign = kind.sign();
    let (mut left, mut gain) = (quantity, 0);
    for lot in lots.iter().filter(|lot| lot.quantity * sign < 0) {
        if left == 0 {
            break;
        }
        let taken = left.min(lot.quantity.abs());
        match taken == lot.quantity.abs() {
            true => session.change_one(Sql::DeleteLot, [lot.trade]).await?,
            false => session.change_one(Sql::ChangeLot, [sign * taken, lot.trade]).await?,
        }
        gain += sign * (lot.price - price) * taken;
        left -= taken;
    }
    if left > 0 {
        session.change_one(Sql::InsertLot, [trade, account, security, sign * left, price]).await?;
    }
    let change = [sign * quantity, account, security];
    if session.change(Sql::ChangePosition, change).await? == 0 {
        session.change_one(Sql::InsertPosition, change).await?;
    }
    Ok(gain)
}

/// MarketFeed: new prices, and the pending orders whose limits they cross, which go to the market.
pub(crate) async fn market_feed(
    session: &mut impl Session,
    (ticks, date): (&[Tick], i64),
    triggered: &mut Vec<i64>,
    context: &mut OpContext,
) -> Reply<End> {
    session.begin(Access::Write, context).await?;
    triggered.clear();
    for Tick { security, price } in ticks {
        session.change_one(Sql::Tick, [*price, date, *security]).await?;
        let first = triggered.len();
        let keep = |[trade]: [i64; 1]| triggered.push(trade);
        session.rows(Sql::Crossed, [*security, *price, *price], keep).await?;
        for trade in &triggered[first..] {
            session.change_one(Sql::DeletePending, [*trade]).await?;
            session.change_one(Sql::Submit, [*trade]).await?;
            session.change_one(Sql::InsertEvent, [*trade, SUBMITTED, SUBMITTED, date]).await?;
        }
    }
    Ok(End::Fed { ticks: ticks.len() as i64, triggered: triggered.len() as i64 })
}
