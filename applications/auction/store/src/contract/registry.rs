//! The register of nodes: numbers, leases, the lead, assignments, claims.

use std::time::Duration;

use barograph_auction_api::AuctionId;

use super::data::{BETWEEN, ONGOING, OVER, RUNNING, SOON, UNTOUCHED};
use super::{LONG_MS, beat, own};
use crate::{Assignment, CLOCK_START_MS, Heartbeat, LeaderState, Registry, Relational, Standing, StoreError};

/// A lease that ends within the test.
const SHORT_MS: i64 = 200;

/// Interval between checks whether a lease has ended.
const POLL: Duration = Duration::from_millis(10);

/// Time limit for the end of a short lease, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

fn idle(node: &str) -> Heartbeat {
    Heartbeat { standing: Standing::Idle, ..beat(node, LONG_MS) }
}

fn assigned(auctions: &[i64], node: &str) -> Vec<(AuctionId, String)> {
    auctions.iter().map(|a| (AuctionId(*a), node.to_owned())).collect()
}

/// Names of the members after `beat` of `node`, and the leader.
async fn cluster<S: Registry + ?Sized>(store: &S, beat: &Heartbeat) -> (Vec<String>, Option<String>) {
    let cluster = store.beat(beat).await.unwrap();
    (cluster.members.into_iter().map(|m| m.node).collect(), cluster.leader)
}

async fn whose<S: Registry + ?Sized>(store: &S, auction: i64) -> Assignment {
    let all = store.assignments().await.unwrap();
    all.into_iter().find(|a| a.auction.0 == auction).expect("the auction runs")
}

/// Beats for `node` until `is` holds for the answer, or the time limit is over.
async fn until<S: Registry + ?Sized>(store: &S, beat: &Heartbeat, is: impl Fn(&crate::Cluster) -> bool) {
    let mut ticks = tokio::time::interval(POLL);
    let seen = async {
        while !is(&store.beat(beat).await.unwrap()) {
            ticks.tick().await;
        }
    };
    tokio::time::timeout(PATIENCE, seen).await.expect("a short lease ends in time");
}

pub(super) async fn enlisting<S: Relational + Registry + ?Sized>(store: &S) {
    let unknown = store.beat(&beat("a", LONG_MS)).await;
    assert!(matches!(unknown, Err(StoreError::Closed)), "{unknown:?}");
    let first = store.enlist(&beat("a", LONG_MS)).await.unwrap();
    let second = store.enlist(&idle("b")).await.unwrap();
    let third = store.enlist(&beat("c", LONG_MS)).await.unwrap();
    assert!(first.number >= 1, "numbers begin at 1: {first:?}");
    assert!(first.number < second.number && second.number < third.number, "{second:?}, {third:?}");
    assert!(first.since_start_ms >= 0 && first.since_start_ms <= second.since_start_ms);
    assert!(second.since_start_ms <= third.since_start_ms && third.since_start_ms < 60_000);
    let seen = store.beat(&beat("c", LONG_MS)).await.unwrap();
    let members: Vec<_> = seen.members.iter().map(|m| (m.node.as_str(), m.standing)).collect();
    let (active, waits) = (Standing::Active, Standing::Idle);
    assert_eq!(members, [("a", active), ("b", waits), ("c", active)], "by name");
    store.beat(&Heartbeat { standing: waits, ..beat("a", LONG_MS) }).await.unwrap();
    let seen = store.beat(&beat("c", LONG_MS)).await.unwrap();
    assert_eq!(seen.members[0].standing, waits, "a beat changes the standing");
}

pub(super) async fn leading<S: Relational + Registry + ?Sized>(store: &S) {
    let (a, b) = (beat("a", LONG_MS), beat("b", LONG_MS));
    store.enlist(&idle("idle")).await.unwrap();
    let (_, leader) = cluster(store, &idle("idle")).await;
    assert_eq!(leader, None, "an idle node does not lead");
    store.enlist(&a).await.unwrap();
    assert_eq!(cluster(store, &a).await.1.as_deref(), Some("a"), "the lead is free, the sender takes it");
    store.enlist(&b).await.unwrap();
    for me in [&b, &idle("idle"), &a, &b] {
        assert_eq!(cluster(store, me).await.1.as_deref(), Some("a"), "there is one leader");
    }
}

pub(super) async fn expiring<S: Relational + Registry + ?Sized>(store: &S) {
    let (short, long) = (beat("short", SHORT_MS), beat("long", LONG_MS));
    store.enlist(&short).await.unwrap();
    store.beat(&short).await.unwrap();
    store.enlist(&long).await.unwrap();
    until(store, &long, |c| c.members.iter().all(|m| m.node == "long")).await;
    until(store, &long, |c| c.leader.as_deref() == Some("long")).await;
    let led = store.assign("short", &assigned(&[ONGOING], "short")).await.unwrap();
    assert_eq!(led, LeaderState::No, "it leads no more");
    assert_eq!(whose(store, ONGOING).await.assigned, None, "so nothing was assigned");
    let (members, leader) = cluster(store, &beat("short", LONG_MS)).await;
    assert_eq!(members, ["long", "short"], "a late beat brings a node back");
    assert_eq!(leader.as_deref(), Some("long"), "but not its lead");
}

pub(super) async fn assigning<S: Relational + Registry + ?Sized>(store: &S) {
    let (a, b) = (beat("a", LONG_MS), beat("b", LONG_MS));
    store.enlist(&a).await.unwrap();
    assert_eq!(cluster(store, &a).await.1.as_deref(), Some("a"));
    store.enlist(&b).await.unwrap();
    store.beat(&b).await.unwrap();
    let free =
        |auction: i64| Assignment { auction: AuctionId(auction), assigned: None, owner: None, fence: 0 };
    assert_eq!(store.assignments().await.unwrap(), RUNNING.map(free), "all running auctions, by id");
    assert_eq!(store.assign("b", &assigned(&[ONGOING], "b")).await.unwrap(), LeaderState::No);
    assert_eq!(store.assign("nobody", &assigned(&[ONGOING], "b")).await.unwrap(), LeaderState::No);
    assert_eq!(store.assignments().await.unwrap(), RUNNING.map(free), "only the leader assigns");
    let mut moves = assigned(&[ONGOING, BETWEEN], "a");
    moves.extend(assigned(&[UNTOUCHED], "b"));
    assert_eq!(store.assign("a", &moves).await.unwrap(), LeaderState::Yes);
    let names: Vec<_> =
        store.assignments().await.unwrap().into_iter().map(|a| (a.assigned, a.owner)).collect();
    let to = |name: &str| (Some(name.to_owned()), None);
    assert_eq!(names, [to("a"), to("b"), to("a")]);
    assert_eq!(store.assign("a", &assigned(&[BETWEEN], "b")).await.unwrap(), LeaderState::Yes);
    assert_eq!(whose(store, BETWEEN).await.assigned.as_deref(), Some("b"), "the later assignment counts");
    assert_eq!(store.assign("a", &[]).await.unwrap(), LeaderState::Yes);
    store.begin_due(CLOCK_START_MS + 60_000).await.unwrap();
    assert_eq!(whose(store, SOON).await, free(SOON), "a begun auction is free");
}

pub(super) async fn claiming<S: Relational + Registry + ?Sized>(store: &S) {
    let fences = own(store, "a", &[ONGOING, UNTOUCHED]).await;
    assert!(fences.iter().all(|f| *f >= 1), "0 stands for never owned: {fences:?}");
    let mine = whose(store, ONGOING).await;
    assert_eq!(
        (mine.owner.as_deref(), mine.assigned.as_deref(), mine.fence),
        (Some("a"), Some("a"), fences[0])
    );
    let b = beat("b", LONG_MS);
    store.enlist(&b).await.unwrap();
    let ids = [AuctionId(BETWEEN), AuctionId(ONGOING), AuctionId(OVER), AuctionId(99)];
    assert_eq!(store.claim("b", &ids).await.unwrap(), [], "nothing is assigned to it");
    assert_eq!(store.assign("a", &assigned(&[ONGOING, BETWEEN], "b")).await.unwrap(), LeaderState::Yes);
    let waiting = whose(store, ONGOING).await;
    assert_eq!((waiting.owner.as_deref(), waiting.fence), (Some("a"), fences[0]), "until it is claimed");
    let claimed = store.claim("b", &ids).await.unwrap();
    assert_eq!(claimed.iter().map(|c| c.0.0).collect::<Vec<_>>(), [ONGOING, BETWEEN], "by id");
    assert!(claimed[0].1 > fences[0] && claimed[1].1 >= 1, "{claimed:?}");
    let taken = whose(store, ONGOING).await;
    assert_eq!((taken.owner.as_deref(), taken.fence), (Some("b"), claimed[0].1));
    assert_eq!(store.claim("a", &ids).await.unwrap(), [], "it is not a's any more");
    assert_eq!(store.claim("b", &[]).await.unwrap(), []);
    assert_eq!(whose(store, UNTOUCHED).await.owner.as_deref(), Some("a"));
}

pub(super) async fn leaving<S: Relational + Registry + ?Sized>(store: &S) {
    own(store, "a", &[ONGOING]).await;
    let b = beat("b", LONG_MS);
    store.enlist(&b).await.unwrap();
    assert_eq!(cluster(store, &b).await, (vec!["a".to_owned(), "b".to_owned()], Some("a".to_owned())));
    store.leave("a").await.unwrap();
    assert_eq!(cluster(store, &b).await, (vec!["b".to_owned()], Some("b".to_owned())), "at once");
    let gone = store.beat(&beat("a", LONG_MS)).await;
    assert!(matches!(gone, Err(StoreError::Closed)), "{gone:?}");
    assert_eq!(store.assign("a", &assigned(&[UNTOUCHED], "a")).await.unwrap(), LeaderState::No);
    store.leave("a").await.unwrap();
    store.leave("never there").await.unwrap();
}

pub(super) async fn versions<S: Relational + Registry + ?Sized>(store: &S) {
    let a = beat("a", LONG_MS);
    let version = async || store.beat(&a).await.unwrap().version;
    store.enlist(&a).await.unwrap();
    let mut last = version().await;
    assert_eq!(version().await, last, "nothing happened");
    let mut raised = async |what: &str| {
        let now = version().await;
        assert!(now > last, "{what} raises the version: {last} to {now}");
        last = now;
    };
    assert_eq!(store.assign("a", &assigned(&[ONGOING], "a")).await.unwrap(), LeaderState::Yes);
    raised("an assignment").await;
    store.claim("a", &[AuctionId(ONGOING)]).await.unwrap();
    raised("another owner").await;
    store.begin_due(CLOCK_START_MS + 60_000).await.unwrap();
    raised("a begun auction").await;
    store.enlist(&beat("a", LONG_MS)).await.unwrap();
    raised("a free auction").await;
}

pub(super) async fn same_name<S: Relational + Registry + ?Sized>(store: &S) {
    let fences = own(store, "a", &[ONGOING, UNTOUCHED]).await;
    let before = store.enlist(&beat("b", LONG_MS)).await.unwrap();
    let again = store.enlist(&beat("a", LONG_MS)).await.unwrap();
    assert!(again.number > before.number, "a number is not given twice");
    let free = whose(store, ONGOING).await;
    assert_eq!((free.assigned, free.owner), (None, None), "its auctions are free");
    assert_eq!(free.fence, fences[0], "and their fence is raised only by a claim");
    assert_eq!(store.claim("a", &[AuctionId(ONGOING)]).await.unwrap(), []);
    let again = own(store, "a", &[ONGOING]).await;
    assert!(again[0] > fences[0]);
}

/// Two processes under one name, each with its own opened store.
pub(super) async fn replaced<S: Relational + Registry + ?Sized>(first: &S, second: &S) {
    let fence = own(first, "a", &[ONGOING]).await[0];
    let before = first.enlist(&beat("b", LONG_MS)).await.unwrap();
    let new = second.enlist(&beat("a", LONG_MS)).await.unwrap();
    assert!(new.number > before.number);
    let told = first.beat(&beat("a", LONG_MS)).await;
    assert!(matches!(told, Err(StoreError::Closed)), "the replaced one is told: {told:?}");
    let (members, _) = cluster(second, &beat("a", LONG_MS)).await;
    assert_eq!(members, ["a", "b"]);
    assert_eq!(whose(second, ONGOING).await.assigned, None);
    let again = own(second, "a", &[ONGOING]).await[0];
    assert!(again > fence);
    assert_eq!(whose(first, ONGOING).await.fence, again, "both see the same");
}
