//! Image metadata in PostgreSQL: the images of an item, with their sizes.

use barograph_auction_api::ItemId;
use barograph_auction_store::{ImageRow, StoreError};

use super::link::{read, write};
use super::{Postgres, document, text};
use crate::documents::ImageDocument;

/// Images of items, in order.
const OF_ITEMS: &str = "
    SELECT item, id, doc::text FROM auction_events.image WHERE item = ANY($1) ORDER BY item, number, id";

/// Inserts an image. One already inserted is unchanged.
const ADD: &str = "
    INSERT INTO auction_events.image (item, number, id, doc) VALUES ($1, $2, $3, ($4::text)::jsonb) ON CONFLICT DO NOTHING";

impl Postgres {
    pub(super) async fn images_of(&self, items: &[ItemId]) -> Result<Vec<ImageRow>, StoreError> {
        let items: Vec<i64> = items.iter().map(|item| item.0).collect();
        if items.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self.link.query(read("read images"), OF_ITEMS, &[&items]).await?;
        rows.iter().map(|row| Ok(document::<ImageDocument>(row, 2)?.row(row.get(0), row.get(1)))).collect()
    }

    pub(super) async fn keep_image(&self, image: ImageRow) -> Result<(), StoreError> {
        let document = text(&ImageDocument::of(&image))?;
        let values: super::link::Values<'_> = &[&image.item_id, &image.number, &image.id, &document];
        self.link.execute(write("add an image"), ADD, values).await.map(drop)
    }
}
