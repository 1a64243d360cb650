//! The statements of the transactions as MariaDB has them. An UPDATE returns no columns there: a SELECT follows where other
//! engines need one statement.

use barograph_database_engines::Query;

/// A statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sql {
    WarehouseTax,
    LockNumber,
    RaiseNumber,
    Discount,
    InsertOrder,
    InsertOpen,
    Prices,
    TakeStock,
    StockInfo,
    InsertLines,
    PayWarehouse,
    WarehouseName,
    PayDistrict,
    DistrictName,
    Named,
    Pay,
    Paid,
    InsertHistory,
    Balance,
    LatestOrder,
    ReadLines,
    TakeOldest,
    Carry,
    Carried,
    Deliver,
    Delivered,
    Charge,
    NextNumber,
    LowStock,
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

/// The transactions as procedures.
pub(crate) const PROCEDURES: &str = include_str!("procedures.sql");

/// All statements by their numbers.
const ALL: [(Sql, &str); 34] = [
    (Sql::WarehouseTax, "SELECT w_tax FROM warehouse WHERE w_id = ?"),
    (Sql::LockNumber, "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE"),
    (Sql::RaiseNumber, "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?"),
    (
        Sql::Discount,
        "SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    ),
    (
        Sql::InsertOrder,
        "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
         VALUES (?, ?, ?, ?, UNIX_TIMESTAMP(), ?, ?)",
    ),
    (Sql::InsertOpen, "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (?, ?, ?)"),
    (
        Sql::Prices,
        "SELECT i_price, number, i_name, i_data \
         FROM JSON_TABLE(?, '$[*]' COLUMNS (number FOR ORDINALITY, item INT PATH '$')) AS line \
         JOIN item ON i_id = item ORDER BY number",
    ),
    (
        Sql::TakeStock,
        "UPDATE stock SET s_quantity = s_quantity - ? + CASE WHEN s_quantity - ? < 10 THEN 91 ELSE 0 END, \
         s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ? \
         WHERE s_w_id = ? AND s_i_id = ?",
    ),
    (
        Sql::StockInfo,
        "SELECT CASE ? WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 \
         WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 \
         WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END, s_quantity, s_data \
         FROM stock WHERE s_w_id = ? AND s_i_id = ?",
    ),
    (
        Sql::InsertLines,
        "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, \
         ol_amount, ol_dist_info) \
         SELECT ?, ?, ?, number, item, supply, quantity, amount, info \
         FROM JSON_TABLE(?, '$[*]' COLUMNS (number FOR ORDINALITY, item INT PATH '$[0]', supply INT PATH '$[1]', \
         quantity INT PATH '$[2]', amount INT PATH '$[3]', \
         info VARCHAR(50) CHARACTER SET utf8mb4 PATH '$[4]')) AS line",
    ),
    (Sql::PayWarehouse, "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?"),
    (
        Sql::WarehouseName,
        "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = ?",
    ),
    (Sql::PayDistrict, "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?"),
    (
        Sql::DistrictName,
        "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district \
         WHERE d_w_id = ? AND d_id = ?",
    ),
    (
        Sql::Named,
        "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first, c_id",
    ),
    (
        Sql::Pay,
        "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, \
         c_payment_cnt = c_payment_cnt + 1, \
         c_data = CASE WHEN c_credit = 'BC' THEN LEFT(CONCAT(?, c_data), 500) ELSE c_data END \
         WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    ),
    (
        Sql::Paid,
        "SELECT c_balance, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, \
         c_phone, c_since, c_credit, c_credit_lim, c_discount FROM customer \
         WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    ),
    (
        Sql::InsertHistory,
        "INSERT INTO history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, h_data) \
         VALUES (?, ?, ?, ?, ?, UNIX_TIMESTAMP(), ?, ?)",
    ),
    (
        Sql::Balance,
        "SELECT c_balance, c_first, c_middle, c_last FROM customer \
         WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    ),
    (
        Sql::LatestOrder,
        "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? \
         ORDER BY o_id DESC LIMIT 1",
    ),
    (
        Sql::ReadLines,
        "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
         WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
    ),
    (
        Sql::TakeOldest,
        "DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 RETURNING no_o_id",
    ),
    (Sql::Carry, "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?"),
    (Sql::Carried, "SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?"),
    (
        Sql::Deliver,
        "UPDATE order_line SET ol_delivery_d = UNIX_TIMESTAMP() \
         WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
    ),
    (
        Sql::Delivered,
        "SELECT CAST(SUM(ol_amount) AS SIGNED) FROM order_line \
         WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
    ),
    (
        Sql::Charge,
        "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 \
         WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    ),
    (Sql::NextNumber, "SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?"),
    (
        Sql::LowStock,
        "SELECT COUNT(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id \
         WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id BETWEEN ? AND ? AND s_quantity < ?",
    ),
    (Sql::NewOrder, "CALL oe_new_order(?, ?, ?, ?, ?)"),
    (Sql::Payment, "CALL oe_payment(?, ?, ?, ?, ?, ?, ?)"),
    (Sql::OrderStatus, "CALL oe_order_status(?, ?, ?, ?)"),
    (Sql::Delivery, "CALL oe_delivery(?, ?)"),
    (Sql::StockLevel, "CALL oe_stock_level(?, ?, ?)"),
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
