//! Search for items: words with their results, and filters.

use barograph_auction_api::ItemState;

use super::in_pages;
use super::items::unlisted;
use crate::{ItemFilter, Relational};

async fn found<S: Relational + ?Sized>(store: &S, filter: &ItemFilter) -> Vec<i64> {
    in_pages(3, async |w| store.items(filter, w).await).await.iter().map(|i| i.id.0).collect()
}

/// Search texts, and the items of the data set that match them.
const SEARCHES: &[(&str, &[i64])] = &[
    ("lamp", &[1, 2, 9, 15]),
    ("LAMP", &[1, 2, 9, 15]),
    ("brass", &[1, 6]),
    ("brass lamp", &[1]),
    ("lamp brass", &[1]),
    ("oak", &[2, 3, 13]),
    ("oak chair", &[2, 3]),
    ("oak cha", &[2, 3]),
    ("cha oak", &[]),
    ("chair", &[2, 3, 8, 16]),
    ("radio", &[4, 5, 14]),
    ("radio wal", &[5]),
    ("  radio,  wal", &[5]),
    ("radi cabinet", &[]),
    ("state the art", &[4]),
    ("the-art.state", &[4]),
    ("the", &[2, 3, 4]),
    ("about size", &[2]),
    ("with green", &[1]),
    ("lamp not lamp", &[9]),
    ("lamp NOT chair", &[]),
    ("brass AND clock", &[]),
    ("lamp*", &[1, 2, 9, 15]),
    ("*lamp", &[1, 2, 9, 15]),
    ("\"brass lamp\"", &[1]),
    ("brass +clock", &[6]),
    ("brass -clock", &[6]),
    ("short_description:lamp", &[]),
    ("NEAR(brass clock)", &[]),
    ("lamp'; DROP TABLE item; --", &[]),
    ("lamp\\", &[1, 2, 9, 15]),
    ("1930", &[4]),
    ("193", &[4]),
    ("wool", &[18]),
    ("ool", &[]),
    ("nowhere", &[]),
    ("dampf", &[]),
];

pub(super) async fn words<S: Relational + ?Sized>(store: &S) {
    for (text, expected) in SEARCHES {
        let filter = ItemFilter { text: Some((*text).to_owned()), ..ItemFilter::default() };
        assert_eq!(found(store, &filter).await, *expected, "items with {text:?}");
    }
    for text in ["", "  ", "!!", "%"] {
        let filter = ItemFilter { text: Some(text.to_owned()), ..ItemFilter::default() };
        assert_eq!(found(store, &filter).await.len(), 18, "{text:?} has no words, so it filters nothing");
    }
    store.add_item(unlisted(1_000, "Brass lamp, again")).await.unwrap();
    let filter = ItemFilter { text: Some("brass lamp".to_owned()), ..ItemFilter::default() };
    assert_eq!(found(store, &filter).await, [1, 1_000], "what is added is found at once");
}

pub(super) async fn filters<S: Relational + ?Sized>(store: &S) {
    let any = ItemFilter::default();
    let state = |state| ItemFilter { state: Some(state), ..ItemFilter::default() };
    assert_eq!(found(store, &state(ItemState::Active)).await, [1]);
    assert_eq!(found(store, &state(ItemState::Sold)).await, [8, 12, 13, 14]);
    assert_eq!(found(store, &state(ItemState::NotListed)).await, [15, 16, 17, 18]);
    assert_eq!(found(store, &state(ItemState::InAuction)).await, [2, 3, 4, 5, 6, 7, 9, 10, 11]);
    let worn = ItemFilter { condition: Some(0), ..any.clone() };
    assert_eq!(found(store, &worn).await, [7, 14]);
    let priced = |from, to| ItemFilter { from_cents: from, to_cents: to, ..ItemFilter::default() };
    assert_eq!(found(store, &priced(Some(1_600), None)).await, [16, 17, 18]);
    assert_eq!(found(store, &priced(None, Some(200))).await, [1, 2]);
    assert_eq!(found(store, &priced(Some(200), Some(300))).await, [2, 3]);
    assert_eq!(found(store, &priced(Some(201), Some(299))).await, [0; 0]);
    let together = ItemFilter {
        text: Some("lamp".to_owned()),
        state: Some(ItemState::InAuction),
        condition: Some(2),
        from_cents: Some(100),
        to_cents: Some(900),
    };
    assert_eq!(found(store, &together).await, [2, 9]);
    assert_eq!(found(store, &ItemFilter { condition: Some(4), ..together }).await, [0; 0]);
}
