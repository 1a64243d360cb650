//! The followers and the bidders, a task each.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;

use anyhow::bail;
use barograph_auction_api::{AuctionId, BidState, BidUpdate, Item, LoginResponse, TOKEN_HEADER, routes};
use barograph_http::{Answer, Client, Connections, JSON, Method, Policy, Request, ResolvedTarget};
use barograph_reactor::{Pace, spawn};
use serde::de::DeserializeOwned;

use super::follower_log::{ContentionResult, FollowerLog};
use crate::auction::ask::{bid_body, login_body};
use crate::auction::pace::BeatClock;

/// Time limit for all tasks to be present, in seconds.
const GATHERING_S: u64 = 60;

/// Warm-up of the bidding, in seconds.
const WARM_UP_S: u64 = 3;

/// The followers' source of news.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum UpdateDelivery {
    /// An event stream each.
    Stream,
    /// Successive long polls.
    Poll,
}

/// State shared by all tasks.
pub(super) struct CrowdContext {
    beat: Rc<BeatClock>,
    clients: Vec<Rc<Client>>,
    auction: AuctionId,
    followers: u32,
    bidders: u32,
    told: RefCell<FollowerLog>,
    bids: Cell<u64>,
    faults: Cell<u64>,
}

impl CrowdContext {
    pub(super) fn new(
        nodes: &[SocketAddr],
        auction: AuctionId,
        (followers, bidders): (u32, u32),
        beat: Rc<BeatClock>,
    ) -> Rc<CrowdContext> {
        Rc::new(CrowdContext {
            beat,
            clients: nodes
                .iter()
                .map(|at| Client::new(&ResolvedTarget::at(*at, Policy::PerUser(2))))
                .collect(),
            auction,
            followers,
            bidders,
            told: RefCell::new(FollowerLog::new(followers as usize)),
            bids: Cell::new(0),
            faults: Cell::new(0),
        })
    }

    /// Begins the measurement.
    pub(super) fn begin(&self) {
        self.told.borrow_mut().measured = ContentionResult::default();
        self.bids.set(0);
        self.faults.set(0);
    }

    /// The figures since the begin of the measurement.
    pub(super) fn end(&self) -> ContentionResult {
        ContentionResult {
            bids: self.bids.get(),
            faults: self.faults.get(),
            ..self.told.borrow().measured.clone()
        }
    }

    fn fault(&self) {
        self.faults.set(self.faults.get() + 1);
    }

    /// Pauses for a beat after a failure.
    async fn rest(&self) {
        self.fault();
        self.beat.next().await;
    }
}

/// Starts all followers, then the bidders, and lets them begin.
pub(super) async fn gather(scene: &Rc<CrowdContext>, news: UpdateDelivery) -> anyhow::Result<()> {
    for number in 0..scene.followers {
        let scene = Rc::clone(scene);
        spawn(async move {
            let user = User::login(&scene, number).await;
            match news {
                UpdateDelivery::Stream => user.follow_stream(number as usize).await,
                UpdateDelivery::Poll => user.follow_polls(number as usize).await,
            }
        });
    }
    let end = scene.beat.now() + GATHERING_S * 1_000_000_000;
    while scene.told.borrow().present() < scene.followers as usize {
        if scene.beat.now() > end {
            bail!("only {} of {} followers came", scene.told.borrow().present(), scene.followers);
        }
        scene.beat.next().await;
    }
    for number in scene.followers..scene.followers + scene.bidders {
        let scene = Rc::clone(scene);
        spawn(async move { User::login(&scene, number).await.bid(i64::from(number)).await });
    }
    scene.beat.pass(WARM_UP_S).await;
    Ok(())
}

/// A logged-in user.
struct User {
    scene: Rc<CrowdContext>,
    line: Connections,
    token: String,
    id: i64,
}

impl User {
    async fn login(scene: &Rc<CrowdContext>, number: u32) -> User {
        let line = scene.clients[number as usize % scene.clients.len()].user(number);
        let (path, body) = (routes::login(), login_body(number + 1));
        loop {
            let request = Request {
                method: Method::POST,
                path: format_args!("{path}"),
                headers: &[JSON],
                body: Some(body.as_bytes()),
            };
            let answer = line.send(&request).await.ok().filter(|answer| answer.status == 201);
            if let Some(LoginResponse { user_id, token, .. }) =
                answer.and_then(|answer| serde_json::from_slice(answer.body()).ok())
            {
                return User { scene: Rc::clone(scene), line, token, id: user_id.0 };
            }
            scene.rest().await;
        }
    }

    async fn get(&self, path: &str) -> Option<Answer> {
        let headers = [(TOKEN_HEADER, self.token.as_str())];
        let request =
            Request { method: Method::GET, path: format_args!("{path}"), headers: &headers, body: None };
        self.line.send(&request).await.ok()
    }

    async fn read<T: DeserializeOwned>(&self, path: &str) -> Option<T> {
        let answer = self.get(path).await.filter(|answer| answer.status == 200)?;
        serde_json::from_slice(answer.body()).ok()
    }

    /// The present bidding for the item on sale.
    async fn look(&self) -> Option<BidUpdate> {
        let item: Item = self.read(&routes::current_item(self.scene.auction)).await?;
        let update: BidUpdate = self.read(&routes::next_bid(self.scene.auction, item.id, 0)).await?;
        is_open(&update).then_some(update)
    }

    /// The state after `seen`; `None` if the item is over or there was no answer.
    async fn after(&self, seen: &BidUpdate) -> Option<BidUpdate> {
        self.read(&routes::next_bid(self.scene.auction, seen.item_id, seen.sequence)).await
    }

    async fn follow_stream(self, number: usize) {
        let path = routes::bid_events(self.scene.auction);
        let headers = [(TOKEN_HEADER, self.token.as_str())];
        loop {
            let request =
                Request { method: Method::GET, path: format_args!("{path}"), headers: &headers, body: None };
            if let Ok(mut stream) = self.line.events(&request).await {
                while let Ok(Some(event)) = stream.next().await {
                    let now = self.scene.beat.now();
                    let place =
                        event.id.split_once('-').and_then(|(r, s)| Some((r.parse().ok()?, s.parse().ok()?)));
                    if let (Some(place), "bid") = (place, event.name) {
                        let read = || serde_json::from_str(event.data).ok();
                        self.scene.told.borrow_mut().saw(number, place, now, read);
                    }
                }
            }
            self.scene.rest().await;
        }
    }

    async fn follow_polls(self, number: usize) {
        let mut seen = None;
        loop {
            let news = match seen.as_ref().filter(|s| is_open(s)) {
                Some(seen) => self.after(seen).await,
                None => self.look().await,
            };
            let now = self.scene.beat.now();
            let Some(update) = news else {
                seen = None;
                self.scene.rest().await;
                continue;
            };
            if update.state != BidState::ItemNotActive {
                let place = (update.item_id.0, update.sequence);
                self.scene.told.borrow_mut().saw(number, place, now, || Some(update));
            }
            seen = Some(update);
        }
    }

    /// Bids, and waits for the state after its bid. The raises differ, so that more than one of several bids
    /// on the same state is accepted.
    async fn bid(self, mut turn: i64) {
        let path = routes::bids();
        let headers = [(TOKEN_HEADER, self.token.as_str()), JSON];
        let mut seen = None;
        loop {
            let Some(state) = seen.take().filter(is_open) else {
                seen = self.look().await;
                if seen.is_none() {
                    self.scene.rest().await;
                }
                continue;
            };
            turn += 7;
            let more = 1 + turn % i64::from(self.scene.bidders);
            let body = bid_body(self.id, &state, more);
            let bid = (state.item_id.0, self.id, state.amount_cents + more);
            self.scene.told.borrow_mut().sends(bid, self.scene.beat.now());
            let request = Request {
                method: Method::POST,
                path: format_args!("{path}"),
                headers: &headers,
                body: Some(body.as_bytes()),
            };
            if self.line.send(&request).await.is_ok_and(|answer| answer.status == 202) {
                self.scene.bids.set(self.scene.bids.get() + 1);
                seen = self.after(&state).await;
            } else {
                self.scene.rest().await;
                seen = Some(state);
            }
        }
    }
}

fn is_open(update: &BidUpdate) -> bool {
    matches!(update.state, BidState::Open | BidState::LastCall)
}
