//! Images of items.

use barograph_auction_api::ItemId;

use super::event_data;
use crate::{CLOCK_START_MS, Events, ImageRow, codes};

fn items(ids: &[i64]) -> Vec<ItemId> {
    ids.iter().copied().map(ItemId).collect()
}

async fn ids<S: Events + ?Sized>(store: &S, of: &[i64]) -> Vec<i64> {
    store.images(&items(of)).await.unwrap().iter().map(|i| i.id).collect()
}

fn image(id: i64, item_id: i64, number: i64) -> ImageRow {
    ImageRow {
        id,
        item_id,
        number,
        sizes: codes::image::FULL | codes::image::THUMBNAIL,
        created_ms: CLOCK_START_MS,
    }
}

pub(super) async fn listed<S: Events + ?Sized>(store: &S) {
    let mut loaded: Vec<ImageRow> = event_data().into_iter().flat_map(|b| b.images).collect();
    loaded.sort_by_key(|i| (i.item_id, i.number, i.id));
    assert_eq!(store.images(&items(&[1, 2, 3])).await.unwrap(), loaded, "by item, number and id");
    assert_eq!(store.images(&items(&[2, 1])).await.unwrap(), loaded, "whatever the order asked in");
    assert_eq!(ids(store, &[1]).await, [71, 72, 74]);
    assert_eq!(ids(store, &[3]).await, [0; 0]);
    assert_eq!(store.images(&[]).await.unwrap(), []);
    let many: Vec<i64> = (1..=100).collect();
    assert_eq!(ids(store, &many).await, [71, 72, 74, 73], "a page of items");
}

pub(super) async fn added<S: Events + ?Sized>(store: &S) {
    let new = image(1_001, 3, 0);
    store.add_image(new.clone()).await.unwrap();
    assert_eq!(store.images(&items(&[3])).await.unwrap(), std::slice::from_ref(&new));
    store.add_image(new.clone()).await.unwrap();
    store.add_image(ImageRow { number: 5, ..new.clone() }).await.unwrap();
    assert_eq!(store.images(&items(&[3])).await.unwrap(), [new], "equal ids are the same image");
    for (id, number) in [(1_004, 1), (1_002, 1), (1_003, 0)] {
        store.add_image(image(id, 1, number)).await.unwrap();
    }
    assert_eq!(ids(store, &[1]).await, [71, 1_003, 72, 74, 1_002, 1_004], "equal numbers by id");
    let (a, b) = tokio::join!(store.add_image(image(1_010, 5, 0)), store.add_image(image(1_011, 5, 0)));
    a.and(b).unwrap();
    assert_eq!(ids(store, &[5]).await, [1_010, 1_011], "two at once with the same number are both there");
}
