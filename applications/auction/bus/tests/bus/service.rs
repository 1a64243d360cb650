//! Real brokers: the tests for every bus, and their death.

use barograph_auction_bus::{DeliveryRoute, NodeName, Recipient, SendError, Settings};
use barograph_test_services::{self as services, MissingRequirement, Service};
use bytes::Bytes;

use crate::broken::{TOO_LATE, refused, url};
use crate::common::{BusKind, EventKind, Node, in_time, text};
use crate::contract;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rabbitmq_keeps_the_contract() {
    contract::all(BusKind::Rabbit).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nats_keeps_the_contract() {
    contract::all(BusKind::Nats).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_keep_the_contract() {
    contract::all(BusKind::NatsTwice).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rabbitmq_dies_and_comes_back() {
    dies_and_comes_back(services::rabbitmq).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nats_dies_and_comes_back() {
    dies_and_comes_back(services::nats).await;
}

async fn dies_and_comes_back(start: fn() -> Result<Service, MissingRequirement>) {
    let Some(mut service) = services::or_skip(tokio::task::block_in_place(start)) else { return };
    let (url, settings) = (url(service.url()), Settings::default());
    let mut a = Node::connect(&url, NodeName { namespace: "dies", node: "a" }, &settings).await;
    let mut b = Node::connect(&url, NodeName { namespace: "dies", node: "b" }, &settings).await;
    a.send(Recipient::Node("b"), "before").await;
    assert_eq!(b.message().await, (DeliveryRoute::Inbox, text("before")));

    tokio::task::block_in_place(|| service.kill());
    assert_eq!((a.next().await, b.next().await), (EventKind::Lost, EventKind::Lost));
    assert!(!a.bus.is_connected() && !b.bus.is_connected());
    assert_eq!(a.bus.send(Recipient::All, Bytes::new()), Err(SendError::Down));

    tokio::task::block_in_place(|| service.restart());
    assert_eq!((a.next().await, b.next().await), (EventKind::Connected, EventKind::Connected));
    a.send(Recipient::All, "after").await;
    assert_eq!(a.message().await, (DeliveryRoute::All, text("after")));
    assert_eq!(b.message().await, (DeliveryRoute::All, text("after")));
    b.send(Recipient::Node("a"), "back").await;
    assert_eq!(a.message().await, (DeliveryRoute::Inbox, text("back")));
    assert_eq!((a.bus.counts().reconnects, b.bus.counts().reconnects), (1, 1));

    // Closing does not wait for an absent broker.
    tokio::task::block_in_place(|| service.kill());
    assert_eq!(a.next().await, EventKind::Lost);
    in_time(a.bus.close()).await;
    assert_eq!(in_time(a.heard.recv()).await, None);
}

/// Each node sends through another one of two servers, and goes on through the other when its own is dead.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_two_servers_dies_and_comes_back() {
    let start = || services::or_skip(services::nats());
    let Some(mut one) = tokio::task::block_in_place(start) else { return };
    let Some(two) = tokio::task::block_in_place(start) else { return };
    let (url, settings) = (url(&format!("{} {}", one.url(), two.url())), Settings::default());
    let mut a = Node::connect(&url, NodeName { namespace: "two", node: "a" }, &settings).await;
    let mut b = Node::connect(&url, NodeName { namespace: "two", node: "b" }, &settings).await;
    assert!(a.bus.describe().starts_with("2 servers: NATS"), "{}", a.bus.describe());

    tokio::task::block_in_place(|| one.kill());
    for node in [&mut a, &mut b] {
        assert_eq!((node.next().await, node.next().await), (EventKind::Lost, EventKind::Connected));
        assert!(node.bus.is_connected());
    }
    a.send(Recipient::Node("b"), "from a").await;
    b.send(Recipient::Node("a"), "from b").await;
    assert_eq!(b.message().await, (DeliveryRoute::Inbox, text("from a")));
    assert_eq!(a.message().await, (DeliveryRoute::Inbox, text("from b")));

    tokio::task::block_in_place(|| one.restart());
    assert_eq!((a.next().await, b.next().await), (EventKind::Connected, EventKind::Connected));
    a.send(Recipient::All, "after").await;
    assert_eq!(a.message().await, (DeliveryRoute::All, text("after")));
    assert_eq!(b.message().await, (DeliveryRoute::All, text("after")));
    assert_eq!((a.bus.counts().reconnects, a.bus.counts().sent), (1, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_password_is_said_and_not_shown() {
    let started = tokio::task::block_in_place(services::rabbitmq);
    let Some(service) = services::or_skip(started) else { return };
    let wrong = url(&service.url().replace("amqp://", "amqp://guest:wr0ng@"));
    let said = async {
        loop {
            let error = refused(&wrong).await;
            // A busy broker may need longer than the time limit of an attempt.
            if !error.contains(TOO_LATE) {
                return error;
            }
        }
    };
    let error = in_time(said).await;
    assert!(error.contains("403"), "{error}");
    assert!(error.contains("amqp://127.0.0.1") && !error.contains("wr0ng"), "{error}");
}
