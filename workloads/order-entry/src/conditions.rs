//! Conditions of a consistent database, as queries over whole tables in the SQL that all engines share. Each query returns the
//! keys at which its condition is violated.

/// A condition.
pub(crate) struct Condition {
    /// Its number among the twelve published ones; `None` for a further condition.
    pub(crate) number: Option<u8>,
    /// The condition in words.
    pub(crate) rule: &'static str,
    /// Names of the columns of the query.
    pub(crate) keys: &'static [&'static str],
    /// The query. `{customers}` stands for the number of loaded orders of a district, `{delivered}` for the number of delivered
    /// ones among them.
    pub(crate) sql: &'static str,
}

const WAREHOUSE: &[&str] = &["warehouse"];
const DISTRICT: &[&str] = &["warehouse", "district"];
const ORDER: &[&str] = &["warehouse", "district", "order"];
const CUSTOMER: &[&str] = &["warehouse", "district", "customer"];
const STOCK: &[&str] = &["warehouse", "item"];

/// A condition of the twelve.
const fn published(
    number: u8,
    keys: &'static [&'static str],
    (rule, sql): (&'static str, &'static str),
) -> Condition {
    Condition { number: Some(number), rule, keys, sql }
}

/// A further condition.
const fn further(keys: &'static [&'static str], (rule, sql): (&'static str, &'static str)) -> Condition {
    Condition { number: None, rule, keys, sql }
}

/// All conditions. Number 11 as published holds only straight after the load; here it includes later deliveries.
pub(crate) const ALL: [Condition; 17] = [
    published(
        1,
        WAREHOUSE,
        (
            "a warehouse has received what its districts have",
            "SELECT w FROM (SELECT w_id AS w, w_ytd AS v FROM warehouse UNION ALL \
         SELECT d_w_id, -d_ytd FROM district) t GROUP BY w HAVING sum(v) <> 0",
        ),
    ),
    published(
        2,
        DISTRICT,
        (
            "the number before a district's next one is that of its latest order, open or not",
            "SELECT d_w_id, d_id FROM district \
         LEFT JOIN (SELECT o_w_id AS ow, o_d_id AS od, max(o_id) AS latest FROM orders GROUP BY o_w_id, o_d_id) o \
         ON ow = d_w_id AND od = d_id \
         LEFT JOIN (SELECT no_w_id AS nw, no_d_id AS nd, max(no_o_id) AS open FROM new_order \
         GROUP BY no_w_id, no_d_id) n ON nw = d_w_id AND nd = d_id \
         WHERE coalesce(latest, 0) <> d_next_o_id - 1 OR coalesce(open, d_next_o_id - 1) <> d_next_o_id - 1",
        ),
    ),
    published(
        3,
        DISTRICT,
        (
            "the open orders of a district follow one another",
            "SELECT no_w_id, no_d_id FROM new_order GROUP BY no_w_id, no_d_id \
         HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)",
        ),
    ),
    published(
        4,
        DISTRICT,
        (
            "the orders of a district have as many lines as they say together",
            "SELECT w, d FROM (SELECT o_w_id AS w, o_d_id AS d, sum(o_ol_cnt) AS v FROM orders GROUP BY o_w_id, o_d_id \
         UNION ALL SELECT ol_w_id, ol_d_id, -count(*) FROM order_line GROUP BY ol_w_id, ol_d_id) t \
         GROUP BY w, d HAVING sum(v) <> 0",
        ),
    ),
    published(
        5,
        ORDER,
        (
            "an order has no carrier exactly when it is open",
            "SELECT w, d, o FROM (SELECT o_w_id AS w, o_d_id AS d, o_id AS o, 1 AS v FROM orders \
         WHERE o_carrier_id IS NULL UNION ALL SELECT no_w_id, no_d_id, no_o_id, -1 FROM new_order) t \
         GROUP BY w, d, o HAVING sum(v) <> 0",
        ),
    ),
    published(
        6,
        ORDER,
        (
            "an order has as many lines as it says",
            "SELECT w, d, o FROM (SELECT o_w_id AS w, o_d_id AS d, o_id AS o, o_ol_cnt AS v FROM orders \
         UNION ALL SELECT ol_w_id, ol_d_id, ol_o_id, -count(*) FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) t \
         GROUP BY w, d, o HAVING sum(v) <> 0",
        ),
    ),
    published(
        7,
        ORDER,
        (
            "a line has no date of delivery exactly when its order has no carrier",
            "SELECT ol_w_id, ol_d_id, ol_o_id FROM order_line \
         JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
         WHERE (ol_delivery_d IS NULL AND o_carrier_id IS NOT NULL) \
         OR (ol_delivery_d IS NOT NULL AND o_carrier_id IS NULL)",
        ),
    ),
    published(
        8,
        WAREHOUSE,
        (
            "a warehouse has received what the history says",
            "SELECT w FROM (SELECT w_id AS w, w_ytd AS v FROM warehouse UNION ALL \
         SELECT h_w_id, -sum(h_amount) FROM history GROUP BY h_w_id) t GROUP BY w HAVING sum(v) <> 0",
        ),
    ),
    published(
        9,
        DISTRICT,
        (
            "a district has received what the history says",
            "SELECT w, d FROM (SELECT d_w_id AS w, d_id AS d, d_ytd AS v FROM district UNION ALL \
         SELECT h_w_id, h_d_id, -sum(h_amount) FROM history GROUP BY h_w_id, h_d_id) t \
         GROUP BY w, d HAVING sum(v) <> 0",
        ),
    ),
    published(
        10,
        CUSTOMER,
        (
            "a customer's balance is what was delivered less what the history says",
            "SELECT w, d, c FROM (SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_balance AS v FROM customer \
         UNION ALL SELECT o_w_id, o_d_id, o_c_id, -sum(ol_amount) FROM order_line \
         JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
         WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id \
         UNION ALL SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) FROM history \
         GROUP BY h_c_w_id, h_c_d_id, h_c_id) t GROUP BY w, d, c HAVING sum(v) <> 0",
        ),
    ),
    published(
        11,
        DISTRICT,
        (
            "the orders of a district that are not open were delivered, before the load or since",
            "SELECT w, d FROM (SELECT o_w_id AS w, o_d_id AS d, count(*) AS v FROM orders GROUP BY o_w_id, o_d_id \
         UNION ALL SELECT no_w_id, no_d_id, -count(*) FROM new_order GROUP BY no_w_id, no_d_id \
         UNION ALL SELECT c_w_id, c_d_id, -sum(c_delivery_cnt) FROM customer GROUP BY c_w_id, c_d_id) t \
         GROUP BY w, d HAVING sum(v) <> {delivered}",
        ),
    ),
    published(
        12,
        CUSTOMER,
        (
            "a customer's balance and payments are what was delivered",
            "SELECT w, d, c FROM (SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_balance + c_ytd_payment AS v FROM customer \
         UNION ALL SELECT o_w_id, o_d_id, o_c_id, -sum(ol_amount) FROM order_line \
         JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
         WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) t \
         GROUP BY w, d, c HAVING sum(v) <> 0",
        ),
    ),
    further(
        STOCK,
        (
            "stock has counted the lines that were ordered, and those for other warehouses",
            "SELECT w, i FROM (SELECT s_w_id AS w, s_i_id AS i, s_ytd AS q, s_order_cnt AS n, s_remote_cnt AS r FROM stock \
         UNION ALL SELECT ol_supply_w_id, ol_i_id, -sum(ol_quantity), -count(*), \
         -sum(CASE WHEN ol_supply_w_id <> ol_w_id THEN 1 ELSE 0 END) FROM order_line \
         WHERE ol_o_id > {customers} GROUP BY ol_supply_w_id, ol_i_id) t \
         GROUP BY w, i HAVING sum(q) <> 0 OR sum(n) <> 0 OR sum(r) <> 0",
        ),
    ),
    further(
        ORDER,
        (
            "a line costs its quantity times the price of its item",
            "SELECT ol_w_id, ol_d_id, ol_o_id FROM order_line LEFT JOIN item ON i_id = ol_i_id \
         WHERE ol_o_id > {customers} AND coalesce(ol_quantity * i_price, -1) <> ol_amount",
        ),
    ),
    further(
        CUSTOMER,
        (
            "a customer has as many payments as the history",
            "SELECT w, d, c FROM (SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_payment_cnt AS v FROM customer \
         UNION ALL SELECT h_c_w_id, h_c_d_id, h_c_id, -count(*) FROM history \
         GROUP BY h_c_w_id, h_c_d_id, h_c_id) t GROUP BY w, d, c HAVING sum(v) <> 0",
        ),
    ),
    further(
        CUSTOMER,
        (
            "a customer has as many deliveries as delivered orders",
            "SELECT w, d, c FROM (SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_delivery_cnt AS v FROM customer \
         UNION ALL SELECT o_w_id, o_d_id, o_c_id, -count(*) FROM orders \
         WHERE o_id > {delivered} AND o_carrier_id IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) t \
         GROUP BY w, d, c HAVING sum(v) <> 0",
        ),
    ),
    further(
        ORDER,
        (
            "an order is marked when all of its lines are of its own warehouse",
            "SELECT o_w_id, o_d_id, o_id FROM orders \
         JOIN (SELECT ol_w_id AS w, ol_d_id AS d, ol_o_id AS o, \
         max(CASE WHEN ol_supply_w_id <> ol_w_id THEN 1 ELSE 0 END) AS remote FROM order_line \
         GROUP BY ol_w_id, ol_d_id, ol_o_id) t ON w = o_w_id AND d = o_d_id AND o = o_id \
         WHERE o_all_local + remote <> 1",
        ),
    ),
];
