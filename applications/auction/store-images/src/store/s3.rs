//! Pictures in S3 or a compatible store.

use std::sync::Arc;

use barograph_auction_store::StoreDescription;
use barograph_bucket::{Bucket, BucketError, NAME};

use super::objects::{About, Clearing, Failure, Layer, Objects};
use super::{STAMP, Store, bad};
use crate::error::PictureError;

/// Opens a bucket, which must exist.
pub(super) async fn open(url: &str) -> Result<Arc<dyn Store>, PictureError> {
    let failed = |why: BucketError| bad(url, why.to_string());
    let bucket = Bucket::open(url).map_err(failed)?;
    let about = About {
        name: NAME,
        described: StoreDescription {
            product: bucket.title.clone(),
            durability: "a written picture survives what the store says a finished request survives"
                .to_owned(),
        },
        failure: Failure::Unreachable,
    };
    let pictures = Layer { store: Arc::clone(&bucket.store), prefix: bucket.prefix.clone() };
    bucket.check(&pictures.path(STAMP)).await.map_err(|why| match why {
        BucketError::Store(error) => about.error("look into the bucket")(error),
        why => failed(why),
    })?;
    Ok(Arc::new(Objects { pictures, uploads: None, about, clearing: Clearing::Listed }))
}
