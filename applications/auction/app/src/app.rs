//! The application: stores, caches, bus, auctioneer and register put together, without any HTTP.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use barograph_auction_api::{
    AuctionId, ImageId, ImageLink, Item, ItemId, Millis, Role, Tier, UserId, routes,
};
use barograph_auction_bus::{Bus, SendError, Settings, To, connect};
use barograph_auction_rules::Bidding;
use barograph_auction_store::{Beat, Described, Events, Registry, Relational, StoreError, Window, codes};
use barograph_store_images::{PictureError, Pictures};
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::auctioneer::{Auctioneer, CHANGES, Command, QUEUE};
use crate::cache::Shelf;
use crate::channels::{Channels, From};
use crate::clock::Clock;
use crate::cluster::{self, Known};
use crate::ids::Ids;
use crate::messages::{Bid, Message};
use crate::metrics::Metrics;
use crate::publisher::{self, Trouble};
use crate::settings::ServeConfig;
use crate::stores::{Opened, open};
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
/// How long a start waits after a beat that was not answered in time, before the next one.
const FULL_PAUSE: std::time::Duration = std::time::Duration::from_millis(100);
/// How long a start waits for the node's auctions, and as long again for those that others let go.
const FIRST_CLAIMS: std::time::Duration = std::time::Duration::from_secs(60);
/// How long an end waits for the stores to take what was decided.
const LAST_STORE: std::time::Duration = std::time::Duration::from_secs(20);
/// Looks at the register in a start: one to learn of the cluster, one to be assigned, one to claim, and one to see it.
const FIRST_LOOKS: u32 = 4;

/// Why the application could not start.
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
        /// What the system says.
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

/// An item as it is served, and which images are its own.
#[derive(Clone)]
pub(crate) struct ItemEntry {
    pub(crate) body: Bytes,
    pub(crate) images: Arc<[ImageId]>,
}

/// Everything a request may need.
pub(crate) struct App {
    pub(crate) node: Arc<str>,
    pub(crate) role: Role,
    /// What the node says to the register.
    pub(crate) sign: Beat,
    /// Whether there is nobody else.
    pub(crate) alone: bool,
    pub(crate) relational: Arc<dyn Relational>,
    /// The same store over connections of its own: what the auctioneer decided never waits behind requests.
    pub(crate) decisions: Arc<dyn Relational>,
    pub(crate) events: Arc<dyn Events>,
    pub(crate) registry: Arc<dyn Registry>,
    pub(crate) images: Arc<Pictures>,
    pub(crate) channels: Arc<Channels>,
    pub(crate) bus: Option<Arc<dyn Bus>>,
    pub(crate) known: Known,
    pub(crate) clock: Clock,
    pub(crate) ids: Arc<Ids>,
    pub(crate) desk: mpsc::Sender<Command>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) prometheus: Mutex<prometheus_client::registry::Registry>,
    /// What keeps the application from working for good.
    pub(crate) broken: Trouble,
    /// What keeps it from working for a while.
    pub(crate) passing: Trouble,
    /// The register was not reached at the last try.
    pub(crate) late: AtomicBool,
    /// The register has changed, or may have.
    pub(crate) look: Notify,
    /// Auctions were taken or let go.
    pub(crate) claims_done: Notify,
    /// When the next future auction begins; `None` before anybody has asked.
    pub(crate) next_begin: Mutex<Option<Millis>>,
    /// Something that others must hear could not be said.
    unsaid: AtomicBool,
    /// Held while the data are checked: one check at a time reads all there is.
    pub(crate) checking: tokio::sync::Mutex<()>,
    /// Who holds a token. There is no cache of users besides: their credit changes with every sale.
    pub(crate) sessions: Shelf<u128, UserId>,
    pub(crate) auctions: Shelf<AuctionId, Bytes>,
    pub(crate) items: Shelf<ItemId, ItemEntry>,
    /// Pages of an auction's items; the version of the auction's channel is part of the key.
    pub(crate) item_pages: Shelf<(AuctionId, u32, Window), Bytes>,
    pub(crate) live_pages: Shelf<Window, Bytes>,
}

/// What runs beside the requests.
pub(crate) struct Background {
    auctioneer: JoinHandle<()>,
    publisher: JoinHandle<()>,
    cluster: JoinHandle<()>,
    hear: Option<JoinHandle<()>>,
    files: Option<barograph_store_sqlite::WriterThreads>,
}

impl App {
    /// Opens the stores, enlists the node and starts the auctioneer. Call within a runtime.
    pub(crate) async fn start(config: &ServeConfig) -> Result<(Arc<App>, Background), StartError> {
        let Opened { relational, decisions, events, registry, files } =
            open(&config.stores, config.threads).await?;
        let images = Pictures::open(&config.images, config.image_limits.clone()).await?;
        let (bus, heard) = match &config.peers {
            Some(peers) => {
                let place = barograph_auction_bus::Place { namespace: &peers.namespace, node: &config.node };
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
            known: Known::default(),
            clock,
            ids: Arc::clone(&ids),
            desk,
            metrics: Arc::clone(&metrics),
            prometheus: Mutex::new(prometheus),
            broken: Trouble::default(),
            passing: Trouble::default(),
            late: AtomicBool::new(false),
            look: Notify::new(),
            claims_done: Notify::new(),
            next_begin: Mutex::new(None),
            unsaid: AtomicBool::new(false),
            checking: tokio::sync::Mutex::new(()),
            sessions: Shelf::new(SESSIONS),
            auctions: Shelf::new(AUCTIONS),
            items: Shelf::new(ITEMS),
            item_pages: Shelf::new(ITEM_PAGES),
            live_pages: Shelf::new(LIVE_PAGES),
        });
        let auctioneer = Auctioneer::new(ids, clock, metrics, jobs).run(commands);
        let auctioneer = alarm::spawn(&app, "auctioneer", auctioneer);
        let publisher = alarm::spawn(&app, "publisher", publisher::run(Arc::clone(&app), to_publish));
        app.first_looks().await?;
        let hear = heard.map(|heard| alarm::spawn(&app, "listener", hear::run(Arc::clone(&app), heard)));
        let cluster = alarm::spawn(&app, "follower of the register", cluster::run(Arc::clone(&app)));
        Ok((app, Background { auctioneer, publisher, cluster, hear, files }))
    }

    /// Channels of all running auctions, and whatever is this node's at once: a node that is alone is ready with it.
    async fn first_looks(self: &Arc<Self>) -> Result<(), StoreError> {
        for start in self.relational.running().await? {
            cluster::open(self, &start);
        }
        for _ in 0..FIRST_LOOKS {
            let looked = async {
                loop {
                    match cluster::look(self).await {
                        // Later a beat that is answered late is made up for by the next one.
                        Err(StoreError::Full) => tokio::time::sleep(FULL_PAUSE).await,
                        done => return done,
                    }
                }
            };
            timeout(FIRST_CLAIMS, looked).await.map_err(|_| StoreError::Full)??;
        }
        Ok(())
    }

    /// Ends the background: what was decided is stored, and others know it, when this returns. The threads that write the
    /// embedded stores end when the last handle to the application is dropped; join them after that.
    pub(crate) async fn stop(&self, background: Background) -> Option<barograph_store_sqlite::WriterThreads> {
        self.channels.stop();
        background.cluster.abort();
        let _ = background.cluster.await;
        let decided = async {
            // The auctioneer only fails to hear this if it has ended already.
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

    /// Hands the auctioneer something, and waits for room.
    pub(crate) async fn command(&self, command: Command) {
        // It has ended only when the application ends.
        let _ = self.desk.send(command).await;
    }

    /// Hands the auctioneer something without waiting for it, which waits for the publisher now and then.
    pub(crate) fn command_later(&self, command: Command) {
        let desk = self.desk.clone();
        tokio::spawn(async move { desk.send(command).await });
    }

    /// Whether this node owns an auction.
    pub(crate) fn owns(&self, auction: AuctionId) -> bool {
        self.channels.channel(auction).and_then(|c| c.owner()).is_some_and(|owner| *owner.node == *self.node)
    }

    /// Learns who owns an auction. A new owner is told when somebody watches here.
    pub(crate) fn owned_by(&self, auction: AuctionId, node: &str, fence: i64) {
        let Some(channel) = self.channels.channel(auction) else { return };
        let news = channel.owned_by(&Arc::from(node), fence);
        if news && channel.is_watched() && *node != *self.node {
            self.tell_node(node, &Message::Wake { auction });
        }
    }

    /// Publishes a state here and to the other nodes.
    pub(crate) fn tell_followers(&self, auction: AuctionId, state: (i64, Bidding), from: From) {
        self.tell_followers_here(auction, state, from);
        if self.bus.is_some() {
            self.tell_all(&Message::State { round: state.0, bidding: state.1.update(auction) });
        }
    }

    /// Publishes a state here. What is cached of its item goes first. Old news, such as the echo of what this node told the
    /// others, costs no cache.
    pub(crate) fn tell_followers_here(&self, auction: AuctionId, state: (i64, Bidding), from: From) {
        let Some(change) = self.channels.news(auction, state.0, &state.1) else { return };
        if change.items {
            self.items.invalidate(&state.1.item);
            if let Some(before) = change.before.filter(|item| *item != state.1.item) {
                self.items.invalidate(&before);
            }
        }
        self.channels.publish(auction, state, from);
    }

    /// Tells all nodes, if there are others. What is not heard is announced again when the bus is back.
    pub(crate) fn tell_all(&self, message: &Message) {
        let Some(bus) = &self.bus else { return };
        if let Err(error) = bus.send(To::All, message.bytes()) {
            tracing::debug!(error = publisher::with_cause(&error), "not told to the others");
        }
    }

    /// Tells one node; it may not hear.
    pub(crate) fn tell_node(&self, node: &str, message: &Message) {
        if let Err(error) = self.try_tell(node, message) {
            tracing::debug!(node, error = publisher::with_cause(&error), "not told");
        }
    }

    fn try_tell(&self, node: &str, message: &Message) -> Result<(), SendError> {
        self.bus.as_ref().ok_or(SendError::Down)?.send(To::Node(node), message.bytes())
    }

    /// Tells all nodes that this one owns auctions, in messages of a bounded length.
    pub(crate) fn tell_owned(&self, auctions: &[(AuctionId, i64)]) {
        for some in auctions.chunks(1_000) {
            self.tell_all(&Message::Owned { node: self.node.to_string(), auctions: some.to_vec() });
        }
    }

    /// Sends a bid to the owner of its auction.
    pub(crate) fn place(&self, bid: Bid) -> Result<(), Refused> {
        let owner = self.channels.channel(bid.auction).and_then(|c| c.owner()).ok_or(Refused::NoOwner)?;
        if *owner.node == *self.node {
            let offer =
                barograph_auction_rules::Offer { item: bid.item, bidder: bid.bidder, amount: bid.amount };
            return self.try_command(Command::Bid { auction: bid.auction, offer, credit: bid.credit });
        }
        Ok(self.try_tell(&owner.node, &Message::Bid(bid))?)
    }

    /// Tells the owner of an auction that somebody watches.
    pub(crate) fn wake(&self, auction: AuctionId) -> Result<(), Refused> {
        let owner = self.channels.channel(auction).and_then(|c| c.owner()).ok_or(Refused::NoOwner)?;
        if *owner.node == *self.node {
            return self.try_command(Command::Wake(auction));
        }
        Ok(self.try_tell(&owner.node, &Message::Wake { auction })?)
    }

    /// Hands the auctioneer something if there is room.
    pub(crate) fn try_command(&self, command: Command) -> Result<(), Refused> {
        self.desk.try_send(command).map_err(|e| match e {
            mpsc::error::TrySendError::Full(_) => Refused::Busy,
            mpsc::error::TrySendError::Closed(_) => Refused::Stopping,
        })
    }

    /// A session is over: on all nodes.
    pub(crate) fn end_session(&self, token: u128) {
        self.sessions.invalidate(&token);
        self.tell_surely(&Message::SessionEnded { token: format!("{token:032x}") });
    }

    /// Tells all nodes something that they must hear sooner or later: what cannot be said now makes them forget later.
    fn tell_surely(&self, message: &Message) {
        let Some(bus) = &self.bus else { return };
        if bus.send(To::All, message.bytes()).is_err() {
            self.unsaid.store(true, Ordering::Relaxed);
        }
    }

    /// Says what could not be said, if there is anything.
    pub(crate) fn make_up(&self) {
        if self.unsaid.swap(false, Ordering::Relaxed) {
            self.tell_surely(&Message::Forget);
        }
    }

    /// Announces the states of all auctions of this node, as they are stored, and that they are its own.
    pub(crate) fn announce(&self) {
        let owned = self.known.owned();
        self.tell_owned(&owned);
        for (auction, _) in owned {
            if let Some((round, bidding)) = self.channels.channel(auction).and_then(|c| c.state()) {
                self.tell_all(&Message::State { round, bidding: bidding.update(auction) });
            }
        }
    }

    /// Tells the owners of auctions elsewhere that somebody watches here.
    pub(crate) fn wake_others(&self) {
        for channel in self.channels.all() {
            let owner = channel.owner().filter(|owner| *owner.node != *self.node && channel.is_watched());
            if let Some(owner) = owner {
                self.tell_node(&owner.node, &Message::Wake { auction: channel.auction.id });
            }
        }
    }

    /// Another node says that a session is over.
    pub(crate) fn forget_session(&self, token: &str) {
        if let Ok(token) = u128::from_str_radix(token, 16) {
            self.sessions.invalidate(&token);
        }
    }

    /// An item or its images have changed, and an auction may list it: on all nodes.
    pub(crate) fn item_changed(&self, item: ItemId, auction: Option<AuctionId>) {
        self.forget_item(item, auction);
        self.tell_surely(&Message::ItemChanged { item, auction });
    }

    /// Forgets an item, and pages with it if an auction lists it. Those of all auctions: images are hardly ever added to an
    /// item after it was listed.
    pub(crate) fn forget_item(&self, item: ItemId, auction: Option<AuctionId>) {
        self.items.invalidate(&item);
        if auction.is_some() {
            self.item_pages.clear();
        }
    }

    /// Forgets whatever another node may have changed.
    pub(crate) fn forget(&self) {
        self.sessions.clear();
        self.auctions.clear();
        self.items.clear();
        self.item_pages.clear();
        self.live_pages.clear();
    }

    /// Items with links to their images.
    pub(crate) async fn with_images(&self, items: &mut [Item]) -> Result<(), StoreError> {
        let ids: Vec<ItemId> = items.iter().map(|i| i.id).collect();
        for (item, images) in items.iter_mut().zip(self.images_of(&ids).await?) {
            item.images = images;
        }
        Ok(())
    }

    /// Links to the images of items, in the order of the items.
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

    /// What stands in the tiers.
    pub(crate) fn tiers(&self) -> Vec<(Tier, Described)> {
        let bus = match &self.bus {
            Some(bus) => Described {
                product: bus.describe(),
                durability: "messages are not kept: states are announced again".to_owned(),
            },
            None => Described {
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
                Described { product: "in process, bounded".to_owned(), durability: "none needed".to_owned() },
            ),
        ]
    }

    /// Why the node is not ready, if it is not. A bus that is down is no reason: all nodes would be unready at once, while
    /// each can still do most of its work; `GET /cluster` tells of it.
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

/// Why the owner of an auction was not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The auction is between two owners.
    NoOwner,
    /// A queue is full.
    Busy,
    /// The owner is another node, and there is no way to it.
    CutOff,
    /// The node ends.
    Stopping,
}

impl std::convert::From<SendError> for Refused {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Full | SendError::TooLong { .. } => Refused::Busy,
            SendError::Down | SendError::Name(_) => Refused::CutOff,
        }
    }
}
