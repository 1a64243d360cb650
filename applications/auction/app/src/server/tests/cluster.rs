//! Operators' requests to a node.

use axum::http::{Method, StatusCode};
use serde_json::json;

use super::*;

async fn public(site: &Site, path: &str) -> Reply {
    site.ask(Method::GET, path, None).await
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_alone_leads_and_owns_what_runs() {
    // The age of the last beat must not depend on how busy the machine is.
    let _hold = TimeHold::time();
    let site = Site::start().await;
    let leadership = public(&site, "/auction/live/auction/isMaster").await.json();
    assert_eq!(leadership, json!({ "node": "one", "leader": "one", "isLeader": true }));
    let view = public(&site, "/auction/cluster").await.json();
    assert_eq!(view["members"], json!([{ "node": "one", "standing": "active" }]));
    assert_eq!((&view["owned"], &view["followed"], &view["role"]), (&json!(2), &json!(0), &json!("all")));
    assert_eq!(view["bus"], "connected");
    assert!(view["lastSeenMs"].as_u64().unwrap() < 10_000, "{view}");
    let health = public(&site, "/auction/healthCheck").await.json();
    assert_eq!((&health["node"], &health["role"]), (&json!("one"), &json!("all")));
    let tiers: Vec<&str> =
        health["stores"].as_array().unwrap().iter().map(|s| s["tier"].as_str().unwrap()).collect();
    assert_eq!(tiers, ["relational", "events", "images", "bus", "cache"]);
    assert!(health["durability"].as_str().unwrap().contains("SQLite"), "{health}");
    let alive = public(&site, "/auction/alive").await;
    assert_eq!((alive.status, alive.bytes.len()), (StatusCode::NO_CONTENT, 0));
}

#[tokio::test]
async fn a_node_that_drains_is_not_ready_and_serves_on() {
    let site = Site::start().await;
    let drain = public(&site, "/auction/live/auction/prepareForShutdown").await.json();
    assert_eq!(
        drain,
        json!({ "node": "one", "ownedAuctions": 2, "ready": false }),
        "nobody is there to take them"
    );
    assert_eq!(public(&site, "/auction/healthCheck").await.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(public(&site, "/auction/alive").await.status, StatusCode::NO_CONTENT);
    let guest = site.guest(2).await;
    assert_eq!(guest.bid(1, 1, 20_100).await.status, StatusCode::ACCEPTED);
    assert_eq!(guest.poll(1, 1, 7).await.json()["amountCents"], 20_100);
}

#[tokio::test]
async fn release_lets_all_go_who_wait() {
    let site = Site::start().await;
    let guest = site.guest(2).await;
    let poll = tokio::spawn({
        let guest = guest.clone();
        async move { guest.poll(1, 1, 7).await }
    });
    while site.app.channels.counts().followers == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(public(&site, "/auction/live/auction/release").await.status, StatusCode::NO_CONTENT);
    assert_eq!(poll.await.unwrap().code(503), "stopping");
    assert_eq!(guest.get("/auction/bid/auction/1/events").await.code(503), "stopping");
    assert_eq!(site.app.channels.counts().followers, 0);
}

#[tokio::test]
async fn a_node_with_a_part_that_a_bug_ended_is_broken_and_gives_up() {
    let site = Site::start().await;
    let ended = crate::alarm::spawn(&site.app, "part under test", async {});
    ended.await.unwrap();
    assert_eq!(public(&site, "/auction/healthCheck").await.status, StatusCode::OK, "to end is no bug");
    let ended =
        crate::alarm::spawn(&site.app, "part under test", async { panic!("a bug made for this test") });
    assert!(ended.await.unwrap_err().is_panic());
    let health = public(&site, "/auction/healthCheck").await;
    assert_eq!(health.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(health.json()["trouble"], "a bug ended the part under test");
    assert_eq!(site.guest(2).await.bid(1, 1, 20_100).await.code(503), "storeFailed");
}
