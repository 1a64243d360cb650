//! Bids, long polls and timers. Time is paused and moves by `advance` only.

use std::time::Duration;

use barograph_auction_api::{AuctionId, BidState, ItemId, UserId};
use barograph_auction_rules::Bidding;
use tokio::time::advance;

use super::*;
use crate::channels::StateSource;

const IDLE: Duration = Duration::from_millis(30_000);

fn seen(reply: &Reply) -> (i64, i64, String) {
    let body = reply.json();
    let state = body["state"].as_str().unwrap().to_owned();
    (body["sequence"].as_i64().unwrap(), body["amountCents"].as_i64().unwrap(), state)
}

#[tokio::test(start_paused = true)]
async fn a_bid_wakes_whoever_polls() {
    let _hold = TimeHold::time();
    let site = Site::start().await;
    let (one, two) = (site.guest(1).await, site.guest(2).await);
    let now = one.poll(1, 1, 0).await;
    assert_eq!(seen(&now), (7, 20_000, "open".to_owned()));
    assert_eq!(seen(&one.poll(1, 1, 3).await).0, 7, "an older number is answered at once");
    assert_eq!(one.get("/auction/item/current/auction/1").await.json()["id"], 1);
    let poll = tokio::spawn({
        let one = one.clone();
        async move { one.poll(1, 1, 7).await }
    });
    let body = json!({ "userId": 1, "auctionId": 1, "itemId": 1, "amountCents": 20_100 });
    assert_eq!(two.post("/auction/bid", body).await.code(403), "forbidden");
    assert_eq!(two.bid(1, 1, 20_000).await.status, StatusCode::ACCEPTED, "not higher: dropped silently");
    assert_eq!(two.bid(1, 1, CREDIT + 1).await.status, StatusCode::ACCEPTED, "no credit: dropped silently");
    assert_eq!(two.bid(1, 2, 90_000).await.status, StatusCode::ACCEPTED, "not on sale: dropped silently");
    assert_eq!(two.bid(1, 1, 20_100).await.status, StatusCode::ACCEPTED);
    let news = poll.await.unwrap();
    assert_eq!(seen(&news), (8, 20_100, "open".to_owned()));
    assert_eq!(news.json()["bidderId"], 2);
    assert_eq!(two.bid(3, 6, 90_000).await.code(410), "auctionComplete");
    assert_eq!(two.poll(3, 6, 1).await.code(410), "auctionComplete");
    assert_eq!(two.get("/auction/item/current/auction/4").await.code(410), "auctionNotTracked");
    let history = two.get("/auction/bid/user/2").await.json();
    assert_eq!((&history["totalRecords"], &history["items"][0]["sequence"]), (&json!(1), &json!(8)));
    assert_eq!(site.check().await["ok"], true);
}

#[tokio::test(start_paused = true)]
async fn nothing_moves_before_somebody_watches() {
    let _hold = TimeHold::time();
    let site = Site::start().await;
    let guest = site.guest(1).await;
    advance(Duration::from_secs(300)).await;
    assert_eq!(seen(&guest.poll(1, 1, 0).await), (7, 20_000, "open".to_owned()));
    assert_eq!(guest.get("/auction/item/current/auction/2").await.json()["id"], 4);
    assert_eq!(seen(&guest.poll(2, 4, 0).await), (1, 10_000, "open".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn last_call_sale_and_the_next_item() {
    let _hold = TimeHold::time();
    let site = Site::start().await;
    let (winner, follower) = (site.guest(5).await, site.guest(6).await);
    let follow = |count| {
        let follower = follower.clone();
        tokio::spawn(async move { follower.poll(1, 1, count).await })
    };
    let poll = follow(7);
    // The poll must have started the timer before time moves.
    settle().await;
    advance(IDLE).await;
    assert_eq!(seen(&poll.await.unwrap()), (8, 20_000, "lastCall".to_owned()));
    let poll = follow(8);
    settle().await;
    advance(IDLE).await;
    assert_eq!(seen(&poll.await.unwrap()), (9, 20_000, "sold".to_owned()));
    assert_eq!(follower.get("/auction/item/current/auction/1").await.json()["id"], 2);
    assert_eq!(seen(&follower.poll(1, 2, 0).await), (1, 10_000, "open".to_owned()));
    assert_eq!(seen(&follower.poll(1, 1, 8).await).2, "sold", "who comes late still hears of the sale");
    assert_eq!(seen(&follower.poll(1, 1, 9).await).2, "itemNotActive");
    assert_eq!(winner.credit().await, CREDIT - 20_000);
    let bought = winner.get("/auction/item/user/5/purchased").await.json();
    assert_eq!((&bought["totalRecords"], &bought["items"][0]["itemId"]), (&json!(1), &json!(1)));
    assert_eq!(follower.get("/auction/item/1").await.json()["state"], "sold");
    let items = follower.get("/auction/item/auction/1").await.json();
    assert_eq!(items["items"][1]["state"], "active");
    let report = site.check().await;
    assert_eq!((&report["ok"], &report["counts"]["sales"]), (&json!(true), &json!(1)), "{report}");
    // The result of a bid is written a moment after the bid.
    while winner.get("/auction/bid/user/5").await.json()["items"][0]["outcome"] != "winning" {
        advance(Duration::from_millis(100)).await;
        settle().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_poll_without_news_ends_after_45_seconds() {
    let _hold = TimeHold::time();
    let site = Site::start().await;
    let guest = site.guest(1).await;
    // A channel without an auctioneer.
    let mut auction = site.app.relational.auction(AuctionId(1)).await.unwrap().unwrap();
    auction.id = AuctionId(77);
    let bidding =
        Bidding { item: ItemId(5), bidder: UserId(1), amount: 10, sequence: 3, state: BidState::Open };
    let channel = site.app.channels.open(auction);
    // It has no owner, so the wake fails.
    assert!(channel.first_watched());
    site.app.channels.publish(AuctionId(77), (1, bidding), StateSource::Hearsay);
    let poll = tokio::spawn({
        let guest = guest.clone();
        async move { guest.poll(77, 5, 3).await }
    });
    settle().await;
    advance(Duration::from_millis(44_999)).await;
    settle().await;
    assert!(!poll.is_finished());
    advance(Duration::from_millis(2)).await;
    assert_eq!(poll.await.unwrap().code(408), "noNews");
}

#[tokio::test(start_paused = true)]
async fn a_future_auction_begins_when_its_time_comes() {
    let _hold = TimeHold::time();
    let site = Site::start().await;
    let guest = site.guest(1).await;
    assert_eq!(guest.get("/auction/live/auction").await.json()["totalRecords"], 2);
    for _ in 0..11 {
        advance(Duration::from_secs(60)).await;
        settle().await;
    }
    while site.app.channels.channel(AuctionId(4)).is_none() {
        tokio::task::yield_now().await;
    }
    assert_eq!(guest.get("/auction/item/current/auction/4").await.json()["id"], 7);
    while guest.get("/auction/live/auction").await.json()["totalRecords"] != 3 {
        tokio::task::yield_now().await;
    }
    assert_eq!(guest.get("/auction/auction/4").await.json()["state"], "running");
}

#[tokio::test(start_paused = true)]
async fn many_bidders_make_one_winner() {
    let _hold = TimeHold::time();
    let site = Site::start().await;
    let mut guests = Vec::new();
    for id in 1..=USERS {
        guests.push(site.guest(id).await);
    }
    let start = seen(&guests[0].poll(1, 1, 0).await);
    let follower = tokio::spawn({
        let guest = guests[0].clone();
        async move {
            let mut updates = vec![];
            let mut count = start.0 as u64;
            loop {
                let news = guest.poll(1, 1, count).await;
                let (sequence, amount, state) = seen(&news);
                count = sequence as u64;
                updates.push((sequence, amount));
                if amount >= 90_000 || state != "open" {
                    return updates;
                }
            }
        }
    });
    let mut bidders = tokio::task::JoinSet::new();
    for guest in guests.clone() {
        bidders.spawn(async move {
            for round in 0..30 {
                // All guests bid the same amounts, so that most bids meet one that is as high.
                let reply = guest.bid(1, 1, 20_100 + round * 100).await;
                assert_eq!(reply.status, StatusCode::ACCEPTED);
                tokio::task::yield_now().await;
            }
        });
    }
    while let Some(done) = bidders.join_next().await {
        done.unwrap();
    }
    guests[18].bid(1, 1, 90_000).await;
    let updates = follower.await.unwrap();
    assert!(updates.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 < w[1].1), "{updates:?}");
    assert_eq!(updates.last().unwrap().1, 90_000);
    let report = site.check().await;
    assert_eq!(report["ok"], true, "{report}");
    let accepted = report["counts"]["bids"].as_i64().unwrap();
    assert!((2..=31).contains(&accepted), "each amount is accepted once at most: {accepted}");

    let poll = tokio::spawn({
        let (guest, last) = (guests[0].clone(), updates.last().unwrap().0 as u64);
        async move { guest.poll(1, 1, last + 1).await }
    });
    settle().await;
    advance(IDLE).await;
    guests[0].poll(1, 1, updates.last().unwrap().0 as u64).await;
    advance(IDLE).await;
    drop(poll);
    while site.check().await["counts"]["sales"] != 1 {
        advance(Duration::from_millis(100)).await;
        settle().await;
    }
    let mut paid = 0;
    for guest in &guests {
        paid += CREDIT - guest.credit().await;
    }
    assert_eq!((paid, CREDIT - guests[18].credit().await), (90_000, 90_000));
    // The mark of the winning bid is written a moment after the sale, and time has run ahead of the disk
    // here.
    while guests[18].get("/auction/bid/user/19").await.json()["items"][0]["outcome"] != "winning" {
        advance(Duration::from_millis(100)).await;
        settle().await;
    }
    let report = site.check().await;
    assert_eq!(report["ok"], true, "{report}");
    // Guests hold the router and with it the stores.
    drop(guests);
    let dir = moving(site.stop()).await;
    let db = Connection::open(dir.path().join("state/relational.db")).unwrap();
    let total: Cents = db.query_row("SELECT SUM(credit_cents) FROM user", [], |r| r.get(0)).unwrap();
    assert_eq!(total, (USERS + 1) * CREDIT - 90_000);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_ends_the_auctions_and_says_so() {
    let _hold = TimeHold::time();
    let site = Site::start().await;
    let guest = site.guest(2).await;
    let poll = tokio::spawn({
        let guest = guest.clone();
        async move { guest.poll(1, 1, 7).await }
    });
    settle().await;
    site.store("relational.db").execute_batch("DROP TABLE high_bid").unwrap();
    assert_eq!(guest.bid(1, 1, 20_100).await.status, StatusCode::ACCEPTED);
    assert_eq!(poll.await.unwrap().code(503), "stopping");
    let health = site.ask(Method::GET, "/auction/healthCheck", None).await;
    assert_eq!(health.status, StatusCode::SERVICE_UNAVAILABLE);
    let trouble = health.json()["trouble"].as_str().unwrap().to_owned();
    assert!(trouble.contains("high_bid"), "{trouble}");
    assert_eq!(guest.bid(1, 1, 20_200).await.code(503), "storeFailed");
    let purchases = guest.get("/auction/item/user/2/purchased").await;
    assert_eq!(purchases.code(503), "storeFailed");
    // The reader that failed serves the next request.
    assert_eq!(guest.get("/auction/item/auction/1").await.status, StatusCode::OK);
}
