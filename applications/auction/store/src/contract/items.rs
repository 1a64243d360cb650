//! Items: lists in their orders, changes by their sellers, purchases.

use std::borrow::Cow;

use barograph_auction_api::{AuctionId, Condition, Item, ItemId, ItemState, UserId};

use super::data::{FREE_ID, ONGOING, OVER};
use super::{ALL, in_pages, relational_data};
use crate::{CLOCK_START_MS, ItemFilter, ItemRow, ItemUpdateOutcome, PageWindow, Relational, Span, codes};

/// The item in its wire form.
pub(super) fn as_shown(row: &ItemRow) -> Item {
    Item {
        id: ItemId(row.id),
        auction_id: row.auction_id.map(AuctionId),
        auctioneer_id: UserId(row.auctioneer_id),
        state: match row.state {
            codes::item::NOT_LISTED => ItemState::NotListed,
            codes::item::IN_AUCTION => ItemState::InAuction,
            codes::item::ACTIVE => ItemState::Active,
            _ => ItemState::Sold,
        },
        condition: Condition::ALL[row.condition as usize],
        manufacturer: row.manufacturer.to_string(),
        short_description: row.short_description.clone(),
        long_description: row.long_description.clone(),
        origin_ms: row.origin_ms,
        starting_bid_cents: row.starting_bid_cents,
        images: Vec::new(),
    }
}

/// An item of user 1 that no auction lists.
pub(super) fn unlisted(id: i64, short_description: &str) -> ItemRow {
    ItemRow {
        id,
        auction_id: None,
        auctioneer_id: 1,
        condition: 3,
        manufacturer: Cow::Borrowed("Nobody"),
        short_description: short_description.to_owned(),
        long_description: "long\nand 'quoted'".to_owned(),
        origin_ms: -1,
        starting_bid_cents: 0,
        state: codes::item::NOT_LISTED,
    }
}

fn ids(items: &[Item]) -> Vec<i64> {
    items.iter().map(|i| i.id.0).collect()
}

pub(super) async fn lists<S: Relational + ?Sized>(store: &S) {
    let rows: Vec<ItemRow> = relational_data().into_iter().flat_map(|b| b.items).collect();
    for row in &rows {
        assert_eq!(store.item(ItemId(row.id)).await.unwrap(), Some(as_shown(row)));
    }
    assert_eq!(store.item(ItemId(99)).await.unwrap(), None);
    let of_auction = in_pages(3, async |w| store.auction_items(AuctionId(ONGOING), w).await).await;
    assert_eq!(of_auction, rows[..4].iter().map(as_shown).collect::<Vec<_>>(), "by id");
    let none = store.auction_items(AuctionId(99), ALL).await.unwrap();
    assert_eq!((none.items.len(), none.total_records), (0, 0));
    let of_seller = in_pages(4, async |w| store.seller_items(UserId(2), w).await).await;
    assert_eq!(ids(&of_seller), [17, 15, 13, 11, 9, 7, 5, 3, 1], "latest first");
    let any = ItemFilter::default();
    let all = in_pages(5, async |w| store.items(&any, w).await).await;
    assert_eq!(ids(&all), (1..=18).collect::<Vec<_>>());
    let new = unlisted(FREE_ID, "brand new");
    store.add_item(new.clone()).await.unwrap();
    assert_eq!(store.item(ItemId(FREE_ID)).await.unwrap(), Some(as_shown(&new)));
    let first = store.seller_items(UserId(1), PageWindow { page: 0, size: 1 }).await.unwrap();
    assert_eq!((ids(&first.items), first.total_records), (vec![FREE_ID], 10));
}

pub(super) async fn changes<S: Relational + ?Sized>(store: &S) {
    let mut item = unlisted(FREE_ID, "a zither");
    store.add_item(item.clone()).await.unwrap();
    item.condition = 6;
    item.manufacturer = Cow::Borrowed("Somebody");
    item.short_description = "a dulcimer".to_owned();
    item.long_description = String::new();
    item.origin_ms = 17;
    item.starting_bid_cents = 12_345;
    let ItemUpdateOutcome::Done(done) = store.update_item(item.clone()).await.unwrap() else {
        panic!("not done")
    };
    assert_eq!(*done, as_shown(&item));
    assert_eq!(store.item(ItemId(FREE_ID)).await.unwrap().as_ref(), Some(&*done));
    let text = |t: &str| ItemFilter { text: Some(t.to_owned()), ..ItemFilter::default() };
    assert_eq!(
        store.items(&text("zither"), ALL).await.unwrap().total_records,
        0,
        "the old text finds nothing"
    );
    assert_eq!(store.items(&text("dulcimer"), ALL).await.unwrap().total_records, 1);
    let elsewhere = ItemRow { auction_id: Some(1), state: codes::item::SOLD, ..item.clone() };
    assert_eq!(
        store.update_item(elsewhere).await.unwrap(),
        ItemUpdateOutcome::Done(done.clone()),
        "state stays"
    );
    let other = ItemRow { auctioneer_id: 2, starting_bid_cents: 1, ..item.clone() };
    assert_eq!(store.update_item(other).await.unwrap(), ItemUpdateOutcome::NotOwner);
    let missing = ItemRow { id: FREE_ID + 1, ..item.clone() };
    assert_eq!(store.update_item(missing).await.unwrap(), ItemUpdateOutcome::NoSuchItem);
    assert_eq!(store.item(ItemId(FREE_ID)).await.unwrap(), Some(*done), "what was refused changed nothing");
    let rows: Vec<ItemRow> = relational_data().into_iter().flat_map(|b| b.items).collect();
    for row in [&rows[0], &rows[1], &rows[9], &rows[11]] {
        let changed = ItemRow { short_description: "changed".to_owned(), ..row.clone() };
        assert_eq!(store.update_item(changed).await.unwrap(), ItemUpdateOutcome::Listed, "item {}", row.id);
        assert_eq!(store.item(ItemId(row.id)).await.unwrap(), Some(as_shown(row)));
    }
}

pub(super) async fn purchases<S: Relational + ?Sized>(store: &S) {
    let ever = Span { from: 0, to: i64::MAX };
    let all = in_pages(1, async |w| store.purchases(UserId(2), ever, w).await).await;
    let seen: Vec<_> =
        all.iter().map(|p| (p.item_id.0, p.amount_cents, p.sold_ms - CLOCK_START_MS)).collect();
    assert_eq!(seen, [(13, 6_000, -2_000_000), (12, 5_000, -3_000_000)], "latest first");
    assert_eq!(all[0].auction_id, AuctionId(OVER));
    assert_eq!((all[0].short_description.as_str(), all[0].images.len()), ("oaken barrel", 0));
    let (early, late) = (CLOCK_START_MS - 3_000_000, CLOCK_START_MS - 2_000_000);
    for (from, to, expected) in [
        (early, late, vec![12]),
        (early, late + 1, vec![13, 12]),
        (early + 1, late + 1, vec![13]),
        (early + 1, late, vec![]),
        (late, early, vec![]),
    ] {
        let page = store.purchases(UserId(2), Span { from, to }, ALL).await.unwrap();
        let items: Vec<_> = page.items.iter().map(|p| p.item_id.0).collect();
        assert_eq!((items, page.total_records), (expected.clone(), expected.len() as u64), "{from}..{to}");
    }
    let leader = store.purchases(UserId(3), ever, ALL).await.unwrap();
    assert_eq!(leader.total_records, 1, "what a user only leads in is not bought");
    assert_eq!(store.purchases(UserId(5), ever, ALL).await.unwrap().total_records, 0);
}
