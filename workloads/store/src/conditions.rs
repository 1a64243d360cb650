//! Conditions of a consistent database, as queries over whole tables in the SQL that all engines share. Each query returns the
//! keys at which its condition is violated. `{orders}` stands for the number of loaded orders, `{least}` and `{full}` for the stock of
//! the restock rule.

use barograph_database::Condition;

const ORDER: &[&str] = &["order"];
const LINE: &[&str] = &["order", "line"];
const PRODUCT: &[&str] = &["product"];

/// All conditions.
pub(crate) const ALL: [Condition; 12] = [
    Condition {
        rule: "the net amount of an order is the sum of its lines",
        keys: ORDER,
        sql: "SELECT o FROM (SELECT o_id AS o, o_net AS v FROM orders \
              UNION ALL SELECT l_order, -sum(l_cents) FROM order_lines GROUP BY l_order) t \
              GROUP BY o HAVING sum(v) <> 0",
    },
    Condition {
        rule: "an order has as many lines as it says",
        keys: ORDER,
        sql: "SELECT o FROM (SELECT o_id AS o, o_lines AS v FROM orders \
              UNION ALL SELECT l_order, -count(*) FROM order_lines GROUP BY l_order) t \
              GROUP BY o HAVING sum(v) <> 0",
    },
    Condition {
        rule: "the lines of an order are numbered from 1",
        keys: ORDER,
        sql: "SELECT l_order FROM order_lines GROUP BY l_order HAVING min(l_number) <> 1 OR max(l_number) <> count(*)",
    },
    Condition {
        rule: "the tax is 8.25 % of the net amount",
        keys: ORDER,
        sql: "SELECT o_id FROM orders WHERE o_tax * 10000 - o_net * 825 NOT BETWEEN -4999 AND 5000",
    },
    Condition {
        rule: "the total of an order is its net amount and tax",
        keys: ORDER,
        sql: "SELECT o_id FROM orders WHERE o_total <> o_net + o_tax",
    },
    Condition {
        rule: "an order has a customer",
        keys: ORDER,
        sql: "SELECT o_id FROM orders LEFT JOIN customers ON c_id = o_customer WHERE c_id IS NULL",
    },
    Condition {
        rule: "a line costs its quantity times the price of its product",
        keys: LINE,
        sql: "SELECT l_order, l_number FROM order_lines LEFT JOIN products ON p_id = l_product \
              WHERE coalesce(l_quantity * p_price, -1) <> l_cents",
    },
    Condition {
        rule: "a line has 1 to 3 units",
        keys: LINE,
        sql: "SELECT l_order, l_number FROM order_lines WHERE l_quantity NOT BETWEEN 1 AND 3",
    },
    Condition {
        rule: "the history of customers has exactly the lines of their orders",
        keys: &["customer", "order", "line"],
        sql: "SELECT c, o, n FROM (SELECT o_customer AS c, l_order AS o, l_number AS n, l_product AS p, 1 AS v \
              FROM order_lines JOIN orders ON o_id = l_order \
              UNION ALL SELECT h_customer, h_order, h_number, h_product, -1 FROM history) t \
              GROUP BY c, o, n, p HAVING sum(v) <> 0",
    },
    Condition {
        rule: "a product has sold the units of its lines since the load",
        keys: PRODUCT,
        sql: "SELECT p FROM (SELECT i_product AS p, i_sold AS v FROM inventory \
              UNION ALL SELECT l_product, -sum(l_quantity) FROM order_lines WHERE l_order > {orders} GROUP BY l_product) t \
              GROUP BY p HAVING sum(v) <> 0",
    },
    Condition {
        rule: "a product is restocked when few are left, to the full stock",
        keys: PRODUCT,
        sql: "SELECT r_product FROM reorder WHERE r_low NOT BETWEEN 0 AND {least} - 1 OR r_low + r_quantity <> {full}",
    },
    Condition {
        rule: "a new customer has a name of its own",
        keys: &["customer"],
        sql: "SELECT max(c_id) FROM customers GROUP BY c_username HAVING count(*) > 1",
    },
];
