//! Contents of the stores at the end of a run, as text that is equal for all stores.

use std::fmt::{Display, Write};

use barograph_auction_api::UserId;

use super::ALL;
use super::data::USERS;
use crate::{AuctionFilter, Events, ItemFilter, Relational, Span};

/// All contents of two stores after a seeded run, a line per entry. Fences are left out: the size of a raise
/// is the store's choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest(String);

impl Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Digest {
    /// Reads everything from both stores; `added` are the users added by the run.
    pub(super) async fn take<S: Relational + ?Sized>(
        store: &S,
        events: &dyn Events,
        added: &[i64],
    ) -> Digest {
        let mut text = String::new();
        let users: Vec<UserId> = (1..=USERS).chain(added.iter().copied()).map(UserId).collect();
        auctions(store, &mut text).await;
        for user in users {
            let account = store.user(user).await.unwrap();
            line(&mut text, "user", &account);
            let bought = store.purchases(user, Span { from: 0, to: i64::MAX }, ALL).await.unwrap();
            let sold = store.seller_items(user, ALL).await.unwrap();
            lines(&mut text, "purchase", bought.items);
            lines(&mut text, "seller's item", sold.items.iter().map(|i| i.id));
            lines(&mut text, "bid", events.user_bids(user, ALL).await.unwrap().items);
            lines(&mut text, "attendance", events.user_attendance(user, ALL).await.unwrap().items);
        }
        let bids = events.run_bids().await.unwrap();
        lines(&mut text, "bid of the run", bids.into_iter().map(|b| crate::BidRow { fence: 0, ..b }));
        lines(&mut text, "double attendance", events.double_attendance().await.unwrap());
        Digest(text)
    }
}

async fn auctions<S: Relational + ?Sized>(store: &S, text: &mut String) {
    let all = store.auctions(&AuctionFilter::default(), ALL).await.unwrap();
    lines(text, "auction", all.items);
    lines(text, "item", store.items(&ItemFilter::default(), ALL).await.unwrap().items);
    let mut running = store.running().await.unwrap();
    for state in &mut running {
        if let Some(row) = &mut state.latest {
            row.fence = 0;
        }
    }
    lines(text, "running", running);
    line(text, "next start", &store.next_start().await.unwrap());
    let mut audit = store.audit().await.unwrap();
    for offer in &mut audit.offers {
        offer.row.fence = 0;
    }
    lines(text, "offer", std::mem::take(&mut audit.offers));
    line(text, "audit", &audit);
}

fn lines<T: std::fmt::Debug>(text: &mut String, what: &str, all: impl IntoIterator<Item = T>) {
    for one in all {
        line(text, what, &one);
    }
}

fn line(text: &mut String, what: &str, value: &impl std::fmt::Debug) {
    // Writing to a String does not fail.
    let _ = writeln!(text, "{what}: {value:?}");
}
