//! Distribution of related rows (the bids of a user, ...) over documents, and their writers.
//!
//! Loaded rows and rows of the run are in different collections, so that the data checks read only the rows
//! of the run. A document is named `KEY.PART`:
//!
//! - Loaded parts, from 0: the loader fills documents in rounds, and a key has at most one document of each
//!   round. They never change.
//! - Written parts: on a server that changes a document atomically there is one, 0, written by all stores.
//!   FerretDB 1.x reads, changes and writes a document without a transaction, so that one of two concurrent
//!   changes is lost. There every opened store claims the next part for itself, and changes of one document
//!   are made one after another. Part 0 is the loader's there.
//!
//! The contents of a key are the union of its parts, which never contradict each other: entries do not change
//! once written, and later events (a settlement, a departure) are separate entries.

use std::sync::atomic::{AtomicU32, Ordering};

use barograph_auction_store::StoreError;
use mongodb::bson::doc;
use tokio::sync::{Mutex, MutexGuard};

use super::link::{Link, Lookup, read, write};
use super::{META, WRITERS};
use crate::failure::refused;

/// Most stores opened on FerretDB between two loads. Every read looks into the parts of all of them.
const MAX_WRITERS: u32 = 64;

/// Writers of a document.
#[derive(Debug)]
pub(super) enum Writing {
    /// All stores; the server keeps their changes apart.
    Shared,
    /// Only this store, one change at a time.
    Alone {
        own: u32,
        /// The last part that is known to be claimed.
        last: AtomicU32,
        /// One for all documents: FerretDB on SQLite writes one at a time anyway, and makes the waiting ones
        /// retry.
        gate: Mutex<()>,
    },
}

/// The parts of keys.
#[derive(Debug)]
pub(super) struct Parts {
    /// Rounds of the loader.
    loaded: u32,
    writing: Writing,
}

impl Parts {
    /// Claims a part to write if the server requires it.
    pub(super) async fn claim(link: &Link, loaded: u32, lookup: Lookup) -> Result<Self, StoreError> {
        let writing = match lookup {
            Lookup::Together => Writing::Shared,
            Lookup::OneByOne => {
                let own = claim_number(link).await?;
                Writing::Alone { own, last: AtomicU32::new(own), gate: Mutex::new(()) }
            }
        };
        Ok(Self { loaded, writing })
    }

    /// The document of a key written by this store.
    pub(super) fn own(&self, key: i64) -> String {
        match &self.writing {
            Writing::Shared => name(key, 0),
            Writing::Alone { own, .. } => name(key, *own),
        }
    }

    /// The loaded documents of a key.
    pub(super) fn loaded(&self, key: i64) -> impl Iterator<Item = String> {
        (0..self.loaded).map(move |part| name(key, part))
    }

    /// Number of possibly written parts of a key, as far as known.
    pub(super) fn written(&self) -> u32 {
        match &self.writing {
            Writing::Shared => 1,
            Writing::Alone { last, .. } => last.load(Ordering::Acquire) + 1,
        }
    }

    /// Finds stores opened since.
    pub(super) async fn learn(&self, link: &Link) -> Result<(), StoreError> {
        let Writing::Alone { last, .. } = &self.writing else { return Ok(()) };
        let mut known = last.load(Ordering::Acquire);
        while known < MAX_WRITERS && is_claimed(link, known + 1).await? {
            known += 1;
            last.fetch_max(known, Ordering::AcqRel);
        }
        Ok(())
    }

    /// Waits until this store makes no other change.
    pub(super) async fn turn(&self) -> Result<Option<MutexGuard<'_, ()>>, StoreError> {
        match &self.writing {
            Writing::Shared => Ok(None),
            // Nothing is changed during this wait, hence the reading deed.
            Writing::Alone { gate, .. } => {
                read("wait to write").within(async { Ok(Some(gate.lock().await)) }).await
            }
        }
    }
}

/// The name of a document.
pub(super) fn name(key: i64, part: u32) -> String {
    format!("{key}.{part}")
}

/// The key in the name of a document.
pub(super) fn key(name: &str) -> Option<i64> {
    name.split_once('.')?.0.parse().ok()
}

async fn is_claimed(link: &Link, number: u32) -> Result<bool, StoreError> {
    let found =
        link.find::<mongodb::bson::Document>(read("see who writes"), WRITERS, &number.to_string()).await?;
    Ok(found.is_some())
}

/// Claims the first free number; the insert decides between two stores that want the same.
async fn claim_number(link: &Link) -> Result<u32, StoreError> {
    for number in 1..=MAX_WRITERS {
        if !is_claimed(link, number).await?
            && link.insert(write("claim a part"), WRITERS, &doc! { "_id": number.to_string() }).await?
        {
            return Ok(number);
        }
    }
    let why = format!(
        "it was opened {MAX_WRITERS} times since `{META}` was written, each with documents of its own; load it again"
    );
    Err(refused(super::link::STORE, "be opened", why))
}
