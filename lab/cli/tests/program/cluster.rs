//! Several nodes on shared stores: auctions are distributed, survive the death of a node and of the bus, and
//! no accepted bid is lost.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use barograph_auction_api::{Auction, BidUpdate};
use barograph_test_services as services;

use crate::going::until;
use crate::nodes::{Bidder, Node, SharedStores, until_owned};

/// Greatest accepted bid seen so far, by item: it must not be lost.
type HighestBids = Arc<Mutex<HashMap<i64, BidUpdate>>>;

fn remember(seen: &HighestBids, update: BidUpdate) {
    let mut seen = seen.lock().unwrap();
    let known = seen.entry(update.item_id.0).or_insert(update);
    if update.amount_cents > known.amount_cents {
        *known = update;
    }
}

/// Bids on all nodes until told to stop; skips nodes that do not answer.
fn keep_bidding(
    nodes: &[std::net::SocketAddr],
    auctions: &[Auction],
    seen: &HighestBids,
    stop: &Arc<AtomicBool>,
) -> Vec<std::thread::JoinHandle<u32>> {
    (0..3u32)
        .map(|n| {
            let (nodes, auctions) = (nodes.to_vec(), auctions.to_vec());
            let (seen, stop) = (Arc::clone(seen), Arc::clone(stop));
            std::thread::spawn(move || {
                let bidder = Bidder::login(nodes[0], 10 + n);
                let mut accepted = 0;
                for turn in (n as usize..).take_while(|_| !stop.load(Ordering::Relaxed)) {
                    let (at, auction) =
                        (nodes[turn % nodes.len()], &auctions[turn / nodes.len() % auctions.len()]);
                    if let Some(update) = bidder.bid(at, auction) {
                        remember(&seen, update);
                        accepted += 1;
                    }
                }
                accepted
            })
        })
        .collect()
}

/// Checks that every accepted bid is still the greatest of its item, or was followed by a greater one, on
/// every node.
fn assert_nothing_lost(nodes: &[&Node], auctions: &[Auction], seen: &HighestBids) {
    let bidder = Bidder::login(nodes[0].address, 20);
    let seen = seen.lock().unwrap();
    for auction in auctions {
        for node in nodes {
            let now = until("a state", || bidder.state(node.address, auction));
            if let Some(known) = seen.get(&now.item_id.0) {
                assert!(now.amount_cents >= known.amount_cents, "{}: {now:?} after {known:?}", node.name);
            }
        }
    }
}

fn assert_checks(node: &Node, accepted: u32) {
    let report = node.check();
    assert!(report.ok, "{:#?}", report.findings);
    assert!(report.counts.bids >= u64::from(accepted), "{accepted} seen, but {:?}", report.counts);
}

#[test]
fn a_killed_nodes_auctions_go_on_elsewhere_and_no_accepted_bid_is_lost() {
    let (Some(store), Some(bus)) =
        (services::or_skip(services::postgres()), services::or_skip(services::nats()))
    else {
        return;
    };
    let shared = SharedStores::load(store, bus);
    let [one, two, three] = ["one", "two", "three"].map(|name| shared.node(name, &[]));
    let auctions = Bidder::login(one.address, 1).auctions(one.address);
    let all = auctions.len() as u64;
    until_owned(&[&one, &two, &three], all);
    // A new node gets its share with the next beat of the cluster.
    until("fair shares", || {
        let most = [&one, &two, &three].iter().map(|n| n.view().owned).max().unwrap();
        (most == all.div_ceil(3)).then_some(())
    });

    let (seen, stop): (HighestBids, _) = (HighestBids::default(), Arc::new(AtomicBool::new(false)));
    let bidders = keep_bidding(&[two.address, three.address], &auctions, &seen, &stop);
    until("bids", || (seen.lock().unwrap().len() >= auctions.len()).then_some(()));
    one.kill();
    until_owned(&[&two, &three], all);
    // Every auction takes bids again, on either node.
    let bidder = Bidder::login(two.address, 5);
    for auction in &auctions {
        for node in [&two, &three] {
            let update = until("a bid after the kill", || bidder.bid(node.address, auction));
            remember(&seen, update);
        }
    }
    stop.store(true, Ordering::Relaxed);
    let accepted: u32 = bidders.into_iter().map(|b| b.join().unwrap()).sum();
    assert_nothing_lost(&[&two, &three], &auctions, &seen);
    assert_checks(&two, accepted);

    // A node that is asked to end hands over first; a new node with the name of the killed one gets its
    // share.
    let again = shared.node("one", &[]);
    until_owned(&[&again, &two, &three], all);
    three.end();
    until_owned(&[&again, &two], all);
    assert_checks(&again, accepted);
}

#[test]
fn the_bus_may_die_and_come_back() {
    let (Some(store), Some(bus)) =
        (services::or_skip(services::postgres()), services::or_skip(services::rabbitmq()))
    else {
        return;
    };
    let mut shared = SharedStores::load(store, bus);
    let (one, two) = (shared.node("one", &[]), shared.node("two", &["--role", "all"]));
    let auctions = Bidder::login(one.address, 1).auctions(one.address);
    until_owned(&[&one, &two], auctions.len() as u64);
    let bidder = Bidder::login(one.address, 2);
    let seen = HighestBids::default();
    for auction in &auctions {
        for node in [&one, &two] {
            remember(&seen, until("a bid", || bidder.bid(node.address, auction)));
        }
    }
    shared.bus.kill();
    // The owner of an auction continues it; the other node reports that it cannot reach the owner.
    for auction in &auctions {
        // A bid without a result in time is undetermined, and is made again.
        let accepted = || [&one, &two].into_iter().find_map(|node| bidder.bid(node.address, auction));
        remember(&seen, until("a bid without the bus", accepted));
    }
    shared.bus.restart();
    for auction in &auctions {
        for node in [&one, &two] {
            remember(&seen, until("a bid after the bus came back", || bidder.bid(node.address, auction)));
        }
    }
    assert_nothing_lost(&[&one, &two], &auctions, &seen);
    assert_checks(&one, 0);
}

#[test]
fn bid_nodes_and_application_nodes_work_side_by_side() {
    let (Some(store), Some(bus)) =
        (services::or_skip(services::postgres()), services::or_skip(services::nats()))
    else {
        return;
    };
    let shared = SharedStores::load(store, bus);
    let bids = shared.node("bids", &["--role", "bids"]);
    let application = shared.node("application", &["--role", "application"]);
    let auctions = Bidder::login(application.address, 1).auctions(application.address);
    until_owned(&[&bids, &application], auctions.len() as u64);
    assert_eq!(application.view().owned, 0);
    // A node that was held for longer than its lease gets them back.
    until("all auctions at the bid node", || (bids.view().owned == auctions.len() as u64).then_some(()));
    let bidder = Bidder::login(application.address, 2);
    let update = until("a bid", || bidder.bid(bids.address, &auctions[0]));
    // The application node receives the news over the bus.
    until("the news", || {
        bidder.state(application.address, &auctions[0]).filter(|s| s.amount_cents >= update.amount_cents)
    });
    assert_checks(&bids, 1);
}
