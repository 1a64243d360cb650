//! Injected corruption: each kind is found by the check that is meant for it.

use super::rig::Rig;

/// Changes to a database with 1,680 loaded orders after a run, and words of the finding.
pub(super) const KINDS: [(&str, &str); 27] = [
    ("UPDATE orders SET o_net = o_net + 1 WHERE o_id = 5", "the net amount of an order"),
    ("UPDATE orders SET o_tax = o_tax + 1, o_total = o_total + 1 WHERE o_id = 5", "the tax is 8.25 %"),
    ("UPDATE orders SET o_total = o_total - 1 WHERE o_id = 1683", "the total of an order"),
    ("UPDATE orders SET o_lines = o_lines + 1 WHERE o_id = 5", "as many lines"),
    ("UPDATE orders SET o_customer = o_customer % 2800 + 1 WHERE o_id = 5", "the history of customers"),
    ("UPDATE orders SET o_customer = 1000000 WHERE o_id = 5", "an order has a customer"),
    ("DELETE FROM orders WHERE o_id = 5", "loaded orders"),
    ("DELETE FROM orders WHERE o_id = (SELECT max(o_id) FROM orders)", "orders since the load"),
    ("DELETE FROM order_lines WHERE l_order = 5", "as many lines"),
    ("DELETE FROM order_lines WHERE l_order = 1681", "has sold the units"),
    ("UPDATE order_lines SET l_number = l_number + 50 WHERE l_order = 1681", "numbered from 1"),
    ("UPDATE order_lines SET l_cents = l_cents + 1 WHERE l_order = 7 AND l_number = 1", "a line costs"),
    ("UPDATE order_lines SET l_product = 1000000 WHERE l_order = 7 AND l_number = 1", "a line costs"),
    ("UPDATE order_lines SET l_quantity = 4 WHERE l_order = 7 AND l_number = 1", "1 to 3 units"),
    (
        "DELETE FROM history WHERE h_customer = (SELECT o_customer FROM orders WHERE o_id = 5)",
        "the history of",
    ),
    ("INSERT INTO history VALUES (1, 1000000, 1, 1)", "the history of customers"),
    ("UPDATE history SET h_product = h_product % 560 + 1 WHERE h_order = 1681", "the history of customers"),
    ("UPDATE inventory SET i_stock = i_stock + 1 WHERE i_product = 8", "stock and sold units"),
    (
        "UPDATE inventory SET i_stock = 2, i_sold = i_sold + i_stock - 2 WHERE i_product = 8",
        "the restock rule leaves",
    ),
    ("UPDATE inventory SET i_stock = 1 WHERE i_product = 100", "the restock rule leaves"),
    ("UPDATE inventory SET i_sold = i_sold + 1 WHERE i_product = 8", "has sold the units"),
    ("DELETE FROM inventory WHERE i_product = 8", "rows of inventory"),
    ("UPDATE reorder SET r_quantity = r_quantity + 1 WHERE rowid = 1", "restocked when few are left"),
    ("UPDATE reorder SET r_product = 1000000 WHERE rowid = 1", "restocked that are not there"),
    ("DELETE FROM reorder WHERE rowid = 1", "restocks, by the driver's count"),
    ("UPDATE products SET p_price = p_price + 100 WHERE p_id = 7", "prices are not"),
    ("DELETE FROM products WHERE p_id = 7", "rows of products"),
];

/// Further changes: of customers, and commits that are gone without a trace.
const MORE: [(&str, &str); 5] = [
    ("DELETE FROM customers WHERE c_id = 3", "loaded customers"),
    ("DELETE FROM customers WHERE c_id = (SELECT max(c_id) FROM customers)", "new customers"),
    (
        "DROP INDEX customers_username; UPDATE customers SET c_username = 'user1' WHERE c_id = 2",
        "a name of its own",
    ),
    ("DELETE FROM categories WHERE g_id = 16", "rows of categories"),
    (
        "CREATE TEMP TABLE lost AS SELECT max(o_id) AS o FROM orders; \
         UPDATE inventory SET (i_stock, i_sold) = (SELECT i_stock + sum(l_quantity), i_sold - sum(l_quantity) \
         FROM order_lines WHERE l_order = (SELECT o FROM lost) AND l_product = i_product) \
         WHERE i_product IN (SELECT l_product FROM order_lines WHERE l_order = (SELECT o FROM lost)); \
         DELETE FROM history WHERE h_order = (SELECT o FROM lost); \
         DELETE FROM order_lines WHERE l_order = (SELECT o FROM lost); \
         DELETE FROM orders WHERE o_id = (SELECT o FROM lost);",
        "orders since the load, by the driver's count",
    ),
];

/// Makes a change, looks for the finding, and undoes it.
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
    assert_eq!(rig.visit(2, 1_000), 0);
    // Into one file, which is put back after each kind.
    rig.connection().execute_batch("PRAGMA journal_mode=DELETE").unwrap();
    assert_eq!(rig.wrong(), Vec::<String>::new());
    for kind in KINDS.into_iter().chain(MORE) {
        found(&rig, kind);
    }
}
