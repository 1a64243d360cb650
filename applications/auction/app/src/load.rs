//! Loading a filled folder into database servers and picture stores, whose previous contents it replaces.

use std::path::Path;

use barograph_auction_store::{Batch, Loading, StoreError};
use barograph_store_images::{PictureError, PictureLocation};
use barograph_store_sqlite::Pristine;
use sha2::{Digest, Sha256};

use crate::fill::Marker;
use crate::settings::Secret;

/// Version of the way of loading. It rises with changes that the stores themselves do not show: pictures, the
/// order of steps.
const FORMAT: u32 = 1;

/// Destinations of the data.
#[derive(Clone, Debug)]
pub struct Servers {
    /// The relational store and the event store.
    pub stores: Option<(Secret, Secret)>,
    /// The picture store.
    pub images: Option<PictureLocation>,
}

/// A part of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadPart {
    /// Rows of the relational store.
    Relational,
    /// Rows of the event store.
    Events,
    /// Pictures.
    Images,
}

impl LoadPart {
    /// The name in one word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LoadPart::Relational => "relational",
            LoadPart::Events => "events",
            LoadPart::Images => "pictures",
        }
    }
}

/// Failure of a load.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A filled store could not be read, or a server refused.
    #[error("load the {}", part.name())]
    Store {
        /// The part being loaded.
        part: LoadPart,
        /// The cause.
        #[source]
        source: StoreError,
    },
    /// Pictures could not be copied.
    #[error("load the pictures")]
    Images(#[from] PictureError),
}

/// A text that is equal for programs that leave the same stores after loading the same data set, with
/// any products.
#[must_use]
pub fn form() -> String {
    let text = format!("{FORMAT}\n{}\n{}", barograph_store_sql::form(), barograph_store_documents::form());
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Loads a filled folder into all given servers. Earlier data of an application are removed first.
///
/// `progress` receives the part, the amount done, and the total.
///
/// # Errors
/// If the folder cannot be read or a server refuses. Nodes do not start on a store whose load is incomplete.
pub async fn load(
    data_dir: &Path,
    marker: &Marker,
    servers: &Servers,
    progress: &mut (dyn FnMut(LoadPart, u64, u64) + Send),
) -> Result<(), LoadError> {
    let rows = &marker.rows;
    if let Some((relational, events)) = &servers.stores {
        let failed = |part: LoadPart| move |source: StoreError| LoadError::Store { part, source };
        let pristine = Pristine::open(data_dir).map_err(failed(LoadPart::Relational))?;
        let total = rows.users + rows.auctions + rows.items + rows.high_bids;
        let into = barograph_store_sql::load(&relational.0).await.map_err(failed(LoadPart::Relational))?;
        pour(pristine.relational(), into, &marker.stamp, &mut |done| {
            progress(LoadPart::Relational, done, total)
        })
        .await
        .map_err(failed(LoadPart::Relational))?;
        let total = rows.bids + rows.attendance + rows.images;
        let into = barograph_store_documents::load(&events.0).await.map_err(failed(LoadPart::Events))?;
        pour(pristine.events(), into, &marker.stamp, &mut |done| progress(LoadPart::Events, done, total))
            .await
            .map_err(failed(LoadPart::Events))?;
    }
    if let Some(images) = &servers.images {
        let mut each = |done, total| progress(LoadPart::Images, done, total);
        barograph_store_images::load(&data_dir.join("images"), images, &marker.stamp, &mut each).await?;
    }
    Ok(())
}

async fn pour<B: Batch>(
    batches: impl Iterator<Item = Result<B, StoreError>>,
    mut into: Box<dyn Loading<B>>,
    stamp: &str,
    progress: &mut (dyn FnMut(u64) + Send),
) -> Result<(), StoreError> {
    let mut done = 0;
    for batch in batches {
        let batch = batch?;
        done += batch.rows() as u64;
        into.add(batch).await?;
        progress(done);
    }
    into.finish(stamp).await
}
