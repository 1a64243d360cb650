//! Watches the bidding of auctions through one node, by event streams in a separate thread, and records the
//! arrival of each change.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use barograph_auction_api::{AuctionId, BidUpdate, TOKEN_HEADER, routes};
use barograph_http::{Client, Connections, Method, Policy, Request, ResolvedTarget};
use barograph_reactor::{Reactor, spawn};

use crate::auction::pace::BeatClock;

/// Interval of checks for a stop, and pause before a stream that ended is requested again.
const BEAT: Duration = Duration::from_millis(20);

/// Most changes recorded: an hour of a thousand users.
const MOST: usize = 1_000_000;

/// A received change of an auction.
#[derive(Clone, Copy)]
struct Change {
    at: Instant,
    update: BidUpdate,
}

type Changes = Arc<Mutex<Vec<Change>>>;

/// A watching thread. It ends when this is dropped.
pub(crate) struct Watch {
    changes: Changes,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Watches these auctions at a node with this token.
    pub(crate) fn start(at: SocketAddr, token: &str, auctions: &[i64]) -> Watch {
        let (changes, stop) = (Changes::default(), Arc::new(AtomicBool::new(false)));
        let (noted, told) = (Arc::clone(&changes), Arc::clone(&stop));
        let (token, auctions) = (token.to_owned(), auctions.to_vec());
        let thread = std::thread::spawn(move || {
            let Ok(reactor) = Reactor::new() else { return };
            let beat = Rc::new(BeatClock::every(BEAT));
            let beating = Rc::clone(&beat);
            let main = async move {
                let client = Client::new(&ResolvedTarget::at(at, Policy::PerUser(1)));
                for auction in auctions {
                    let (connections, token) = (client.user(0), token.clone());
                    spawn(follow(connections, token, auction, (Arc::clone(&noted), Rc::clone(&beating))));
                }
                while !told.load(Ordering::Relaxed) {
                    beating.next().await;
                }
            };
            // It fails only if the kernel refuses to wait; then nothing more is recorded, and the result
            // shows it.
            let _ = reactor.run(main, &*beat);
        });
        Watch { changes, stop, thread: Some(thread) }
    }

    /// Time from `since` to the first change of each of these auctions; those without one are left out.
    pub(crate) fn first_after(&self, since: Instant, auctions: &[i64]) -> HashMap<i64, Duration> {
        let changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut first = HashMap::new();
        for change in changes.iter().filter(|c| c.at > since) {
            let auction = change.update.auction_id.0;
            if auctions.contains(&auction) {
                first.entry(auction).or_insert(change.at - since);
            }
        }
        first
    }

    /// Whether a bid of this user was published after `since`.
    pub(crate) fn has_told(&self, since: Instant, bidder: i64) -> bool {
        let changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        changes.iter().rev().take_while(|c| c.at > since).any(|c| c.update.bidder_id.0 == bidder)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The thread has printed its panic itself.
            let _ = thread.join();
        }
    }
}

/// Follows one auction for as long as the thread runs.
async fn follow(
    connections: Connections,
    token: String,
    auction: i64,
    (changes, beat): (Changes, Rc<BeatClock>),
) {
    let path = routes::bid_events(AuctionId(auction));
    let headers = [(TOKEN_HEADER, token.as_str())];
    let mut last = String::new();
    loop {
        let request =
            Request { method: Method::GET, path: format_args!("{path}"), headers: &headers, body: None };
        if let Ok(mut stream) = connections.events(&request).await {
            while let Ok(Some(event)) = stream.next().await {
                if event.name != "bid" || event.id == last {
                    continue;
                }
                // The first state received is not a change.
                let known = !last.is_empty();
                event.id.clone_into(&mut last);
                if let (true, Ok(update)) = (known, serde_json::from_str(event.data)) {
                    let mut changes = changes.lock().unwrap_or_else(PoisonError::into_inner);
                    if changes.len() < MOST {
                        changes.push(Change { at: Instant::now(), update });
                    }
                }
            }
        }
        beat.next().await;
    }
}
