//! The statements of the operations on SQLite.

use std::fmt::Write as _;

use barograph_database::sqlite::{self, Connection};
use barograph_database::{Reply, Value};

use crate::session::{Field, OrderHead, OrderLine, Page, Session};

impl Session for Connection {
    async fn customer(&mut self, name: &str, password: &str) -> Reply<Option<i64>> {
        let sql = "SELECT c_id FROM customers WHERE c_username = ? AND c_password = ?";
        self.row(sql, (name, password), |row| row.get(0))
    }

    async fn read_history(&mut self, customer: i64, most: i64, page: &mut Page) -> Reply<i64> {
        let sql = "SELECT p.p_title, p.p_actor, q.p_title FROM history JOIN products p ON p.p_id = h_product \
                   JOIN products q ON q.p_id = p.p_common WHERE h_customer = ? \
                   ORDER BY h_order DESC, h_number DESC LIMIT ?";
        list(self, sql, (customer, most), page)
    }

    async fn insert_customer(&mut self, row: &[Value]) -> Reply<i64> {
        // One writer at a time: no other transaction takes the same number.
        let sql = "INSERT INTO customers SELECT (SELECT coalesce(max(c_id), 0) + 1 FROM customers), \
                   ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? RETURNING c_id";
        self.number(sql, sqlite::params_from_iter(row), "room for a customer")
    }

    async fn specials(&mut self, category: i64, most: i64, page: &mut Page) -> Reply<i64> {
        let sql = "SELECT p_id, p_title, p_actor, p_price, p_common FROM products \
                   WHERE p_category = ? AND p_special = 1 ORDER BY p_id LIMIT ?";
        list(self, sql, (category, most), page)
    }

    async fn search(
        &mut self,
        field: Field,
        [first, second]: [&str; 2],
        most: i64,
        page: &mut Page,
    ) -> Reply<i64> {
        let sql = match field {
            Field::Title => {
                "SELECT p_id, p_title, p_actor, p_price, p_common FROM products_text JOIN products ON p_id = products_text.rowid \
                 WHERE products_text MATCH 'title : (' || ? || ' AND ' || ? || ')' ORDER BY products_text.rowid LIMIT ?"
            }
            Field::Actor => {
                "SELECT p_id, p_title, p_actor, p_price, p_common FROM products_text JOIN products ON p_id = products_text.rowid \
                 WHERE products_text MATCH 'actor : (' || ? || ' AND ' || ? || ')' ORDER BY products_text.rowid LIMIT ?"
            }
        };
        list(self, sql, (first, second, most), page)
    }

    async fn price(&mut self, product: i64) -> Reply<Option<i64>> {
        self.row("SELECT p_price FROM products WHERE p_id = ?", [product], |row| row.get(0))
    }

    async fn take_stock(&mut self, product: i64, quantity: i64) -> Reply<Option<i64>> {
        let sql = "UPDATE inventory SET i_stock = i_stock - ?2, i_sold = i_sold + ?2 \
                   WHERE i_product = ?1 AND i_stock >= ?2 RETURNING i_stock";
        self.row(sql, [product, quantity], |row| row.get(0))
    }

    async fn restock(&mut self, product: i64, low: i64, quantity: i64) -> Reply<()> {
        let sql = "UPDATE inventory SET i_stock = i_stock + ?2 WHERE i_product = ?1";
        self.change_one(sql, [product, quantity], "stock of a product")?;
        let sql = "INSERT INTO reorder (r_product, r_date, r_low, r_quantity) VALUES (?, unixepoch(), ?, ?)";
        self.change_one(sql, [product, low, quantity], "room for a restock")
    }

    async fn insert_order(&mut self, head: OrderHead) -> Reply<i64> {
        let sql = "INSERT INTO orders (o_id, o_customer, o_date, o_lines, o_net, o_tax, o_total) \
                   SELECT (SELECT coalesce(max(o_id), 0) + 1 FROM orders), ?1, unixepoch(), ?2, ?3, ?4, ?3 + ?4 \
                   RETURNING o_id";
        let OrderHead { customer, lines, net, tax } = head;
        self.number(sql, [customer, lines, net, tax], "room for an order")
    }

    async fn insert_line(&mut self, line: OrderLine) -> Reply<()> {
        let sql = "INSERT INTO order_lines (l_order, l_number, l_product, l_quantity, l_cents) VALUES (?, ?, ?, ?, ?)";
        let OrderLine { order, number, product, quantity, cents } = line;
        self.change_one(sql, [order, number, product, quantity, cents], "room for an order line")
    }

    async fn insert_history(&mut self, customer: i64, line: OrderLine) -> Reply<()> {
        let sql = "INSERT INTO history (h_customer, h_order, h_number, h_product) VALUES (?, ?, ?, ?)";
        self.change_one(sql, [customer, line.order, line.number, line.product], "room for history")
    }
}

/// Reads rows onto a page, and counts them.
fn list(connection: &Connection, sql: &str, values: impl sqlite::Params, page: &mut Page) -> Reply<i64> {
    let mut rows = 0;
    connection.each(sql, values, |row| {
        rows += 1;
        page.add(|line| {
            for column in 0..row.as_ref().column_count() {
                line.push_str(if column > 0 { "; " } else { "" });
                let value = row.get_ref(column)?;
                // Writing to a text cannot fail.
                let _ = match value.as_str() {
                    Ok(text) => line.write_str(text),
                    Err(_) => write!(line, "{}", value.as_i64()?),
                };
            }
            Ok(())
        })
    })?;
    Ok(rows)
}
