//! The loaded rows of all tables, as a function of size, seed and number of the row.

use std::collections::BTreeMap;

use barograph_database::{Batch, Contents, Indices, Span, Value, number_at, row};

use crate::tables::{
    ACCOUNTS, BRACKETS, COMPLETED, KINDS, PENDING, PENDING_EVERY, SECTORS, SUBMITTED, Size, TIERS, Table,
    WATCHED,
};

/// The market's clock at the first loaded trade.
const FIRST_DATE: i64 = 1_000_000;

/// The step of the market's clock from one loaded trade to the next. The clock counts operations, of which one in ten is an
/// order.
const DATE_STEP: i64 = 10;

/// The lowest and the highest middle of a security's prices, in cents.
const MIDDLES: (i64, i64) = (2_000, 10_000);

/// The distance of prices from the middle, as a divisor of it.
const SWING: i64 = 10;

/// The place of a price in the range of a security, in thousandths.
pub(crate) const PARTS: (i64, i64) = (0, 1_000);

/// The chance that the next price crosses a limit, in thousandths.
pub(crate) const LIMIT_PARTS: (i64, i64) = (250, 750);

/// The kind of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind(pub(crate) i64);

impl Kind {
    pub(crate) const MARKET_BUY: Kind = Kind(1);
    pub(crate) const MARKET_SELL: Kind = Kind(2);
    pub(crate) const LIMIT_BUY: Kind = Kind(3);
    pub(crate) const LIMIT_SELL: Kind = Kind(4);
    pub(crate) const STOP_LOSS: Kind = Kind(5);

    /// The direction of the quantity: 1 for a purchase, -1 for a sale.
    pub(crate) const fn sign(self) -> i64 {
        if self.0 == Kind::MARKET_BUY.0 || self.0 == Kind::LIMIT_BUY.0 { 1 } else { -1 }
    }

    /// Whether it waits for a price.
    pub(crate) const fn has_limit(self) -> bool {
        self.0 > Kind::MARKET_SELL.0
    }

    /// Whether it waits for a price of at least its limit. The others wait for one of at most that.
    pub(crate) const fn is_above(self) -> bool {
        self.0 == Kind::LIMIT_SELL.0
    }

    /// The number of its event with a status: orders without limit are never pending.
    pub(crate) const fn event(self, status: i64) -> i64 {
        if self.has_limit() { status } else { status - 1 }
    }
}

/// A loaded trade.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trade {
    pub(crate) account: i64,
    pub(crate) security: i64,
    pub(crate) kind: Kind,
    pub(crate) quantity: i64,
    pub(crate) price: i64,
    pub(crate) fee: i64,
    pub(crate) rate: i64,
    pub(crate) tax: i64,
}

impl Trade {
    pub(crate) fn commission(&self) -> i64 {
        commission(self.price * self.quantity, self.rate)
    }

    /// What the account receives.
    pub(crate) fn amount(&self) -> i64 {
        -self.kind.sign() * self.price * self.quantity - self.fee - self.commission() - self.tax
    }
}

/// The fee of an order, in cents.
pub(crate) const fn fee(kind: Kind, tier: i64) -> i64 {
    100 * kind.0 + 50 * (TIERS + 1 - tier)
}

/// The commission on a value. The rate is in ten-thousandths.
pub(crate) const fn commission(value: i64, rate: i64) -> i64 {
    value * rate / 10_000
}

/// The tax on the gain of a sale.
pub(crate) const fn tax(is_taxed: bool, gain: i64) -> i64 {
    if is_taxed && gain > 0 { gain / 10 } else { 0 }
}

/// The commission rate of a bracket.
const fn rate_of(kind: Kind, tier: i64, bracket: i64) -> i64 {
    40 + 4 * kind.0 - 5 * tier - 5 * bracket
}

/// The commission rate of an order.
pub(crate) fn rate(kind: Kind, tier: i64, value: i64) -> i64 {
    let brackets = BRACKETS.iter().filter(|from| **from <= value).count() as i64;
    rate_of(kind, tier, brackets - 1)
}

/// Generates the rows of a database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Generator {
    pub(crate) size: Size,
    pub(crate) seed: u64,
}

impl Generator {
    fn number(&self, what: &str, (a, b): (i64, i64), range: (i64, i64)) -> i64 {
        number_at(self.seed, what, [a, b, 0], range)
    }

    /// The market's clock when a loaded trade was placed.
    pub(crate) const fn date(trade: i64) -> i64 {
        FIRST_DATE + DATE_STEP * trade
    }

    pub(crate) fn tier(&self, customer: i64) -> i64 {
        self.number("tier", (customer, 0), (1, TIERS))
    }

    pub(crate) const fn customer(account: i64) -> i64 {
        (account - 1) / ACCOUNTS + 1
    }

    pub(crate) const fn broker(&self, account: i64) -> i64 {
        (account - 1) % self.size.brokers() + 1
    }

    pub(crate) fn is_taxed(&self, account: i64) -> bool {
        self.number("taxed", (account, 0), (0, 1)) == 1
    }

    /// The balance of an account before its first trade.
    pub(crate) fn opening(&self, account: i64) -> i64 {
        self.number("balance", (account, 0), (1_000_000, 100_000_000))
    }

    /// The company of a security. The first security of a company has its number.
    pub(crate) const fn company(&self, security: i64) -> i64 {
        (security - 1) % self.size.companies() + 1
    }

    const fn sector(company: i64) -> i64 {
        (company - 1) % SECTORS + 1
    }

    /// A price of a security, at a place in its range.
    pub(crate) fn price(&self, security: i64, part: i64) -> i64 {
        let middle = self.number("middle", (security, 0), MIDDLES);
        let swing = middle / SWING;
        middle - swing + 2 * swing * part / PARTS.1
    }

    /// The limit of an order that the next price crosses with a chance.
    pub(crate) fn limit(&self, kind: Kind, security: i64, chance: i64) -> i64 {
        self.price(security, if kind.is_above() { PARTS.1 - chance } else { chance })
    }

    /// A loaded completed trade. Each fourth of an account sells from the lot of the trade two before it.
    pub(crate) fn trade(&self, id: i64) -> Trade {
        let accounts = self.size.accounts();
        let (round, account) = ((id - 1) / accounts + 1, (id - 1) % accounts + 1);
        let has_limit = self.number("kind", (id, 0), (1, 5)) > 3;
        let part = self.number("traded", (id, 0), PARTS);
        let tier = self.tier(Generator::customer(account));
        let trade = |kind, security, quantity| {
            let price = self.price(security, part);
            let rate = rate(kind, tier, price * quantity);
            Trade { account, security, kind, quantity, price, fee: fee(kind, tier), rate, tax: 0 }
        };
        if round % 4 != 0 {
            let kind = if has_limit { Kind::LIMIT_BUY } else { Kind::MARKET_BUY };
            let security = self.number("security", (id, 0), (1, self.size.securities()));
            return trade(kind, security, 100 * self.number("quantity", (id, 0), (1, 8)));
        }
        let bought = self.trade(id - 2 * accounts);
        let kind = if has_limit { Kind::LIMIT_SELL } else { Kind::MARKET_SELL };
        let quantity = 100 * self.number("quantity", (id, 0), (1, bought.quantity / 100));
        let sold = trade(kind, bought.security, quantity);
        let gain = (sold.price - bought.price) * quantity;
        Trade { tax: tax(self.is_taxed(account), gain), ..sold }
    }

    /// What is left of the lot of a loaded trade, and its price; 0 for a sale.
    fn lot(&self, id: i64) -> (Trade, i64) {
        let (trade, later) = (self.trade(id), id + 2 * self.size.accounts());
        let round = (id - 1) / self.size.accounts() + 1;
        let is_sold_from = (round + 2) % 4 == 0 && later <= self.size.completed();
        let sold = if is_sold_from { self.trade(later).quantity } else { 0 };
        (trade, if trade.kind.sign() > 0 { trade.quantity - sold } else { 0 })
    }

    /// The numbers of the loaded trades of an account.
    fn trades_of(&self, account: i64) -> impl Iterator<Item = i64> {
        let accounts = self.size.accounts();
        (0..self.size.trades).map(move |round| round * accounts + account)
    }

    /// Account, security, kind, limit and quantity of a loaded pending order.
    fn pending(&self, id: i64) -> (i64, i64, Kind, i64, i64) {
        let security = self.number("security", (id, 0), (1, self.size.securities()));
        let kind = Kind(self.number("kind", (id, 0), (Kind::LIMIT_BUY.0, Kind::STOP_LOSS.0)));
        let limit = self.limit(kind, security, self.number("limit", (id, 0), LIMIT_PARTS));
        let quantity = 100 * self.number("quantity", (id, 0), (1, 8));
        ((id - self.size.completed()) * PENDING_EVERY, security, kind, limit, quantity)
    }

    /// Securities on the watch list of a customer, in ascending order.
    fn watched(&self, customer: i64) -> Vec<i64> {
        let securities = self.size.securities();
        let first = self.number("watched", (customer, 0), (0, securities - 1));
        let at = |place| (first + place * (securities / WATCHED)) % securities + 1;
        let mut all: Vec<i64> = (0..WATCHED).map(at).collect();
        all.sort_unstable();
        all
    }

    /// Rows are made for each number: of a security all days, of a trade all events.
    fn numbers(&self, table: Table) -> i64 {
        let size = &self.size;
        match table {
            Table::Rates => KINDS * TIERS,
            Table::DailyPrices => size.securities(),
            Table::WatchItems => size.customers,
            Table::TradeEvents => size.loaded(),
            Table::Lots => size.completed(),
            Table::Positions => size.accounts(),
            _ => size.rows(table) as i64,
        }
    }

    /// Appends the rows of a number.
    fn rows(&self, table: Table, n: i64, rows: &mut Vec<Value>) {
        let kind_and_tier = (Kind((n - 1) / TIERS + 1), (n - 1) % TIERS + 1);
        match table {
            Table::Kinds => {
                let names = ["market buy", "market sell", "limit buy", "limit sell", "stop loss"];
                row!(rows, n, names[(n - 1) as usize]);
            }
            Table::Statuses => row!(rows, n, ["pending", "submitted", "completed"][(n - 1) as usize]),
            Table::Charges => {
                row!(rows, kind_and_tier.0.0, kind_and_tier.1, fee(kind_and_tier.0, kind_and_tier.1))
            }
            Table::Rates => {
                let (kind, tier) = kind_and_tier;
                for (from, bracket) in BRACKETS.into_iter().zip(0..) {
                    row!(rows, kind.0, tier, from, rate_of(kind, tier, bracket));
                }
            }
            Table::Sectors => row!(rows, n, format!("sector {n}")),
            Table::Brokers => self.broker_row(n, rows),
            Table::Customers => row!(rows, n, format!("customer {n}"), self.tier(n)),
            Table::Accounts => self.account_row(n, rows),
            Table::Companies => row!(rows, n, Generator::sector(n), format!("company {n}")),
            Table::Securities => row!(rows, n, self.company(n), format!("SYM{n}")),
            Table::LastPrices => {
                let price = self.price(n, self.number("last", (n, 0), PARTS));
                row!(rows, n, price, 0, Generator::date(self.size.loaded()));
            }
            Table::DailyPrices => self.daily_rows(n, rows),
            Table::WatchItems => self.watched(n).into_iter().for_each(|security| row!(rows, n, security)),
            Table::Trades => self.trade_row(n, rows),
            Table::TradeEvents => self.event_rows(n, rows),
            Table::PendingOrders => {
                let id = self.size.completed() + n;
                let (_, security, kind, limit, _) = self.pending(id);
                row!(rows, id, security, i64::from(kind.is_above()), limit);
            }
            Table::Lots => {
                let (Trade { account, security, price, .. }, left) = self.lot(n);
                if left > 0 {
                    row!(rows, n, account, security, left, price);
                }
            }
            Table::Positions => self.position_rows(n, rows),
            Table::Settlements => {
                let due = Generator::date(n) + 2 * DATE_STEP;
                row!(rows, n, self.trade(n).amount(), due, 0, "by wire");
            }
            Table::CashEntries => {
                let trade = self.trade(n);
                row!(rows, n, trade.account, trade.amount(), Generator::date(n) + DATE_STEP);
            }
        }
    }

    fn broker_row(&self, broker: i64, rows: &mut Vec<Value>) {
        let accounts = (broker..=self.size.accounts()).step_by(self.size.brokers() as usize);
        let (mut trades, mut commission) = (0, 0);
        for trade in accounts.flat_map(|account| self.trades_of(account)) {
            trades += 1;
            commission += self.trade(trade).commission();
        }
        row!(rows, broker, format!("broker {broker}"), trades, commission);
    }

    fn account_row(&self, account: i64, rows: &mut Vec<Value>) {
        let paid: i64 = self.trades_of(account).map(|trade| self.trade(trade).amount()).sum();
        let is_open = account % PENDING_EVERY == 0;
        row!(rows, account, Generator::customer(account), self.broker(account));
        row!(rows, i64::from(self.is_taxed(account)), i64::from(is_open), self.opening(account) + paid);
    }

    fn daily_rows(&self, security: i64, rows: &mut Vec<Value>) {
        for day in 1..=self.size.days {
            let close = self.number("close", (security, day), PARTS);
            let [high, low] = [self.number("high", (security, day), (close, PARTS.1)), close / 2];
            row!(rows, security, day, self.price(security, close), self.price(security, high));
            row!(rows, self.price(security, low), 100 * self.number("volume", (security, day), (10, 10_000)));
        }
    }

    fn trade_row(&self, id: i64, rows: &mut Vec<Value>) {
        let lifo = i64::from(self.number("lifo", (id, 0), (1, 100)) <= 35);
        if id > self.size.completed() {
            let (account, security, kind, limit, quantity) = self.pending(id);
            let tier = self.tier(Generator::customer(account));
            let rate = rate(kind, tier, limit * quantity);
            row!(rows, id, account, security, kind.0, PENDING, quantity, limit, lifo, fee(kind, tier), rate);
            row!(rows, 0, 0, 0, Generator::date(id), 0);
            return;
        }
        let trade = self.trade(id);
        let limit = if trade.kind.has_limit() { trade.price } else { 0 };
        row!(rows, id, trade.account, trade.security, trade.kind.0, COMPLETED, trade.quantity, limit, lifo);
        row!(rows, trade.fee, trade.rate, trade.price, trade.commission(), trade.tax);
        row!(rows, Generator::date(id), Generator::date(id) + DATE_STEP);
    }

    fn event_rows(&self, id: i64, rows: &mut Vec<Value>) {
        if id > self.size.completed() {
            row!(rows, id, 1, PENDING, Generator::date(id));
            return;
        }
        let kind = self.trade(id).kind;
        let first = if kind.has_limit() { PENDING } else { SUBMITTED };
        for status in first..=COMPLETED {
            let date = Generator::date(id) + if status == COMPLETED { DATE_STEP } else { 0 };
            row!(rows, id, kind.event(status), status, date);
        }
    }

    fn position_rows(&self, account: i64, rows: &mut Vec<Value>) {
        let mut positions = BTreeMap::<i64, i64>::new();
        for (trade, left) in self.trades_of(account).map(|id| self.lot(id)) {
            *positions.entry(trade.security).or_default() += left;
        }
        for (security, quantity) in positions.into_iter().filter(|(_, quantity)| *quantity > 0) {
            row!(rows, account, security, quantity);
        }
    }
}

impl Contents for Generator {
    type Table = Table;
    type Piece = Span<Table>;

    /// "BBrk" in ASCII.
    const APPLICATION_ID: i32 = 0x4242_726b;

    const KIND: &'static str = "a Brokerage database";

    const INDICES: Indices = Indices {
        all: &[
            "CREATE INDEX accounts_customer ON accounts (a_customer)",
            "CREATE INDEX companies_sector ON companies (co_sector, co_id)",
            "CREATE INDEX securities_company ON securities (s_company)",
            "CREATE INDEX trades_account ON trades (t_account, t_id)",
            "CREATE INDEX trades_security ON trades (t_security, t_id)",
            "CREATE INDEX pending_orders_security ON pending_orders (p_security)",
            "CREATE INDEX lots_account ON lots (h_account, h_security, h_trade)",
        ],
        sqlite: &[],
        postgres: &[],
        mariadb: &[],
    };

    fn stamp(&self) -> String {
        let Generator { size: Size { customers, trades, days }, seed } = self;
        let version = crate::VERSION;
        format!(
            "customers = {customers}, trades = {trades}, days = {days}, seed = {seed}, version {version} of the workload"
        )
    }

    fn expected_rows(&self, table: Table) -> u64 {
        self.size.rows(table)
    }

    fn pieces(&self) -> impl Iterator<Item = Self::Piece> + Send {
        Span::all(|table| self.numbers(table))
    }

    fn piece(&self, piece: Self::Piece, take: &mut dyn FnMut(Batch<Table>) -> bool) -> bool {
        piece.batches(|table, number, rows| self.rows(table, number, rows), take)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::rig::SIZE;

    fn all(seed: u64) -> BTreeMap<&'static str, Vec<Vec<Value>>> {
        let mut tables = BTreeMap::<_, Vec<Vec<Value>>>::new();
        let generator = Generator { size: SIZE, seed };
        let mut take = |batch: Batch<Table>| {
            let columns = barograph_database::Table::spec(batch.table).names().count();
            assert_eq!(batch.values.len(), batch.rows as usize * columns, "{}", batch.table.name());
            let rows = batch.values.chunks(columns).map(<[Value]>::to_vec);
            tables.entry(batch.table.name()).or_default().extend(rows);
            true
        };
        assert!(generator.pieces().all(|piece| generator.piece(piece, &mut take)));
        tables
    }

    #[test]
    fn a_seed_repeats_all_rows_and_another_changes_them() {
        let (one, again, other) = (all(1), all(1), all(2));
        assert!(one == again);
        let fixed = ["kinds", "statuses", "charges", "rates", "sectors", "companies", "securities"];
        for (name, rows) in &one {
            assert_eq!(*rows == other[name], fixed.contains(name), "{name}");
        }
    }

    #[test]
    fn tables_have_their_rows_and_keys_come_in_order() {
        let tables = all(3);
        for table in Table::ALL {
            let spec = barograph_database::Table::spec(table);
            let (rows, expected) = (&tables[table.name()], SIZE.rows(table) as usize);
            let most = match table {
                Table::TradeEvents | Table::Lots | Table::Positions => expected / 20,
                _ => 0,
            };
            assert!(
                rows.len().abs_diff(expected) <= most,
                "{} rows of {} for {expected}",
                rows.len(),
                spec.name
            );
            let key = |row: &[Value]| -> Vec<i64> {
                row[..spec.key].iter().map(|v| if let Value::Int(n) = v { *n } else { -1 }).collect()
            };
            assert!(rows.is_sorted_by(|a, b| key(a) < key(b)), "{}", spec.name);
        }
    }

    /// The chance of a limit is that of the next price to cross it.
    #[test]
    fn limits_are_crossed_with_their_chance() {
        let generator = Generator { size: SIZE, seed: 1 };
        for kind in [Kind::LIMIT_BUY, Kind::LIMIT_SELL, Kind::STOP_LOSS] {
            let limit = generator.limit(kind, 7, 400);
            let crosses = |price: i64| if kind.is_above() { price >= limit } else { price <= limit };
            let crossed = (PARTS.0..=PARTS.1).filter(|part| crosses(generator.price(7, *part))).count();
            assert!((395..=406).contains(&crossed), "{kind:?}: {crossed}");
        }
    }
}
