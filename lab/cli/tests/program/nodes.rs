//! Nodes of the application in processes, on shared stores and a bus, and a client that bids.

use std::fs;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use barograph_auction_api::{
    Auction, BidState, BidUpdate, CheckReport, ClusterView, Item, LoginResponse, Page, TOKEN_HEADER, routes,
};
use barograph_http::{Answer, Client, Method, Policy, Request, ResolvedTarget};
use barograph_test_services::Service;
use rustix::process::Signal;
use serde::de::DeserializeOwned;

use crate::commands::filled;
use crate::going::{RunningProgram, until};
use crate::place::TestFolders;

/// Stores and bus of a cluster, with the shared data.
pub(crate) struct SharedStores {
    pub(crate) relational: Service,
    pub(crate) bus: Service,
    pub(crate) place: TestFolders,
}

/// A node as a process.
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) address: SocketAddr,
    going: RunningProgram,
}

impl SharedStores {
    /// Loads the shared data into the store.
    pub(crate) fn load(relational: Service, bus: Service) -> Self {
        let place = TestFolders::new();
        let mut command = place.program(&["load", "auction", "--relational", relational.url()]);
        command.arg("--data").arg(filled());
        let ended = RunningProgram::start(command).end();
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        assert!(ended.out.starts_with("loaded size nano"), "{}", ended.out);
        SharedStores { relational, bus, place }
    }

    /// Starts a node and waits until it answers.
    pub(crate) fn node(&self, name: &str, more: &[&str]) -> Node {
        let stores = ["--connections", "4", "--relational", self.relational.url(), "--bus", self.bus.url()];
        Node::start(&self.place, name, &[&stores, more].concat())
    }
}

impl Node {
    /// Starts a node on stores of its own and waits until it answers.
    pub(crate) fn alone(place: &TestFolders) -> Node {
        Node::start(place, "alone", &[])
    }

    fn start(place: &TestFolders, name: &str, more: &[&str]) -> Node {
        let said = place.root().join(format!("{name}.ready"));
        let mut command = place.program(&["serve", "auction", "--listen", "127.0.0.1:0", "--node", name]);
        command.args(["--threads", "1", "--log-level", "info"]);
        command.arg("--data").arg(filled()).arg("--state").arg(place.root().join(name)).args(more);
        command.stdout(fs::File::create(&said).unwrap());
        let going = RunningProgram::start_quiet(command);
        let line = until("readiness", || fs::read_to_string(&said).ok().filter(|l| l.ends_with('\n')));
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        Node { name: name.to_owned(), address: line["address"].as_str().unwrap().parse().unwrap(), going }
    }

    /// View of the cluster from this node.
    pub(crate) fn view(&self) -> ClusterView {
        get(self.address, &routes::cluster())
    }

    /// Result of the data checks.
    pub(crate) fn check(&self) -> CheckReport {
        get(self.address, &routes::check())
    }

    /// Kills the process at once.
    pub(crate) fn kill(self) {
        self.going.signal(Signal::KILL);
        assert_eq!(self.going.end().code, None);
    }

    /// Asks the process to end, and waits for the end.
    pub(crate) fn end(self) {
        self.going.signal(Signal::TERM);
        let ended = self.going.end();
        assert_eq!(ended.code, Some(0), "{}", ended.err);
    }
}

/// Waits until all nodes together own every running auction.
pub(crate) fn until_owned(nodes: &[&Node], auctions: u64) {
    until("ownership", || {
        let views: Vec<ClusterView> = nodes.iter().map(|n| n.view()).collect();
        let owned: u64 = views.iter().map(|v| v.owned).sum();
        (owned == auctions && views.iter().all(|v| v.members.len() == nodes.len())).then_some(())
    });
}

fn get<T: DeserializeOwned>(at: SocketAddr, path: &str) -> T {
    let answer = ask(at, Method::GET, path, None, None).unwrap();
    let body = String::from_utf8_lossy(answer.body());
    serde_json::from_slice(answer.body())
        .unwrap_or_else(|why| panic!("{path}: {} {body}: {why}", answer.status))
}

/// Number of the latest connection: source addresses take turns, as ports of one would run out in tests that bid or look
/// thousands of times a minute.
static LATEST: AtomicU32 = AtomicU32::new(0);

/// Sends one request on a connection of its own; `None` without an answer.
fn ask(
    at: SocketAddr,
    method: Method,
    path: &str,
    token: Option<&str>,
    json: Option<&str>,
) -> Option<Answer> {
    let mut headers = vec![("content-type", "application/json")];
    headers.extend(token.map(|token| (TOKEN_HEADER, token)));
    barograph_reactor::block_on(async {
        let number = LATEST.fetch_add(1, Ordering::Relaxed);
        let connections = Client::new(&ResolvedTarget::at(at, Policy::PerUser(1))).user(number);
        let request = Request {
            method,
            path: format_args!("{path}"),
            headers: &headers,
            body: json.map(str::as_bytes),
        };
        connections.send(&request).await.ok()
    })
    .unwrap()
}

/// A user who bids on given nodes.
pub(crate) struct Bidder {
    pub(crate) id: i64,
    token: String,
}

impl Bidder {
    /// Logs in the user of this number.
    pub(crate) fn login(at: SocketAddr, number: u32) -> Self {
        let name = barograph_data::names::user_name(number);
        let json = format!(r#"{{"name":"{name}","password":"{}"}}"#, barograph_data::names::PASSWORD);
        // A node that has just detected the death of another one may refuse for a moment.
        let login = || ask(at, Method::POST, &routes::login(), None, Some(&json)).filter(|a| a.status == 201);
        let answer = until("a login", login);
        let login: LoginResponse = serde_json::from_slice(answer.body()).unwrap();
        Bidder { id: login.user_id.0, token: login.token }
    }

    fn try_get<T: DeserializeOwned>(&self, at: SocketAddr, path: &str) -> Option<T> {
        let answer = ask(at, Method::GET, path, Some(&self.token), None)?;
        if answer.status != 200 {
            return None;
        }
        serde_json::from_slice(answer.body()).ok()
    }

    /// The running auctions.
    pub(crate) fn auctions(&self, at: SocketAddr) -> Vec<Auction> {
        self.try_get::<Page<Auction>>(at, &routes::live_auctions(0, 100)).unwrap().items
    }

    /// State of the bidding; `None` if the node does not report it.
    pub(crate) fn state(&self, at: SocketAddr, auction: &Auction) -> Option<BidUpdate> {
        let item: Item = self.try_get(at, &routes::current_item(auction.id))?;
        self.try_get(at, &routes::next_bid(auction.id, item.id, 0))
    }

    /// Bids slightly more than the current bid, and waits until followers at this node see it; `None` if the
    /// bid was refused, outbid or lost.
    pub(crate) fn bid(&self, at: SocketAddr, auction: &Auction) -> Option<BidUpdate> {
        let seen = self.state(at, auction)?;
        let amount = seen.amount_cents + 100;
        let json = format!(
            r#"{{"userId":{},"auctionId":{},"itemId":{},"amountCents":{amount}}}"#,
            self.id, auction.id, seen.item_id
        );
        let answer = ask(at, Method::POST, &routes::bids(), Some(&self.token), Some(&json))?;
        if answer.status != 202 {
            return None;
        }
        let deadline = Instant::now() + Duration::from_secs(2);
        while Instant::now() < deadline {
            let now = self.state(at, auction)?;
            if now.item_id == seen.item_id && now.bidder_id.0 == self.id && now.amount_cents == amount {
                return Some(now);
            }
            if now.amount_cents > amount || now.state == BidState::ItemNotActive {
                return None;
            }
        }
        None
    }
}
