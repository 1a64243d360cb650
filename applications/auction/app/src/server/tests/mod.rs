//! A tiny data set and requests to it, for the tests of the server.

mod checks;
mod cluster;
mod events;
mod garbage;
mod live;
mod metrics;
mod pictures;
mod resources;
mod search;
mod serving;
mod slow;

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use barograph_auction_api::{Cents, Role, TOKEN_HEADER};
use barograph_auction_bus::{BusConnection, BusUrl, Hub, Settings, connect};
use barograph_auction_store::{
    AttendanceRow, AuctionRow, BidRow, CLOCK_START_MS, EventBatch, HighBidRow, ImageRow, ItemRow,
    RelationalBatch, UserRow, codes,
};
use barograph_store_images::{Limits, PictureLocation};
use barograph_store_sqlite::{EventFile, Files, RelationalFile};
use bytes::Bytes;
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

use super::router::router;
use crate::app::{App, Background};
use crate::auth;
use crate::fill::Marker;
use crate::settings::{Peers, ServeConfig, Stores};

/// Numbered users of the data set.
pub(super) const USERS: i64 = 20;
/// Credit of each of them, in cents.
pub(super) const CREDIT: Cents = 1_000_000;

/// Auction 1 runs with items 1 to 3, the first in mid-bidding at number 7; auction 2 runs with items 4 and 5 and has
/// not opened; auction 3 is over, user 1 bought its item 6; auction 4 begins ten minutes from now with item 7. Item 8
/// is in no auction. User 20 sells everything.
pub(super) fn fill(dir: &Path) {
    let pristine = dir.join("pristine");
    std::fs::create_dir_all(&pristine).unwrap();
    let files = Files::pristine(dir);
    let mut relational = RelationalFile::create(&files.relational).unwrap();
    relational.insert(&relational_rows()).unwrap();
    relational.close("test").unwrap();
    let mut events = EventFile::create(&files.events).unwrap();
    events.insert(&event_rows()).unwrap();
    events.close("test").unwrap();
    for (id, sizes) in [(11, 7), (12, 7), (61, 3)] {
        for (bit, size) in [(1, "thumbnail"), (2, "preview"), (4, "full")] {
            let folder = dir.join("images").join(size).join("0");
            std::fs::create_dir_all(&folder).unwrap();
            if sizes & bit != 0 {
                std::fs::write(folder.join(format!("{id}.jpg")), format!("{size} {id}")).unwrap();
            }
        }
    }
    std::fs::write(Marker::path(dir), "{}").unwrap();
}

/// Time of the bids of the data set.
const BID_MS: i64 = CLOCK_START_MS - 5000;

fn relational_rows() -> RelationalBatch {
    // The hash of one user serves for all: hashing is not tested here.
    let password = auth::hash("secret", [1; 16]);
    let users = (0..=USERS).map(|id| UserRow {
        id,
        name: format!("user{id}@auction.example"),
        password: password.clone(),
        first_name: "Ann".into(),
        last_name: "Other".into(),
        credit_cents: CREDIT,
        enabled: id > 0,
    });
    let auction = |id: i64, state, start: i64, end_ms| AuctionRow {
        id,
        name: format!("Auction {id}").into(),
        category: if id < 3 { "things".into() } else { "others".into() },
        start_ms: CLOCK_START_MS + start,
        end_ms,
        state,
        auctioneer_id: 20,
    };
    let item = |(id, auction_id, state): (i64, Option<i64>, i64)| ItemRow {
        id,
        auction_id,
        auctioneer_id: 20,
        condition: id % 7,
        manufacturer: "Maker".into(),
        short_description: format!("Item number {id} of oak"),
        long_description: "A long text".to_owned(),
        origin_ms: 0,
        starting_bid_cents: 10_000,
        state,
    };
    let items = [
        (1, Some(1), codes::item::ACTIVE),
        (2, Some(1), codes::item::IN_AUCTION),
        (3, Some(1), codes::item::IN_AUCTION),
        (4, Some(2), codes::item::IN_AUCTION),
        (5, Some(2), codes::item::IN_AUCTION),
        (6, Some(3), codes::item::SOLD),
        (7, Some(4), codes::item::IN_AUCTION),
        (8, None, codes::item::NOT_LISTED),
    ];
    RelationalBatch {
        users: users.collect(),
        auctions: vec![
            auction(1, codes::auction::RUNNING, -1000, None),
            auction(2, codes::auction::RUNNING, -1000, None),
            auction(3, codes::auction::COMPLETE, -900_000, Some(CLOCK_START_MS - 500_000)),
            auction(4, codes::auction::FUTURE, 600_000, None),
        ],
        items: items.map(item).into(),
        high_bids: listings(),
    }
}

/// Item 1 in the midst of its bidding, item 6 sold.
fn listings() -> Vec<HighBidRow> {
    vec![
        HighBidRow {
            id: 1,
            auction_id: 1,
            item_id: 1,
            bidder_id: 5,
            amount_cents: 20_000,
            state: codes::high_bid::OPEN,
            sequence: 7,
            start_ms: BID_MS - 60_000,
            end_ms: None,
            bid_ms: BID_MS,
            bid_id: 1,
            round: 1,
            fence: 0,
        },
        HighBidRow {
            id: 2,
            auction_id: 3,
            item_id: 6,
            bidder_id: 1,
            amount_cents: 30_000,
            state: codes::high_bid::SOLD,
            sequence: 23,
            start_ms: BID_MS - 60_000,
            end_ms: Some(BID_MS),
            bid_ms: BID_MS,
            bid_id: 2,
            round: 1,
            fence: 0,
        },
    ]
}

fn event_rows() -> EventBatch {
    let bid = |id, bidder_id, auction_id, item_id, amount_cents, state, sequence| BidRow {
        id,
        bidder_id,
        bid_ms: BID_MS,
        auction_id,
        item_id,
        listing: id,
        amount_cents,
        state,
        sequence,
        fence: 0,
    };
    // Images 11 and 12 belong to item 1, image 61 to item 6 and has no full size.
    let image = |(item_id, number, id, sizes)| ImageRow { id, item_id, number, sizes, created_ms: 0 };
    EventBatch {
        bids: vec![
            bid(1, 5, 1, 1, 20_000, codes::bid::HIGH, 7),
            bid(2, 1, 3, 6, 30_000, codes::bid::WINNING, 21),
        ],
        attendance: vec![AttendanceRow {
            id: 1,
            user_id: 1,
            record_ms: BID_MS,
            auction_id: 3,
            auction_name: "Auction 3".into(),
            state: codes::attendance::AUCTION_COMPLETE,
        }],
        images: [(1, 0, 11, 7), (1, 1, 12, 7), (6, 0, 61, 3)].map(image).into(),
    }
}

/// Settings of a server on this folder: the data in `data`, files of the run in `state` and `uploads`.
pub(super) fn config(dir: &Path, max_connections: usize) -> ServeConfig {
    ServeConfig {
        listener: TcpListener::bind("127.0.0.1:0").unwrap(),
        node: "one".to_owned(),
        role: Role::All,
        stores: Stores::Embedded { data_dir: dir.join("data"), state_dir: dir.join("state") },
        images: PictureLocation::Files { read: dir.join("data/images"), write: Some(dir.join("uploads")) },
        image_limits: Limits { cache_bytes: 1 << 20, ..Limits::default() },
        peers: None,
        threads: 1,
        room_for: 0,
        max_connections,
    }
}

/// Keeps paused time from moving by itself: while a blocking task runs, only `advance` moves it.
pub(super) struct TimeHold(Option<SyncSender<()>>);

impl TimeHold {
    pub(super) fn time() -> Self {
        let (release, held) = sync_channel::<()>(1);
        tokio::task::spawn_blocking(move || held.recv().is_ok());
        TimeHold(Some(release))
    }
}

impl Drop for TimeHold {
    fn drop(&mut self) {
        self.0.take();
    }
}

/// Runs everything that is ready, without moving time.
pub(super) async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// Runs a future that needs time to pass, while time is held: advances it a little whenever nothing else
/// happens.
pub(super) async fn moving<T>(work: impl Future<Output = T>) -> T {
    let time = async {
        loop {
            for _ in 0..50 {
                settle().await;
            }
            tokio::time::advance(std::time::Duration::from_millis(100)).await;
        }
    };
    tokio::select! {
        biased;
        done = work => done,
        () = time => unreachable!("time goes on for ever"),
    }
}

/// An answer with its whole body.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) kind: String,
    pub(super) headers: HeaderMap,
    pub(super) bytes: Bytes,
}

impl Reply {
    pub(super) fn json(&self) -> Value {
        assert_eq!(self.kind, "application/json", "{self:?}");
        serde_json::from_slice(&self.bytes).unwrap()
    }

    /// The code of a refusal, after checking that it belongs to the contract with this status.
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
}

/// A logged-in user.
#[derive(Clone)]
pub(super) struct Guest {
    pub(super) id: i64,
    pub(super) token: String,
    router: Router,
}

impl Site {
    /// A site on the tiny data set. For tests with stopped time, it must be held before: a start waits for
    /// the stores with a limit, and time that moves by itself would reach the limit at once.
    pub(super) async fn start() -> Site {
        let dir = tempfile::tempdir().unwrap();
        fill(&dir.path().join("data"));
        Site::on(dir).await
    }

    /// A site on existing data.
    pub(super) async fn on(dir: TempDir) -> Site {
        let config = config(dir.path(), 1);
        Site::with(&config, dir).await
    }

    async fn with(config: &ServeConfig, dir: TempDir) -> Site {
        let (app, background) = App::start(config).await.unwrap();
        let (router, _) = router(Arc::clone(&app));
        Site { router, app, dir, background }
    }

    /// A site with a neighbour; the test sends and receives in the neighbour's name over the bus.
    pub(super) async fn beside() -> (Site, BusConnection) {
        let bus = BusUrl::in_process(&Hub::new());
        let dir = tempfile::tempdir().unwrap();
        fill(&dir.path().join("data"));
        let peers = Some(Peers { bus: bus.clone(), namespace: "test".to_owned() });
        let site = Site::with(&ServeConfig { peers, ..config(dir.path(), 1) }, dir).await;
        let neighbour = barograph_auction_bus::NodeName { namespace: "test", node: "two" };
        // A node drops its caches when its bus is connected; its listener has yet to receive that.
        settle().await;
        (site, connect(&bus, neighbour, &Settings::default()).await.unwrap())
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

    /// A connection to one of the stores, to read or to damage it.
    pub(super) fn store(&self, file: &str) -> Connection {
        Connection::open(self.dir.path().join("state").join(file)).unwrap()
    }

    /// Stops the application; all decisions are then in the files.
    pub(super) async fn stop(self) -> TempDir {
        let files = self.app.stop(self.background).await.unwrap();
        drop((self.app, self.router));
        tokio::task::spawn_blocking(move || files.join()).await.unwrap();
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
    let headers = response.headers().clone();
    let kind = headers.get("content-type").map(|v| v.to_str().unwrap().to_owned());
    let bytes = to_bytes(response.into_body(), 1 << 25).await.unwrap();
    Reply { status, kind: kind.unwrap_or_default(), headers, bytes }
}
