//! The data checks find all deliberate damage, and nothing else.

use super::*;

/// A site where user 2 has bid twice on item 1.
async fn site() -> Site {
    let site = Site::start().await;
    let guest = site.guest(2).await;
    for (count, amount) in [(7, 20_100), (8, 20_300)] {
        assert_eq!(guest.bid(1, 1, amount).await.status, StatusCode::ACCEPTED);
        assert_eq!(guest.poll(1, 1, count).await.json()["amountCents"], amount);
    }
    site
}

/// The findings after a change to one of the stores.
async fn findings(file: &str, damage: &str) -> Vec<String> {
    let site = site().await;
    let before = site.check().await;
    assert_eq!((&before["ok"], &before["counts"]["bids"]), (&json!(true), &json!(2)), "{before}");
    assert!(site.store(file).execute(damage, []).unwrap() > 0);
    // Writes of the last seconds may be on their way.
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(10)).await;
    tokio::time::resume();
    let after = site.check().await;
    assert_eq!(after["ok"], false);
    after["findings"].as_array().unwrap().iter().map(|f| f.as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn credit_from_nowhere_is_found() {
    let found =
        findings("relational.db", "UPDATE user SET credit_cents = credit_cents + 1 WHERE id = 9").await;
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("credit of"), "{found:?}");
}

#[tokio::test]
async fn a_highest_bid_that_nobody_made_is_found() {
    let found = findings("relational.db", "UPDATE high_bid SET amount_cents = 20200 WHERE id = 1").await;
    assert!(found.iter().any(|f| f.contains("highest bid is 20200")), "{found:?}");
}

#[tokio::test]
async fn a_lost_bid_is_found() {
    let found = findings("events.db", "DELETE FROM bid WHERE amount_cents = 20300").await;
    assert!(found.iter().any(|f| f.contains("greatest accepted one 20100")), "{found:?}");
}

#[tokio::test]
async fn bids_out_of_order_are_found() {
    let found = findings("events.db", "UPDATE bid SET amount_cents = 20400 WHERE amount_cents = 20100").await;
    assert_eq!(found, ["item 1: a bid of 20300 followed one of 20400"]);
}

#[tokio::test]
async fn a_gap_in_the_sequence_is_found() {
    let found = findings("events.db", "UPDATE bid SET sequence = 3 WHERE amount_cents = 20100").await;
    assert_eq!(found, ["item 1: bid number 9 followed 3"]);
}

#[tokio::test]
async fn a_winner_of_nothing_is_found() {
    let found = findings("events.db", "UPDATE bid SET state = 1 WHERE amount_cents = 20300").await;
    assert_eq!(found, ["item 1: not exactly the last bid of a sale is its winner"]);
}

#[tokio::test]
async fn a_sale_that_nobody_paid_is_found() {
    let sold = "UPDATE high_bid SET state = 2, sequence = sequence + 2, end_ms = bid_ms + 60000 WHERE id = 1";
    let found = findings("relational.db", sold).await;
    assert!(found.iter().any(|f| f.starts_with("credit of")), "{found:?}");
}
