//! Single requests to a node, with a time limit: probers must not wait for a dead node.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use barograph_auction_api::{
    Auction, BidUpdate, ClusterView, Item, LoginResponse, Page, TOKEN_HEADER, routes,
};
use barograph_data::names::{PASSWORD, user_name};
use serde::de::DeserializeOwned;

/// Time limit of a connection: on this machine it takes no time unless the node is dead or full.
const CONNECT: Duration = Duration::from_secs(1);

/// Time limit of an answer: it takes some milliseconds unless the node is overloaded.
const ANSWER: Duration = Duration::from_secs(5);

/// Sends one request on a connection of its own; returns status and body.
fn ask(at: SocketAddr, head: &str, body: &str) -> anyhow::Result<(u16, String)> {
    let mut stream = TcpStream::connect_timeout(&at, CONNECT)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(ANSWER))?;
    let length = body.len();
    write!(
        stream,
        "{head}host: {at}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").context("read an answer: it was cut off")?;
    let status = head.get(9..12).and_then(|s| s.parse().ok()).context("read an answer: it is not HTTP")?;
    Ok((status, body.to_owned()))
}

fn read<T: DeserializeOwned>(path: &str, answer: &(u16, String)) -> anyhow::Result<T> {
    let (status, body) = answer;
    if !matches!(status, 200 | 201) {
        bail!("{path} answered {status}: {body}");
    }
    serde_json::from_str(body).with_context(|| format!("read what {path} answered: {body}"))
}

/// The cluster as known to a node.
pub(crate) fn cluster(at: SocketAddr) -> anyhow::Result<ClusterView> {
    let path = routes::cluster();
    read(&path, &ask(at, &format!("GET {path} HTTP/1.1\r\n"), "")?)
}

/// Whether a node reports itself ready.
pub(crate) fn is_ready(at: SocketAddr) -> bool {
    ask(at, &format!("GET {} HTTP/1.1\r\n", routes::health()), "").is_ok_and(|(status, _)| status == 200)
}

/// A figure of a node: the value in the line of its metrics that begins with `name`.
pub(crate) fn metric(at: SocketAddr, name: &str) -> anyhow::Result<f64> {
    let (_, text) = ask(at, &format!("GET {} HTTP/1.1\r\n", routes::metrics()), "")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.trim().parse().ok()).ok_or_else(|| anyhow!("the node has no figure {name}"))
}

/// A logged-in user, valid on any node.
pub(crate) struct Session {
    pub(crate) id: i64,
    token: String,
}

impl Session {
    /// Logs in the user of this number.
    pub(crate) fn login(at: SocketAddr, number: u32) -> anyhow::Result<Session> {
        let path = routes::login();
        let answer = ask(at, &format!("POST {path} HTTP/1.1\r\n"), &login_body(number))?;
        let login: LoginResponse = read(&path, &answer)?;
        Ok(Session { id: login.user_id.0, token: login.token })
    }

    /// Value of the header `API_TOKEN`.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    fn get<T: DeserializeOwned>(&self, at: SocketAddr, path: &str) -> anyhow::Result<T> {
        let head = format!("GET {path} HTTP/1.1\r\n{TOKEN_HEADER}: {}\r\n", self.token);
        read(path, &ask(at, &head, "")?)
    }

    /// All running auctions.
    pub(crate) fn auctions(&self, at: SocketAddr) -> anyhow::Result<Vec<Auction>> {
        let mut all = Vec::new();
        loop {
            let number = u32::try_from(all.len() / 100).unwrap_or(u32::MAX);
            let page: Page<Auction> = self.get(at, &routes::live_auctions(number, 100))?;
            let full = page.items.len() == 100;
            all.extend(page.items);
            if !full {
                return Ok(all);
            }
        }
    }

    /// The state of the bidding in an auction.
    pub(crate) fn state(&self, at: SocketAddr, auction: i64) -> anyhow::Result<BidUpdate> {
        let auction = barograph_auction_api::AuctionId(auction);
        let item: Item = self.get(at, &routes::current_item(auction))?;
        self.get(at, &routes::next_bid(auction, item.id, 0))
    }

    /// Bids this much above a state; true if the bid was queued.
    pub(crate) fn bid(&self, at: SocketAddr, seen: &BidUpdate, more: i64) -> anyhow::Result<bool> {
        let body = bid_body(self.id, seen, more);
        let head = format!("POST {} HTTP/1.1\r\n{TOKEN_HEADER}: {}\r\n", routes::bids(), self.token);
        Ok(ask(at, &head, &body)?.0 == 202)
    }
}

/// Name and password of the user of this number.
pub(crate) fn login_body(number: u32) -> String {
    format!(r#"{{"name":"{}","password":"{PASSWORD}"}}"#, user_name(number))
}

/// A bid of this user, this much above a state.
pub(crate) fn bid_body(user: i64, seen: &BidUpdate, more: i64) -> String {
    format!(
        r#"{{"userId":{user},"auctionId":{},"itemId":{},"amountCents":{}}}"#,
        seen.auction_id,
        seen.item_id,
        seen.amount_cents + more
    )
}
