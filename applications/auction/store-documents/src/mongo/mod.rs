//! The event store over the MongoDB protocol.
//!
//! Documents are partitions, read only by their `_id`:
//!
//! | collections | key | holds |
//! |---|---|---|
//! | `loaded_bids`, `run_bids` | bidder | `b`: bids by id; `s`: states of settled bids by id |
//! | `loaded_attendance`, `run_attendance` | user | `a`: attendances by id; `l`: those that were left, by id |
//! | `loaded_images`, `run_images` | item | `i`: images by id |
//! | `unsettled` | auction | `u`: bidders by bid, of bids that may be unsettled |
//! | `attending` | user and auction | the open attendance; its insert decides between two joins |
//! | `writers`, `meta` | | see [`parts`]; the loaded data |
//!
//! Bids are entries of their bidder's document because one query then answers a history, and because FerretDB 1.x asks
//! its database for a string `_id` only. (On SQLite, version 1.24 spells the index of `_id` and its queries differently,
//! and so reads the whole collection every time unless it was built with the two spelled alike.) The price is the limit
//! of a document, 16 MB: about 90,000 bids or 100,000 attendances of one user in one run, where a user of the benchmark
//! makes a few hundred.
//!
//! No transactions are used. A write to several documents is ordered so that the remains of an unanswered
//! write are harmless, and a repetition completes them.

mod attendance;
mod bids;
mod images;
mod link;
mod load;
mod parts;

use std::sync::Mutex;

use barograph_auction_api::{AttendanceRecord, AuctionId, BidRecord, ItemId, Page, UserId};
use barograph_auction_store::{
    AttendanceRow, BidRow, Events, ImageRow, PageWindow, SettledBid, StoreDescription, StoreError,
    StoreFuture,
};
use mongodb::bson::doc;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::failure::{StoreAction, refused};
use bids::UnsettledBids;
use link::{Link, Lookup, LookupKeys, STORE, read};
use parts::Parts;

pub(crate) use load::Load;

/// Collection of loaded bids.
const LOADED_BIDS: &str = "loaded_bids";
/// Collection of the run's bids.
const RUN_BIDS: &str = "run_bids";
/// Collection of loaded attendances.
const LOADED_ATTENDANCE: &str = "loaded_attendance";
/// Collection of the run's attendances.
const RUN_ATTENDANCE: &str = "run_attendance";
/// Collection of loaded images.
const LOADED_IMAGES: &str = "loaded_images";
/// Collection of the run's images.
const RUN_IMAGES: &str = "run_images";
/// Collection of lists of bids that are not settled, by auction.
const UNSETTLED: &str = "unsettled";
/// Collection of present attendances, one per user and auction.
const ATTENDING: &str = "attending";
/// Collection of the numbers claimed by opened stores.
const WRITERS: &str = "writers";
/// Collection of the description of the data set.
const META: &str = "meta";

/// All collections.
const COLLECTIONS: [&str; 10] = [
    META,
    WRITERS,
    LOADED_BIDS,
    RUN_BIDS,
    LOADED_ATTENDANCE,
    RUN_ATTENDANCE,
    LOADED_IMAGES,
    RUN_IMAGES,
    UNSETTLED,
    ATTENDING,
];

/// The id of the only document of `meta`.
const LOADED: &str = "loaded";

/// Description of the loaded data.
#[derive(Debug, Serialize, Deserialize)]
struct Meta {
    #[serde(rename = "_id")]
    id: String,
    stamp: String,
    /// Rounds of the loader, see [`parts`].
    rounds: i64,
}

/// An open event store.
pub(crate) struct Mongo {
    link: Link,
    lookup: Lookup,
    parts: Parts,
    unsettled: Mutex<UnsettledBids>,
    described: StoreDescription,
}

/// Two collections of the same kind of rows: loaded and written.
#[derive(Clone, Copy)]
struct Pair {
    loaded: &'static str,
    run: &'static str,
}

impl Mongo {
    pub(crate) async fn open(url: &str, connections: usize) -> Result<Self, StoreError> {
        let mut link = Link::new(url, connections).await?;
        let (described, lookup) = describe(&link).await?;
        if lookup == Lookup::OneByOne {
            link.change_one_by_one();
        }
        let meta = meta(&link).await?;
        let rounds =
            u32::try_from(meta.rounds).map_err(|_| refused(STORE, "be opened", "its `meta` is damaged"))?;
        let parts = Parts::claim(&link, rounds, lookup).await?;
        Ok(Self { link, lookup, parts, unsettled: Mutex::default(), described })
    }

    /// All documents of some keys, loaded ones and written ones.
    async fn gather<T>(&self, deed: StoreAction, pair: Pair, keys: &[i64]) -> Result<Vec<T>, StoreError>
    where
        T: DeserializeOwned + Send + Sync,
    {
        let ids: Vec<String> = keys.iter().flat_map(|key| self.parts.loaded(*key)).collect();
        let loaded =
            self.link.find_all(deed, LookupKeys { collection: pair.loaded, ids: &ids, lookup: self.lookup });
        let written = self.gather_written(deed, pair.run, keys);
        let (mut all, written): (Vec<T>, Vec<T>) = futures::future::try_join(loaded, written).await?;
        all.extend(written);
        Ok(all)
    }

    /// All documents of some keys in a collection written in runs.
    async fn gather_written<T>(
        &self,
        deed: StoreAction,
        run: &'static str,
        keys: &[i64],
    ) -> Result<Vec<T>, StoreError>
    where
        T: DeserializeOwned + Send + Sync,
    {
        let names = |parts: std::ops::Range<u32>| -> Vec<String> {
            keys.iter().flat_map(|key| parts.clone().map(|part| parts::name(*key, part))).collect()
        };
        let known = self.parts.written();
        let ids = names(0..known);
        let places = LookupKeys { collection: run, ids: &ids, lookup: self.lookup };
        let (mut all, ()) =
            futures::future::try_join(self.link.find_all(deed, places), self.parts.learn(&self.link)).await?;
        let more = names(known..self.parts.written());
        if !more.is_empty() {
            all.extend(self.link.find_all(deed, LookupKeys { ids: &more, ..places }).await?);
        }
        Ok(all)
    }
}

async fn meta(link: &Link) -> Result<Meta, StoreError> {
    let why = "no data set was loaded into it, or the loading was not finished";
    link.find(read("see what was loaded"), META, LOADED)
        .await?
        .ok_or_else(|| refused(STORE, "be opened", why))
}

pub(crate) async fn stamp(url: &str) -> Result<String, StoreError> {
    Ok(meta(&Link::new(url, 1).await?).await?.stamp)
}

/// Description of the server, and its way of looking up documents.
async fn describe(link: &Link) -> Result<(StoreDescription, Lookup), StoreError> {
    let build = link.run_admin(read("ask for its version"), doc! { "buildInfo": 1 }).await?;
    let version = build.get_str("version").unwrap_or("of unknown version");
    let Ok(ferret) = build.get_str("ferretdbVersion") else {
        let hello = link.run_admin(read("ask who it is"), doc! { "hello": 1 }).await?;
        let copies = match hello.get_str("setName") {
            Ok(set) => format!("the majority of replica set {set} has it in its journals"),
            Err(_) => "the only server has it in its journal".to_owned(),
        };
        let durability =
            format!("asked for: write concern majority with journal; a write is answered when {copies}");
        return Ok((
            StoreDescription { product: format!("MongoDB {version}"), durability },
            Lookup::Together,
        ));
    };
    let product = format!("FerretDB {} (MongoDB {version} by its own word)", ferret.trim_start_matches('v'));
    // From 2 on FerretDB is PostgreSQL with an extension that changes documents atomically.
    if ferret.trim_start_matches('v').starts_with("1.") {
        let durability = "asked for: write concern majority with journal, which FerretDB 1.x does not look at; a write is \
                          answered when its backend has committed it (SQLite: in its write-ahead log), and survives the \
                          process; whether it survives the machine is the backend's setting";
        return Ok((StoreDescription { product, durability: durability.to_owned() }, Lookup::OneByOne));
    }
    let durability = "asked for: write concern majority with journal; PostgreSQL below decides what survives";
    Ok((StoreDescription { product, durability: durability.to_owned() }, Lookup::Together))
}

impl Events for Mongo {
    fn describe(&self) -> StoreDescription {
        self.described.clone()
    }

    fn ping(&self) -> StoreFuture<'_, ()> {
        Box::pin(async {
            self.link.run(read("answer a ping"), doc! { "ping": 1 }).await?;
            Ok(())
        })
    }

    fn write<'a>(&'a self, proposed: &'a [BidRow], settled: &'a [SettledBid]) -> StoreFuture<'a, ()> {
        Box::pin(self.write_bids(proposed, settled))
    }

    fn unsettled(&self, auction: AuctionId) -> StoreFuture<'_, Vec<BidRow>> {
        Box::pin(self.unsettled_bids(auction.0))
    }

    fn user_bids(&self, user: UserId, window: PageWindow) -> StoreFuture<'_, Page<BidRecord>> {
        Box::pin(self.bid_history(user, window))
    }

    fn join(&self, attendance: AttendanceRow) -> StoreFuture<'_, AttendanceRecord> {
        Box::pin(self.join_auction(attendance))
    }

    fn leave(&self, user: UserId, auction: Option<AuctionId>) -> StoreFuture<'_, usize> {
        Box::pin(self.leave_auctions(user.0, auction))
    }

    fn user_attendance(&self, user: UserId, window: PageWindow) -> StoreFuture<'_, Page<AttendanceRecord>> {
        Box::pin(self.attendance_history(user.0, window))
    }

    fn images<'a>(&'a self, items: &'a [ItemId]) -> StoreFuture<'a, Vec<ImageRow>> {
        Box::pin(self.images_of(items))
    }

    fn add_image(&self, image: ImageRow) -> StoreFuture<'_, ()> {
        Box::pin(self.keep_image(image))
    }

    fn run_bids(&self) -> StoreFuture<'_, Vec<BidRow>> {
        Box::pin(self.bids_of_run())
    }

    fn double_attendance(&self) -> StoreFuture<'_, Vec<(UserId, AuctionId)>> {
        Box::pin(self.doubles())
    }
}
