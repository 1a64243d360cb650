//! Pictures as objects of an object store: the common part of files and S3.

use std::path::PathBuf;
use std::sync::Arc;

use barograph_auction_api::ImageSize;
use barograph_auction_store::StoreDescription;
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};

use super::{Key, Picture, PictureFuture, SIZES, Store, path_of};
use crate::error::PictureError;

/// Concurrent writes of one call.
const PUTS_AT_ONCE: usize = 8;

/// One folder of pictures.
pub(super) struct Layer {
    pub(super) store: Arc<dyn ObjectStore>,
    /// Prefix of the pictures; may be empty.
    pub(super) prefix: Path,
}

/// Differences between kinds of object stores.
#[derive(Clone)]
pub(super) struct About {
    pub(super) name: &'static str,
    pub(super) described: StoreDescription,
    /// Meaning of an unspecific error.
    pub(super) failure: Failure,
}

/// Meaning of an unspecific error.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// The store is behind a network, which is the most likely cause.
    Unreachable,
    /// The store is local, and refused.
    Refused,
}

/// A store of objects in one or two layers.
pub(super) struct Objects {
    pub(super) pictures: Layer,
    /// Layer of uploads, if it is separate.
    pub(super) uploads: Option<Layer>,
    pub(super) about: About,
    pub(super) clearing: Clearing,
}

/// Method of removing all pictures.
pub(super) enum Clearing {
    /// Folders of pictures on this machine.
    Folders(Vec<PathBuf>),
    /// All objects listed in the layer.
    Listed,
}

impl Layer {
    pub(super) fn path(&self, key: Key) -> Path {
        let path = path_of(key.0, key.1);
        path.split('/').fold(self.prefix.clone(), |folder, part| folder.join(part))
    }

    async fn get(&self, key: Key) -> object_store::Result<Option<Bytes>> {
        let found = match self.store.get(&self.path(key)).await {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        found.bytes().await.map(Some)
    }

    async fn put(&self, picture: &Picture) -> object_store::Result<()> {
        let payload = PutPayload::from_bytes(picture.bytes.clone());
        self.store.put(&self.path(picture.key), payload).await.map(drop)
    }

    /// Removes everything below the folders of the sizes. Each page of the listing and each removal is a
    /// request of its own, with the client's limits.
    async fn clear(&self) -> object_store::Result<()> {
        for size in SIZES {
            let folder = self.prefix.clone().join(size.name());
            let listed = self.store.list(Some(&folder)).map_ok(|found| found.location).boxed();
            self.store.delete_stream(listed).try_for_each(|_| async { Ok(()) }).await?;
        }
        Ok(())
    }
}

impl About {
    pub(super) fn error(&self, what: &'static str) -> impl FnOnce(object_store::Error) -> PictureError {
        let (store, failure) = (self.name, self.failure);
        move |error| match error {
            object_store::Error::Generic { .. } if failure == Failure::Unreachable => {
                PictureError::Unreachable { store, what, source: error.into() }
            }
            _ => PictureError::Refused { store, what, source: error.into() },
        }
    }
}

impl Store for Objects {
    fn get(&self, key: Key) -> PictureFuture<'_, Option<Bytes>> {
        Box::pin(async move {
            // Uploads are in full size only, so a small picture takes one read.
            let uploads = self.uploads.as_ref().filter(|_| key.1 == ImageSize::Full);
            for layer in uploads.into_iter().chain([&self.pictures]) {
                if let Some(found) = layer.get(key).await.map_err(self.about.error("read a picture"))? {
                    return Ok(Some(found));
                }
            }
            Ok(None)
        })
    }

    fn put<'a>(&'a self, pictures: &'a [Picture]) -> PictureFuture<'a, ()> {
        let layer = self.uploads.as_ref().unwrap_or(&self.pictures);
        Box::pin(async move {
            let puts: Vec<_> = pictures.iter().map(|picture| layer.put(picture)).collect();
            let puts = stream::iter(puts).buffer_unordered(PUTS_AT_ONCE);
            let done = puts.try_for_each(|()| async { Ok(()) }).await;
            done.map_err(self.about.error("write pictures"))
        })
    }

    fn clear(&self) -> PictureFuture<'_, ()> {
        match &self.clearing {
            Clearing::Folders(folders) => Box::pin(super::files::clear(folders.clone())),
            Clearing::Listed => {
                Box::pin(
                    async move { self.pictures.clear().await.map_err(self.about.error("remove pictures")) },
                )
            }
        }
    }

    fn name(&self) -> &'static str {
        self.about.name
    }

    fn describe(&self) -> StoreDescription {
        self.about.described.clone()
    }
}
