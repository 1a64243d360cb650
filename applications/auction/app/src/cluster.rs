//! Membership of a node in the cluster: beats, leadership, taking assigned auctions and releasing others.
//!
//! All state is in the register (see [`barograph_auction_store::Registry`]); the bus only speeds things up. A
//! node that is killed stops beating. When its lease is over the leader assigns its auctions to other nodes,
//! which claim them under new fences, settle its last bids, and continue from the stored state.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use barograph_auction_api::{AuctionId, Millis};
use barograph_auction_store::{
    Assignment, Cluster, Heartbeat, LeaderState, SettledBid, Standing, StartState, StoreError, codes,
};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{sleep_until, timeout};

use crate::app::App;
use crate::auctioneer::{Command, bidding};
use crate::channels::StateSource;
use crate::messages::Message;
use crate::publisher::{settle_left, with_cause};
use crate::settings::{ServeConfig, owns};
use crate::share;

/// Validity of a beat. A killed node's auctions stand still for this long and two beats at most.
const LEASE: Duration = Duration::from_millis(2_000);

/// Distance between beats: four per lease, so that one slow answer of the store does not cost a node its
/// auctions.
const EVERY: Duration = Duration::from_millis(500);

/// Distance between beats of a node that is alone: no other node waits for them. Its lease lasts twice as
/// long.
const ALONE: Duration = Duration::from_secs(60);

/// Auctions claimed side by side: each takes a few exchanges with the stores, over few connections.
const AT_ONCE: usize = 16;

/// Time limit for handing auctions over at the end of a node.
const HAND_OVER: Duration = Duration::from_secs(5);

/// This node's knowledge of the cluster.
#[derive(Default)]
pub(crate) struct ClusterKnowledge {
    state: Mutex<State>,
    draining: AtomicBool,
    /// Notified after each answered beat.
    changed: Notify,
}

#[derive(Clone, Default)]
struct State {
    cluster: Option<Cluster>,
    assignments: Arc<[Assignment]>,
    /// Auctions this node owns, with their fences.
    owned: Vec<(AuctionId, i64)>,
    /// The last version of the register that this node has followed.
    followed: Option<i64>,
    /// Whether the node has ever followed the register.
    settled: bool,
    /// Time of the last answered beat, on the application's clock.
    seen: Option<Millis>,
}

impl ClusterKnowledge {
    /// The cluster as of the last beat.
    pub(crate) fn cluster(&self) -> Option<Cluster> {
        self.state.lock().cluster.clone()
    }

    /// Time of the last answered beat, on the application's clock; `None` before the first.
    pub(crate) fn seen(&self) -> Option<Millis> {
        self.state.lock().seen
    }

    /// Auctions this node owns.
    pub(crate) fn owned(&self) -> Vec<(AuctionId, i64)> {
        self.state.lock().owned.clone()
    }

    /// Number of auctions this node owns.
    pub(crate) fn owns(&self) -> usize {
        self.state.lock().owned.len()
    }

    /// Whether the node has ever followed the register: later it may be behind for a moment, and continues to
    /// serve.
    pub(crate) fn is_settled(&self) -> bool {
        self.state.lock().settled
    }

    /// Makes the node claim no more auctions and hand its own over.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Whether the node is draining.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}

/// The first beat of a node.
pub(crate) fn sign(config: &ServeConfig) -> Heartbeat {
    let lease = if config.is_alone() { ALONE * 2 } else { LEASE };
    Heartbeat {
        node: config.node.clone(),
        standing: if owns(config.role) { Standing::Active } else { Standing::Idle },
        lease_ms: lease.as_millis() as i64,
    }
}

/// The present beat of a node.
fn beat(app: &App) -> Heartbeat {
    let sign = app.sign.clone();
    if app.known.is_draining() { Heartbeat { standing: Standing::Idle, ..sign } } else { sign }
}

/// Beats and follows the register until the node ends. The two run side by side: claiming many auctions must
/// not delay the beats.
pub(crate) async fn run(app: Arc<App>) {
    tokio::join!(beats(&app), follows(&app));
}

/// Sends beats.
async fn beats(app: &Arc<App>) {
    let every = if app.alone { ALONE } else { EVERY };
    loop {
        let next_begin = (*app.next_begin.lock()).map(|at| app.clock.instant(at));
        let latest = app.clock.after(every);
        tokio::select! {
            () = sleep_until(next_begin.map_or(latest, |begin| begin.min(latest))) => {}
            // The register has changed according to a message.
            () = app.look.notified() => {}
        }
        if app.broken.is_set() {
            return give_up(app).await;
        }
        app.make_up();
        match hear_of_others(app).await {
            Ok(()) => app.known.changed.notify_one(),
            Err(StoreError::Closed) => {
                app.broken.set("another node of the same name has taken this one's place".to_owned());
                app.channels.stop();
                return;
            }
            Err(error) => late(app, &error),
        }
    }
}

/// Follows the register after each answered beat.
async fn follows(app: &Arc<App>) {
    loop {
        app.known.changed.notified().await;
        match follow_register(app).await {
            Ok(()) => app.late.store(false, Ordering::Relaxed),
            Err(error) => late(app, &error),
        }
    }
}

fn late(app: &App, error: &StoreError) {
    tracing::warn!(error = with_cause(error), "the register of nodes cannot be used");
    app.late.store(true, Ordering::Relaxed);
}

/// Gives up all auctions. A node that cannot store decides nothing; other nodes continue the sooner the
/// earlier they know.
async fn give_up(app: &App) {
    tracing::error!(why = app.broken.get(), "this node gives up its auctions");
    if let Err(error) = app.registry.leave(&app.node).await {
        tracing::warn!(error = with_cause(&error), "its lease ends by itself");
    }
    app.tell_all(&Message::Look);
}

/// Sends one beat and acts on the answer.
pub(crate) async fn look(app: &Arc<App>) -> Result<(), StoreError> {
    hear_of_others(app).await?;
    follow_register(app).await
}

async fn hear_of_others(app: &App) -> Result<(), StoreError> {
    let cluster = timeout(LEASE, app.registry.beat(&beat(app))).await.map_err(|_| StoreError::Full)??;
    let mut state = app.known.state.lock();
    state.seen = Some(app.clock.now());
    state.cluster = Some(cluster);
    Ok(())
}

/// Brings this node in line with the last known register. Failed steps are repeated at the next beat.
async fn follow_register(app: &Arc<App>) -> Result<(), StoreError> {
    let (cluster, followed) = {
        let state = app.known.state.lock();
        (state.cluster.clone(), state.followed)
    };
    let Some(cluster) = cluster else { return Ok(()) };
    if followed != Some(cluster.version) {
        let assignments: Arc<[Assignment]> = app.registry.assignments().await?.into();
        app.known.state.lock().assignments = Arc::clone(&assignments);
        learn(app, &assignments).await?;
        follow(app, &assignments).await?;
        let mut state = app.known.state.lock();
        (state.followed, state.settled) = (Some(cluster.version), true);
    }
    if cluster.leader.as_deref() == Some(&*app.node) {
        let assignments = Arc::clone(&app.known.state.lock().assignments);
        lead(app, &cluster, &assignments).await?;
    }
    Ok(())
}

/// Opens the channels of new auctions and records the owners.
async fn learn(app: &Arc<App>, assignments: &[Assignment]) -> Result<(), StoreError> {
    for assignment in assignments {
        if app.channels.channel(assignment.auction).is_none()
            && let Some(start) = app.relational.start_state(assignment.auction).await?
        {
            open(app, &start);
        }
        // This node's own auctions are recorded when they are claimed.
        if let Some(owner) = assignment.owner.as_ref().filter(|owner| **owner != *app.node) {
            app.owned_by(assignment.auction, owner, assignment.fence);
        }
    }
    Ok(())
}

/// Opens the channel of a running auction with the state in the store.
pub(crate) fn open(app: &App, start: &StartState) {
    let id = start.auction.id;
    app.channels.open(start.auction.clone());
    app.auctions.invalidate(&id);
    app.live_pages.clear();
    if let Some(row) = &start.latest {
        app.tell_followers_here(id, (row.round, bidding(row)), StateSource::Hearsay);
    }
}

/// Begins auctions whose time has come, and assigns all of them to the members.
async fn lead(app: &Arc<App>, cluster: &Cluster, assignments: &[Assignment]) -> Result<(), StoreError> {
    let next = *app.next_begin.lock();
    if next.is_none_or(|at| at <= app.clock.now()) {
        if !app.relational.begin_due(app.clock.now()).await?.is_empty() {
            app.tell_all(&Message::Look);
            app.look.notify_one();
        }
        *app.next_begin.lock() = Some(app.relational.next_start().await?.unwrap_or(i64::MAX));
    }
    let members: Vec<&str> =
        cluster.members.iter().filter(|m| m.standing == Standing::Active).map(|m| m.node.as_str()).collect();
    let assigned: Vec<(AuctionId, Option<&str>)> =
        assignments.iter().map(|a| (a.auction, a.assigned.as_deref())).collect();
    let moves = share::moves(&assigned, &members);
    if moves.is_empty() {
        return Ok(());
    }
    if app.registry.assign(&app.node, &moves).await? == LeaderState::Yes {
        tracing::info!(moves = moves.len(), members = members.len(), "assigned auctions");
        app.tell_all(&Message::Look);
        app.look.notify_one();
    }
    Ok(())
}

/// Claims the auctions assigned to this node and releases those of others.
async fn follow(app: &Arc<App>, assignments: &[Assignment]) -> Result<(), StoreError> {
    let me = Some(&*app.node);
    let mine: HashSet<(AuctionId, i64)> =
        assignments.iter().filter(|a| a.owner.as_deref() == me).map(|a| (a.auction, a.fence)).collect();
    let (kept, lost): (Vec<_>, Vec<_>) = app.known.owned().into_iter().partition(|held| mine.contains(held));
    for (auction, fence) in &lost {
        app.command(Command::Lose(*auction, *fence)).await;
    }
    let held: HashSet<AuctionId> = kept.iter().map(|held| held.0).collect();
    app.known.state.lock().owned = kept;
    let wanted: Vec<AuctionId> = assignments
        .iter()
        .filter(|a| a.assigned.as_deref() == me && !held.contains(&a.auction))
        .map(|a| a.auction)
        .collect();
    if !wanted.is_empty() {
        let claimed = app.registry.claim(&app.node, &wanted).await?;
        take(app, &claimed).await?;
    }
    app.claims_done.notify_waiters();
    Ok(())
}

/// Continues auctions that now belong to this node.
async fn take(app: &Arc<App>, claimed: &[(AuctionId, i64)]) -> Result<(), StoreError> {
    for some in claimed.chunks(AT_ONCE) {
        let taken = some.iter().map(|(auction, fence)| take_one(app, *auction, *fence));
        for taken in futures::future::join_all(taken).await {
            taken?;
        }
    }
    app.metrics.claimed(claimed.len());
    app.announce();
    // The other nodes' view of the register is older than these claims.
    app.tell_all(&Message::Look);
    Ok(())
}

async fn take_one(app: &Arc<App>, auction: AuctionId, fence: i64) -> Result<(), StoreError> {
    settle(app, auction).await?;
    // An auction that has ended meanwhile has no owner.
    let Some(start) = app.decisions.start_state(auction).await? else { return Ok(()) };
    open(app, &start);
    // The auctioneer owns it before other nodes send bids here.
    app.command(Command::Own(Box::new(start), fence)).await;
    app.known.state.lock().owned.push((auction, fence));
    app.owned_by(auction, &app.node, fence);
    // Read last: a follower that comes later wakes the auction itself.
    if app.channels.channel(auction).is_some_and(|c| c.is_watched()) {
        app.command(Command::Wake(auction)).await;
    }
    Ok(())
}

/// Settles the bids that the previous owner left.
async fn settle(app: &Arc<App>, auction: AuctionId) -> Result<(), StoreError> {
    let left = app.events.unsettled(auction).await?;
    let mut listings = Vec::new();
    for bid in &left {
        if !listings.iter().any(|(id, _)| *id == bid.listing) {
            listings.push((bid.listing, app.decisions.listing(bid.listing).await?));
        }
    }
    let row = |id: i64| listings.iter().find(|l| l.0 == id).and_then(|l| l.1.clone());
    let mut settled = settle_left(&left, row);
    if let Some(sale) = app.decisions.last_sale(auction).await? {
        settled.push(SettledBid {
            bidder: barograph_auction_api::UserId(sale.bidder_id),
            bid_ms: sale.bid_ms,
            bid: sale.bid_id,
            state: codes::bid::WINNING,
        });
    }
    if settled.is_empty() { Ok(()) } else { app.events.write(&[], &settled).await }
}

/// Hands all auctions over, if there is a node to take them, and removes the node from the register. Bounded
/// in time.
pub(crate) async fn hand_over(app: &Arc<App>) {
    app.known.drain();
    let others = app
        .known
        .cluster()
        .is_some_and(|c| c.members.iter().any(|m| m.standing == Standing::Active && m.node != *app.node));
    if others {
        app.look.notify_one();
        let gone = async {
            loop {
                // Subscribes before it looks, so that no notification is lost in between.
                let mut done = std::pin::pin!(app.claims_done.notified());
                done.as_mut().enable();
                if app.known.owns() == 0 {
                    return;
                }
                done.await;
            }
        };
        if timeout(HAND_OVER, gone).await.is_err() {
            tracing::warn!(left = app.known.owns(), "nobody took the auctions in time");
        }
    }
}
