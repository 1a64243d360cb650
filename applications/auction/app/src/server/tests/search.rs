//! Searches, and sellers' changes to their items.

use axum::http::{Method, StatusCode};
use serde_json::json;

use super::*;

async fn ids(guest: &Guest, path: &str) -> Vec<i64> {
    let page = guest.get(path).await.json();
    page["items"].as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap()).collect()
}

fn new_item(short: &str, cents: i64) -> Value {
    json!({
        "condition": "new", "manufacturer": "M", "shortDescription": short, "longDescription": "L",
        "originMs": 5, "startingBidCents": cents
    })
}

#[tokio::test]
async fn items_are_found_by_words_state_condition_and_price() {
    let site = Site::start().await;
    let guest = site.guest(4).await;
    let made = guest.post("/auction/item", new_item("Walnut Table, round", 77)).await.json();
    let table = made["id"].as_i64().unwrap();
    assert_eq!(ids(&guest, "/auction/item?text=walnut").await, [table]);
    assert_eq!(
        ids(&guest, "/auction/item?text=round%20tab").await,
        [table],
        "the last word may be a beginning"
    );
    assert_eq!(ids(&guest, "/auction/item?text=tab%20round").await, [0_i64; 0], "the others may not");
    assert_eq!(ids(&guest, "/auction/item?text=walnut%20oak").await, [0_i64; 0]);
    assert_eq!(ids(&guest, "/auction/item?state=notListed").await, [8, table]);
    assert_eq!(ids(&guest, "/auction/item?state=active&condition=likeNew").await, [1]);
    assert_eq!(ids(&guest, "/auction/item?fromCents=1&toCents=100").await, [table]);
    assert_eq!(ids(&guest, "/auction/item?text=oak&page=1&pageSize=3").await, [4, 5, 6]);
    assert_eq!(ids(&guest, "/auction/item?text=&pageSize=2").await, [1, 2]);
    let one = guest.get("/auction/item?state=active").await.json();
    assert_eq!(one["items"][0]["images"][1]["id"], 12, "items of a search have their images");
    assert_eq!(ids(&guest, "/auction/item/auctioneer/20?pageSize=3").await, [8, 7, 6]);
    assert_eq!(ids(&guest, "/auction/item/auctioneer/4").await, [table]);
    assert_eq!(ids(&guest, "/auction/item/auctioneer/99").await, [0_i64; 0]);
}

#[tokio::test]
async fn auctions_are_found_by_name_category_and_state() {
    let site = Site::start().await;
    let guest = site.guest(4).await;
    assert_eq!(ids(&guest, "/auction/auction?text=tion%203").await, [3]);
    assert_eq!(ids(&guest, "/auction/auction?category=things").await, [1, 2]);
    assert_eq!(
        ids(&guest, "/auction/auction?category=thing").await,
        [0_i64; 0],
        "a category is said in full"
    );
    assert_eq!(ids(&guest, "/auction/auction?state=future").await, [4]);
    assert_eq!(ids(&guest, "/auction/auction?category=others&state=complete&text=").await, [3]);
    assert_eq!(
        ids(&guest, "/auction/auction?text=%25").await,
        [0_i64; 0],
        "signs of the store mean themselves"
    );
}

#[tokio::test]
async fn what_cannot_be_searched_is_refused() {
    let site = Site::start().await;
    let guest = site.guest(4).await;
    let long = "x".repeat(201);
    for path in [
        format!("/auction/item?text={long}"),
        format!("/auction/auction?text={long}"),
        format!("/auction/auction?category={}", &long[..41]),
        "/auction/item?text=a%00b".to_owned(),
        "/auction/auction?category=%00".to_owned(),
        "/auction/item?state=gone".to_owned(),
        "/auction/item?condition=5".to_owned(),
        "/auction/auction?state=active".to_owned(),
        "/auction/item?fromCents=-1".to_owned(),
        "/auction/item?toCents=9007199254740992".to_owned(),
        "/auction/item?page=10000001".to_owned(),
        "/auction/item?page=4294967296".to_owned(),
        "/auction/item?page=1&page=2".to_owned(),
        "/auction/item/auctioneer/1?pageSize=101".to_owned(),
    ] {
        assert_eq!(guest.get(&path).await.code(400), "badRequest", "{path}");
    }
    let far = guest.get("/auction/item?page=10000000&pageSize=100").await.json();
    assert_eq!((&far["items"], &far["totalRecords"]), (&json!([]), &json!(8)));
    // As many characters as allowed, of four bytes each.
    let wide = "%F0%9F%98%80".repeat(200);
    assert_eq!(guest.get(&format!("/auction/item?text={wide}")).await.status, StatusCode::OK);
}

#[tokio::test]
async fn an_item_is_changed_by_its_owner_until_it_is_listed() {
    let site = Site::start().await;
    let (owner, other) = (site.guest(4).await, site.guest(5).await);
    let made = owner.post("/auction/item", new_item("Chair", 100)).await.json();
    let path = format!("/auction/item/{}", made["id"]);
    assert_eq!(other.get(&path).await.json()["shortDescription"], "Chair", "now it is in the cache");
    let change = json!({ "shortDescription": "Armchair", "condition": "bad", "startingBidCents": null });
    let changed = owner.ask(Method::PUT, &path, Some(change.clone())).await;
    assert_eq!(changed.status, StatusCode::OK);
    let mut expected = made.clone();
    expected["shortDescription"] = json!("Armchair");
    expected["condition"] = json!("bad");
    assert_eq!(changed.json(), expected);
    assert_eq!(other.get(&path).await.json(), expected);
    assert_eq!(ids(&other, "/auction/item?text=armchair").await.len(), 1);
    assert_eq!(other.ask(Method::PUT, &path, Some(change.clone())).await.code(403), "forbidden");
    assert_eq!(owner.ask(Method::PUT, "/auction/item/99", Some(change.clone())).await.code(404), "notFound");
    let seller = site.guest(20).await;
    assert_eq!(seller.ask(Method::PUT, "/auction/item/1", Some(change)).await.code(409), "itemListed");
    for wrong in [
        json!({ "shortDescription": "" }),
        json!({ "shortDescription": "a\u{0}b" }),
        json!({ "longDescription": "x".repeat(1025) }),
        json!({ "startingBidCents": -1 }),
        json!({ "startingBidCents": 9_007_199_254_740_992_i64 }),
        json!({ "originMs": i64::MAX }),
        json!({ "condition": "broken" }),
    ] {
        assert_eq!(
            owner.ask(Method::PUT, &path, Some(wrong.clone())).await.code(400),
            "badRequest",
            "{wrong}"
        );
    }
    assert_eq!(owner.get(&path).await.json(), expected);
}

#[tokio::test]
async fn an_account_is_removed_by_its_user() {
    let site = Site::start().await;
    let (guest, other) = (site.guest(6).await, site.guest(7).await);
    guest.post("/auction/live/auction", json!({ "userId": 6, "auctionId": 1 })).await;
    assert_eq!(other.ask(Method::DELETE, "/auction/user/6", None).await.code(403), "forbidden");
    let removed = guest.ask(Method::DELETE, "/auction/user/6", None).await;
    assert_eq!((removed.status, removed.bytes.len()), (StatusCode::NO_CONTENT, 0));
    assert_eq!(guest.get("/auction/user/6").await.code(401), "unauthorized");
    let login = json!({ "name": "user6@auction.example", "password": "secret" });
    assert_eq!(site.ask(Method::POST, "/auction/login", Some(login)).await.code(401), "unauthorized");
    let again =
        json!({ "name": "user6@auction.example", "password": "pw", "firstName": "N", "lastName": "U" });
    let made = site.ask(Method::POST, "/auction/user", Some(again)).await;
    assert_eq!(made.status, StatusCode::CREATED, "its name is free");
    assert_eq!(site.check().await["ok"], true, "its money is still counted");
}
