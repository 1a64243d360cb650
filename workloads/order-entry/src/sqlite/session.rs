//! The statements of the transactions on SQLite.

use barograph_database::sqlite::{Connection, Row};

use crate::input::{District, Key, LineInput};
use crate::session::{
    Demand, OrderHead, OrderLine, OrderNumber, PricedLines, Reply, Session, TransactionError,
};
use crate::transactions::LineLists;

impl Session for Connection {
    async fn warehouse_tax(&mut self, w: i64) -> Reply<i64> {
        self.number("SELECT w_tax FROM warehouse WHERE w_id = ?", [w], "warehouse")
    }

    async fn take_number(&mut self, of: District) -> Reply<OrderNumber> {
        let sql = "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ? \
                   RETURNING d_next_o_id - 1, d_tax";
        let numbered =
            self.row(sql, [of.w, of.d], |row| Ok(OrderNumber { order: row.get(0)?, tax: row.get(1)? }))?;
        numbered.ok_or_else(|| TransactionError::missing("district"))
    }

    async fn discount(&mut self, customer: Key) -> Reply<i64> {
        let sql =
            "SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
        self.number(sql, values(customer), "customer")
    }

    async fn insert_order(&mut self, order: Key, head: OrderHead) -> Reply<()> {
        let sql = "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
                   VALUES (?, ?, ?, ?, unixepoch(), ?, ?)";
        let [w, d, o] = values(order);
        self.change_one(sql, (w, d, o, head.customer, head.lines, head.all_local), "room for an order")
    }

    async fn insert_open(&mut self, order: Key) -> Reply<()> {
        let sql = "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (?, ?, ?)";
        self.change_one(sql, values(order), "room for an open order")
    }

    async fn prices(&mut self, lines: &[LineInput], prices: &mut Vec<i64>, _: &mut LineLists) -> Reply<()> {
        let sql = "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?";
        for line in lines {
            let Some(price) = self.row(sql, [line.item], |row| row.get(0))? else { break };
            prices.push(price);
        }
        Ok(())
    }

    async fn take_stock(&mut self, taken: Demand, infos: &mut String) -> Reply<()> {
        let sql = "UPDATE stock SET s_quantity = s_quantity - ?3 + CASE WHEN s_quantity - ?3 < 10 THEN 91 ELSE 0 END, \
                   s_ytd = s_ytd + ?3, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ?4 \
                   WHERE s_w_id = ?1 AND s_i_id = ?2 \
                   RETURNING CASE ?5 WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 \
                   WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 \
                   WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END, s_quantity, s_data";
        let Demand { supply, item, quantity, is_remote, district } = taken;
        let found = self.row(sql, (supply, item, quantity, is_remote, district), |row| append(row, infos))?;
        found.ok_or_else(|| TransactionError::missing("stock"))
    }

    async fn insert_lines(&mut self, order: Key, lines: PricedLines<'_>, _: &mut LineLists) -> Reply<()> {
        let sql = "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, \
                   ol_amount, ol_dist_info) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let [w, d, o] = values(order);
        for OrderLine { number, item, supply, quantity, cents, info } in lines.numbered() {
            let line = (w, d, o, number, item, supply, quantity, cents, info);
            self.change_one(sql, line, "room for an order line")?;
        }
        Ok(())
    }

    async fn pay_warehouse(&mut self, w: i64, cents: i64, names: &mut String) -> Reply<()> {
        let sql = "UPDATE warehouse SET w_ytd = w_ytd + ?2 WHERE w_id = ?1 \
                   RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip";
        let found = self.row(sql, (w, cents), |row| append(row, names))?;
        found.ok_or_else(|| TransactionError::missing("warehouse"))
    }

    async fn pay_district(&mut self, of: District, cents: i64, names: &mut String) -> Reply<()> {
        let sql = "UPDATE district SET d_ytd = d_ytd + ?3 WHERE d_w_id = ?1 AND d_id = ?2 \
                   RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip";
        let found = self.row(sql, (of.w, of.d, cents), |row| append(row, names))?;
        found.ok_or_else(|| TransactionError::missing("district"))
    }

    async fn named(&mut self, of: District, name: &str, found: &mut Vec<i64>) -> Reply<()> {
        let sql =
            "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first, c_id";
        self.each(sql, (of.w, of.d, name), |row| {
            found.push(row.get(0)?);
            Ok(())
        })
    }

    async fn pay(&mut self, customer: Key, cents: i64, note: &str) -> Reply<()> {
        let sql = "UPDATE customer SET c_balance = c_balance - ?4, c_ytd_payment = c_ytd_payment + ?4, \
                   c_payment_cnt = c_payment_cnt + 1, \
                   c_data = CASE WHEN c_credit = 'BC' THEN substr(?5 || c_data, 1, 500) ELSE c_data END \
                   WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3 \
                   RETURNING c_balance, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, \
                   c_phone, c_since, c_credit, c_credit_lim, c_discount";
        let [w, d, c] = values(customer);
        self.number(sql, (w, d, c, cents, note), "customer").map(drop)
    }

    async fn insert_history(
        &mut self,
        customer: Key,
        to: District,
        (cents, names): (i64, &str),
    ) -> Reply<()> {
        let sql = "INSERT INTO history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, h_data) \
                   VALUES (?, ?, ?, ?, ?, unixepoch(), ?, ?)";
        let [w, d, c] = values(customer);
        self.change_one(sql, (w, d, c, to.w, to.d, cents, names), "room for a payment")
    }

    async fn balance(&mut self, customer: Key) -> Reply<i64> {
        let sql = "SELECT c_balance, c_first, c_middle, c_last FROM customer \
                   WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
        self.number(sql, values(customer), "customer")
    }

    async fn latest_order(&mut self, customer: Key) -> Reply<Option<i64>> {
        let sql = "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? \
                   ORDER BY o_id DESC LIMIT 1";
        self.row(sql, values(customer), |row| row.get(0))
    }

    async fn read_lines(&mut self, order: Key) -> Reply<i64> {
        let sql = "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
                   WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?";
        let mut lines = 0;
        self.each(sql, values(order), |_| {
            lines += 1;
            Ok(())
        })?;
        Ok(lines)
    }

    async fn take_oldest(&mut self, of: District) -> Reply<Option<i64>> {
        let sql = "DELETE FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2 AND no_o_id = \
                   (SELECT min(no_o_id) FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2) RETURNING no_o_id";
        self.row(sql, [of.w, of.d], |row| row.get(0))
    }

    async fn carry(&mut self, order: Key, carrier: i64) -> Reply<i64> {
        let sql = "UPDATE orders SET o_carrier_id = ?4 WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_id = ?3 RETURNING o_c_id";
        let [w, d, o] = values(order);
        self.number(sql, (w, d, o, carrier), "order")
    }

    async fn deliver(&mut self, order: Key) -> Reply<i64> {
        let sql = "UPDATE order_line SET ol_delivery_d = unixepoch() \
                   WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ? RETURNING ol_amount";
        let mut cents = 0;
        self.each(sql, values(order), |row| {
            cents += row.get::<_, i64>(0)?;
            Ok(())
        })?;
        Ok(cents)
    }

    async fn charge(&mut self, customer: Key, cents: i64) -> Reply<()> {
        let sql = "UPDATE customer SET c_balance = c_balance + ?4, c_delivery_cnt = c_delivery_cnt + 1 \
                   WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3";
        let [w, d, c] = values(customer);
        self.change_one(sql, (w, d, c, cents), "customer")
    }

    async fn next_number(&mut self, of: District) -> Reply<i64> {
        let sql = "SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?";
        self.number(sql, [of.w, of.d], "district")
    }

    async fn low_stock(&mut self, of: District, (first, last): (i64, i64), threshold: i64) -> Reply<i64> {
        let sql = "SELECT count(DISTINCT ol_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id \
                   WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id BETWEEN ? AND ? AND s_quantity < ?";
        self.number(sql, (of.w, of.d, first, last, threshold), "count of stock")
    }
}

/// The columns of a key.
fn values(key: Key) -> [i64; 3] {
    [key.of.w, key.of.d, key.id]
}

/// Appends the text in the first column.
fn append(row: &Row<'_>, text: &mut String) -> barograph_database::sqlite::Result<()> {
    text.push_str(row.get_ref(0)?.as_str()?);
    Ok(())
}
