//! Stores what the auctioneer decided, then publishes it: first the events, then the relational store, then the bus.
//!
//! Whatever has gathered meanwhile goes into one transaction per file. Because there is one publisher, followers see
//! the changes of an auction in the order they were decided, and only what is stored.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::app::App;
use crate::live::EventKind;
use crate::store::{Change, StoreError, write_event, write_relational};

/// Changes in one transaction at most.
const BATCH: usize = 256;

/// What keeps the application from working, once something does.
#[derive(Default)]
pub(crate) struct Trouble(Mutex<Option<String>>);

impl Trouble {
    /// The first trouble stays.
    pub(crate) fn set(&self, text: String) {
        self.0.lock().get_or_insert(text);
    }

    /// What it is, if there is any.
    pub(crate) fn get(&self) -> Option<String> {
        self.0.lock().clone()
    }

    /// Whether there is any.
    pub(crate) fn is_set(&self) -> bool {
        self.0.lock().is_some()
    }
}

/// Works until the auctioneer has ended and everything is stored.
///
/// After a failed write nothing more is stored or published: what the auctioneer knows and what the store holds
/// would drift apart. Pollers are let go and the health check says what happened.
pub(crate) async fn run(app: Arc<App>, mut changes: mpsc::Receiver<Change>) {
    let mut batch = Vec::with_capacity(BATCH);
    while changes.recv_many(&mut batch, BATCH).await > 0 {
        if app.trouble.is_set() {
            batch.clear();
            continue;
        }
        let gate = app.commit_gate.lock().await;
        let stored = store(&app, &batch).await;
        drop(gate);
        match stored {
            Ok(()) => batch.drain(..).for_each(|change| publish(&app, &change)),
            Err(error) => {
                app.trouble.set(with_cause(&error));
                app.bus.stop();
                batch.clear();
            }
        }
    }
}

async fn store(app: &App, batch: &[Change]) -> Result<(), StoreError> {
    let all: Arc<[Change]> = batch.into();
    if all.iter().any(|c| matches!(c.event.kind, EventKind::NewHighBid | EventKind::Sold)) {
        let events = Arc::clone(&all);
        app.store
            .events
            .write_surely(move |conn| events.iter().try_for_each(|c| write_event(conn, c)))
            .await?;
    }
    app.store
        .relational
        .write_surely(move |conn| all.iter().try_for_each(|c| write_relational(conn, c)))
        .await
}

fn publish(app: &App, change: &Change) {
    if !matches!(change.event.kind, EventKind::NewHighBid | EventKind::LastCall) {
        app.items.invalidate(&change.event.bidding.item);
        app.bus.items_changed(change.auction);
    }
    app.bus.publish(change.auction, change.event.bidding);
}

/// An error with everything that caused it, in one line.
pub(crate) fn with_cause(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
