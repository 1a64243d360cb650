//! The transactions that read, and the change of history, each up to its commit and once for all engines.

use barograph_database::{Access, Reply, TransactionError};
use barograph_engine::OpContext;
use barograph_model::Outcome;

use crate::input::{LOOKED_UP, Lookup, Watch};
use crate::session::Session;
use crate::statements::Sql;
use crate::tables::WATCHED;

/// Trades that OrderStatus reads at the most.
const STATUS_TRADES: i64 = 50;

/// Trades with events that CustomerPosition reads at the most.
const LATEST_TRADES: i64 = 10;

/// Companies of the same sector that SecurityPage reads at the most.
const PEERS: i64 = 3;

/// The end of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// A transaction that only reads.
    Read,
    /// A placed order. `pending` orders wait for a price, the others are at the market.
    Placed { trade: i64, is_pending: bool },
    /// A planned rollback.
    RolledBack,
    /// A completed order with its commission.
    Completed { commission: i64 },
    /// The order had been completed by a commit without an answer.
    Left,
    /// Changed rows of history.
    Amended { rows: i64 },
    /// New prices, and pending orders that went to the market.
    Fed { ticks: i64, triggered: i64 },
}

/// A wrong number of rows.
fn expect(what: &str, found: i64, expected: i64) -> Reply<()> {
    if found == expected {
        return Ok(());
    }
    let why = format!("{found} {what}, where {expected} are right");
    Err(TransactionError::Failed { outcome: Outcome::WrongAnswer, why })
}

/// OrderStatus: the latest trades of an account.
pub(crate) async fn order_status(
    session: &mut impl Session,
    account: i64,
    context: &mut OpContext,
) -> Reply<End> {
    session.begin(Access::Read, context).await?;
    match session.rows(Sql::TradesOfAccount, [account, STATUS_TRADES], |[_]: [i64; 1]| {}).await? {
        0 => Err(TransactionError::missing("trade of an account")),
        _ => Ok(End::Read),
    }
}

/// MarketWatch: the change of value since a day.
pub(crate) async fn market_watch(
    session: &mut impl Session,
    (watch, day): (Watch, i64),
    context: &mut OpContext,
) -> Reply<End> {
    session.begin(Access::Read, context).await?;
    let mut change = 0;
    let mut of_one = |[last, close]: [i64; 2]| change += last - close;
    match watch {
        Watch::List(customer) => {
            let found = session.rows(Sql::WatchList, [customer, day], of_one).await?;
            expect("prices of a watch list", found, WATCHED)?;
        }
        Watch::Positions(account) => {
            let of_several = |[last, close, quantity]: [i64; 3]| of_one([last * quantity, close * quantity]);
            session.rows(Sql::WatchPositions, [account, day], of_several).await?;
        }
        Watch::Sector(sector, (first, last)) => {
            session.rows(Sql::WatchSector, [sector, first, last, day], of_one).await?;
        }
    }
    Ok(End::Read)
}

/// SecurityPage: a security with its company, others of the sector, and daily prices.
pub(crate) async fn security_page(
    session: &mut impl Session,
    (security, (first, last)): (i64, (i64, i64)),
    context: &mut OpContext,
) -> Reply<End> {
    session.begin(Access::Read, context).await?;
    let [_, sector] = session.one(Sql::SecurityPage, [security]).await?;
    session.rows(Sql::Peers, [sector, PEERS], |[_]: [i64; 1]| {}).await?;
    let days = session.rows(Sql::DailyPrices, [security, first, last], |[_]: [i64; 1]| {}).await?;
    expect("daily prices", days, last - first + 1)?;
    Ok(End::Read)
}

/// CustomerPosition: cash and value of the accounts of a customer; for half of them the latest events of one account.
pub(crate) async fn customer_position(
    session: &mut impl Session,
    (customer, account): (i64, Option<i64>),
    context: &mut OpContext,
) -> Reply<End> {
    session.begin(Access::Read, context).await?;
    let accounts = session.rows(Sql::Accounts, [customer], |[_]: [i64; 1]| {}).await?;
    expect("accounts of a customer", accounts, crate::tables::ACCOUNTS)?;
    if let Some(account) = account {
        session.rows(Sql::EventsOfAccount, [account, LATEST_TRADES], |[_]: [i64; 1]| {}).await?;
    }
    Ok(End::Read)
}

/// HistoryLookup: trades with settlement and cash.
pub(crate) async fn history_lookup(
    session: &mut impl Session,
    lookup: Lookup,
    context: &mut OpContext,
) -> Reply<End> {
    session.begin(Access::Read, context).await?;
    let mut rows = |[_]: [i64; 1]| {};
    match lookup {
        Lookup::Trades(first) => {
            let found = session.rows(Sql::HistoryById, [first, first + LOOKED_UP - 1], rows).await?;
            expect("settled trades", found, LOOKED_UP)?;
        }
        Lookup::Account(account, last) => {
            session.rows(Sql::HistoryOfAccount, [account, last, LOOKED_UP], &mut rows).await?;
        }
        Lookup::Security(security, last) => {
            session.rows(Sql::HistoryOfSecurity, [security, last, LOOKED_UP], &mut rows).await?;
        }
    }
    Ok(End::Read)
}

/// BrokerVolume: the value of pending orders in a sector, by broker.
pub(crate) async fn broker_volume(
    session: &mut impl Session,
    sector: i64,
    context: &mut OpContext,
) -> Reply<End> {
    session.begin(Access::Read, context).await?;
    session.rows(Sql::BrokerVolume, [sector], |[_]: [i64; 1]| {}).await?;
    Ok(End::Read)
}

/// AmendHistory: changes the texts of some settlements.
pub(crate) async fn amend_history(
    session: &mut impl Session,
    first: i64,
    context: &mut OpContext,
) -> Reply<End> {
    session.begin(Access::Write, context).await?;
    let rows = session.change(Sql::Amend, [first, first + LOOKED_UP - 1]).await?;
    expect("settlements", rows, LOOKED_UP)?;
    Ok(End::Amended { rows })
}
