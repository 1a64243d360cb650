//! How what belongs together (the bids of a user, ...) is spread over documents, and who writes which.
//!
//! Loaded rows and rows of the run are in different collections, so that the data checks read what the run wrote and
//! nothing else. A document is named `KEY.PART`:
//!
//! - Loaded parts, from 0: the loader fills documents in rounds, and a key has at most one document of each round. They
//!   never change.
//! - Written parts: on a server that changes a document atomically there is one, 0, and everybody writes it. FerretDB 1.x
//!   reads, changes and writes a document without a transaction, so that of two changes at the same time one is lost.
//!   There every opened store claims the next part for itself, and changes of one document are made one after another.
//!   Part 0 is the loader's there.
//!
//! What a key holds is the union of its parts, which never contradict each other: entries do not change once written,
//! and what becomes of them (a settlement, a departure) is an entry beside them.

use std::sync::atomic::{AtomicU32, Ordering};

use barograph_auction_store::StoreError;
use mongodb::bson::doc;
use tokio::sync::{Mutex, MutexGuard};

use super::link::{Link, Lookup, read, write};
use super::{META, WRITERS};
use crate::failure::refused;

/// The most stores that may be opened on FerretDB between two loads. Every read looks into the parts of all of them.
const MAX_WRITERS: u32 = 64;

/// Who changes a document.
#[derive(Debug)]
pub(super) enum Writing {
    /// Everybody, and the server keeps changes apart.
    Shared,
    /// Only this store, one change at a time.
    Alone {
        own: u32,
        /// The last part that is known to be somebody's.
        last: AtomicU32,
        /// One for all documents: FerretDB on SQLite writes one at a time anyway, and those it keeps waiting it lets
        /// try again and again.
        gate: Mutex<()>,
    },
}

/// Where the parts of keys are.
#[derive(Debug)]
pub(super) struct Parts {
    /// Rounds of the loader.
    loaded: u32,
    writing: Writing,
}

impl Parts {
    /// Claims a part to write where that is needed.
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

    /// The document of a key that this store writes.
    pub(super) fn own(&self, key: i64) -> String {
        match &self.writing {
            Writing::Shared => name(key, 0),
            Writing::Alone { own, .. } => name(key, *own),
        }
    }

    /// The documents of a key that were loaded.
    pub(super) fn loaded(&self, key: i64) -> impl Iterator<Item = String> {
        (0..self.loaded).map(move |part| name(key, part))
    }

    /// How many parts of a key may have been written, as far as is known.
    pub(super) fn written(&self) -> u32 {
        match &self.writing {
            Writing::Shared => 1,
            Writing::Alone { last, .. } => last.load(Ordering::Acquire) + 1,
        }
    }

    /// Learns which stores were opened since.
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
            // Nothing was changed while this waits, hence the deed that reads.
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

/// Takes the first number that nobody has; the insert decides between two who want the same.
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
