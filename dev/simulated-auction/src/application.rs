//! The application in the same process and in simulated time: the real auction rules, with minimal answers.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use barograph_auction_api::{AuctionId, BidState, ItemId, TOKEN_HEADER, UserId as Account};
use barograph_auction_rules::{Bidding, Event, EventKind, Listing, LiveAuction, Offer, Purses};
use barograph_engine::{Stream, Timer, stream};
use barograph_http::{Answer, Fault, Request};
use barograph_model::{Nanos, UserId};
use barograph_workload_auction::{Line, Transport};
use futures::channel::oneshot;
use futures::future::{Either, select};
use rand::RngExt;

use crate::feed::InProcessFeed;

/// Duration of every request.
const SERVICE: Nanos = Nanos::from_millis(2);

/// Longest hold of a long poll.
const POLL: Nanos = Nanos::from_secs(45);

/// Items of each auction.
const ITEMS: i64 = 15;

struct Auction {
    live: LiveAuction,
    /// Every state so far with the round of its listing.
    told: Vec<(i64, Bidding)>,
    waiting: Vec<oneshot::Sender<()>>,
}

impl Auction {
    /// The last end of this item, if that is news to a follower that knows `count` states.
    fn over(&self, item: i64, count: u32) -> Option<&Bidding> {
        let ended = |b: &&Bidding| matches!(b.state, BidState::Sold | BidState::NotSold);
        let last = self.told.iter().rev().map(|(_, bidding)| bidding).find(ended);
        last.filter(|b| b.item.0 == item && b.sequence > count)
    }
}

struct ApplicationState {
    timer: Timer,
    auctions: RefCell<Vec<Auction>>,
    purse: RefCell<Purses>,
    accounts: RefCell<BTreeMap<UserId, BTreeSet<i64>>>,
    /// The required token of each user; absent after signing out.
    tokens: RefCell<BTreeMap<UserId, String>>,
    frozen: Cell<bool>,
    /// Status of every answer about the bidding; streams send a farewell.
    trouble: Cell<Option<u16>>,
    feeds: Cell<Feeds>,
}

/// Streams of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Feeds {
    /// Number opened so far.
    pub opened: u64,
    /// Number open at present.
    pub open: u64,
    /// Most open at once.
    pub most: u64,
}

/// A received request.
struct IncomingRequest {
    user: UserId,
    method: String,
    path: String,
    token: Option<String>,
    body: Vec<u8>,
}

/// The application.
#[derive(Clone)]
pub struct Application(Rc<ApplicationState>);

impl Application {
    /// As many running auctions as `users` have, with their first items in the midst of the bidding, as in
    /// the fill.
    #[must_use]
    pub fn new(timer: Timer, users: u32, seed: u64) -> Self {
        let mut rng = stream(seed, u32::MAX, 0);
        let auctions = (0..i64::from(users / 15)).map(|n| auction(n + 1, &mut rng)).collect();
        Application(Rc::new(ApplicationState {
            timer,
            auctions: RefCell::new(auctions),
            purse: RefCell::new(Purses::new(100_000_000)),
            accounts: RefCell::default(),
            tokens: RefCell::default(),
            frozen: Cell::new(false),
            trouble: Cell::default(),
            feeds: Cell::default(),
        }))
    }

    /// Refuses all requests about the bidding with this status; `None` ends that.
    pub fn refuse(&self, status: Option<u16>) {
        self.0.trouble.set(status);
        self.0.auctions.borrow_mut().iter_mut().for_each(wake);
    }

    /// The streams of events so far.
    #[must_use]
    pub fn feeds(&self) -> Feeds {
        self.0.feeds.get()
    }

    pub(crate) fn count_feeds(&self, change: impl FnOnce(&mut Feeds)) {
        let mut feeds = self.0.feeds.get();
        change(&mut feeds);
        feeds.most = feeds.most.max(feeds.open);
        self.0.feeds.set(feeds);
    }

    pub(crate) fn trouble(&self) -> Option<u16> {
        self.0.trouble.get()
    }

    /// Stops all auctions: polls run out.
    #[must_use]
    pub fn that_never_changes(self) -> Self {
        self.0.frozen.set(true);
        self
    }

    /// The accounts with which each user signed in.
    #[must_use]
    pub fn accounts_by_user(&self) -> BTreeMap<UserId, BTreeSet<i64>> {
        self.0.accounts.borrow().clone()
    }

    fn now_ms(&self) -> i64 {
        (self.0.timer.now().0 / 1_000_000) as i64
    }

    /// Changes an auction after all due events; wakes its waiters if something happened.
    fn change<T>(&self, id: i64, f: impl FnOnce(&mut LiveAuction, &mut Vec<Event>) -> T) -> T {
        let mut auctions = self.0.auctions.borrow_mut();
        let auction = &mut auctions[id as usize - 1];
        let mut events = Vec::new();
        if !self.0.frozen.get() {
            auction.live.advance(self.now_ms(), &mut *self.0.purse.borrow_mut(), &mut events);
        }
        let done = f(&mut auction.live, &mut events);
        for event in &events {
            let round = auction.told.last().map_or(0, |(round, _)| *round);
            let round = round + i64::from(event.kind == EventKind::ItemStarted);
            auction.told.push((round, event.bidding));
        }
        if !events.is_empty() {
            wake(auction);
        }
        done
    }

    /// Waits until something happens in an auction, or is due there, or this instant comes.
    pub(crate) async fn news(&self, id: i64, until: Nanos) {
        let next = self.0.auctions.borrow()[id as usize - 1].live.next_deadline();
        let due = next.filter(|_| !self.0.frozen.get());
        let due = due.map_or(Nanos::MAX, |ms| Nanos::from_millis(ms as u64)).min(until);
        let (send, woken) = oneshot::channel();
        self.0.auctions.borrow_mut()[id as usize - 1].waiting.push(send);
        match select(woken, std::pin::pin!(self.0.timer.until(due))).await {
            Either::Left(_) | Either::Right(_) => {}
        }
    }

    /// Registers a follower of an auction.
    pub(crate) fn watch(&self, id: i64) {
        if !self.0.frozen.get() {
            let now = self.now_ms();
            self.change(id, |live, _| live.wake(now));
        }
    }

    /// The state of this number in an auction, or the number of the latest if there is none yet.
    pub(crate) fn told(&self, id: i64, at: usize) -> Result<(i64, Bidding), usize> {
        self.current(id);
        let auctions = self.0.auctions.borrow();
        let told = &auctions[id as usize - 1].told;
        told.get(at).copied().ok_or(told.len() - 1)
    }

    fn current(&self, id: i64) -> Bidding {
        self.change(id, |live, _| *live.current().expect("auctions never run dry"))
    }

    async fn poll(&self, id: i64, item: i64, count: u32) -> Answer {
        let deadline = self.0.timer.now() + POLL;
        self.watch(id);
        loop {
            if let Some(status) = self.trouble() {
                return json(status, "{}");
            }
            let bidding = self.current(id);
            if bidding.item.0 != item {
                let gone = Bidding { item: ItemId(item), state: BidState::ItemNotActive, ..bidding };
                let auctions = self.0.auctions.borrow();
                return json(200, &bid(id, auctions[id as usize - 1].over(item, count).unwrap_or(&gone)));
            }
            if bidding.sequence > count {
                return json(200, &bid(id, &bidding));
            }
            if self.0.timer.now() >= deadline {
                return json(408, r#"{"code":"noNews","message":"nothing happened"}"#);
            }
            self.news(id, deadline).await;
        }
    }

    fn place(&self, body: &[u8]) -> Answer {
        let wish: barograph_auction_api::BidRequest = serde_json::from_slice(body).unwrap();
        let offer = Offer { item: wish.item_id, bidder: wish.user_id, amount: wish.amount_cents };
        if self.0.frozen.get() {
            return json(202, "{}");
        }
        let now = self.now_ms();
        self.change(wish.auction_id.0, |live, events| {
            live.bid(now, offer, &mut *self.0.purse.borrow_mut(), events);
        });
        json(202, "{}")
    }

    fn login(&self, user: UserId, body: &[u8]) -> Answer {
        let wish: barograph_auction_api::LoginRequest = serde_json::from_slice(body).unwrap();
        let account: i64 = wish.name.trim_start_matches("user").split('@').next().unwrap().parse().unwrap();
        self.0.accounts.borrow_mut().entry(user).or_default().insert(account);
        let token = format!("token of {account} at {:?}", self.0.timer.now());
        let answer = format!(r#"{{"userId":{account},"token":"{token}","creditCents":100000000}}"#);
        self.0.tokens.borrow_mut().insert(user, token);
        json(201, &answer)
    }

    /// A page of running auctions, by number from 0.
    fn page(&self, page: i64) -> Answer {
        let total = self.0.auctions.borrow().len() as i64;
        let ids: Vec<String> =
            (page * 5 + 1..=(page * 5 + 5).min(total)).map(|id| format!(r#"{{"id":{id}}}"#)).collect();
        json(200, &format!(r#"{{"items":[{}],"totalRecords":{total}}}"#, ids.join(",")))
    }

    /// Whether this request is public, or has the token of the present session.
    fn admits(&self, asked: &IncomingRequest) -> bool {
        let public = ["/auction/", "/auction/login"].contains(&asked.path.as_str());
        public || self.0.tokens.borrow().get(&asked.user) == asked.token.as_ref()
    }

    async fn answer(&self, asked: IncomingRequest) -> Answer {
        self.0.timer.until(self.0.timer.now() + SERVICE).await;
        if !self.admits(&asked) {
            return json(401, r#"{"code":"unauthorized","message":"not signed in"}"#);
        }
        let IncomingRequest { user, method, path, body, .. } = asked;
        let parts: Vec<&str> = path.split(['/', '?', '&', '=']).skip(2).collect();
        let is_bidding = matches!(parts[..], ["bid"] | ["bid", "auction", ..] | ["item", "current", ..]);
        if let Some(status) = self.trouble().filter(|_| is_bidding) {
            return json(status, "{}");
        }
        let id = |n: usize| parts[n].parse::<i64>().unwrap();
        match (method.as_str(), &parts[..]) {
            ("POST", ["login"]) => self.login(user, &body),
            ("GET", ["logout"]) => {
                self.0.tokens.borrow_mut().remove(&user);
                Answer::made(204, Vec::new())
            }
            ("GET", ["live", "auction", "page", page, ..]) => self.page(page.parse().unwrap()),
            ("POST", ["live", "auction"] | ["item"]) => json(201, "{}"),
            ("POST", ["bid"]) => self.place(&body),
            ("GET", ["bid", "auction", _, "item", _, "count", "0"]) => {
                json(200, &bid(id(2), &self.current(id(2))))
            }
            ("GET", ["bid", "auction", _, "item", _, "count", count]) => {
                self.poll(id(2), id(4), count.parse().unwrap()).await
            }
            ("GET", ["item", "current", "auction", _]) => json(200, &item(self.current(id(3)).item.0)),
            ("GET", ["item", "auction", ..]) => {
                let items: Vec<String> = (0..5).map(|n| item(id(2) * 100 + n)).collect();
                json(200, &format!(r#"{{"items":[{}],"totalRecords":{ITEMS}}}"#, items.join(",")))
            }
            ("GET", ["item", "user", ..]) => {
                let bought: Vec<String> =
                    (0..5).map(|n| format!(r#"{{"itemId":{n},"images":[{}]}}"#, image(n))).collect();
                json(200, &format!(r#"{{"items":[{}],"totalRecords":5}}"#, bought.join(",")))
            }
            ("GET", ["item", _, "image", ..]) => Answer::made(200, vec![0xff, 0xd8, 0xff]),
            ("GET", ["item", _]) => json(200, &item(id(1))),
            // Head of a stream; its events come from `feed`.
            ("GET", ["bid", "auction", _, "events"]) => json(200, ""),
            ("GET", _) => json(200, "{}"),
            other => panic!("the workload asks for something it should not: {other:?}"),
        }
    }
}

/// A starting bid drawn like in the fill: normal with mean and deviation 200 units; half the size of a
/// negative draw.
fn starting_bid(rng: &mut Stream) -> i64 {
    let x: f64 = rand_distr::Distribution::sample(&rand_distr::Normal::new(200.0, 200.0).unwrap(), rng);
    ((if x < 0.0 { -x / 2.0 } else { x }).max(1.0) * 100.0) as i64
}

/// Seconds on sale of an item: bids of 2.245 % every 7.6 s up to 943 units, then last call and sale.
fn seconds_on_sale(start: f64) -> f64 {
    (94_300.0 / start).ln().max(0.0) / 1.02245f64.ln() * 7.6 + 60.0
}

fn auction(id: i64, rng: &mut Stream) -> Auction {
    let mut listings: Vec<Listing> =
        (0..ITEMS).map(|n| Listing { item: ItemId(id * 100 + n), starting_bid: starting_bid(rng) }).collect();
    // At any moment, items that take long are more often on sale: rejection sampling in proportion to their
    // time.
    while rng.random::<f64>() * seconds_on_sale(100.0) > seconds_on_sale(listings[0].starting_bid as f64) {
        listings[0].starting_bid = starting_bid(rng);
    }
    let first = listings[0];
    let start = first.starting_bid as f64;
    let elapsed = rng.random::<f64>() * seconds_on_sale(start);
    let amount = (start * 1.02245f64.powf(elapsed / 7.6)).min(94_300.0f64.max(start)).round() as i64;
    let bidder = Account(1_000_000 + id);
    let bidding = Bidding { bidder, amount, sequence: 2, ..Bidding::begin(first) };
    let live = LiveAuction::resume(AuctionId(id), listings, bidding);
    Auction { live, told: vec![(1, bidding)], waiting: Vec::new() }
}

fn wake(auction: &mut Auction) {
    for waiting in auction.waiting.drain(..) {
        // A cancelled waiter needs no waking.
        let _ = waiting.send(());
    }
}

fn json(status: u16, text: &str) -> Answer {
    Answer::made(status, text.as_bytes().to_vec())
}

pub(crate) fn bid(auction: i64, bidding: &Bidding) -> String {
    serde_json::to_string(&bidding.update(AuctionId(auction))).unwrap()
}

fn image(id: i64) -> String {
    format!(r#"{{"id":{id},"sizes":["thumbnail","preview","full"]}}"#)
}

fn item(id: i64) -> String {
    let images: Vec<String> = (0..4).map(|n| image(id * 10 + n)).collect();
    format!(r#"{{"id":{id},"state":"active","images":[{}]}}"#, images.join(","))
}

/// Lines into the application.
pub struct InProcess(Application);

impl InProcess {
    /// Lines into `app`.
    #[must_use]
    pub fn new(app: Application) -> Self {
        InProcess(app)
    }
}

impl Transport for InProcess {
    type Line = UserLine;

    fn line(&self, user: UserId) -> UserLine {
        UserLine { app: self.0.clone(), user }
    }
}

/// One user's line.
pub struct UserLine {
    app: Application,
    user: UserId,
}

impl UserLine {
    fn asked(&self, request: &Request<'_>) -> IncomingRequest {
        let token = request.headers.iter().find(|(name, _)| *name == TOKEN_HEADER);
        IncomingRequest {
            user: self.user,
            method: request.method.name().to_owned(),
            path: request.path.to_string(),
            token: token.map(|(_, token)| (*token).to_owned()),
            body: request.body.unwrap_or_default().to_vec(),
        }
    }
}

impl Line for UserLine {
    type Feed = InProcessFeed;

    fn send(&self, request: &Request<'_>) -> impl Future<Output = Result<Answer, Fault>> + use<'_> {
        let asked = self.asked(request);
        async move { Ok(self.app.answer(asked).await) }
    }

    fn events(&self, request: &Request<'_>) -> impl Future<Output = Result<InProcessFeed, Fault>> + use<'_> {
        let asked = self.asked(request);
        let named = asked.path.split('/').nth(4).and_then(|id| id.parse().ok());
        let auction = named.expect("a follower names its auction");
        async move {
            match self.app.answer(asked).await.status {
                200 => Ok(InProcessFeed::open(&self.app, auction)),
                status => Err(Fault::Status(status)),
            }
        }
    }

    fn rest(&self) {}
}
