//! The statements of the transactions as PostgreSQL has them.

use barograph_database_engines::Query;

/// A statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sql {
    WarehouseTax,
    TakeNumber,
    Discount,
    InsertOrder,
    InsertOpen,
    Prices,
    TakeStock,
    InsertLines,
    PayWarehouse,
    PayDistrict,
    Named,
    Pay,
    InsertHistory,
    Balance,
    LatestOrder,
    ReadLines,
    TakeOldest,
    Carry,
    Deliver,
    Charge,
    NextNumber,
    LowStock,
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

/// The transactions as functions.
pub(crate) const FUNCTIONS: &str = include_str!("functions.sql");

/// All statements by their numbers.
const ALL: [(Sql, &str); 27] = [
    (Sql::WarehouseTax, "SELECT w_tax FROM warehouse WHERE w_id = $1"),
    (
        Sql::TakeNumber,
        "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2 \
         RETURNING d_next_o_id - 1, d_tax",
    ),
    (
        Sql::Discount,
        "SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
    ),
    (
        Sql::InsertOrder,
        "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
         VALUES ($1, $2, $3, $4, extract(epoch FROM now())::bigint, $5, $6)",
    ),
    (Sql::InsertOpen, "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES ($1, $2, $3)"),
    (
        Sql::Prices,
        "SELECT i_price, number, i_name, i_data FROM unnest($1::integer[]) WITH ORDINALITY AS line (item, number) \
         JOIN item ON i_id = item ORDER BY number",
    ),
    (
        Sql::TakeStock,
        "UPDATE stock SET s_quantity = s_quantity - $3 + CASE WHEN s_quantity - $3 < 10 THEN 91 ELSE 0 END, \
         s_ytd = s_ytd + $3, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + $4 \
         WHERE s_w_id = $1 AND s_i_id = $2 \
         RETURNING CASE $5::integer WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 \
         WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 \
         WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END, s_quantity, s_data",
    ),
    (
        Sql::InsertLines,
        "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, \
         ol_amount, ol_dist_info) \
         SELECT $1::integer, $2::integer, $3::integer, number, item, supply, quantity, amount, info \
         FROM unnest($4::integer[], $5::integer[], $6::integer[], $7::integer[], $8::text[]) \
         WITH ORDINALITY AS line (item, supply, quantity, amount, info, number)",
    ),
    (
        Sql::PayWarehouse,
        "UPDATE warehouse SET w_ytd = w_ytd + $2 WHERE w_id = $1 \
         RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip",
    ),
    (
        Sql::PayDistrict,
        "UPDATE district SET d_ytd = d_ytd + $3 WHERE d_w_id = $1 AND d_id = $2 \
         RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip",
    ),
    (
        Sql::Named,
        "SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first, c_id",
    ),
    (
        Sql::Pay,
        "UPDATE customer SET c_balance = c_balance - $4, c_ytd_payment = c_ytd_payment + $4, \
         c_payment_cnt = c_payment_cnt + 1, \
         c_data = CASE WHEN c_credit = 'BC' THEN substr($5 || c_data, 1, 500) ELSE c_data END \
         WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 \
         RETURNING c_balance, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, \
         c_phone, c_since, c_credit, c_credit_lim, c_discount",
    ),
    (
        Sql::InsertHistory,
        "INSERT INTO history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, h_data) \
         VALUES ($1, $2, $3, $4, $5, extract(epoch FROM now())::bigint, $6, $7)",
    ),
    (
        Sql::Balance,
        "SELECT c_balance, c_first, c_middle, c_last FROM customer \
         WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
    ),
    (
        Sql::LatestOrder,
        "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 \
         ORDER BY o_id DESC LIMIT 1",
    ),
    (
        Sql::ReadLines,
        "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
         WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3",
    ),
    // Another session may have delivered the oldest order meanwhile: its row is locked, and skipped once it is gone.
    (
        Sql::TakeOldest,
        "DELETE FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = \
         (SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 \
         ORDER BY no_o_id LIMIT 1 FOR UPDATE) RETURNING no_o_id",
    ),
    (
        Sql::Carry,
        "UPDATE orders SET o_carrier_id = $4 WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3 RETURNING o_c_id",
    ),
    (
        Sql::Deliver,
        "UPDATE order_line SET ol_delivery_d = extract(epoch FROM now())::bigint \
         WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3 RETURNING ol_amount",
    ),
    (
        Sql::Charge,
        "UPDATE customer SET c_balance = c_balance + $4, c_delivery_cnt = c_delivery_cnt + 1 \
         WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
    ),
    (Sql::NextNumber, "SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2"),
    (
        Sql::LowStock,
        "SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id \
         WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id BETWEEN $3 AND $4 AND s_quantity < $5",
    ),
    (Sql::NewOrder, "SELECT oe_new_order($1, $2, $3, $4, $5, $6, $7)"),
    (Sql::Payment, "SELECT oe_payment($1, $2, $3, $4, $5, $6, $7)"),
    (Sql::OrderStatus, "SELECT * FROM oe_order_status($1, $2, $3, $4)"),
    (Sql::Delivery, "SELECT oe_delivery($1, $2)"),
    (Sql::StockLevel, "SELECT oe_stock_level($1, $2, $3)"),
];

impl Query for Sql {
    const ALL: &'static [(Self, &'static str)] = &ALL;

    fn number(self) -> usize {
        self as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_listed_by_their_numbers() {
        for (number, (sql, _)) in ALL.into_iter().enumerate() {
            assert_eq!(sql as usize, number, "{sql:?}");
        }
    }
}
