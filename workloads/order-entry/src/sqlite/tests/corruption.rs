//! Injected corruption: each kind is found by the check that is meant for it.

use super::rig::Rig;

/// What is done to a database of two warehouses with 30 customers and loaded orders in each district, and words of the finding.
pub(crate) const KINDS: [(&str, &str); 27] = [
    ("DELETE FROM history WHERE rowid = 5", "condition 8 "),
    ("INSERT INTO history SELECT * FROM history WHERE rowid = 5", "condition 9 "),
    ("UPDATE history SET h_c_id = h_c_id % 30 + 1 WHERE rowid = 5", "condition 10 "),
    ("UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 2", "condition 1 "),
    ("UPDATE district SET d_ytd = d_ytd - 1 WHERE d_w_id = 1 AND d_id = 3", "condition 1 "),
    ("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 3", "condition 2 "),
    (
        "DELETE FROM orders WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = \
         (SELECT max(o_id) FROM orders WHERE o_w_id = 1 AND o_d_id = 1)",
        "condition 2 ",
    ),
    ("DELETE FROM orders WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 4", "condition 6 "),
    ("DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 4", "condition 4 "),
    (
        "DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 4 AND ol_number = 2",
        "condition 6 ",
    ),
    (
        "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_w_id = 2 AND o_d_id = 9 AND o_id = 1",
        "condition 6 ",
    ),
    (
        "UPDATE orders SET o_ol_cnt = o_ol_cnt + CASE o_id WHEN 1 THEN 1 ELSE -1 END \
         WHERE o_w_id = 2 AND o_d_id = 9 AND o_id <= 2",
        "condition 6 ",
    ),
    (
        "DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = \
         (SELECT max(no_o_id) - 1 FROM new_order WHERE no_w_id = 1 AND no_d_id = 1)",
        "condition 3 ",
    ),
    (
        "DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = \
         (SELECT min(no_o_id) FROM new_order WHERE no_w_id = 1 AND no_d_id = 1)",
        "condition 5 ",
    ),
    ("UPDATE orders SET o_carrier_id = NULL WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 4", "condition 7 "),
    (
        "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 4 AND ol_number = 1",
        "condition 7 ",
    ),
    (
        "UPDATE customer SET c_balance = c_balance + 1 WHERE c_w_id = 2 AND c_d_id = 2 AND c_id = 2",
        "condition 12 ",
    ),
    (
        "UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_w_id = 2 AND c_d_id = 2 AND c_id = 2",
        "condition 12 ",
    ),
    (
        "UPDATE customer SET c_payment_cnt = 0 WHERE c_w_id = 2 AND c_d_id = 2 AND c_id = 2",
        "as many payments",
    ),
    (
        "UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = 2 AND c_d_id = 2 AND c_id = 2",
        "condition 11 ",
    ),
    ("DELETE FROM customer WHERE c_w_id = 2 AND c_d_id = 2 AND c_id = 2", "rows of customer"),
    (
        "UPDATE stock SET s_quantity = s_quantity % 91 + 10 + 1 WHERE s_w_id = 2 AND s_i_id = 7",
        "stock is not",
    ),
    ("UPDATE stock SET s_ytd = s_ytd + 91 WHERE s_w_id = 2 AND s_i_id = 7", "stock has counted"),
    ("DELETE FROM stock WHERE s_w_id = 2 AND s_i_id = 7", "rows of stock"),
    ("UPDATE item SET i_price = i_price + 1 WHERE i_id = 7", "prices are not"),
    ("DELETE FROM item WHERE i_id = 7", "rows of item"),
    ("UPDATE orders SET o_all_local = 0 WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 4", "is marked when"),
];

/// Commits of a district that were acknowledged are gone without a trace: its latest order, or its latest payment.
const LOST_COMMITS: [(&str, &str); 2] = [
    (
        "CREATE TEMP TABLE lost AS SELECT max(o_id) AS o FROM orders WHERE o_w_id = 1 AND o_d_id = 1; \
         UPDATE stock SET (s_quantity, s_ytd, s_order_cnt, s_remote_cnt) = \
         (SELECT s_quantity + sum(ol_quantity), s_ytd - sum(ol_quantity), s_order_cnt - count(*), \
         s_remote_cnt - sum(ol_supply_w_id <> 1) FROM order_line \
         WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = (SELECT o FROM lost) \
         AND ol_i_id = s_i_id AND ol_supply_w_id = s_w_id) \
         WHERE (s_w_id, s_i_id) IN (SELECT ol_supply_w_id, ol_i_id FROM order_line \
         WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = (SELECT o FROM lost)); \
         DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = (SELECT o FROM lost); \
         DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = (SELECT o FROM lost); \
         DELETE FROM orders WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = (SELECT o FROM lost); \
         UPDATE district SET d_next_o_id = d_next_o_id - 1 WHERE d_w_id = 1 AND d_id = 1;",
        "orders since the load",
    ),
    (
        "CREATE TEMP TABLE lost AS SELECT rowid AS r, * FROM history ORDER BY rowid DESC LIMIT 1; \
         UPDATE warehouse SET w_ytd = w_ytd - (SELECT h_amount FROM lost) WHERE w_id = (SELECT h_w_id FROM lost); \
         UPDATE district SET d_ytd = d_ytd - (SELECT h_amount FROM lost) \
         WHERE d_w_id = (SELECT h_w_id FROM lost) AND d_id = (SELECT h_d_id FROM lost); \
         UPDATE customer SET c_balance = c_balance + (SELECT h_amount FROM lost), c_payment_cnt = c_payment_cnt - 1, \
         c_ytd_payment = c_ytd_payment - (SELECT h_amount FROM lost) WHERE c_w_id = (SELECT h_c_w_id FROM lost) \
         AND c_d_id = (SELECT h_c_d_id FROM lost) AND c_id = (SELECT h_c_id FROM lost); \
         DELETE FROM history WHERE rowid = (SELECT r FROM lost);",
        "payments since the load",
    ),
];

/// Does it to a database after a run, and undoes it.
fn found(rig: &Rig, (sql, words): (&str, &str)) {
    let before = std::fs::read(&rig.copy).unwrap();
    let connection = rig.connection();
    connection.execute_batch(sql).unwrap();
    let changed = connection.total_changes();
    drop(connection);
    assert!(changed > 0, "{sql}");
    let wrong = rig.wrong();
    assert!(
        wrong.iter().any(|finding| finding.contains(words)),
        "{sql}\nshould be found as {words}: {wrong:#?}"
    );
    std::fs::write(&rig.copy, before).unwrap();
}

#[test]
fn every_kind_of_corruption_is_found() {
    let rig = Rig::new();
    assert_eq!(rig.transact(2, 200), 0);
    // Into one file, which is put back after each kind.
    rig.connection().execute_batch("PRAGMA journal_mode=DELETE").unwrap();
    assert_eq!(rig.wrong(), Vec::<String>::new());
    for kind in KINDS {
        found(&rig, kind);
    }
}

/// Nothing in the database tells of these: only the driver knows.
#[test]
fn commits_that_were_lost_are_found_by_the_count_of_the_driver() {
    let rig = Rig::new();
    assert_eq!(rig.transact(2, 200), 0);
    rig.connection().execute_batch("PRAGMA journal_mode=DELETE").unwrap();
    for kind in LOST_COMMITS {
        found(&rig, kind);
    }
}
