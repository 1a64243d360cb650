//! Inputs of the transactions, drawn from the random stream of a user.

use barograph_data::Stream;
use rand::RngExt;

use crate::generate::{Generator, Kind, LIMIT_PARTS, PARTS};
use crate::tables::{PENDING, SECTORS, SUBMITTED, Size};

/// Prices of a feed.
pub(crate) const TICKS: usize = 20;

/// Trades of a look-up, and of a change.
pub(crate) const LOOKED_UP: i64 = 20;

/// Companies that a look at a sector sees at the most.
const MOST_COMPANIES: i64 = 600;

/// Chances of an order, in percent.
const SELLS: i64 = 50;
const LIMITS: i64 = 40;
const BY_COMPANY: i64 = 40;
const LIFO: i64 = 35;
const ROLLED_BACK: i64 = 1;

/// The input of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Of an account.
    OrderStatus(i64),
    /// At a day.
    MarketWatch(Watch, i64),
    /// Of a security, with prices of some days.
    SecurityPage(i64, (i64, i64)),
    /// Of a customer, and with the events of an account.
    CustomerPosition(i64, Option<i64>),
    PlaceOrder(OrderInput),
    /// The trade, at a time of the market.
    CompleteOrder(i64, i64),
    HistoryLookup(Lookup),
    /// Of a sector.
    BrokerVolume(i64),
    /// Of the trades from a number on.
    AmendHistory(i64),
    /// At a time of the market; the ticks are beside it.
    MarketFeed(i64),
}

/// The subject of a MarketWatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    /// The list of a customer.
    List(i64),
    /// The positions of an account.
    Positions(i64),
    /// A sector, among a range of companies.
    Sector(i64, (i64, i64)),
}

/// The subject of a HistoryLookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// Trades from a number on.
    Trades(i64),
    /// The trades of an account up to a number.
    Account(i64, i64),
    /// The trades of a security up to a number.
    Security(i64, i64),
}

/// The input of PlaceOrder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OrderInput {
    pub(crate) account: i64,
    pub(crate) customer: i64,
    /// The security is looked up as the first one of its company, which has the same number.
    pub(crate) by_company: bool,
    pub(crate) security: i64,
    pub(crate) kind: Kind,
    pub(crate) quantity: i64,
    /// 0 without a limit.
    pub(crate) limit: i64,
    pub(crate) is_lifo: bool,
    /// A planned rollback.
    pub(crate) is_rolled_back: bool,
    pub(crate) date: i64,
}

/// A new price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tick {
    pub(crate) security: i64,
    pub(crate) price: i64,
}

/// Draws inputs for a database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inputs(pub(crate) Generator);

impl Inputs {
    fn size(&self) -> Size {
        self.0.size
    }

    fn day(&self, rng: &mut Stream) -> i64 {
        rng.random_range(1..=self.size().days)
    }

    pub(crate) fn customer(&self, rng: &mut Stream) -> i64 {
        rng.random_range(1..=self.size().customers)
    }

    pub(crate) fn account(&self, rng: &mut Stream) -> i64 {
        rng.random_range(1..=self.size().accounts())
    }

    fn security(&self, rng: &mut Stream) -> i64 {
        rng.random_range(1..=self.size().securities())
    }

    pub(crate) fn sector(rng: &mut Stream) -> i64 {
        rng.random_range(1..=SECTORS)
    }

    pub(crate) fn market_watch(&self, rng: &mut Stream) -> Request {
        let watch = match rng.random_range(0..100) {
            0..60 => Watch::List(self.customer(rng)),
            60..95 => Watch::Positions(self.account(rng)),
            _ => {
                let first = rng.random_range(1..=(self.size().companies() - MOST_COMPANIES).max(1));
                Watch::Sector(Inputs::sector(rng), (first, first + MOST_COMPANIES - 1))
            }
        };
        Request::MarketWatch(watch, self.day(rng))
    }

    pub(crate) fn security_page(&self, rng: &mut Stream) -> Request {
        let days = rng.random_range(5..=20).min(self.size().days);
        let first = rng.random_range(1..=self.size().days - days + 1);
        Request::SecurityPage(self.security(rng), (first, first + days - 1))
    }

    pub(crate) fn customer_position(&self, rng: &mut Stream) -> Request {
        let account = rng.random_bool(0.5).then(|| self.account(rng));
        let customer = account.map_or_else(|| self.customer(rng), Generator::customer);
        Request::CustomerPosition(customer, account)
    }

    pub(crate) fn place_order(&self, date: i64, rng: &mut Stream) -> Request {
        let account = self.account(rng);
        let kind = match (percent(SELLS, rng), percent(LIMITS, rng)) {
            (false, false) => Kind::MARKET_BUY,
            (false, true) => Kind::LIMIT_BUY,
            (true, false) => Kind::MARKET_SELL,
            (true, true) if rng.random_bool(0.5) => Kind::LIMIT_SELL,
            (true, true) => Kind::STOP_LOSS,
        };
        let by_company = percent(BY_COMPANY, rng);
        let security = match by_company {
            true => rng.random_range(1..=self.size().companies()),
            // Mostly what the account has.
            false if kind.sign() < 0 => {
                let round = rng.random_range(0..self.size().trades);
                self.0.trade(round * self.size().accounts() + account).security
            }
            false => self.security(rng),
        };
        let chance = rng.random_range(LIMIT_PARTS.0..=LIMIT_PARTS.1);
        Request::PlaceOrder(OrderInput {
            account,
            customer: Generator::customer(account),
            by_company,
            security,
            kind,
            quantity: 100 * rng.random_range(1..=8),
            limit: if kind.has_limit() { self.0.limit(kind, security, chance) } else { 0 },
            is_lifo: percent(LIFO, rng),
            is_rolled_back: percent(ROLLED_BACK, rng),
            date,
        })
    }

    pub(crate) fn history_lookup(&self, rng: &mut Stream) -> Request {
        let loaded = rng.random_range(1..=self.size().completed());
        Request::HistoryLookup(match rng.random_range(0..3) {
            0 => Lookup::Trades(self.first_of_looked_up(rng)),
            1 => Lookup::Account(self.account(rng), loaded),
            _ => Lookup::Security(self.security(rng), loaded),
        })
    }

    pub(crate) fn amend_history(&self, rng: &mut Stream) -> Request {
        Request::AmendHistory(self.first_of_looked_up(rng))
    }

    /// The first of some loaded completed trades.
    fn first_of_looked_up(&self, rng: &mut Stream) -> i64 {
        rng.random_range(1..=self.size().completed() - LOOKED_UP + 1)
    }

    /// Prices of different securities. All feeds change prices in ascending order, which rules out deadlocks.
    pub(crate) fn ticks(&self, rng: &mut Stream, ticks: &mut Vec<Tick>) {
        ticks.clear();
        while ticks.len() < TICKS {
            let security = self.security(rng);
            if ticks.iter().all(|tick| tick.security != security) {
                let price = self.0.price(security, rng.random_range(PARTS.0..=PARTS.1));
                ticks.push(Tick { security, price });
            }
        }
        ticks.sort_unstable_by_key(|tick| tick.security);
    }
}

impl OrderInput {
    /// The first status of the order.
    pub(crate) const fn status(&self) -> i64 {
        if self.kind.has_limit() { PENDING } else { SUBMITTED }
    }
}

fn percent(chance: i64, rng: &mut Stream) -> bool {
    rng.random_range(0..100) < chance
}

#[cfg(test)]
mod tests {
    use barograph_data::Streams;

    use super::*;
    use crate::tests::rig::SIZE;

    const TIMES: u32 = 40_000;

    /// Shares of orders, within six standard deviations.
    #[test]
    fn orders_have_their_kinds_and_their_share_of_rollbacks() {
        let inputs = Inputs(Generator { size: SIZE, seed: 1 });
        let mut rng = Streams::new(1).stream("a test", 0);
        let (mut kinds, mut rolled_back) = ([0_u32; 5], 0);
        for _ in 0..TIMES {
            let Request::PlaceOrder(order) = inputs.place_order(5, &mut rng) else { panic!("an order") };
            assert_eq!(
                (order.limit > 0, order.status()),
                (order.kind.has_limit(), if order.limit > 0 { 1 } else { 2 })
            );
            assert!(order.security <= SIZE.securities() && order.customer <= SIZE.customers);
            kinds[order.kind.0 as usize - 1] += 1;
            rolled_back += u32::from(order.is_rolled_back);
        }
        for (found, share) in kinds.into_iter().zip([0.3, 0.3, 0.2, 0.1, 0.1]).chain([(rolled_back, 0.01)]) {
            let (n, found) = (f64::from(TIMES), f64::from(found));
            assert!(
                (found - n * share).abs() <= 6.0 * (n * share * (1.0 - share)).sqrt(),
                "{found} for {share}"
            );
        }
    }

    #[test]
    fn ticks_are_of_different_securities_in_order() {
        let inputs = Inputs(Generator { size: SIZE, seed: 1 });
        let (mut rng, mut ticks) = (Streams::new(1).stream("a test", 0), Vec::new());
        for _ in 0..100 {
            inputs.ticks(&mut rng, &mut ticks);
            assert!(ticks.len() == TICKS && ticks.is_sorted_by(|a, b| a.security < b.security));
        }
    }
}
