//! Injected corruption: each kind is found by the check that is meant for it.

use super::rig::Rig;

/// Changes to a small database (4,000 loaded completed trades, 31 pending ones) after a run, and words of the finding.
pub(super) const KINDS: [(&str, &str); 34] = [
    ("UPDATE positions SET o_quantity = o_quantity + 1 WHERE o_account = 7", "the sum of its lots"),
    ("DELETE FROM positions WHERE o_account = 7", "have bought and not sold"),
    ("DELETE FROM lots WHERE h_account = 7", "the sum of its lots"),
    ("UPDATE lots SET h_price = h_price + 1 WHERE h_account = 7", "at its price"),
    (
        "UPDATE lots SET h_trade = 1000000 WHERE h_trade = (SELECT * FROM (SELECT max(h_trade) FROM lots) t)",
        "at its price",
    ),
    ("UPDATE brokers SET b_trades = b_trades + 1 WHERE b_id = 1", "counted the completed trades"),
    ("UPDATE brokers SET b_commission = b_commission - 1 WHERE b_id = 1", "has the commissions"),
    ("DELETE FROM brokers WHERE b_id = 1", "rows of brokers"),
    ("DELETE FROM settlements WHERE m_trade = 9", "a settlement exactly"),
    ("INSERT INTO settlements VALUES (1000000, 1, 1, 0, 'by wire')", "a settlement exactly"),
    ("UPDATE settlements SET m_amount = m_amount + 1 WHERE m_trade = 9", "less fee, commission and tax"),
    ("UPDATE settlements SET m_text = 'by hand' WHERE m_trade = 9", "by wire or by mail"),
    ("UPDATE settlements SET m_changes = m_changes + 2 WHERE m_trade = 9", "changes of settlements"),
    ("DELETE FROM cash_entries WHERE c_trade = 9", "a cash entry exactly"),
    ("UPDATE cash_entries SET c_amount = c_amount + 1 WHERE c_trade = 9", "the amount of its settlement"),
    ("UPDATE cash_entries SET c_account = c_account + 1 WHERE c_trade = 9", "of the account of its trade"),
    ("UPDATE accounts SET a_balance = a_balance - 1 WHERE a_id = 7", "balances are not"),
    ("UPDATE accounts SET a_open = a_open + 1 WHERE a_id = 7", "counted its open orders"),
    ("UPDATE accounts SET a_customer = 1 WHERE a_id = 70", "of other customers"),
    ("UPDATE trades SET t_commission = t_commission + 1 WHERE t_id = 9", "the rate of the value"),
    ("UPDATE trades SET t_tax = t_tax + 1 WHERE t_id = 9", "less fee, commission and tax"),
    ("UPDATE trades SET t_fee = t_fee + 1 WHERE t_id = 9", "those of the tariff"),
    ("UPDATE trades SET t_quantity = t_quantity + 100 WHERE t_id = 9", "have bought and not sold"),
    ("UPDATE trades SET t_price = 0 WHERE t_id = 9", "a price exactly"),
    ("UPDATE trades SET t_status = 2 WHERE t_id = 9", "the last event"),
    ("UPDATE trades SET t_security = 1000000 WHERE t_id = 9", "a trade has a security"),
    ("DELETE FROM trades WHERE t_id = 9", "loaded trades"),
    (
        "DELETE FROM trades WHERE t_id = (SELECT * FROM (SELECT max(t_id) FROM trades) t)",
        "placed orders, by the driver's count",
    ),
    ("DELETE FROM pending_orders", "in the list of pending orders"),
    ("UPDATE pending_orders SET p_limit = p_limit + 1", "the limit of its trade"),
    ("DELETE FROM trade_events WHERE e_trade = 9 AND e_status = 3", "an event for each status"),
    ("UPDATE trade_events SET e_number = e_number + 5 WHERE e_trade = 9", "numbered by status"),
    ("UPDATE last_prices SET l_price = l_price * 2 WHERE l_security = 7", "in the range"),
    (
        "UPDATE last_prices SET l_ticks = l_ticks + 1 WHERE l_security = 7",
        "new prices, by the driver's count",
    ),
];

/// A completed order that is gone without a trace.
pub(super) const LOST: &str = "
    CREATE TABLE lost AS SELECT t_id AS x, t_account AS a, t_security AS s, t_commission AS c, h_quantity AS q,
        (SELECT c_amount FROM cash_entries WHERE c_trade = t_id) AS amount
        FROM trades JOIN lots ON h_trade = t_id WHERE t_id > 4031 AND t_status = 3 AND t_kind = 1 AND h_quantity = t_quantity
        ORDER BY t_id LIMIT 1;
    UPDATE positions SET o_quantity = o_quantity - (SELECT q FROM lost)
        WHERE o_account = (SELECT a FROM lost) AND o_security = (SELECT s FROM lost);
    UPDATE accounts SET a_balance = a_balance - (SELECT amount FROM lost) WHERE a_id = (SELECT a FROM lost);
    UPDATE brokers SET b_trades = b_trades - 1, b_commission = b_commission - (SELECT c FROM lost);
    DELETE FROM lots WHERE h_trade = (SELECT x FROM lost); DELETE FROM settlements WHERE m_trade = (SELECT x FROM lost);
    DELETE FROM cash_entries WHERE c_trade = (SELECT x FROM lost); DELETE FROM trade_events WHERE e_trade = (SELECT x FROM lost);
    DELETE FROM trades WHERE t_id = (SELECT x FROM lost);";

#[test]
fn every_kind_of_corruption_is_found() {
    let rig = Rig::new(1);
    assert_eq!(rig.trade(2, 1_000), 0, "{:?}", rig.shared.reasons.lock().unwrap());
    // Into one file, which is put back after each kind.
    rig.connection().execute_batch("PRAGMA journal_mode=DELETE").unwrap();
    assert_eq!(rig.wrong(), Vec::<String>::new());
    let before = std::fs::read(&rig.copy).unwrap();
    for (sql, words) in KINDS.into_iter().chain([(LOST, "completed orders, by the driver's count")]) {
        let connection = rig.connection();
        connection.execute_batch(sql).unwrap();
        assert!(connection.total_changes() > 0, "{sql}");
        drop(connection);
        let wrong = rig.wrong();
        assert!(
            wrong.iter().any(|finding| finding.contains(words)),
            "{sql}\nis to be found as {words}: {wrong:#?}"
        );
        // Nothing but the counts of the driver can tell.
        assert!(
            sql != LOST || wrong.iter().all(|finding| finding.contains("by the driver's count")),
            "{wrong:#?}"
        );
        std::fs::write(&rig.copy, &before).unwrap();
    }
}
