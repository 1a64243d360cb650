//! The application without HTTP: stores, caches, bus, auctioneer and register.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use barograph_auction_api::{
    AuctionId, ImageId, ImageLink, Item, ItemId, Millis, Role, Tier, UserId, routes,
};
use barograph_auction_bus::{Bus, Recipient, SendError, Settings, connect};
use barograph_auction_rules::Bidding;
use barograph_auction_store::{
    Events, Heartbeat, PageWindow, Registry, Relational, StoreDescription, StoreError, codes,
};
use barograph_store_images::{PictureError, Pictures};
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::auctioneer::{Auctioneer, CHANGES, Command, QUEUE};
use crate::cache::EpochCache;
use crate::channels::{Channels, StateSource};
use crate::clock::Clock;
use crate::cluster::{self, ClusterKnowledge};
use crate::ids::Ids;
use crate::messages::{Bid, Message};
use crate::metrics::Metrics;
use crate::publisher::{self, PublisherFault};
use crate::settings::ServeConfig;
use crate::stores::{NodeStores, open};
use crate::{alarm, check, hear};

/// Sessions kept in memory: two connections' worth for each user of the largest size.
const SESSIONS: usize = 100_000;
/// Auctions kept as text, about 200 bytes each.
const AUCTIONS: usize = 20_000;
/// Items kept as text, about 1 KiB each.
const ITEMS: usize = 60_000;
/// Pages of items kept as text, about 5 KiB each.
const ITEM_PAGES: usize = 10_000;
/// Pages of running auctions kept as text.
const LIVE_PAGES: usize = 2_000;
/// Pause of a start after a beat that was not answered in time.
const FULL_PAUSE: std::time::Duration = std::time::Duration::from_millis(100);
/// Time limit of a start for the node's auctions, and the same again for those that other nodes release.
const FIRST_CLAIMS: std::time::Duration = std::time::Duration::from_secs(60);
/// Time limit of a stop for storing the decisions made so far.
const LAST_STORE: std::time::Duration = std::time::Duration::from_secs(20);
/// Looks at the register in a start: to find the cluster, to be assigned, to claim, and to see the claims.
const FIRST_LOOKS: u32 = 4;

/// A failed start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The folder holds no complete fill.
    #[error("{path} holds no complete data set: fill it first")]
    NotFilled {
        /// The folder.
        path: PathBuf,
    },
    /// The pristine stores could not be copied.
    #[error("cannot copy the stores from {from} to {to}")]
    Copy {
        /// The folder of the data set.
        from: PathBuf,
        /// The folder of this run's state.
        to: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The stores hold different data sets.
    #[error(
        "the relational store holds data set {relational} and the event store {events}: load both from one fill"
    )]
    Unlike {
        /// Stamp of the relational store.
        relational: String,
        /// Stamp of the event store.
        events: String,
    },
    /// A store could not be opened or read.
    #[error("cannot open the stores")]
    Store(#[from] StoreError),
    /// The image store could not be opened.
    #[error("cannot open the image store")]
    Images(#[from] PictureError),
    /// The bus could not be reached.
    #[error("cannot reach the bus")]
    Bus(#[from] barograph_auction_bus::ConnectError),
}

/// An item as served, and the ids of its own images.
#[derive(Clone)]
pub(crate) struct ItemEntry {
    pub(crate) body: Bytes,
    pub(crate) images: Arc<[ImageId]>,
}

/// The state shared by all requests.
pub(crate) struct App {
    pub(crate) node: Arc<str>,
    pub(crate) role: Role,
    /// The node's first beat to the register.
    pub(crate) sign: Heartbeat,
    /// Whether this is the only node.
    pub(crate) alone: bool,
    pub(crate) relational: Arc<dyn Relational>,
    /// The same store over separate connections, so that the auctioneer's decisions never wait behind
    /// requests.
    pub(crate) decisions: Arc<dyn Relational>,
    pub(crate) events: Arc<dyn Events>,
    pub(crate) registry: Arc<dyn Registry>,
    pub(crate) images: Arc<Pictures>,
    pub(crate) channels: Arc<Channels>,
    pub(crate) bus: Option<Arc<dyn Bus>>,
    pub(crate) known: ClusterKnowledge,
    pub(crate) clock: Clock,
    pub(crate) ids: Arc<Ids>,
    pub(crate) desk: mpsc::Sender<Command>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) prometheus: Mutex<prometheus_client::registry::Registry>,
    /// A fault that lasts.
    pub(crate) broken: PublisherFault,
    /// A fault that may pass.
    pub(crate) passing: PublisherFault,
    /// Whether the last try to reach the register failed.
    pub(crate) late: AtomicBool,
    /// Notified when the register may have changed.
    pub(crate) look: Notify,
    /// Notified when auctions were claimed or released.
    pub(crate) claims_done: Notify,
    /// Begin of the next future auction; `None` before the first look.
    pub(crate) next_begin: Mutex<Option<Millis>>,
    /// Whether a message that other nodes must receive could not be sent.
    unsaid: AtomicBool,
    /// Held during a check of the data: only one check at a time reads everything.
    pub(crate) checking: tokio::sync::Mutex<()>,
    /// Users by session token. Users themselves are not cached: their credit changes with every sale.
    pub(crate) sessions: EpochCache<u128, UserId>,
    pub(crate) auctions: EpochCache<AuctionId, Bytes>,
    pub(crate) items: EpochCache<ItemId, ItemEntry>,
    /// Pages of an auction's items; the version of the auction's channel is part of the key.
    pub(crate) item_pages: EpochCache<(AuctionId, u32, PageWindow), Bytes>,
    pub(crate) live_pages: EpochCache<PageWindow, Bytes>,
}

/// Tasks beside the requests.
pub(crate) struct Background {
    auctioneer: JoinHandle<()>,
    publisher: JoinHandle<()>,
    cluster: JoinHandle<()>,
    hear: Option<JoinHandle<()>>,
    files: Option<barograph_store_sqlite::WriterThreads>,
}

impl App {
    /// Opens the stores, registers the node and starts the auctioneer. Must be called within a runtime.
    pub(crate) async fn start(config: &ServeConfig) -> Result<(Arc<App>, Background), StartError> {
        let NodeStores { relational, decisions, events, registry, files } =
            open(&config.stores, config.threads).await?;
        let images = Pictures::open(&config.images, config.image_limits.clone()).await?;
        let (bus, heard) = match &config.peers {
            Some(peers) => {
                let place =
                    barograph_auction_bus::NodeName { namespace: &peers.namespace, node: &config.node };
                let (bus, heard) = connect(&peers.bus, place, &Settings::default()).await?;
                (Some(bus), Some(heard))
            }
            None => (None, None),
        };
        let (desk, commands) = mpsc::channel(QUEUE);
        let (jobs, to_publish) = mpsc::channel(CHANGES);
        let mut prometheus = prometheus_client::registry::Registry::default();
        let metrics = Arc::new(Metrics::register(&mut prometheus));
        let sign = cluster::sign(config);
        let enlisted = registry.enlist(&sign).await?;
        let clock = Clock::start(enlisted.since_start_ms);
        let ids = Arc::new(Ids::of_node(enlisted.number));
        let app = Arc::new(App {
            node: config.node.as_str().into(),
            role: config.role,
            sign,
            alone: config.is_alone(),
            relational,
            decisions,
            events,
            registry,
            images: Arc::new(images),
            channels: Arc::default(),
            bus,
            known: ClusterKnowledge::default(),
            clock,
            ids: Arc::clone(&ids),
            desk,
            metrics: Arc::clone(&metrics),
            prometheus: Mutex::new(prometheus),
            broken: PublisherFault::default(),
            passing: PublisherFault::default(),
            late: AtomicBool::new(false),
            look: Notify::new(),
            claims_done: Notify::new(),
            next_begin: Mutex::new(None),
            unsaid: AtomicBool::new(false),
            checking: tokio::sync::Mutex::new(()),
            sessions: EpochCache::new(SESSIONS),
            auctions: EpochCache::new(AUCTIONS),
            items: EpochCache::new(ITEMS),
            item_pages: EpochCache::new(ITEM_PAGES),
            live_pages: EpochCache::new(LIVE_PAGES),
        });
        let auctioneer = Auctioneer::new(ids, clock, metrics, jobs).run(commands);
        let auctioneer = alarm::spawn(&app, "auctioneer", auctioneer);
        let publisher = alarm::spawn(&app, "publisher", publisher::run(Arc::clone(&app), to_publish));
        app.first_looks().await?;
        let hear = heard.map(|heard| alarm::spawn(&app, "listener", hear::run(Arc::clone(&app), heard)));
        let cluster = alarm::spawn(&app, "follower of the register", cluster::run(Arc::clone(&app)));
        Ok((app, Background { auctioneer, publisher, cluster, hear, files }))
    }

    /// Opens the channels of all running auctions and claims those of this node. A node that is alone is
    /// ready after one look.
    async fn first_looks(self: &Arc<Self>) -> Result<(), StoreError> {
        for start in self.relational.running().await? {
            cluster::open(self, &start);
        }
        for _ in 0..FIRST_LOOKS {
            let looked = async {
                loop {
                    match cluster::look(self).await {
                        // A beat that is late after the start is made up for by the next one.
                        Err(StoreError::Full) => tokio::time::sleep(FULL_PAUSE).await,
                        done => return done,
                    }
                }
            };
            timeout(FIRST_CLAIMS, looked).await.map_err(|_| StoreError::Full)??;
        }
        Ok(())
    }

    /// Stops the background tasks. On return, all decisions are stored and announced to the other nodes. The
    /// threads that write the embedded stores end when the last handle to the application is dropped, and are
    /// to be joined after that.
    pub(crate) async fn stop(&self, background: Background) -> Option<barograph_store_sqlite::WriterThreads> {
        self.channels.stop();
        background.cluster.abort();
        let _ = background.cluster.await;
        let decided = async {
            // Fails only if the auctioneer has already ended.
            let _ = self.desk.send(Command::Stop).await;
            let _ = background.auctioneer.await;
            let _ = background.publisher.await;
        };
        if timeout(LAST_STORE, decided).await.is_err() {
            tracing::error!(
                "a store does not answer: what was decided last is not stored, and nobody was told of it"
            );
        }
        if let Err(error) = self.registry.leave(&self.node).await {
            tracing::warn!(
                error = publisher::with_cause(&error),
                "the register still has this node until its lease ends"
            );
        }
        self.tell_all(&Message::Look);
        if let Some(bus) = &self.bus {
            bus.close().await;
        }
        if let Some(hear) = background.hear {
            hear.abort();
            let _ = hear.await;
        }
        let lost = self.images.close().await;
        if lost > 0 {
            tracing::error!(lost, "pictures in the write queue could not be stored");
        }
        background.files
    }

    /// Sends a command to the auctioneer; waits for room in its queue.
    pub(crate) async fn command(&self, command: Command) {
        // Fails only when the application ends.
        let _ = self.desk.send(command).await;
    }

    /// Sends a command to the auctioneer without waiting: the auctioneer itself waits for the publisher now
    /// and then.
    pub(crate) fn command_later(&self, command: Command) {
        let desk = self.desk.clone();
        tokio::spawn(async move { desk.send(command).await });
    }

    /// Whether this node owns an auction.
    pub(crate) fn owns(&self, auction: AuctionId) -> bool {
        self.channels.channel(auction).and_then(|c| c.owner()).is_some_and(|owner| *owner.node == *self.node)
    }

    /// Records the owner of an auction. A new owner is sent a wake if the auction has followers here.
    pub(crate) fn owned_by(&self, auction: AuctionId, node: &str, fence: i64) {
        let Some(channel) = self.channels.channel(auction) else { return };
        let news = channel.owned_by(&Arc::from(node), fence);
        if news && channel.is_watched() && *node != *self.node {
            self.tell_node(node, &Message::Wake { auction });
        }
    }

    /// Publishes a state here and to the other nodes.
    pub(crate) fn tell_followers(&self, auction: AuctionId, state: (i64, Bidding), from: StateSource) {
        self.tell_followers_here(auction, state, from);
        if self.bus.is_some() {
            self.tell_all(&Message::State { round: state.0, bidding: state.1.update(auction) });
        }
    }

    /// Publishes a state on this node. Cached pages of its item are dropped first. Old news, such as the echo
    /// of this node's own messages, drops nothing.
    pub(crate) fn tell_followers_here(&self, auction: AuctionId, state: (i64, Bidding), from: StateSource) {
        let Some(change) = self.channels.news(auction, state.0, &state.1) else { return };
        if change.items {
            self.items.invalidate(&state.1.item);
            if let Some(before) = change.before.filter(|item| *item != state.1.item) {
                self.items.invalidate(&before);
            }
        }
        self.channels.publish(auction, state, from);
    }

    /// Sends a message to all nodes, if there are others. States that are lost are announced again when the
    /// bus is back.
    pub(crate) fn tell_all(&self, message: &Message) {
        let Some(bus) = &self.bus else { return };
        if let Err(error) = bus.send(Recipient::All, message.bytes()) {
            tracing::debug!(error = publisher::with_cause(&error), "not told to the others");
        }
    }

    /// Sends a message to one node. Delivery is not guaranteed.
    pub(crate) fn tell_node(&self, node: &str, message: &Message) {
        if let Err(error) = self.try_tell(node, message) {
            tracing::debug!(node, error = publisher::with_cause(&error), "not told");
        }
    }

    fn try_tell(&self, node: &str, message: &Message) -> Result<(), SendError> {
        self.bus.as_ref().ok_or(SendError::Down)?.send(Recipient::Node(node), message.bytes())
    }

    /// Announces the auctions that this node owns, in messages of bounded length.
    pub(crate) fn tell_owned(&self, auctions: &[(AuctionId, i64)]) {
        for some in auctions.chunks(1_000) {
            self.tell_all(&Message::Owned { node: self.node.to_string(), auctions: some.to_vec() });
        }
    }

    /// Sends a bid to the owner of its auction.
    pub(crate) fn place(&self, bid: Bid) -> Result<(), OwnerRefusal> {
        let owner =
            self.channels.channel(bid.auction).and_then(|c| c.owner()).ok_or(OwnerRefusal::NoOwner)?;
        if *owner.node == *self.node {
            let offer =
                barograph_auction_rules::Offer { item: bid.item, bidder: bid.bidder, amount: bid.amount };
            return self.try_command(Command::Bid { auction: bid.auction, offer, credit: bid.credit });
        }
        Ok(self.try_tell(&owner.node, &Message::Bid(bid))?)
    }

    /// Sends a wake to the owner of an auction that has a follower.
    pub(crate) fn wake(&self, auction: AuctionId) -> Result<(), OwnerRefusal> {
        let owner = self.channels.channel(auction).and_then(|c| c.owner()).ok_or(OwnerRefusal::NoOwner)?;
        if *owner.node == *self.node {
            return self.try_command(Command::Wake(auction));
        }
        Ok(self.try_tell(&owner.node, &Message::Wake { auction })?)
    }

    /// Sends a command to the auctioneer if its queue has room.
    pub(crate) fn try_command(&self, command: Command) -> Result<(), OwnerRefusal> {
        self.desk.try_send(command).map_err(|e| match e {
            mpsc::error::TrySendError::Full(_) => OwnerRefusal::Busy,
            mpsc::error::TrySendError::Closed(_) => OwnerRefusal::Stopping,
        })
    }

    /// Ends a session on all nodes.
    pub(crate) fn end_session(&self, token: u128) {
        self.sessions.invalidate(&token);
        self.tell_surely(&Message::SessionEnded { token: format!("{token:032x}") });
    }

    /// Sends a message that all nodes must receive sooner or later. If it cannot be sent now, they are made
    /// to drop their caches later.
    fn tell_surely(&self, message: &Message) {
        let Some(bus) = &self.bus else { return };
        if bus.send(Recipient::All, message.bytes()).is_err() {
            self.unsaid.store(true, Ordering::Relaxed);
        }
    }

    /// Sends what could not be sent before, if anything.
    pub(crate) fn make_up(&self) {
        if self.unsaid.swap(false, Ordering::Relaxed) {
            self.tell_surely(&Message::Forget);
        }
    }

    /// Announces the stored states of all auctions of this node, and its ownership of them.
    pub(crate) fn announce(&self) {
        let owned = self.known.owned();
        self.tell_owned(&owned);
        for (auction, _) in owned {
            if let Some((round, bidding)) = self.channels.channel(auction).and_then(|c| c.state()) {
                self.tell_all(&Message::State { round, bidding: bidding.update(auction) });
            }
        }
    }

    /// Sends wakes to the owners of auctions elsewhere that have followers here.
    pub(crate) fn wake_others(&self) {
        for channel in self.channels.all() {
            let owner = channel.owner().filter(|owner| *owner.node != *self.node && channel.is_watched());
            if let Some(owner) = owner {
                self.tell_node(&owner.node, &Message::Wake { auction: channel.auction.id });
            }
        }
    }

    /// Forgets a session that ended on another node.
    pub(crate) fn forget_session(&self, token: &str) {
        if let Ok(token) = u128::from_str_radix(token, 16) {
            self.sessions.invalidate(&token);
        }
    }

    /// Drops an item from the caches of all nodes after a change to it or to its images; `auction` is the one
    /// that lists it.
    pub(crate) fn item_changed(&self, item: ItemId, auction: Option<AuctionId>) {
        self.forget_item(item, auction);
        self.tell_surely(&Message::ItemChanged { item, auction });
    }

    /// Drops an item, and with `auction` the cached pages of items. The pages of all auctions go: images are
    /// hardly ever added to an item after it was listed.
    pub(crate) fn forget_item(&self, item: ItemId, auction: Option<AuctionId>) {
        self.items.invalidate(&item);
        if auction.is_some() {
            self.item_pages.clear();
        }
    }

    /// Drops everything that another node may have changed.
    pub(crate) fn forget(&self) {
        self.sessions.clear();
        self.auctions.clear();
        self.items.clear();
        self.item_pages.clear();
        self.live_pages.clear();
    }

    /// Adds to items the links to their images.
    pub(crate) async fn with_images(&self, items: &mut [Item]) -> Result<(), StoreError> {
        let ids: Vec<ItemId> = items.iter().map(|i| i.id).collect();
        for (item, images) in items.iter_mut().zip(self.images_of(&ids).await?) {
            item.images = images;
        }
        Ok(())
    }

    /// Links to the images of the items, in the order of the items.
    pub(crate) async fn images_of(&self, items: &[ItemId]) -> Result<Vec<Vec<ImageLink>>, StoreError> {
        if items.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self.events.images(items).await?;
        let of = |item: &ItemId| {
            let own = rows.iter().filter(|row| row.item_id == item.0);
            own.map(|row| ImageLink {
                id: ImageId(row.id),
                href: routes::image_href(*item, ImageId(row.id)),
                sizes: codes::image::sizes(row.sizes),
            })
            .collect()
        };
        Ok(items.iter().map(of).collect())
    }

    /// Description of each tier.
    pub(crate) fn tiers(&self) -> Vec<(Tier, StoreDescription)> {
        let bus = match &self.bus {
            Some(bus) => StoreDescription {
                product: bus.describe(),
                durability: "messages are not kept: states are announced again".to_owned(),
            },
            None => StoreDescription {
                product: "in process".to_owned(),
                durability: "one node: nothing is sent".to_owned(),
            },
        };
        vec![
            (Tier::Relational, self.relational.describe()),
            (Tier::Events, self.events.describe()),
            (Tier::Images, self.images.describe()),
            (Tier::Bus, bus),
            (
                Tier::Cache,
                StoreDescription {
                    product: "in process, bounded".to_owned(),
                    durability: "none needed".to_owned(),
                },
            ),
        ]
    }

    /// Reason why the node is not ready, if any. A bus that is down is not one: all nodes would be unready
    /// at once, though each can still do most of its work. `GET /cluster` shows it.
    pub(crate) fn trouble(&self) -> Option<String> {
        if let Some(trouble) = self.broken.get().or_else(|| self.passing.get()) {
            return Some(trouble);
        }
        if self.late.load(Ordering::Relaxed) {
            return Some("the register of nodes was not reached".to_owned());
        }
        if self.known.is_draining() {
            return Some("the node hands its auctions over".to_owned());
        }
        (!self.known.is_settled()).then(|| "the node does not know its auctions yet".to_owned())
    }

    /// Checks the data.
    pub(crate) async fn check(&self) -> Result<barograph_auction_api::CheckReport, StoreError> {
        check::check(self).await
    }
}

/// Reasons why a message could not be sent to the owner of an auction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnerRefusal {
    /// The auction is between two owners.
    NoOwner,
    /// A queue is full.
    Busy,
    /// The owner is another node, and there is no way to it.
    CutOff,
    /// The node is stopping.
    Stopping,
}

impl std::convert::From<SendError> for OwnerRefusal {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Full | SendError::TooLong { .. } => OwnerRefusal::Busy,
            SendError::Down | SendError::Name(_) => OwnerRefusal::CutOff,
        }
    }
}
