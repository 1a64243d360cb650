//! Images: entries of their item's documents.

use std::collections::BTreeMap;

use barograph_auction_api::ItemId;
use barograph_auction_store::{ImageRow, StoreError};
use mongodb::bson::serialize_to_bson;
use serde::{Deserialize, Serialize};

use super::bids::damaged;
use super::link::{Change, STORE, read, write};
use super::{LOADED_IMAGES, Mongo, Pair, RUN_IMAGES, parts};
use crate::documents::ImageDocument;
use crate::failure::refused;
use crate::histories;

/// Collections of images.
const IMAGES: Pair = Pair { loaded: LOADED_IMAGES, run: RUN_IMAGES };

/// One part of an item's images.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Item {
    #[serde(rename = "_id")]
    pub(super) id: String,
    /// Images by id.
    #[serde(default)]
    pub(super) i: BTreeMap<String, ImageDocument>,
}

impl Mongo {
    pub(super) async fn images_of(&self, items: &[ItemId]) -> Result<Vec<ImageRow>, StoreError> {
        let mut keys: Vec<i64> = items.iter().map(|item| item.0).collect();
        keys.sort_unstable();
        keys.dedup();
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let parts: Vec<Item> = self.gather(read("read images"), IMAGES, &keys).await?;
        let mut rows = Vec::new();
        for item in parts {
            let key = parts::key(&item.id).ok_or_else(|| damaged(&item.id))?;
            for (name, document) in item.i {
                rows.push(document.row(key, name.parse().map_err(|_| damaged(&item.id))?));
            }
        }
        histories::sort_images(&mut rows);
        rows.dedup_by_key(|row| row.id);
        Ok(rows)
    }

    /// Adds an image; the first one with an id is kept. Two concurrent ones with one id are repetitions of
    /// the same image, so a read before the write suffices.
    pub(super) async fn keep_image(&self, image: ImageRow) -> Result<(), StoreError> {
        let document = serialize_to_bson(&ImageDocument::of(&image))
            .map_err(|error| refused(STORE, "write an image as a document", error.to_string()))?;
        let _turn = self.parts.turn().await?;
        if self.images_of(&[ItemId(image.item_id)]).await?.iter().any(|there| there.id == image.id) {
            return Ok(());
        }
        let mut change = Change::new(self.parts.own(image.item_id));
        change.set.insert(format!("i.{}", image.id), document);
        self.link.update(write("add an image"), RUN_IMAGES, &[change]).await
    }
}
