//! The statements of all transactions. Values and results are whole numbers, so a statement is the same text on the three engines
//! but for the signs of its values and for numbers of new rows.

use barograph_database_engines::{Query, numbered};

macro_rules! on_sqlite {
    ($all:literal) => {
        $all
    };
    ([$sqlite:literal, $servers:literal]) => {
        $sqlite
    };
}

macro_rules! on_servers {
    ($all:literal) => {
        $all
    };
    ([$sqlite:literal, $servers:literal]) => {
        $servers
    };
}

/// Statements with their SQL: of all engines, or of SQLite and of the servers. Those of PostgreSQL only are functions.
macro_rules! statements {
    ({ $($name:ident: $sql:tt,)* } { $($function:ident: $call:literal,)* }) => {
        /// A statement.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Sql {
            $($name,)*
            $($function,)*
        }

        /// The SQL of SQLite, by number of the statement.
        pub(crate) const SQLITE: &[&str] = &[$(on_sqlite!($sql),)*];

        impl Query for OnPostgres {
            const ALL: &'static [(Self, &'static str)] = &[
                $((OnPostgres(Sql::$name), numbered!(on_servers!($sql))),)*
                $((OnPostgres(Sql::$function), numbered!($call)),)*
            ];

            fn number(self) -> usize {
                self.0 as usize
            }
        }

        impl Query for OnMariadb {
            const ALL: &'static [(Self, &'static str)] = &[$((OnMariadb(Sql::$name), on_servers!($sql)),)*];

            fn number(self) -> usize {
                self.0 as usize
            }
        }
    };
}

/// A statement on PostgreSQL.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnPostgres(pub(crate) Sql);

/// A statement on MariaDB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnMariadb(pub(crate) Sql);

statements! { {
    TradesOfAccount:
        "SELECT t_id, t_status, t_quantity, t_price, t_date, s_symbol, k_name, st_name FROM trades \
         JOIN securities ON s_id = t_security JOIN kinds ON k_id = t_kind JOIN statuses ON st_id = t_status \
         WHERE t_account = ? ORDER BY t_id DESC LIMIT ?",
    WatchList:
        "SELECT l_price, d_close FROM watch_items JOIN last_prices ON l_security = w_security \
         JOIN daily_prices ON d_security = w_security WHERE w_customer = ? AND d_day = ?",
    WatchPositions:
        "SELECT l_price, d_close, o_quantity FROM positions JOIN last_prices ON l_security = o_security \
         JOIN daily_prices ON d_security = o_security WHERE o_account = ? AND d_day = ?",
    WatchSector:
        "SELECT l_price, d_close FROM companies JOIN securities ON s_company = co_id \
         JOIN last_prices ON l_security = s_id JOIN daily_prices ON d_security = s_id \
         WHERE co_sector = ? AND co_id BETWEEN ? AND ? AND d_day = ?",
    SecurityPage:
        "SELECT s_id, co_sector, l_price, s_symbol, co_name, se_name FROM securities \
         JOIN companies ON co_id = s_company JOIN sectors ON se_id = co_sector \
         JOIN last_prices ON l_security = s_id WHERE s_id = ?",
    Peers:
        "SELECT co_id, co_name FROM companies WHERE co_sector = ? ORDER BY co_id LIMIT ?",
    DailyPrices:
        "SELECT d_day, d_close, d_high, d_low, d_volume FROM daily_prices \
         WHERE d_security = ? AND d_day BETWEEN ? AND ?",
    Accounts:
        "SELECT a_id, a_balance, coalesce(sum(o_quantity * l_price), 0) AS worth FROM accounts \
         LEFT JOIN positions ON o_account = a_id LEFT JOIN last_prices ON l_security = o_security \
         WHERE a_customer = ? GROUP BY a_id, a_balance",
    EventsOfAccount:
        "SELECT e_trade, e_status, e_date, st_name FROM (SELECT t_id FROM trades WHERE t_account = ? \
         ORDER BY t_id DESC LIMIT ?) latest JOIN trade_events ON e_trade = t_id JOIN statuses ON st_id = e_status",
    OpenOrder: "UPDATE accounts SET a_open = a_open + 1 WHERE a_id = ?",
    Account:
        "SELECT a_customer, a_broker, a_taxed, u_tier, u_name, b_name FROM accounts \
         JOIN customers ON u_id = a_customer JOIN brokers ON b_id = a_broker WHERE a_id = ?",
    SecurityById:
        "SELECT s_id, l_price, s_symbol, co_name FROM securities JOIN companies ON co_id = s_company \
         JOIN last_prices ON l_security = s_id WHERE s_id = ?",
    SecurityByCompany:
        "SELECT s_id, l_price, s_symbol, co_name FROM securities JOIN companies ON co_id = s_company \
         JOIN last_prices ON l_security = s_id WHERE s_company = ? ORDER BY s_id LIMIT 1",
    Terms:
        "SELECT f_cents, r_rate FROM charges JOIN rates ON r_kind = f_kind AND r_tier = f_tier \
         WHERE f_kind = ? AND f_tier = ? AND r_from <= ? ORDER BY r_from DESC LIMIT 1",
    InsertTrade: [
        "INSERT INTO trades (t_id, t_account, t_security, t_kind, t_status, t_quantity, t_limit, t_lifo, t_fee, \
         t_rate, t_price, t_commission, t_tax, t_date, t_done) \
         SELECT (SELECT coalesce(max(t_id), 0) + 1 FROM trades), ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, ?, 0 \
         RETURNING t_id",
        "INSERT INTO trades (t_account, t_security, t_kind, t_status, t_quantity, t_limit, t_lifo, t_fee, t_rate, \
         t_price, t_commission, t_tax, t_date, t_done) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, ?, 0) \
         RETURNING t_id"
    ],
    InsertEvent: "INSERT INTO trade_events (e_trade, e_number, e_status, e_date) VALUES (?, ?, ?, ?)",
    InsertPending: "INSERT INTO pending_orders (p_trade, p_security, p_above, p_limit) VALUES (?, ?, ?, ?)",
    TakeOrder: "UPDATE trades SET t_status = 3, t_done = ? WHERE t_id = ? AND t_status = 2",
    Order: "SELECT t_account, t_security, t_kind, t_quantity, t_lifo, t_fee, t_rate FROM trades WHERE t_id = ?",
    CloseOrder: "UPDATE accounts SET a_open = a_open - 1 WHERE a_id = ?",
    LastPrice: "SELECT l_price FROM last_prices WHERE l_security = ?",
    OldestLots:
        "SELECT h_trade, h_quantity, h_price FROM lots WHERE h_account = ? AND h_security = ? ORDER BY h_trade",
    LatestLots:
        "SELECT h_trade, h_quantity, h_price FROM lots WHERE h_account = ? AND h_security = ? \
         ORDER BY h_trade DESC",
    ChangeLot: "UPDATE lots SET h_quantity = h_quantity + ? WHERE h_trade = ?",
    DeleteLot: "DELETE FROM lots WHERE h_trade = ?",
    InsertLot:
        "INSERT INTO lots (h_trade, h_account, h_security, h_quantity, h_price) VALUES (?, ?, ?, ?, ?)",
    ChangePosition:
        "UPDATE positions SET o_quantity = o_quantity + ? WHERE o_account = ? AND o_security = ?",
    InsertPosition: "INSERT INTO positions (o_quantity, o_account, o_security) VALUES (?, ?, ?)",
    PriceTrade: "UPDATE trades SET t_price = ?, t_commission = ?, t_tax = ? WHERE t_id = ?",
    InsertSettlement:
        "INSERT INTO settlements (m_trade, m_amount, m_due, m_changes, m_text) VALUES (?, ?, ?, 0, 'by wire')",
    InsertCash: "INSERT INTO cash_entries (c_trade, c_account, c_amount, c_date) VALUES (?, ?, ?, ?)",
    Pay: "UPDATE accounts SET a_balance = a_balance + ? WHERE a_id = ?",
    Earn: "UPDATE brokers SET b_trades = b_trades + 1, b_commission = b_commission + ? WHERE b_id = ?",
    HistoryById:
        "SELECT t_id, t_price, m_amount, c_amount, m_text FROM trades JOIN settlements ON m_trade = t_id \
         JOIN cash_entries ON c_trade = t_id WHERE t_id BETWEEN ? AND ?",
    HistoryOfAccount:
        "SELECT t_id, t_price, m_amount, c_amount, m_text FROM trades LEFT JOIN settlements ON m_trade = t_id \
         LEFT JOIN cash_entries ON c_trade = t_id WHERE t_account = ? AND t_id <= ? ORDER BY t_id DESC LIMIT ?",
    HistoryOfSecurity:
        "SELECT t_id, t_price, m_amount, c_amount, m_text FROM trades LEFT JOIN settlements ON m_trade = t_id \
         LEFT JOIN cash_entries ON c_trade = t_id WHERE t_security = ? AND t_id <= ? ORDER BY t_id DESC LIMIT ?",
    BrokerVolume:
        "SELECT a_broker, sum(p_limit * t_quantity) AS volume FROM companies JOIN securities ON s_company = co_id \
         JOIN pending_orders ON p_security = s_id JOIN trades ON t_id = p_trade JOIN accounts ON a_id = t_account \
         WHERE co_sector = ? GROUP BY a_broker",
    Amend:
        "UPDATE settlements SET m_changes = m_changes + 1, \
         m_text = CASE WHEN m_text = 'by wire' THEN 'by mail' ELSE 'by wire' END WHERE m_trade BETWEEN ? AND ?",
    Tick: "UPDATE last_prices SET l_price = ?, l_ticks = l_ticks + 1, l_date = ? WHERE l_security = ?",
    Crossed:
        "SELECT p_trade FROM pending_orders WHERE p_security = ? \
         AND (p_above = 1 AND p_limit <= ? OR p_above = 0 AND p_limit >= ?) ORDER BY p_trade",
    DeletePending: "DELETE FROM pending_orders WHERE p_trade = ?",
    Submit: "UPDATE trades SET t_status = 2 WHERE t_id = ? AND t_status = 1",
} {
    PlaceFunction: "SELECT br_place_order(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    CompleteFunction: "SELECT br_complete_order(?, ?)",
    FeedFunction: "SELECT br_market_feed(?, ?, ?)",
} }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_have_the_same_number_on_all_engines() {
        assert_eq!((SQLITE.len(), OnMariadb::ALL.len()), (Sql::PlaceFunction as usize, SQLITE.len()));
        for (number, (sql, _)) in OnPostgres::ALL.iter().enumerate() {
            assert_eq!(sql.number(), number, "{sql:?}");
        }
    }
}
