//! The resources that answer at once.

use axum::http::{Method, StatusCode};
use serde_json::json;

use super::*;

#[tokio::test]
async fn a_session_begins_and_ends() {
    let site = Site::start().await;
    let wrong = json!({ "name": "user1@auction.example", "password": "guess" });
    assert_eq!(site.ask(Method::POST, "/auction/login", Some(wrong)).await.code(401), "unauthorized");
    let unsold = json!({ "name": "user0@auction.example", "password": "secret" });
    assert_eq!(site.ask(Method::POST, "/auction/login", Some(unsold)).await.code(401), "unauthorized");
    assert_eq!(site.ask(Method::GET, "/auction/login", None).await.code(405), "methodNotAllowed");
    assert_eq!(site.ask(Method::GET, "/auction/user/1", None).await.code(401), "unauthorized");

    let first = site.guest(1).await;
    assert_eq!(first.credit().await, CREDIT);
    let second = site.guest(1).await;
    assert_eq!(first.get("/auction/user/1").await.code(401), "unauthorized");
    let joined = second.post("/auction/live/auction", json!({ "userId": 1, "auctionId": 1 })).await;
    assert_eq!(joined.status, StatusCode::CREATED);
    assert_eq!(second.get("/auction/logout").await.status, StatusCode::NO_CONTENT);
    assert_eq!(second.get("/auction/user/1").await.code(401), "unauthorized");

    let third = site.guest(1).await;
    let history = third.get("/auction/attendance/user/1?pageSize=5").await.json();
    assert_eq!(history["totalRecords"], 2);
    assert_eq!(history["items"][0]["state"], "left");
    assert_eq!(history["items"][1]["state"], "auctionComplete", "a row of the past is not touched");
}

#[tokio::test]
async fn a_profile_can_be_read_and_changed_by_its_user() {
    let site = Site::start().await;
    let guest = site.guest(2).await;
    assert_eq!(guest.get("/auction/user/3").await.code(403), "forbidden");
    let update = json!({ "firstName": "Bea", "password": "other" });
    let changed = guest.ask(Method::PUT, "/auction/user/2", Some(update)).await.json();
    assert_eq!((&changed["firstName"], &changed["lastName"]), (&json!("Bea"), &json!("Other")));
    assert_eq!(changed.get("password"), None);
    let login = json!({ "name": "user2@auction.example", "password": "other" });
    assert_eq!(site.ask(Method::POST, "/auction/login", Some(login)).await.status, StatusCode::CREATED);

    let again = site.guest(3).await;
    let taken = json!({ "name": "user2@auction.example" });
    assert_eq!(again.ask(Method::PUT, "/auction/user/3", Some(taken)).await.code(409), "nameTaken");

    let new = json!({ "name": "new@auction.example", "password": "pw", "firstName": "N", "lastName": "U" });
    let made = site.ask(Method::POST, "/auction/user", Some(new.clone())).await;
    assert_eq!(made.status, StatusCode::CREATED);
    assert_eq!(site.ask(Method::POST, "/auction/user", Some(new)).await.code(409), "nameTaken");
    assert_eq!(site.check().await["ok"], true, "a registered user's credit is not made of nothing");
}

#[tokio::test]
async fn lists_have_real_totals_and_real_pages() {
    let site = Site::start().await;
    let guest = site.guest(1).await;
    let page = guest.get("/auction/live/auction?page=1&pageSize=1").await.json();
    assert_eq!((&page["totalRecords"], &page["page"], &page["pageSize"]), (&json!(2), &json!(1), &json!(1)));
    assert_eq!(page["items"][0]["id"], 2);
    assert_eq!(page["items"][0]["state"], "running");
    let beyond = guest.get("/auction/live/auction?page=9&pageSize=5").await.json();
    assert_eq!((&beyond["totalRecords"], &beyond["items"]), (&json!(2), &json!([])));
    assert_eq!(guest.get("/auction/auction?pageSize=3").await.json()["totalRecords"], 4);
    assert_eq!(guest.get("/auction/auction/3").await.json()["state"], "complete");
    assert_eq!(guest.get("/auction/auction/99").await.code(404), "notFound");

    let items = guest.get("/auction/item/auction/1?page=1&pageSize=2").await.json();
    assert_eq!((&items["totalRecords"], &items["items"][0]["id"]), (&json!(3), &json!(3)));
    assert_eq!(guest.get("/auction/item/auction/99").await.code(404), "notFound");
    let bids = guest.get("/auction/bid/user/1?pageSize=5").await.json();
    assert_eq!(bids["items"][0]["outcome"], "winning");
    assert_eq!(guest.get("/auction/bid/user/2").await.code(403), "forbidden");
}

#[tokio::test]
async fn an_item_shows_its_own_images() {
    let site = Site::start().await;
    let guest = site.guest(1).await;
    let item = guest.get("/auction/item/1").await.json();
    assert_eq!(item["images"][1]["id"], 12);
    assert_eq!(item["images"][1]["sizes"], json!(["thumbnail", "preview", "full"]));
    let href = item["images"][1]["href"].as_str().unwrap().to_owned();
    for size in ["thumbnail", "preview", "full", "preview"] {
        let picture = guest.get(&format!("{href}?size={size}")).await;
        assert_eq!(
            (picture.kind.as_str(), picture.bytes.as_ref()),
            ("image/jpeg", format!("{size} 12").as_bytes())
        );
    }
    assert_eq!(guest.get("/auction/item/6/image/12?size=preview").await.code(404), "notFound");
    assert_eq!(guest.get("/auction/item/6/image/61?size=full").await.code(404), "notFound");
    assert_eq!(guest.get("/auction/item/6/image/61?size=huge").await.code(400), "badRequest");
    assert_eq!(guest.get("/auction/item/77").await.code(404), "notFound");
}

#[tokio::test]
async fn purchases_can_be_asked_by_time() {
    let site = Site::start().await;
    let guest = site.guest(1).await;
    let all = guest.get("/auction/item/user/1/purchased?page=0&pageSize=5").await.json();
    assert_eq!(all["totalRecords"], 1);
    assert_eq!(all["items"][0]["images"][0]["id"], 61);
    let sold = all["items"][0]["soldMs"].as_i64().unwrap();
    let after = guest.get(&format!("/auction/item/user/1/purchased?fromDate={}", sold + 1)).await.json();
    assert_eq!(after["totalRecords"], 0);
    let until =
        guest.get(&format!("/auction/item/user/1/purchased?fromDate={sold}&toDate={}", sold + 1)).await;
    assert_eq!(until.json()["totalRecords"], 1);
}

#[tokio::test]
async fn an_auction_is_joined_and_left() {
    let site = Site::start().await;
    let guest = site.guest(4).await;
    let join = |auction: i64| json!({ "userId": 4, "auctionId": auction });
    let first = guest.post("/auction/live/auction", join(1)).await.json();
    let second = guest.post("/auction/live/auction", join(1)).await.json();
    assert_eq!(first["id"], second["id"], "who attends already keeps the record");
    assert_eq!(guest.post("/auction/live/auction", join(3)).await.code(410), "auctionComplete");
    assert_eq!(guest.post("/auction/live/auction", join(4)).await.code(409), "auctionNotRunning");
    assert_eq!(guest.post("/auction/live/auction", join(9)).await.code(404), "notFound");
    let other = json!({ "userId": 5, "auctionId": 1 });
    assert_eq!(guest.post("/auction/live/auction", other).await.code(403), "forbidden");
    let leave = || guest.ask(Method::DELETE, "/auction/live/auction/1", None);
    assert_eq!(leave().await.status, StatusCode::NO_CONTENT);
    assert_eq!(leave().await.code(409), "notAttending");
}

#[tokio::test]
async fn an_item_can_be_added() {
    let site = Site::start().await;
    let guest = site.guest(4).await;
    let new = json!({
        "condition": "veryGood", "manufacturer": "M", "shortDescription": "S", "longDescription": "L",
        "originMs": 5, "startingBidCents": 10_000
    });
    let made = guest.post("/auction/item", new.clone()).await;
    assert_eq!(made.status, StatusCode::CREATED);
    let made = made.json();
    assert_eq!((&made["state"], &made["auctioneerId"]), (&json!("notListed"), &json!(4)));
    assert_eq!(made.get("auctionId"), None);
    assert_eq!(guest.get(&format!("/auction/item/{}", made["id"])).await.json(), made);
    let mut negative = new.clone();
    negative["startingBidCents"] = json!(-1);
    assert_eq!(guest.post("/auction/item", negative).await.code(400), "badRequest");
    let mut long = new;
    long["shortDescription"] = json!("x".repeat(128));
    assert_eq!(guest.post("/auction/item", long).await.code(400), "badRequest");
}

#[tokio::test]
async fn operations_and_start_page_need_no_token() {
    let site = Site::start().await;
    for path in ["/auction", "/auction/"] {
        let home = site.ask(Method::GET, path, None).await;
        assert_eq!((home.status, home.kind.as_str()), (StatusCode::OK, "text/html; charset=utf-8"));
    }
    let health = site.ask(Method::GET, "/auction/healthCheck", None).await.json();
    assert_eq!((&health["ready"], &health["runningAuctions"]), (&json!(true), &json!(2)));
    let document = site.ask(Method::GET, "/auction/openapi.json", None).await;
    assert_eq!(document.bytes, barograph_auction_api::openapi_json());
    for path in document.json()["paths"].as_object().unwrap().keys() {
        let path = path.replace(['{', '}'], "");
        let reply = site.ask(Method::PATCH, &path, None).await;
        assert_eq!(reply.status, StatusCode::METHOD_NOT_ALLOWED, "{path} is documented and not routed");
    }
    site.app.broken.set("the disk is full".to_owned());
    let health = site.ask(Method::GET, "/auction/healthCheck", None).await;
    assert_eq!((health.status, &health.json()["ready"]), (StatusCode::SERVICE_UNAVAILABLE, &json!(false)));
    let guest = site.guest(1).await;
    assert_eq!(guest.bid(1, 1, 20_100).await.code(503), "storeFailed");
}
