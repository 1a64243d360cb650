//! The statements of the operations on PostgreSQL.

use std::fmt::Write as _;

use barograph_database::{Reply, Value};
use barograph_database_engines::{PostgresSession, Query};
use barograph_postgres::{Param, Row};

use crate::session::{CUSTOMER, Field, OrderHead, OrderLine, Page, Session};

/// A statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sql {
    Customer,
    ReadHistory,
    InsertCustomer,
    Specials,
    SearchTitle,
    SearchActor,
    Price,
    TakeStock,
    Restock,
    NoteRestock,
    InsertOrder,
    InsertLine,
    InsertHistory,
}

impl Query for Sql {
    /// Searches read all products with the words first. Otherwise the planner may walk the products by their numbers, which ends
    /// early only where many have the words.
    const ALL: &'static [(Self, &'static str)] = &[
        (Sql::Customer, "SELECT c_id FROM customers WHERE c_username = $1 AND c_password = $2"),
        (
            Sql::ReadHistory,
            "SELECT p.p_title, p.p_actor, q.p_title FROM history JOIN products p ON p.p_id = h_product \
             JOIN products q ON q.p_id = p.p_common WHERE h_customer = $1 \
             ORDER BY h_order DESC, h_number DESC LIMIT $2",
        ),
        (
            Sql::InsertCustomer,
            "INSERT INTO customers (c_username, c_password, c_first, c_last, c_address1, c_address2, c_city, \
             c_state, c_zip, c_country, c_region, c_email, c_phone, c_card_type, c_card, c_card_expires, c_age, \
             c_income, c_gender) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, \
             $17, $18, $19) RETURNING c_id",
        ),
        (
            Sql::Specials,
            "SELECT p_id, p_title, p_actor, p_price, p_common FROM products \
             WHERE p_category = $1 AND p_special = 1 ORDER BY p_id LIMIT $2",
        ),
        (
            Sql::SearchTitle,
            "WITH found AS MATERIALIZED (SELECT p_id, p_title, p_actor, p_price, p_common FROM products \
             WHERE to_tsvector('simple', p_title) @@ (plainto_tsquery('simple', $1) && plainto_tsquery('simple', $2))) \
             SELECT * FROM found ORDER BY p_id LIMIT $3",
        ),
        (
            Sql::SearchActor,
            "WITH found AS MATERIALIZED (SELECT p_id, p_title, p_actor, p_price, p_common FROM products \
             WHERE to_tsvector('simple', p_actor) @@ (plainto_tsquery('simple', $1) && plainto_tsquery('simple', $2))) \
             SELECT * FROM found ORDER BY p_id LIMIT $3",
        ),
        (Sql::Price, "SELECT p_price FROM products WHERE p_id = $1"),
        (
            Sql::TakeStock,
            "UPDATE inventory SET i_stock = i_stock - $2, i_sold = i_sold + $2 \
             WHERE i_product = $1 AND i_stock >= $2 RETURNING i_stock",
        ),
        (Sql::Restock, "UPDATE inventory SET i_stock = i_stock + $2 WHERE i_product = $1"),
        (
            Sql::NoteRestock,
            "INSERT INTO reorder (r_product, r_date, r_low, r_quantity) \
             VALUES ($1, extract(epoch FROM now())::bigint, $2, $3)",
        ),
        (
            Sql::InsertOrder,
            "INSERT INTO orders (o_customer, o_date, o_lines, o_net, o_tax, o_total) \
             VALUES ($1, extract(epoch FROM now())::bigint, $2, $3, $4, $5) RETURNING o_id",
        ),
        (
            Sql::InsertLine,
            "INSERT INTO order_lines (l_order, l_number, l_product, l_quantity, l_cents) VALUES ($1, $2, $3, $4, $5)",
        ),
        (
            Sql::InsertHistory,
            "INSERT INTO history (h_customer, h_order, h_number, h_product) VALUES ($1, $2, $3, $4)",
        ),
    ];

    fn number(self) -> usize {
        self as usize
    }
}

impl Session for PostgresSession<Sql> {
    async fn customer(&mut self, name: &str, password: &str) -> Reply<Option<i64>> {
        self.optional(Sql::Customer, &[Param::Text(name), Param::Text(password)]).await
    }

    async fn read_history(&mut self, customer: i64, most: i64, page: &mut Page) -> Reply<i64> {
        list(self, Sql::ReadHistory, &[Param::Int(customer), Param::Int(most)], page).await
    }

    async fn insert_customer(&mut self, row: &[Value]) -> Reply<i64> {
        let mut values = [Param::Null; CUSTOMER];
        for (param, value) in values.iter_mut().zip(row) {
            *param = match value {
                Value::Int(number) => Param::Int(*number),
                Value::Text(text) => Param::Text(text),
                Value::Null => Param::Null,
            };
        }
        self.number(Sql::InsertCustomer, &values, "room for a customer").await
    }

    async fn specials(&mut self, category: i64, most: i64, page: &mut Page) -> Reply<i64> {
        list(self, Sql::Specials, &[Param::Int(category), Param::Int(most)], page).await
    }

    async fn search(
        &mut self,
        field: Field,
        [first, second]: [&str; 2],
        most: i64,
        page: &mut Page,
    ) -> Reply<i64> {
        let sql = match field {
            Field::Title => Sql::SearchTitle,
            Field::Actor => Sql::SearchActor,
        };
        list(self, sql, &[Param::Text(first), Param::Text(second), Param::Int(most)], page).await
    }

    async fn price(&mut self, product: i64) -> Reply<Option<i64>> {
        self.optional(Sql::Price, &[Param::Int(product)]).await
    }

    async fn take_stock(&mut self, product: i64, quantity: i64) -> Reply<Option<i64>> {
        self.optional(Sql::TakeStock, &[product, quantity].map(Param::Int)).await
    }

    async fn restock(&mut self, product: i64, low: i64, quantity: i64) -> Reply<()> {
        let values = [product, quantity].map(Param::Int);
        self.change_one(Sql::Restock, &values, "stock of a product").await?;
        let values = [product, low, quantity].map(Param::Int);
        self.change_one(Sql::NoteRestock, &values, "room for a restock").await
    }

    async fn insert_order(&mut self, head: OrderHead) -> Reply<i64> {
        let OrderHead { customer, lines, net, tax } = head;
        let values = [customer, lines, net, tax, net + tax].map(Param::Int);
        self.number(Sql::InsertOrder, &values, "room for an order").await
    }

    async fn insert_line(&mut self, line: OrderLine) -> Reply<()> {
        let OrderLine { order, number, product, quantity, cents } = line;
        let values = [order, number, product, quantity, cents].map(Param::Int);
        self.change_one(Sql::InsertLine, &values, "room for an order line").await
    }

    async fn insert_history(&mut self, customer: i64, line: OrderLine) -> Reply<()> {
        let values = [customer, line.order, line.number, line.product].map(Param::Int);
        self.change_one(Sql::InsertHistory, &values, "room for history").await
    }
}

/// Reads rows onto a page, and counts them.
async fn list(
    session: &mut PostgresSession<Sql>,
    sql: Sql,
    values: &[Param<'_>],
    page: &mut Page,
) -> Reply<i64> {
    let is_text: &[bool] = match sql {
        Sql::ReadHistory => &[true; 3],
        _ => &[false, true, true, false, false],
    };
    let read = |row: &Row<'_>| {
        page.add(|line| {
            for (column, is_text) in is_text.iter().enumerate() {
                line.push_str(if column > 0 { "; " } else { "" });
                // Writing to a text cannot fail.
                let _ = match is_text {
                    true => line.write_str(row.get(column)?),
                    false => write!(line, "{}", row.get::<i64>(column)?),
                };
            }
            Ok(())
        })
    };
    Ok(session.call(sql, values, read).await? as i64)
}
