//! Pictures spread over several stores by the id of their image. Each store has the stamp of a load.

use std::sync::Arc;

use barograph_auction_store::StoreDescription;
use bytes::Bytes;
use futures::future::try_join_all;

use super::{Key, Picture, PictureFuture, STAMP, Store};
use crate::error::PictureError;

/// At least two stores.
pub(super) struct Shards(pub(super) Vec<Arc<dyn Store>>);

impl Shards {
    fn number_of(&self, (id, _): Key) -> usize {
        id.0.rem_euclid(self.0.len() as i64) as usize
    }

    /// The stamp that all stores have.
    async fn stamp(&self) -> Result<Option<Bytes>, PictureError> {
        let mut stamps = try_join_all(self.0.iter().map(|store| store.get(STAMP))).await?;
        let first = stamps.swap_remove(0);
        Ok(first.filter(|stamp| stamps.iter().all(|other| other.as_ref() == Some(stamp))))
    }

    async fn put(&self, pictures: &[Picture]) -> Result<(), PictureError> {
        let mut spread: Vec<Vec<Picture>> = self.0.iter().map(|_| Vec::new()).collect();
        for Picture { key, bytes } in pictures {
            let all =
                if *key == STAMP { 0..self.0.len() } else { self.number_of(*key)..self.number_of(*key) + 1 };
            spread[all].iter_mut().for_each(|of| of.push(Picture { key: *key, bytes: bytes.clone() }));
        }
        let some = self.0.iter().zip(&spread).filter(|(_, pictures)| !pictures.is_empty());
        try_join_all(some.map(|(store, pictures)| store.put(pictures))).await?;
        Ok(())
    }
}

impl Store for Shards {
    fn get(&self, key: Key) -> PictureFuture<'_, Option<Bytes>> {
        if key == STAMP { Box::pin(self.stamp()) } else { self.0[self.number_of(key)].get(key) }
    }

    fn put<'a>(&'a self, pictures: &'a [Picture]) -> PictureFuture<'a, ()> {
        Box::pin(self.put(pictures))
    }

    fn clear(&self) -> PictureFuture<'_, ()> {
        Box::pin(async { try_join_all(self.0.iter().map(|store| store.clear())).await.map(|_| ()) })
    }

    fn name(&self) -> &'static str {
        self.0[0].name()
    }

    fn describe(&self) -> StoreDescription {
        let mut described = self.0[0].describe();
        described.product = format!("{} in {} shards", described.product, self.0.len());
        described
    }
}
