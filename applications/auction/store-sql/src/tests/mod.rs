//! Statements, words and folding without a server, and an owner that stops amid a change.

mod service;

use barograph_auction_api::{AuctionId, BidState, ItemId, UserId};
use barograph_auction_rules::{Bidding, Event, EventKind};
use barograph_auction_store::{Change, ChangeOutcome, StoreError, codes};

use crate::fold::{LockedRows, concerned, fold};
use crate::search;
use crate::text::{Flavour, PlaceholderStyle, translate};
use crate::value::{Value, values};

const POSTGRES: (Flavour, PlaceholderStyle) = (Flavour::Postgres, PlaceholderStyle::Numbered);
const PREPARED: (Flavour, PlaceholderStyle) = (Flavour::MariaDb, PlaceholderStyle::Kept);
const WRITTEN: (Flavour, PlaceholderStyle) = (Flavour::MariaDb, PlaceholderStyle::WrittenOut);

#[test]
fn values_take_the_places_of_marks() {
    let sql = "UPDATE t SET a = ?, b = ? WHERE id ?in AND c = ?";
    let values = values!["it's", None::<i64>, vec![1, 2], 7];
    assert_eq!(
        translate(sql, &values, POSTGRES),
        "UPDATE t SET a = $1, b = $2 WHERE id = ANY($3) AND c = $4"
    );
    assert_eq!(
        translate(sql, &values, WRITTEN),
        "UPDATE t SET a = _utf8mb4 X'69742773', b = NULL WHERE id IN (1,2) AND c = 7"
    );
    let numbers = values![1, 2];
    let one = "SELECT a FROM t WHERE id = ? AND {now} > ?";
    assert_eq!(
        translate(one, &numbers, PREPARED),
        "SELECT a FROM t WHERE id = ? AND CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED) > ?"
    );
}

#[test]
fn lists_may_be_empty() {
    let none = values![Vec::<i64>::new()];
    assert_eq!(translate("id ?in", &none, WRITTEN), "id IN (NULL)");
    assert_eq!(translate("id ?in", &none, POSTGRES), "id = ANY($1)");
}

#[test]
fn rows_are_inserted_in_the_words_of_the_product() {
    let sql = "INSERT INTO t (id, a) ?rows {conflict id} a = {new a}";
    let rows = vec![Value::Columns(vec![vec![Some(1), Some(2)], vec![Some(-3), None]])];
    assert_eq!(
        translate(sql, &rows, POSTGRES),
        "INSERT INTO t (id, a) SELECT * FROM unnest($1::bigint[],$2::bigint[]) \
         ON CONFLICT (id) DO UPDATE SET a = excluded.a"
    );
    assert_eq!(
        translate(sql, &rows, WRITTEN),
        "INSERT INTO t (id, a) VALUES (1,-3),(2,NULL) ON DUPLICATE KEY UPDATE a = VALUES(a)"
    );
}

#[test]
fn words_are_cut_alike_and_spelled_for_the_product() {
    let text = "The Blue-ish VASE, 3.5 m, Größe";
    assert_eq!(search::stored(text, Flavour::Postgres), "the blue ish vase 3 5 m größe");
    assert_eq!(search::stored(text, Flavour::MariaDb), "zqthe zqblue zqish zqvase zq3 zq5 zqm zqgr_f6_dfe");
    let long = search::stored(&"漢".repeat(60), Flavour::MariaDb);
    assert!(long.len() <= 84, "longer ones are not indexed: {}", long.len());
}

#[test]
fn what_is_looked_for_holds_no_operator() {
    let text = "blue' | !vase:* +(x";
    assert_eq!(search::wanted(text, Flavour::Postgres).as_deref(), Some("'blue' & 'vase' & 'x':*"));
    assert_eq!(search::wanted(text, Flavour::MariaDb).as_deref(), Some("+zqblue +zqvase +zqx*"));
    assert_eq!(search::wanted(" !'-- ", Flavour::Postgres), None);
}

#[tokio::test]
async fn a_password_is_in_no_error() {
    let bad = [
        "postgres://me:secret@[broken/db",
        "mysql://me:secret@host",
        "mysql://me:secret@[broken/db",
        "other://me:secret@host/db",
        "postgres://me:secret@127.0.0.1:1/db",
        "mariadb://me:secret@127.0.0.1:1/db",
    ];
    for url in bad {
        let error = crate::open(url, 1).await.map(drop).unwrap_err();
        let mut told = format!("{error} {error:?}");
        let mut cause = std::error::Error::source(&error);
        while let Some(next) = cause {
            told.push_str(&format!(" {next} {next:?}"));
            cause = next.source();
        }
        assert!(!told.contains("secret"), "{told}");
        assert_eq!(url.contains(":1/"), matches!(error, StoreError::Unreachable { .. }), "{url}: {told}");
    }
}

/// A change of listing 50 of auction 5, which sells item 500 to user 9 for 100 cents.
fn change(kind: EventKind, sequence: u32) -> Change {
    let state = match kind {
        EventKind::Sold => BidState::Sold,
        EventKind::NotSold => BidState::NotSold,
        EventKind::LastCall => BidState::LastCall,
        EventKind::ItemStarted | EventKind::NewHighBid => BidState::Open,
    };
    let bidding = Bidding { item: ItemId(500), bidder: UserId(9), amount: 100, sequence, state };
    let event = Event { at_ms: 1_000 + i64::from(sequence), kind, bidding };
    Change { auction: AuctionId(5), event, listing: 50, round: 1, bid: 70, bid_ms: 1_002, fence: 3 }
}

fn held(fence: i64, credit: i64) -> LockedRows {
    LockedRows { fences: [(5, fence)].into(), credits: [(9, credit)].into(), ..LockedRows::default() }
}

fn listing() -> Vec<Change> {
    let kinds = [EventKind::ItemStarted, EventKind::NewHighBid, EventKind::LastCall, EventKind::Sold];
    (1..).zip(kinds).map(|(sequence, kind)| change(kind, sequence)).collect()
}

#[test]
fn a_listing_is_folded_into_its_last_state() {
    let folded = fold(&listing(), held(3, 150));
    assert_eq!(folded.answers, [ChangeOutcome::Stored; 4]);
    let row = &folded.listings[&50];
    assert_eq!(
        (row.state, row.sequence, row.start_ms, row.end_ms),
        (codes::high_bid::SOLD, 4, 1_001, Some(1_004))
    );
    assert_eq!(folded.items, [(500, codes::item::SOLD)].into());
    assert_eq!(folded.credits, [(9, 50)].into());
    assert_eq!(concerned(&listing()), [vec![5], vec![50], vec![9]]);
}

#[test]
fn what_was_applied_before_is_not_applied_again() {
    for (credit, last) in [(150, ChangeOutcome::Stored), (99, ChangeOutcome::Unpaid)] {
        let first = fold(&listing(), held(3, credit));
        assert_eq!(first.answers.last(), Some(&last));
        let again = LockedRows { listings: first.listings.into_iter().collect(), ..held(3, 50) };
        let second = fold(&listing(), again);
        assert_eq!(second.answers, first.answers);
        assert!(second.listings.is_empty() && second.items.is_empty() && second.credits.is_empty());
    }
}

#[test]
fn a_sale_that_cannot_be_paid_puts_the_item_back() {
    let folded = fold(&listing(), held(3, 99));
    assert_eq!(folded.listings[&50].state, codes::high_bid::NOT_SOLD);
    assert_eq!(folded.items, [(500, codes::item::IN_AUCTION)].into());
    assert!(folded.credits.is_empty());
}

#[test]
fn another_fence_takes_nothing() {
    for fence in [2, 4] {
        let folded = fold(&listing(), held(fence, 150));
        assert_eq!(folded.answers, [ChangeOutcome::Fenced; 4]);
        assert!(folded.listings.is_empty() && folded.items.is_empty() && folded.credits.is_empty());
    }
    assert_eq!(
        fold(&listing(), LockedRows::default()).answers,
        [ChangeOutcome::Fenced; 4],
        "there is no such auction"
    );
}
