//! A node among others: it beats, leads when nobody else does, takes the auctions it is assigned and lets go of others.
//!
//! Everything here follows the register (see [`barograph_auction_store::Registry`]); the bus only makes it quicker. A
//! node that is killed stops beating; when its lease is over the leader assigns its auctions to others, who claim them
//! under new fences, settle what it left, and go on from the state in the store.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use barograph_auction_api::{AuctionId, Millis};
use barograph_auction_store::{
    Assignment, Beat, Cluster, Led, Settled, Standing, StartState, StoreError, codes,
};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{sleep_until, timeout};

use crate::app::App;
use crate::auctioneer::{Command, bidding};
use crate::channels::From;
use crate::messages::Message;
use crate::publisher::{settle_left, with_cause};
use crate::settings::{ServeConfig, owns};
use crate::share;

/// How long a sign of life counts. A killed node's auctions stand still for this long and two beats at the most.
const LEASE: Duration = Duration::from_millis(2_000);

/// Signs of life: four per lease, so that one slow answer of the store does not cost a node its auctions.
const EVERY: Duration = Duration::from_millis(500);

/// Signs of life of a node that is alone: nobody waits for them. Its lease lasts twice as long.
const ALONE: Duration = Duration::from_secs(60);

/// Auctions taken side by side: each is a few exchanges with the stores, over connections that are few.
const AT_ONCE: usize = 16;

/// How long a node that ends waits for others to take its auctions.
const HAND_OVER: Duration = Duration::from_secs(5);

/// What a node knows of the cluster.
#[derive(Default)]
pub(crate) struct Known {
    state: Mutex<State>,
    draining: AtomicBool,
    /// The cluster was heard of again.
    changed: Notify,
}

#[derive(Clone, Default)]
struct State {
    cluster: Option<Cluster>,
    assignments: Arc<[Assignment]>,
    /// Auctions this node owns, with their fences.
    owned: Vec<(AuctionId, i64)>,
    /// The version of the register that this node is in line with.
    followed: Option<i64>,
    /// Whether it ever was.
    settled: bool,
    /// When the last beat was answered, on the application's clock.
    seen: Option<Millis>,
}

impl Known {
    /// The cluster as of the last beat.
    pub(crate) fn cluster(&self) -> Option<Cluster> {
        self.state.lock().cluster.clone()
    }

    /// When the last beat was answered, on the application's clock; `None` before the first.
    pub(crate) fn seen(&self) -> Option<Millis> {
        self.state.lock().seen
    }

    /// Auctions this node owns.
    pub(crate) fn owned(&self) -> Vec<(AuctionId, i64)> {
        self.state.lock().owned.clone()
    }

    /// How many auctions this node owns.
    pub(crate) fn owns(&self) -> usize {
        self.state.lock().owned.len()
    }

    /// Whether the node has ever been in line with the register: later it may be behind for a moment, and serves on.
    pub(crate) fn is_settled(&self) -> bool {
        self.state.lock().settled
    }

    /// The node takes no more auctions and hands its own over.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Whether the node drains.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}

/// The first sign of life of a node.
pub(crate) fn sign(config: &ServeConfig) -> Beat {
    let lease = if config.is_alone() { ALONE * 2 } else { LEASE };
    Beat {
        node: config.node.clone(),
        standing: if owns(config.role) { Standing::Active } else { Standing::Idle },
        lease_ms: lease.as_millis() as i64,
    }
}

/// A node's sign of life.
fn beat(app: &App) -> Beat {
    let sign = app.sign.clone();
    if app.known.is_draining() { Beat { standing: Standing::Idle, ..sign } } else { sign }
}

/// Beats, and follows the register, until the node ends. The two go side by side: taking many auctions over must not keep a
/// node from beating.
pub(crate) async fn run(app: Arc<App>) {
    tokio::join!(beats(&app), follows(&app));
}

/// Gives signs of life.
async fn beats(app: &Arc<App>) {
    let every = if app.alone { ALONE } else { EVERY };
    loop {
        let next_begin = (*app.next_begin.lock()).map(|at| app.clock.instant(at));
        let latest = app.clock.after(every);
        tokio::select! {
            () = sleep_until(next_begin.map_or(latest, |begin| begin.min(latest))) => {}
            // Somebody says that the register has changed.
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

/// Does what the register says, whenever it was heard of.
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

/// A node that cannot store decides nothing: the sooner others know, the sooner they go on.
async fn give_up(app: &App) {
    tracing::error!(why = app.broken.get(), "this node gives up its auctions");
    if let Err(error) = app.registry.leave(&app.node).await {
        tracing::warn!(error = with_cause(&error), "its lease ends by itself");
    }
    app.tell_all(&Message::Look);
}

/// One sign of life, and whatever follows from the answer.
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

/// Brings this node in line with the register as last heard of. What fails is done again at the next beat.
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

/// Opens channels of auctions that are new, and learns who owns what.
async fn learn(app: &Arc<App>, assignments: &[Assignment]) -> Result<(), StoreError> {
    for assignment in assignments {
        if app.channels.channel(assignment.auction).is_none()
            && let Some(start) = app.relational.start_state(assignment.auction).await?
        {
            open(app, &start);
        }
        // What is this node's own is known by taking it.
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
        app.tell_followers_here(id, (row.round, bidding(row)), From::Hearsay);
    }
}

/// Begins auctions whose time has come, and shares all of them among the members.
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
    if app.registry.assign(&app.node, &moves).await? == Led::Yes {
        tracing::info!(moves = moves.len(), members = members.len(), "assigned auctions");
        app.tell_all(&Message::Look);
        app.look.notify_one();
    }
    Ok(())
}

/// Takes what is assigned to this node and lets go of what others own.
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

/// Goes on with auctions that are this node's now.
async fn take(app: &Arc<App>, claimed: &[(AuctionId, i64)]) -> Result<(), StoreError> {
    for some in claimed.chunks(AT_ONCE) {
        let taken = some.iter().map(|(auction, fence)| take_one(app, *auction, *fence));
        for taken in futures::future::join_all(taken).await {
            taken?;
        }
    }
    app.metrics.claimed(claimed.len());
    app.announce();
    // The others' view of the register is older than these claims.
    app.tell_all(&Message::Look);
    Ok(())
}

async fn take_one(app: &Arc<App>, auction: AuctionId, fence: i64) -> Result<(), StoreError> {
    settle(app, auction).await?;
    // One that has ended meanwhile is nobody's.
    let Some(start) = app.decisions.start_state(auction).await? else { return Ok(()) };
    open(app, &start);
    // The auctioneer has it before anybody is told to send bids here.
    app.command(Command::Own(Box::new(start), fence)).await;
    app.known.state.lock().owned.push((auction, fence));
    app.owned_by(auction, &app.node, fence);
    // Looked at last: whoever watches from now on wakes it.
    if app.channels.channel(auction).is_some_and(|c| c.is_watched()) {
        app.command(Command::Wake(auction)).await;
    }
    Ok(())
}

/// Settles the bids that the owner before left.
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
        settled.push(Settled {
            bidder: barograph_auction_api::UserId(sale.bidder_id),
            bid_ms: sale.bid_ms,
            bid: sale.bid_id,
            state: codes::bid::WINNING,
        });
    }
    if settled.is_empty() { Ok(()) } else { app.events.write(&[], &settled).await }
}

/// Hands everything over, if there is anybody to take it, and strikes the node off. Bounded in time.
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
                // Listens before it looks, so that nothing is missed in between.
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
