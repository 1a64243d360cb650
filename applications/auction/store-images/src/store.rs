//! Interface of the stores of pictures, and the list of implementations.

mod documents;
pub(crate) mod files;
mod nfs;
mod objects;
mod postgres;
mod s3;
mod shards;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use barograph_auction_api::{ImageId, ImageSize};
use barograph_auction_store::StoreDescription;
use bytes::Bytes;
use futures::future::try_join_all;

use crate::error::PictureError;
use crate::location::{PictureLocation, urls_of, without_secrets};

/// Id and size of a picture. The id 0 belongs to no image: its full size holds the stamp of a load.
pub(crate) type Key = (ImageId, ImageSize);

/// Key of the stamp of a load.
pub(crate) const STAMP: Key = (ImageId(0), ImageSize::Full);

/// All sizes.
pub(crate) const SIZES: [ImageSize; 3] = [ImageSize::Thumbnail, ImageSize::Preview, ImageSize::Full];

/// Pictures per folder: file systems and people dislike folders with a million entries.
const PER_FOLDER: i64 = 1000;

/// A picture with its key.
#[derive(Debug)]
pub(crate) struct Picture {
    pub(crate) key: Key,
    pub(crate) bytes: Bytes,
}

/// Result of an asynchronous method.
pub(crate) type PictureFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, PictureError>> + Send + 'a>>;

/// A store of pictures. Callers limit the time of each call, except for `clear`, which limits its own steps.
pub(crate) trait Store: Send + Sync + 'static {
    /// A picture; `None` if it does not exist.
    fn get(&self, key: Key) -> PictureFuture<'_, Option<Bytes>>;

    /// Stores pictures; replaces those with the same keys. Idempotent.
    fn put<'a>(&'a self, pictures: &'a [Picture]) -> PictureFuture<'a, ()>;

    /// Removes all pictures, and nothing else.
    fn clear(&self) -> PictureFuture<'_, ()>;

    /// The kind of store, for errors.
    fn name(&self) -> &'static str;

    /// Description of the store and its durability.
    fn describe(&self) -> StoreDescription;
}

/// Purpose of opening a place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To serve its pictures.
    Serve,
    /// To load pictures: a missing folder is made.
    Load,
}

/// Time limit of opening a store.
const OPEN_WITHIN: Duration = Duration::from_secs(15);

/// Opens the store at a place.
pub(crate) async fn open(place: &PictureLocation, purpose: Purpose) -> Result<Arc<dyn Store>, PictureError> {
    match place {
        PictureLocation::Files { read, write } => files::open(read, write.as_deref(), purpose),
        PictureLocation::Url(urls) => {
            let mut stores =
                try_join_all(urls_of(urls).into_iter().map(|url| open_url(url, purpose))).await?;
            Ok(if stores.len() == 1 { stores.remove(0) } else { Arc::new(shards::Shards(stores)) })
        }
    }
}

async fn open_url(url: &str, purpose: Purpose) -> Result<Arc<dyn Store>, PictureError> {
    let opening = async {
        match url.split("://").next().unwrap_or_default() {
            "file" => files::open_url(url, purpose),
            "s3" => s3::open(url).await,
            "postgres" | "postgresql" => postgres::open(url).await,
            "mongodb" | "mongodb+srv" => documents::open(url).await,
            "nfs" => nfs::open(url).await,
            _ => Err(bad(url, "pictures can be in file, nfs, s3, postgres and mongodb")),
        }
    };
    let slow = |_| PictureError::Slow { store: "image store", what: "open", limit: OPEN_WITHIN };
    tokio::time::timeout(OPEN_WITHIN, opening).await.map_err(slow)?
}

/// The error of an invalid URL.
fn bad(url: &str, why: impl Into<String>) -> PictureError {
    PictureError::BadPlace { place: without_secrets(url), why: why.into() }
}

/// Waits for a store, within a time limit.
pub(crate) async fn within<T>(
    store: &dyn Store,
    what: &'static str,
    limit: Duration,
    work: impl Future<Output = Result<T, PictureError>>,
) -> Result<T, PictureError> {
    let slow = |_| PictureError::Slow { store: store.name(), what, limit };
    tokio::time::timeout(limit, work).await.map_err(slow)?
}

/// Path of a picture within a folder: `thumbnail/0/1.jpg`. All kinds of pictures have the same ending.
#[must_use]
pub fn path_of(id: ImageId, size: ImageSize) -> String {
    format!("{}/{}/{id}.jpg", size.name(), id.0 / PER_FOLDER)
}

/// Name of a picture in stores with flat names: `1-thumbnail`.
fn name_of((id, size): Key) -> String {
    format!("{id}-{}", size.name())
}
