//! The application: stores, caches, bus and auctioneer put together, without any HTTP.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use barograph_auction_api::{AuctionId, ImageId, ItemId, UserId};
use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::auctioneer::{Auctioneer, CHANGES, Command, QUEUE};
use crate::bus::Bus;
use crate::cache::Shelf;
use crate::check::Initial;
use crate::clock::Clock;
use crate::images::Images;
use crate::publisher::{self, Trouble, with_cause};
use crate::store::{self, Store, StoreError, Window, WriterThreads};

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
/// How often the application looks whether a future auction has begun, at most.
const BEGIN_CHECK: std::time::Duration = std::time::Duration::from_secs(60);

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
    /// A store could not be opened or read.
    #[error("cannot open the stores")]
    Store(#[from] StoreError),
    /// The image folder could not be opened.
    #[error("cannot open the image store")]
    Images(#[from] object_store::Error),
}

/// Where the data are and how much may be kept in memory.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) data_dir: PathBuf,
    pub(crate) state_dir: PathBuf,
    pub(crate) cache_bytes: u64,
    pub(crate) readers: usize,
}

/// An item as it is served, and which images are its own.
#[derive(Clone)]
pub(crate) struct ItemEntry {
    pub(crate) body: Bytes,
    pub(crate) images: Arc<[ImageId]>,
}

/// Everything a request may need.
pub(crate) struct App {
    pub(crate) store: Arc<Store>,
    pub(crate) bus: Arc<Bus>,
    pub(crate) images: Images,
    pub(crate) clock: Clock,
    pub(crate) desk: mpsc::Sender<Command>,
    pub(crate) trouble: Trouble,
    /// Held while both stores take a batch of changes, and while the data checks take their view of both.
    pub(crate) commit_gate: tokio::sync::Mutex<()>,
    pub(crate) initial: Initial,
    pub(crate) state_dir: PathBuf,
    /// Who holds a token. There is no cache of users besides: a read by id costs as little as a lookup and a copy.
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
    herald: JoinHandle<()>,
}

impl App {
    /// Resets the state, opens the stores and starts the auctioneer. Call within a runtime.
    pub(crate) async fn start(places: &Places) -> Result<(Arc<App>, Background, WriterThreads), StartError> {
        let Places { data_dir, state_dir, cache_bytes, readers } = places;
        if !data_dir.join("marker.json").is_file() {
            return Err(StartError::NotFilled { path: data_dir.clone() });
        }
        store::reset(data_dir, state_dir).map_err(|source| StartError::Copy {
            from: data_dir.clone(),
            to: state_dir.clone(),
            source,
        })?;
        let (store, threads) = Store::open(state_dir, *readers)?;
        let initial = Initial::read(&store)?;
        let store = Arc::new(store);
        let (desk, commands) = mpsc::channel(QUEUE);
        let (changes, to_publish) = mpsc::channel(CHANGES);
        let app = Arc::new(App {
            images: Images::open(&data_dir.join("images"), *cache_bytes)?,
            bus: Arc::new(Bus::default()),
            clock: Clock::start(),
            desk,
            trouble: Trouble::default(),
            commit_gate: tokio::sync::Mutex::new(()),
            initial,
            state_dir: state_dir.clone(),
            sessions: Shelf::new(SESSIONS),
            auctions: Shelf::new(AUCTIONS),
            items: Shelf::new(ITEMS),
            item_pages: Shelf::new(ITEM_PAGES),
            live_pages: Shelf::new(LIVE_PAGES),
            store: Arc::clone(&store),
        });
        let publisher = tokio::spawn(publisher::run(Arc::clone(&app), to_publish));
        let mut auctioneer = Auctioneer::new(Arc::clone(&store), Arc::clone(&app.bus), app.clock, changes);
        for start in store.running_auctions()? {
            auctioneer.track(start).await;
        }
        drop(store);
        let auctioneer = tokio::spawn(auctioneer.run(commands));
        let herald = tokio::spawn(begin_auctions(Arc::clone(&app)));
        Ok((app, Background { auctioneer, publisher, herald }, threads))
    }

    /// Ends the background: what was decided is stored when this returns.
    pub(crate) async fn stop(&self, background: Background) {
        self.bus.stop();
        background.herald.abort();
        // The auctioneer only fails to hear this if it has ended already.
        let _ = self.desk.send(Command::Stop).await;
        let _ = background.auctioneer.await;
        let _ = background.publisher.await;
        let _ = background.herald.await;
    }

    /// The files of the stores.
    pub(crate) fn files(state_dir: &Path) -> [PathBuf; 2] {
        store::files(state_dir)
    }
}

/// Begins future auctions when their time comes.
async fn begin_auctions(app: Arc<App>) {
    loop {
        let next = match app.store.next_auction_start() {
            Ok(Some(at)) => at,
            Ok(None) => return,
            Err(error) => return app.trouble.set(with_cause(&error)),
        };
        tokio::time::sleep_until(app.clock.instant(next).min(app.clock.after(BEGIN_CHECK))).await;
        if next > app.clock.now() {
            continue;
        }
        let begun = match app.store.begin_due_auctions(app.clock.now()).await {
            Ok(begun) => begun,
            Err(error) => return app.trouble.set(with_cause(&error)),
        };
        for start in begun {
            app.auctions.invalidate(&start.auction.id);
            if app.desk.send(Command::Track(Box::new(start))).await.is_err() {
                return;
            }
        }
        app.live_pages.clear();
    }
}
