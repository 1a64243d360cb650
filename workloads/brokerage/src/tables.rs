//! The twenty tables: columns, keys and numbers of rows.

use barograph_database::TableSpec;

/// Kinds of orders: market buy, market sell, limit buy, limit sell, stop loss.
pub(crate) const KINDS: i64 = 5;

/// Tiers of customers.
pub(crate) const TIERS: i64 = 3;

/// Sectors of companies.
pub(crate) const SECTORS: i64 = 12;

/// Accounts of a customer.
pub(crate) const ACCOUNTS: i64 = 5;

/// Securities on the watch list of a customer.
pub(crate) const WATCHED: i64 = 20;

/// The distance from one account with a loaded pending order to the next: about as many as wait in a long run.
pub(crate) const PENDING_EVERY: i64 = 16;

/// Values of an order from which a commission rate holds, in cents.
pub(crate) const BRACKETS: [i64; 4] = [0, 1_000_000, 2_000_000, 4_000_000];

/// The status of an order whose limit no price has crossed.
pub(crate) const PENDING: i64 = 1;

/// The status of an order at the market.
pub(crate) const SUBMITTED: i64 = 2;

/// The status of an order that is done.
pub(crate) const COMPLETED: i64 = 3;

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    Kinds,
    Statuses,
    Charges,
    Rates,
    Sectors,
    Brokers,
    Customers,
    Accounts,
    Companies,
    Securities,
    LastPrices,
    DailyPrices,
    WatchItems,
    Trades,
    TradeEvents,
    PendingOrders,
    Lots,
    Positions,
    Settlements,
    CashEntries,
}

impl Table {
    /// All tables, in the order in which they are filled.
    pub(crate) const ALL: [Table; 20] = [
        Table::Kinds,
        Table::Statuses,
        Table::Charges,
        Table::Rates,
        Table::Sectors,
        Table::Brokers,
        Table::Customers,
        Table::Accounts,
        Table::Companies,
        Table::Securities,
        Table::LastPrices,
        Table::DailyPrices,
        Table::WatchItems,
        Table::Trades,
        Table::TradeEvents,
        Table::PendingOrders,
        Table::Lots,
        Table::Positions,
        Table::Settlements,
        Table::CashEntries,
    ];

    /// Name, columns, and number of columns in the key. Amounts and prices are cents.
    const fn definition(self) -> (&'static str, &'static str, usize) {
        match self {
            Table::Kinds => ("kinds", "k_id i, k_name t", 1),
            Table::Statuses => ("statuses", "st_id i, st_name t", 1),
            Table::Charges => ("charges", "f_kind i, f_tier i, f_cents i", 2),
            Table::Rates => ("rates", "r_kind i, r_tier i, r_from i, r_rate i", 3),
            Table::Sectors => ("sectors", "se_id i, se_name t", 1),
            Table::Brokers => ("brokers", "b_id i, b_name t, b_trades b, b_commission b", 1),
            Table::Customers => ("customers", "u_id i, u_name t, u_tier i", 1),
            Table::Accounts => {
                ("accounts", "a_id i, a_customer i, a_broker i, a_taxed i, a_open i, a_balance b", 1)
            }
            Table::Companies => ("companies", "co_id i, co_sector i, co_name t", 1),
            Table::Securities => ("securities", "s_id i, s_company i, s_symbol t", 1),
            Table::LastPrices => ("last_prices", "l_security i, l_price i, l_ticks i, l_date b", 1),
            Table::DailyPrices => {
                ("daily_prices", "d_security i, d_day i, d_close i, d_high i, d_low i, d_volume i", 2)
            }
            Table::WatchItems => ("watch_items", "w_customer i, w_security i", 2),
            Table::Trades => (
                "trades",
                "t_id n, t_account i, t_security i, t_kind i, t_status i, t_quantity i, t_limit i, t_lifo i, t_fee i, \
                 t_rate i, t_price i, t_commission i, t_tax i, t_date b, t_done b",
                1,
            ),
            Table::TradeEvents => ("trade_events", "e_trade i, e_number i, e_status i, e_date b", 2),
            Table::PendingOrders => ("pending_orders", "p_trade i, p_security i, p_above i, p_limit i", 1),
            Table::Lots => ("lots", "h_trade i, h_account i, h_security i, h_quantity i, h_price i", 1),
            Table::Positions => ("positions", "o_account i, o_security i, o_quantity i", 2),
            Table::Settlements => ("settlements", "m_trade i, m_amount i, m_due b, m_changes i, m_text t", 1),
            Table::CashEntries => ("cash_entries", "c_trade i, c_account i, c_amount i, c_date b", 1),
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        self.definition().0
    }
}

impl barograph_database::Table for Table {
    fn all() -> &'static [Self] {
        &Table::ALL
    }

    fn spec(self) -> TableSpec {
        let (name, columns, key) = self.definition();
        TableSpec { name, columns, key, nullable: &[] }
    }
}

/// The size of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) customers: i64,
    /// Loaded trades of an account.
    pub(crate) trades: i64,
    /// Days with a price of each security.
    pub(crate) days: i64,
}

impl Size {
    pub(crate) const fn brokers(&self) -> i64 {
        self.customers / 100
    }

    pub(crate) const fn accounts(&self) -> i64 {
        self.customers * ACCOUNTS
    }

    pub(crate) const fn companies(&self) -> i64 {
        self.customers / 2
    }

    pub(crate) const fn securities(&self) -> i64 {
        self.customers * 685 / 1_000
    }

    /// Loaded completed trades. Their numbers begin with 1.
    pub(crate) const fn completed(&self) -> i64 {
        self.accounts() * self.trades
    }

    /// Loaded pending orders. Their numbers follow those of completed trades.
    pub(crate) const fn pending(&self) -> i64 {
        self.accounts() / PENDING_EVERY
    }

    /// All loaded trades.
    pub(crate) const fn loaded(&self) -> i64 {
        self.completed() + self.pending()
    }

    /// Loaded rows of a table. Those of events, lots and positions are expected ones.
    pub(crate) fn rows(&self, table: Table) -> u64 {
        // Two of five orders have a limit; a third of the sales, one in four trades, close their lot.
        let lots = self.accounts() * (100 * self.trades - 134 * (self.trades / 4)) / 100;
        let rows = match table {
            Table::Kinds => KINDS,
            Table::Statuses => COMPLETED,
            Table::Charges => KINDS * TIERS,
            Table::Rates => KINDS * TIERS * BRACKETS.len() as i64,
            Table::Sectors => SECTORS,
            Table::Brokers => self.brokers(),
            Table::Customers => self.customers,
            Table::Accounts => self.accounts(),
            Table::Companies => self.companies(),
            Table::Securities | Table::LastPrices => self.securities(),
            Table::DailyPrices => self.securities() * self.days,
            Table::WatchItems => self.customers * WATCHED,
            Table::Trades => self.loaded(),
            Table::TradeEvents => self.completed() * 12 / 5 + self.pending(),
            Table::PendingOrders => self.pending(),
            Table::Lots | Table::Positions => lots,
            Table::Settlements | Table::CashEntries => self.completed(),
        };
        rows.unsigned_abs()
    }
}
