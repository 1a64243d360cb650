//! A tiny data set and a way to ask, for the tests of the server.

mod checks;
mod garbage;
mod live;
mod resources;
mod serving;

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode};
use barograph_auction_api::{Cents, TOKEN_HEADER};
use bytes::Bytes;
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

use super::router::router;
use crate::app::{App, Background, Places};
use crate::schema::{self, CLOCK_START_MS};
use crate::store::WriterThreads;
use crate::{auth, codes};

/// Numbered users of the data set.
pub(super) const USERS: i64 = 20;
/// What each of them may spend, in cents.
pub(super) const CREDIT: Cents = 1_000_000;

/// Auction 1 runs with items 1 to 3, the first in mid-bidding at number 7; auction 2 runs with items 4 and 5 and has
/// not opened; auction 3 is over, user 1 bought its item 6; auction 4 begins ten minutes from now with item 7.
pub(super) fn fill(dir: &Path) {
    let pristine = dir.join("pristine");
    std::fs::create_dir_all(&pristine).unwrap();
    let db = Connection::open(pristine.join("relational.db")).unwrap();
    db.execute_batch(schema::RELATIONAL).unwrap();
    db.execute_batch("BEGIN").unwrap();
    for id in 0..=USERS {
        let password = if id < 2 { auth::hash("secret", [id as u8; 16]) } else { String::new() };
        let password = if id < 2 { password } else { user_hash(&db) };
        db.execute(
            "INSERT INTO user VALUES (?1, ?2, ?3, 'Ann', 'Other', ?4, ?5, NULL, 0)",
            params![id, format!("user{id}@auction.example"), password, CREDIT, i64::from(id > 0)],
        )
        .unwrap();
    }
    let auctions = [
        (1, codes::auction::RUNNING, -1000, None),
        (2, codes::auction::RUNNING, -1000, None),
        (3, codes::auction::COMPLETE, -900_000, Some(CLOCK_START_MS - 500_000)),
        (4, codes::auction::FUTURE, 600_000, None),
    ];
    for (id, state, start, end) in auctions {
        db.execute(
            "INSERT INTO auction VALUES (?1, ?2, 'things', ?3, ?4, ?5, 20, 0)",
            params![id, format!("Auction {id}"), CLOCK_START_MS + start, end, state],
        )
        .unwrap();
    }
    let items = [
        (1, 1, codes::item::ACTIVE),
        (2, 1, codes::item::IN_AUCTION),
        (3, 1, codes::item::IN_AUCTION),
        (4, 2, codes::item::IN_AUCTION),
        (5, 2, codes::item::IN_AUCTION),
        (6, 3, codes::item::SOLD),
        (7, 4, codes::item::IN_AUCTION),
    ];
    for (id, auction, state) in items {
        db.execute(
            "INSERT INTO item VALUES (?1, ?2, 20, 3, 'Maker', ?3, 'A long text', 0, 10000, ?4, 1, 0)",
            params![id, auction, format!("Item {id}"), state],
        )
        .unwrap();
    }
    let at = CLOCK_START_MS - 5000;
    db.execute(
        "INSERT INTO high_bid VALUES (1, 1, 1, 5, 20000, ?1, 7, ?2, NULL, ?3, 1, 0), \
         (2, 3, 6, 1, 30000, ?4, 23, ?2, ?3, ?3, 1, 0)",
        params![codes::high_bid::OPEN, at - 60_000, at, codes::high_bid::SOLD],
    )
    .unwrap();
    db.execute_batch("COMMIT").unwrap();
    db.execute_batch(schema::RELATIONAL_INDICES).unwrap();
    fill_events(dir, at);
}

/// The hash of one user serves for all: hashing is not what is tested here.
fn user_hash(db: &Connection) -> String {
    db.query_row("SELECT password FROM user WHERE id = 1", [], |row| row.get(0)).unwrap()
}

fn fill_events(dir: &Path, at: i64) {
    let db = Connection::open(dir.join("pristine/events.db")).unwrap();
    db.execute_batch(schema::EVENTS).unwrap();
    db.execute(
        "INSERT INTO bid VALUES (5, ?1, 1, 1, 1, 20000, ?2, 7, 1), (1, ?1, 2, 3, 6, 30000, ?3, 21, 1)",
        params![at, codes::bid::HIGH, codes::bid::WINNING],
    )
    .unwrap();
    db.execute(
        "INSERT INTO attendance VALUES (1, ?1, 1, 3, 'Auction 3', ?2, 1)",
        params![at, codes::attendance::AUCTION_COMPLETE],
    )
    .unwrap();
    // Images 11 and 12 belong to item 1, image 61 to item 6 and has no full size.
    for (item, number, id, sizes) in [(1, 0, 11, 7), (1, 1, 12, 7), (6, 0, 61, 3)] {
        db.execute("INSERT INTO image VALUES (?1, ?2, ?3, ?4, 0, 1)", [item, number, id, sizes]).unwrap();
        for (bit, size) in [(1, "thumbnail"), (2, "preview"), (4, "full")] {
            let folder = dir.join("images").join(size).join("0");
            std::fs::create_dir_all(&folder).unwrap();
            if sizes & bit != 0 {
                std::fs::write(folder.join(format!("{id}.jpg")), format!("{size} {id}")).unwrap();
            }
        }
    }
    std::fs::write(dir.join("marker.json"), "{}").unwrap();
}

/// Keeps paused time from moving by itself: while a blocking task runs, only `advance` moves it.
pub(super) struct Hold(Option<SyncSender<()>>);

impl Hold {
    pub(super) fn time() -> Self {
        let (release, held) = sync_channel::<()>(1);
        tokio::task::spawn_blocking(move || held.recv().is_ok());
        Hold(Some(release))
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.take();
    }
}

/// An answer, read whole.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) kind: String,
    pub(super) bytes: Bytes,
}

impl Reply {
    pub(super) fn json(&self) -> Value {
        assert_eq!(self.kind, "application/json", "{self:?}");
        serde_json::from_slice(&self.bytes).unwrap()
    }

    /// The code of a refusal, after checking that it is one of the contract with this status.
    pub(super) fn code(&self, status: u16) -> String {
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        let body = self.json();
        assert!(!body["message"].as_str().unwrap().is_empty());
        body["code"].as_str().unwrap().to_owned()
    }
}

/// The application on the tiny data set.
pub(super) struct Site {
    pub(super) app: Arc<App>,
    pub(super) router: Router,
    pub(super) dir: TempDir,
    background: Background,
    threads: WriterThreads,
}

/// A logged-in user.
#[derive(Clone)]
pub(super) struct Guest {
    pub(super) id: i64,
    token: String,
    router: Router,
}

impl Site {
    pub(super) async fn start() -> Site {
        let dir = tempfile::tempdir().unwrap();
        fill(&dir.path().join("data"));
        let places = Places {
            data_dir: dir.path().join("data"),
            state_dir: dir.path().join("state"),
            cache_bytes: 1 << 20,
            readers: 2,
        };
        let (app, background, threads) = App::start(&places).await.unwrap();
        Site { router: router(Arc::clone(&app)), app, dir, background, threads }
    }

    pub(super) async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Reply {
        ask(&self.router, request(method, path, None, body)).await
    }

    pub(super) async fn guest(&self, id: i64) -> Guest {
        let body = json!({ "name": format!("user{id}@auction.example"), "password": "secret" });
        let reply = self.ask(Method::POST, "/auction/login", Some(body)).await;
        assert_eq!(reply.status, StatusCode::CREATED, "{reply:?}");
        let token = reply.json()["token"].as_str().unwrap().to_owned();
        Guest { id, token, router: self.router.clone() }
    }

    pub(super) async fn check(&self) -> Value {
        self.ask(Method::GET, "/auction/check", None).await.json()
    }

    /// A connection to one of the stores, to look or to damage.
    pub(super) fn store(&self, file: &str) -> Connection {
        Connection::open(self.dir.path().join("state").join(file)).unwrap()
    }

    /// Stops the application; everything decided is in the files then.
    pub(super) async fn stop(self) -> TempDir {
        self.app.stop(self.background).await;
        drop((self.app, self.router));
        tokio::task::spawn_blocking(move || self.threads.join()).await.unwrap();
        self.dir
    }
}

impl Guest {
    pub(super) async fn get(&self, path: &str) -> Reply {
        self.ask(Method::GET, path, None).await
    }

    pub(super) async fn post(&self, path: &str, body: Value) -> Reply {
        self.ask(Method::POST, path, Some(body)).await
    }

    pub(super) async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Reply {
        ask(&self.router, request(method, path, Some(&self.token), body)).await
    }

    pub(super) async fn bid(&self, auction: i64, item: i64, amount: Cents) -> Reply {
        let body = json!({ "userId": self.id, "auctionId": auction, "itemId": item, "amountCents": amount });
        self.post("/auction/bid", body).await
    }

    pub(super) async fn poll(&self, auction: i64, item: i64, count: u64) -> Reply {
        self.get(&format!("/auction/bid/auction/{auction}/item/{item}/count/{count}")).await
    }

    pub(super) async fn credit(&self) -> Cents {
        self.get(&format!("/auction/user/{}", self.id)).await.json()["creditCents"].as_i64().unwrap()
    }
}

pub(super) fn request(method: Method, path: &str, token: Option<&str>, body: Option<Value>) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    if let Some(token) = token {
        request = request.header(TOKEN_HEADER, token);
    }
    match body {
        Some(body) => {
            request.header("content-type", "application/json").body(Body::from(body.to_string())).unwrap()
        }
        None => request.body(Body::empty()).unwrap(),
    }
}

pub(super) async fn ask(router: &Router, request: Request<Body>) -> Reply {
    let response = router.clone().oneshot(request).await.unwrap();
    let status = response.status();
    let kind = response.headers().get("content-type").map(|v| v.to_str().unwrap().to_owned());
    let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    Reply { status, kind: kind.unwrap_or_default(), bytes }
}
