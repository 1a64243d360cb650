//! Tests for every bus: in one process, RabbitMQ, NATS.

use std::time::Duration;

use crate::common::{self, BusKind, Node, body, number, text};
use barograph_auction_bus::{DeliveryRoute, MAX_BODY_BYTES, Recipient, SendError, Settings};
use bytes::Bytes;
use tokio::time::Instant;

/// Each case as a test of the bus in one process, and all of them in turn for a broker, which is slow to
/// start.
macro_rules! on_every_bus {
    ($($name:ident),* $(,)?) => {
        mod in_process {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(super::BusKind::InProcess).await;
            })*
        }

        /// Every case on a broker.
        pub(crate) async fn all(kind: BusKind) {
            $($name(kind).await;)*
        }
    };
}

on_every_bus!(
    all_hear_what_goes_to_all,
    an_inbox_is_its_nodes_alone,
    one_senders_messages_keep_their_order,
    namespaces_do_not_hear_each_other,
    bodies_of_every_length_arrive_whole,
    what_cannot_be_sent_is_refused,
    the_record_learns_what_it_was,
    memory_is_bounded_when_a_receiver_stalls,
    closing_hands_over_what_is_queued,
    nodes_that_are_dropped_are_gone,
    a_node_may_come_as_the_last_one_leaves,
);

async fn all_hear_what_goes_to_all(kind: BusKind) {
    let Some(mut nodes) = kind.nodes("fan-out", &["a", "b", "c"]).await else { return };
    nodes[0].send(Recipient::All, "one").await;
    for node in &mut nodes {
        assert_eq!(node.message().await, (DeliveryRoute::All, text("one")));
    }
    nodes[2].send(Recipient::All, "two").await;
    for node in &mut nodes {
        assert_eq!(node.message().await, (DeliveryRoute::All, text("two")));
        assert_eq!(node.bus.counts().heard, 2);
    }
    assert_eq!([0, 1, 2].map(|i: usize| nodes[i].bus.counts().sent), [1, 0, 1]);
}

async fn an_inbox_is_its_nodes_alone(kind: BusKind) {
    let Some(mut nodes) = kind.nodes("inbox", &["a", "b"]).await else { return };
    nodes[0].send(Recipient::Node("b"), "for b").await;
    nodes[0].send(Recipient::Node("nobody"), "lost").await;
    nodes[0].send(Recipient::Node("a"), "for a").await;
    nodes[0].send(Recipient::All, "end").await;
    let (a, b) = nodes.split_at_mut(1);
    assert_eq!(a[0].message().await, (DeliveryRoute::Inbox, text("for a")));
    assert_eq!(a[0].message().await, (DeliveryRoute::All, text("end")));
    assert_eq!(b[0].message().await, (DeliveryRoute::Inbox, text("for b")));
    assert_eq!(b[0].message().await, (DeliveryRoute::All, text("end")));
}

/// Order is kept to all nodes and to the inbox, with two senders at once.
async fn one_senders_messages_keep_their_order(kind: BusKind) {
    const COUNT: u64 = 3000;
    let Some(mut nodes) = kind.nodes("order", &["a", "b"]).await else { return };
    let senders: Vec<_> = nodes.iter().map(|node| std::sync::Arc::clone(&node.bus)).collect();
    let (others, receiver) = nodes.split_at_mut(1);
    let sending = async {
        for i in 0..COUNT {
            for (who, sender) in (0_u64..).zip(&senders) {
                let to = if i % 3 == 0 { Recipient::Node("b") } else { Recipient::All };
                common::send(&**sender, to, &body(who * COUNT + i)).await;
            }
        }
    };
    let hearing = async {
        let mut next = [0, 0];
        while next != [COUNT, COUNT] {
            let (_, message) = receiver[0].message().await;
            let (who, i) = (number(&message) / COUNT, number(&message) % COUNT);
            let expected = &mut next[usize::from(who == 1)];
            assert_eq!(i, *expected, "of sender {who}");
            *expected += 1;
        }
    };
    // The other node takes its messages too; otherwise it would be the one that stalls.
    let taking = async {
        loop {
            others[0].message().await;
        }
    };
    tokio::select! {
        _ = async { tokio::join!(sending, hearing) } => {}
        () = taking => {}
    }
}

async fn namespaces_do_not_hear_each_other(kind: BusKind) {
    let Some(mut here) = kind.nodes("here", &["a"]).await else { return };
    let Some(mut there) = kind.nodes("there", &["a"]).await else { return };
    here[0].send(Recipient::All, "here").await;
    here[0].send(Recipient::Node("a"), "here").await;
    there[0].send(Recipient::All, "there").await;
    assert_eq!(there[0].message().await, (DeliveryRoute::All, text("there")));
    assert_eq!(here[0].message().await, (DeliveryRoute::All, text("here")));
    assert_eq!(here[0].message().await, (DeliveryRoute::Inbox, text("here")));
}

async fn bodies_of_every_length_arrive_whole(kind: BusKind) {
    let Some(mut nodes) = kind.nodes("lengths", &["a"]).await else { return };
    for length in [0, 1, 4095, 4096, 40_000, MAX_BODY_BYTES] {
        let sent: Bytes = (0..length).map(|i| u8::try_from(i % 251).expect("small")).collect();
        common::send(&*nodes[0].bus, Recipient::Node("a"), &sent).await;
        assert_eq!(nodes[0].message().await, (DeliveryRoute::Inbox, sent), "{length} bytes");
    }
}

async fn what_cannot_be_sent_is_refused(kind: BusKind) {
    let Some(nodes) = kind.nodes("refused", &["a"]).await else { return };
    let bus = &nodes[0].bus;
    let bytes = MAX_BODY_BYTES + 1;
    assert_eq!(bus.send(Recipient::All, Bytes::from(vec![0; bytes])), Err(SendError::TooLong { bytes }));
    for name in ["", "a b", "x.*", "a\r\nPUB x 0\r\n\r\n"] {
        let refused = bus.send(Recipient::Node(name), Bytes::new());
        assert!(matches!(refused, Err(SendError::Name(_))), "{name:?}: {refused:?}");
    }
    assert_eq!(bus.counts().sent, 0);
    bus.close().await;
    assert_eq!(bus.send(Recipient::All, Bytes::new()), Err(SendError::Down));
}

async fn the_record_learns_what_it_was(kind: BusKind) {
    let Some(nodes) = kind.nodes("record", &["a"]).await else { return };
    assert!(nodes[0].bus.is_connected());
    let described = nodes[0].bus.describe();
    let (begins, ends) = match kind {
        BusKind::InProcess => ("in-process", "messages in memory"),
        BusKind::Rabbit => ("RabbitMQ 3.", "transient messages, at most 100000 wait for a node"),
        BusKind::Nats => ("NATS 2.", "transient messages"),
        BusKind::NatsTwice => ("2 servers: NATS 2.", "transient messages"),
    };
    assert!(described.starts_with(begins) && described.ends_with(ends), "{described}");
}

/// Many more messages than all queues of this side hold, to a receiver that takes none of them.
async fn memory_is_bounded_when_a_receiver_stalls(kind: BusKind) {
    const TRIES: u64 = 40_000;
    const LENGTH: usize = 1000;
    let small = Settings { outbox: 64, inbox: 64, broker_queue: 500 };
    let Some(mut nodes) = kind.nodes_with("stall", &["a"], &small).await else { return };
    let (mut taken, mut full) = (0, 0);
    for _ in 0..TRIES {
        match nodes[0].bus.send(Recipient::All, Bytes::from(vec![0; LENGTH])) {
            Ok(()) => taken += 1,
            Err(SendError::Full) => {
                full += 1;
                tokio::task::yield_now().await;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(full > 0, "nothing was ever full");
    // Received without a time limit here: the number of waiting messages is bounded by the queues, wherever
    // they are.
    assert!(nodes[0].bus.counts().heard <= small.inbox as u64, "{:?}", nodes[0].bus.counts());
    if kind == BusKind::InProcess {
        assert_eq!(taken, small.inbox as u64);
    }
    // The receiver continues, and the last message arrives: in one process and on RabbitMQ as the newest of
    // all, on NATS perhaps only after a reconnection.
    let mut end = nodes[0].bus.send(Recipient::Node("a"), text("end"));
    let mut heard = 0_u64;
    loop {
        match nodes[0].next().await {
            common::EventKind::Message((DeliveryRoute::Inbox, last)) => {
                assert_eq!(last, text("end"));
                break;
            }
            common::EventKind::Connected => end = Err(SendError::Down),
            _ => heard += 1,
        }
        if end.is_err() {
            end = nodes[0].bus.send(Recipient::Node("a"), text("end"));
        }
    }
    if kind == BusKind::Rabbit && taken > TRIES / 2 {
        assert!(heard < taken, "the oldest of {taken} were not dropped");
    }
}

/// Longest wait of a leaving node for its broker. After it the queued messages are dropped.
const CLOSING: Duration = Duration::from_secs(5);

async fn closing_hands_over_what_is_queued(kind: BusKind) {
    // Nothing is guaranteed with a broker that other work of the machine delays as long, so the test is
    // repeated.
    for namespace in ["close", "close-again", "close-third", "close-last"] {
        let Some(nodes) = kind.nodes(namespace, &["listener", "leaver"]).await else { return };
        if hands_over(nodes).await == CloseTime::InTime {
            return;
        }
    }
    panic!("the broker never took what was queued within {CLOSING:?}");
}

/// Duration of closing.
#[derive(PartialEq, Eq)]
enum CloseTime {
    InTime,
    TooLate,
}

async fn hands_over(mut nodes: Vec<Node>) -> CloseTime {
    const COUNT: u64 = 2000;
    let leaver = nodes.pop().expect("two nodes");
    let Node { bus, mut heard } = leaver;
    for i in 0..COUNT {
        bus.send(Recipient::Node("listener"), body(i)).expect("room for all of them");
    }
    let began = Instant::now();
    bus.close().await;
    let closed = if began.elapsed() < CLOSING { CloseTime::InTime } else { CloseTime::TooLate };
    assert!(!bus.is_connected());
    assert_eq!(common::in_time(heard.recv()).await, None, "nothing was sent to the leaver");
    if closed == CloseTime::InTime {
        for i in 0..COUNT {
            assert_eq!(number(&nodes[0].message().await.1), i);
        }
        assert_eq!(bus.counts().dropped, 0);
    }
    closed
}

async fn nodes_that_are_dropped_are_gone(kind: BusKind) {
    let Some(mut nodes) = kind.nodes("dropped", &["stays", "deaf", "dropped"]).await else { return };
    let Node { bus, mut heard } = nodes.pop().expect("three nodes");
    bus.send(Recipient::Node("stays"), text("last words")).expect("room");
    drop(bus);
    assert_eq!(common::in_time(heard.recv()).await, None);
    let Node { bus: deaf, heard } = nodes.pop().expect("two nodes");
    drop(heard);
    common::until(|| !deaf.is_connected()).await;
    assert_eq!(deaf.send(Recipient::All, Bytes::new()), Err(SendError::Down));
    assert_eq!(nodes[0].message().await, (DeliveryRoute::Inbox, text("last words")));
    nodes[0].send(Recipient::All, "still here").await;
    assert_eq!(nodes[0].message().await, (DeliveryRoute::All, text("still here")));
}

/// Brokers delete a namespace with its last node, possibly while the next one arrives.
async fn a_node_may_come_as_the_last_one_leaves(kind: BusKind) {
    let Some(mut nodes) = kind.nodes("leaving", &["a"]).await else { return };
    for _ in 0..100 {
        let last = nodes.remove(0);
        let (next, ()) = tokio::join!(kind.nodes("leaving", &["a"]), last.bus.close());
        nodes = next.expect("the broker was there before");
    }
    nodes[0].send(Recipient::Node("a"), "here").await;
    assert_eq!(nodes[0].message().await, (DeliveryRoute::Inbox, text("here")));
}
