//! Conditions of a consistent database, as queries over whole tables in the SQL that all engines share. Each query returns the
//! keys at which its condition is violated. Status 1 is pending, 2 at the market, 3 completed; kinds 1 and 3 buy.

use barograph_database::Condition;

const TRADE: &[&str] = &["trade"];
const EVENT: &[&str] = &["trade", "number"];
const ACCOUNT: &[&str] = &["account"];
const BROKER: &[&str] = &["broker"];
const HELD: &[&str] = &["account", "security"];

const fn condition(keys: &'static [&'static str], (rule, sql): (&'static str, &'static str)) -> Condition {
    Condition { rule, keys, sql }
}

/// All conditions.
pub(crate) const ALL: [Condition; 21] = [
    condition(
        HELD,
        (
            "a position is the sum of its lots",
            "SELECT a, s FROM (SELECT o_account AS a, o_security AS s, o_quantity AS v FROM positions \
         UNION ALL SELECT h_account, h_security, -h_quantity FROM lots) t GROUP BY a, s HAVING sum(v) <> 0",
        ),
    ),
    condition(
        HELD,
        (
            "a position is what completed trades have bought and not sold",
            "SELECT a, s FROM (SELECT o_account AS a, o_security AS s, o_quantity AS v FROM positions \
         UNION ALL SELECT t_account, t_security, CASE WHEN t_kind IN (1, 3) THEN -t_quantity ELSE t_quantity END \
         FROM trades WHERE t_status = 3) t GROUP BY a, s HAVING sum(v) <> 0",
        ),
    ),
    condition(
        TRADE,
        (
            "a lot is a part of its completed trade, at its price",
            "SELECT h_trade FROM lots LEFT JOIN trades ON t_id = h_trade WHERE t_id IS NULL OR t_status <> 3 \
         OR t_account <> h_account OR t_security <> h_security OR t_price <> h_price \
         OR t_kind IN (1, 3) AND h_quantity NOT BETWEEN 1 AND t_quantity \
         OR t_kind NOT IN (1, 3) AND h_quantity NOT BETWEEN -t_quantity AND -1",
        ),
    ),
    condition(
        BROKER,
        (
            "a broker has counted the completed trades of its accounts",
            "SELECT b FROM (SELECT b_id AS b, b_trades AS v FROM brokers UNION ALL SELECT a_broker, -count(*) FROM trades \
         JOIN accounts ON a_id = t_account WHERE t_status = 3 GROUP BY a_broker) t GROUP BY b HAVING sum(v) <> 0",
        ),
    ),
    condition(
        BROKER,
        (
            "a broker has the commissions of its accounts",
            "SELECT b FROM (SELECT b_id AS b, b_commission AS v FROM brokers UNION ALL \
         SELECT a_broker, -sum(t_commission) FROM trades JOIN accounts ON a_id = t_account \
         WHERE t_status = 3 GROUP BY a_broker) t GROUP BY b HAVING sum(v) <> 0",
        ),
    ),
    condition(
        TRADE,
        (
            "a trade has a settlement exactly when it is completed",
            "SELECT x FROM (SELECT t_id AS x, 1 AS v FROM trades WHERE t_status = 3 \
         UNION ALL SELECT m_trade, -1 FROM settlements) t GROUP BY x HAVING sum(v) <> 0",
        ),
    ),
    condition(
        TRADE,
        (
            "a trade has a cash entry exactly when it is completed",
            "SELECT x FROM (SELECT t_id AS x, 1 AS v FROM trades WHERE t_status = 3 \
         UNION ALL SELECT c_trade, -1 FROM cash_entries) t GROUP BY x HAVING sum(v) <> 0",
        ),
    ),
    condition(
        TRADE,
        (
            "a settlement is the value of its trade less fee, commission and tax",
            "SELECT m_trade FROM settlements JOIN trades ON t_id = m_trade WHERE m_amount <> \
         CASE WHEN t_kind IN (1, 3) THEN -t_price * t_quantity ELSE t_price * t_quantity END \
         - t_fee - t_commission - t_tax",
        ),
    ),
    condition(
        TRADE,
        (
            "a cash entry is the amount of its settlement",
            "SELECT m_trade FROM settlements JOIN cash_entries ON c_trade = m_trade WHERE c_amount <> m_amount",
        ),
    ),
    condition(
        TRADE,
        (
            "a cash entry is of the account of its trade",
            "SELECT c_trade FROM cash_entries JOIN trades ON t_id = c_trade WHERE c_account <> t_account",
        ),
    ),
    condition(
        TRADE,
        (
            "a settlement is by wire or by mail, by mail after an odd number of changes",
            "SELECT m_trade FROM settlements WHERE m_text <> CASE WHEN m_changes % 2 = 0 THEN 'by wire' ELSE 'by mail' END",
        ),
    ),
    condition(
        TRADE,
        (
            "a commission is the rate of the value",
            "SELECT t_id FROM trades WHERE t_price * t_quantity * t_rate - t_commission * 10000 NOT BETWEEN 0 AND 9999",
        ),
    ),
    condition(
        TRADE,
        (
            "fee and rate are those of the tariff",
            "SELECT t_id FROM trades LEFT JOIN accounts ON a_id = t_account LEFT JOIN customers ON u_id = a_customer \
         LEFT JOIN charges ON f_kind = t_kind AND f_tier = u_tier \
         LEFT JOIN rates ON r_kind = t_kind AND r_tier = u_tier AND r_rate = t_rate \
         WHERE f_cents IS NULL OR f_cents <> t_fee OR r_rate IS NULL",
        ),
    ),
    condition(
        TRADE,
        (
            "a trade has a price exactly when it is completed",
            "SELECT t_id FROM trades WHERE CASE WHEN t_status = 3 THEN 1 ELSE 0 END <> CASE WHEN t_price > 0 THEN 1 ELSE 0 END \
         OR t_status <> 3 AND (t_commission <> 0 OR t_tax <> 0 OR t_done <> 0)",
        ),
    ),
    condition(
        TRADE,
        (
            "a trade is in the list of pending orders exactly when it is pending",
            "SELECT x FROM (SELECT t_id AS x, 1 AS v FROM trades WHERE t_status = 1 \
         UNION ALL SELECT p_trade, -1 FROM pending_orders) t GROUP BY x HAVING sum(v) <> 0",
        ),
    ),
    condition(
        TRADE,
        (
            "a pending order waits for the limit of its trade",
            "SELECT p_trade FROM pending_orders JOIN trades ON t_id = p_trade WHERE p_security <> t_security \
         OR p_limit <> t_limit OR p_above <> CASE WHEN t_kind = 4 THEN 1 ELSE 0 END",
        ),
    ),
    condition(
        TRADE,
        (
            "a trade has an event for each status that it has had",
            "SELECT x FROM (SELECT t_id AS x, t_status - CASE WHEN t_kind <= 2 THEN 1 ELSE 0 END AS v FROM trades \
         UNION ALL SELECT e_trade, -1 FROM trade_events) t GROUP BY x HAVING sum(v) <> 0",
        ),
    ),
    condition(
        EVENT,
        (
            "events are numbered by status",
            "SELECT e_trade, e_number FROM trade_events JOIN trades ON t_id = e_trade \
         WHERE e_status - e_number <> CASE WHEN t_kind <= 2 THEN 1 ELSE 0 END",
        ),
    ),
    condition(
        TRADE,
        (
            "the last event of a trade is its status",
            "SELECT x FROM (SELECT t_id AS x, t_status AS v FROM trades \
         UNION ALL SELECT e_trade, -max(e_status) FROM trade_events GROUP BY e_trade) t GROUP BY x HAVING sum(v) <> 0",
        ),
    ),
    condition(
        ACCOUNT,
        (
            "an account has counted its open orders",
            "SELECT a FROM (SELECT a_id AS a, a_open AS v FROM accounts \
         UNION ALL SELECT t_account, -count(*) FROM trades WHERE t_status <> 3 GROUP BY t_account) t \
         GROUP BY a HAVING sum(v) <> 0",
        ),
    ),
    condition(
        TRADE,
        (
            "a trade has a security",
            "SELECT t_id FROM trades LEFT JOIN securities ON s_id = t_security WHERE s_id IS NULL",
        ),
    ),
];
