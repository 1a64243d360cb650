//! The seam to whatever keeps the pictures, and the list of its implementations.

mod documents;
pub(crate) mod files;
mod objects;
mod postgres;
mod s3;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use barograph_auction_api::{ImageId, ImageSize};
use barograph_auction_store::Described;
use bytes::Bytes;

use crate::error::PictureError;
use crate::place::{Place, without_secrets};

/// Names a picture. The id 0 is no image's: its full size holds the stamp of what was loaded.
pub(crate) type Key = (ImageId, ImageSize);

/// Where the stamp of a load is.
pub(crate) const STAMP: Key = (ImageId(0), ImageSize::Full);

/// All sizes.
pub(crate) const SIZES: [ImageSize; 3] = [ImageSize::Thumbnail, ImageSize::Preview, ImageSize::Full];

/// Pictures per folder: file systems and people dislike folders with a million entries.
const PER_FOLDER: i64 = 1000;

/// A picture with its name.
#[derive(Debug)]
pub(crate) struct Picture {
    pub(crate) key: Key,
    pub(crate) bytes: Bytes,
}

/// What a method of the seam gives.
pub(crate) type Later<'a, T> = Pin<Box<dyn Future<Output = Result<T, PictureError>> + Send + 'a>>;

/// What keeps pictures. Callers bound the time of each call, except that of `clear`, which bounds its own steps.
pub(crate) trait Store: Send + Sync + 'static {
    /// A picture; `None` when there is none.
    fn get(&self, key: Key) -> Later<'_, Option<Bytes>>;

    /// Stores pictures, in place of those that have the same names. Doing it again does no harm.
    fn put<'a>(&'a self, pictures: &'a [Picture]) -> Later<'a, ()>;

    /// Removes all pictures, and nothing else.
    fn clear(&self) -> Later<'_, ()>;

    /// The kind of store, for errors.
    fn name(&self) -> &'static str;

    /// What it is and what its writes survive.
    fn describe(&self) -> Described;
}

/// What a place is opened for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To serve pictures that are there.
    Serve,
    /// To be filled: a folder that is missing is made.
    Load,
}

/// A store must have said who it is by then.
const OPEN_WITHIN: Duration = Duration::from_secs(15);

/// Opens the store at a place.
pub(crate) async fn open(place: &Place, purpose: Purpose) -> Result<Arc<dyn Store>, PictureError> {
    let (url, scheme) = match place {
        Place::Files { read, write } => return files::open(read, write.as_deref(), purpose),
        Place::Url(url) => (url.as_str(), url.split("://").next().unwrap_or_default()),
    };
    let opening = async {
        match scheme {
            "file" => files::open_url(url, purpose),
            "s3" => s3::open(url).await,
            "postgres" | "postgresql" => postgres::open(url).await,
            "mongodb" | "mongodb+srv" => documents::open(url).await,
            _ => Err(bad(url, "pictures can be in file, s3, postgres and mongodb")),
        }
    };
    let slow = |_| PictureError::Slow { store: "image store", what: "open", limit: OPEN_WITHIN };
    tokio::time::timeout(OPEN_WITHIN, opening).await.map_err(slow)?
}

/// The error of a URL that cannot be used.
fn bad(url: &str, why: impl Into<String>) -> PictureError {
    PictureError::BadPlace { place: without_secrets(url), why: why.into() }
}

/// Waits for a store, but not for ever.
pub(crate) async fn within<T>(
    store: &dyn Store,
    what: &'static str,
    limit: Duration,
    work: impl Future<Output = Result<T, PictureError>>,
) -> Result<T, PictureError> {
    let slow = |_| PictureError::Slow { store: store.name(), what, limit };
    tokio::time::timeout(limit, work).await.map_err(slow)?
}

/// Where a picture is in a folder of pictures: `thumbnail/0/1.jpg`. All end alike, whatever kind of picture they are.
#[must_use]
pub fn path_of(id: ImageId, size: ImageSize) -> String {
    format!("{}/{}/{id}.jpg", size.name(), id.0 / PER_FOLDER)
}

/// The name of a picture in stores that have names only: `1-thumbnail`.
fn name_of((id, size): Key) -> String {
    format!("{id}-{}", size.name())
}
