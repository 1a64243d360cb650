//! Queries of every session read few rows: no table is read from end to end. The servers count rows
//! themselves.

use std::time::Duration;

use barograph_auction_api::{AuctionId, AuctionState, ItemId, UserId};
use barograph_auction_store::{
    AuctionFilter, AuctionRow, CLOCK_START_MS, HighBidRow, ItemFilter, ItemRow, PageWindow, Relational,
    RelationalBatch, Span, StoreError, StoreFuture, UserRow, codes,
};
use barograph_store_sql::{Sql, load, open};
use barograph_test_services as services;
use mysql_async::prelude::Queryable;

const USERS: i64 = 5_000;
const AUCTIONS: i64 = 200;
const ITEMS: i64 = 50;
const RUNNING: i64 = 5;

/// Most rows read by a query in a table or index; the tables that count are longer.
const FEW: i64 = 1_500;

const PAGE: PageWindow = PageWindow { page: 0, size: 10 };

async fn loaded(url: &str) -> Result<(), StoreError> {
    let mut loading = load(url).await?;
    let mut batch = RelationalBatch { users: (1..=USERS).map(user).collect(), ..RelationalBatch::default() };
    for id in 1..=AUCTIONS {
        batch.auctions.push(auction(id));
        batch.items.extend((0..ITEMS).map(|n| item(id, n)));
        batch.high_bids.extend((0..ITEMS).map(|n| high_bid(id, n)));
    }
    loading.add(batch).await?;
    loading.finish("plans").await
}

fn user(id: i64) -> UserRow {
    let name = format!("user{id}@example.org");
    let (first_name, last_name) = ("Some".into(), "Body".into());
    UserRow { id, name, password: "hash".to_owned(), first_name, last_name, credit_cents: 5, enabled: true }
}

fn auction(id: i64) -> AuctionRow {
    let runs = id <= RUNNING;
    AuctionRow {
        id,
        name: "A sale".into(),
        category: "Things".into(),
        start_ms: CLOCK_START_MS - 1_000,
        end_ms: (!runs).then_some(CLOCK_START_MS - 500),
        state: if runs { codes::auction::RUNNING } else { codes::auction::COMPLETE },
        auctioneer_id: 1,
    }
}

fn item(auction: i64, n: i64) -> ItemRow {
    ItemRow {
        id: auction * ITEMS + n,
        auction_id: Some(auction),
        auctioneer_id: auction,
        condition: 1,
        manufacturer: "Maker".into(),
        short_description: format!("A vase for lot{auction}"),
        long_description: "It stood in a window for long. ".repeat(8),
        origin_ms: 0,
        starting_bid_cents: n,
        state: codes::item::SOLD,
    }
}

fn high_bid(auction: i64, n: i64) -> HighBidRow {
    let id = auction * ITEMS + n;
    HighBidRow {
        id,
        auction_id: auction,
        item_id: id,
        bidder_id: id % USERS + 1,
        amount_cents: 5,
        state: codes::high_bid::SOLD,
        sequence: 4,
        start_ms: 0,
        end_ms: Some(CLOCK_START_MS - 1_000 - n),
        bid_ms: 0,
        bid_id: id,
        round: n + 1,
        fence: 0,
    }
}

type Question = (&'static str, for<'a> fn(&'a Sql) -> StoreFuture<'a, ()>);

fn unit<T: 'static>(later: StoreFuture<'_, T>) -> StoreFuture<'_, ()> {
    Box::pin(async move { later.await.map(drop) })
}

fn questions() -> Vec<Question> {
    vec![
        ("user", |s| unit(s.user(UserId(7)))),
        ("user_by_name", |s| unit(s.user_by_name("user7@example.org"))),
        ("token_holder", |s| unit(s.token_holder("nobody's"))),
        ("set_token", |s| unit(s.set_token(UserId(7), Some("somebody's".to_owned())))),
        ("auction", |s| unit(s.auction(AuctionId(7)))),
        ("auctions", |s| {
            Box::pin(async move {
                let filter = AuctionFilter { state: Some(AuctionState::Running), ..AuctionFilter::default() };
                s.auctions(&filter, PAGE).await.map(drop)
            })
        }),
        ("item", |s| unit(s.item(ItemId(77)))),
        ("auction_items", |s| unit(s.auction_items(AuctionId(7), PAGE))),
        ("seller_items", |s| unit(s.seller_items(UserId(7), PAGE))),
        ("items", |s| {
            Box::pin(async move {
                let filter = ItemFilter { text: Some("lot77".to_owned()), ..ItemFilter::default() };
                s.items(&filter, PAGE).await.map(drop)
            })
        }),
        ("purchases", |s| unit(s.purchases(UserId(7), Span { from: 0, to: i64::MAX }, PAGE))),
        ("running", |s| unit(s.running())),
        ("start_state", |s| unit(s.start_state(AuctionId(3)))),
        ("next_start", |s| unit(s.next_start())),
        ("listing", |s| unit(s.listing(77))),
        ("last_sale", |s| unit(s.last_sale(AuctionId(7)))),
    ]
}

/// Runs one query repeatedly, more often than PostgreSQL needs to settle for a plan, with connections of its
/// own.
async fn ask(url: &str, question: Question) {
    let store = open(url, 1).await.unwrap();
    for _ in 0..10 {
        question.1(&store).await.unwrap();
    }
}

#[tokio::test]
async fn postgres_reads_no_table_from_end_to_end() {
    let Some(server) = services::or_skip(services::postgres()) else { return };
    loaded(server.url()).await.unwrap();
    let (client, connection) = tokio_postgres::connect(server.url(), tokio_postgres::NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    let gone = "SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = 'barograph'";
    let read = "SELECT CAST(SUM(seq_tup_read) AS BIGINT) FROM pg_stat_user_tables \
                WHERE relname IN ('barograph_user', 'barograph_item', 'barograph_high_bid')";
    let counted = async || -> i64 {
        // A connection reports its counts when it ends.
        let mut ticks = tokio::time::interval(Duration::from_millis(5));
        let wait = async {
            while client.query_one(gone, &[]).await.unwrap().get::<_, i64>(0) > 0 {
                ticks.tick().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), wait).await.expect("connections end");
        client.query_one(read, &[]).await.unwrap().get(0)
    };
    for question in questions() {
        let before = counted().await;
        ask(server.url(), question).await;
        let rows = (counted().await - before) / 10;
        assert!(rows <= FEW, "{} reads {rows} rows without an index", question.0);
    }
    drop(client);
    connection.await.unwrap().unwrap();
}

#[tokio::test]
async fn mariadb_reads_no_table_from_end_to_end() {
    let Some(server) = services::or_skip(services::mariadb()) else { return };
    loaded(server.url()).await.unwrap();
    let mut client = mysql_async::Conn::from_url(server.url()).await.unwrap();
    let read = "SHOW GLOBAL STATUS LIKE 'Handler_read_rnd_next'";
    for question in questions() {
        let before: Option<(String, i64)> = client.query_first(read).await.unwrap();
        ask(server.url(), question).await;
        let after: Option<(String, i64)> = client.query_first(read).await.unwrap();
        let rows = (after.expect("a count").1 - before.expect("a count").1) / 10;
        assert!(rows <= FEW, "{} reads {rows} rows without an index", question.0);
    }
    client.disconnect().await.unwrap();
}
