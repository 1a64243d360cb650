//! Pictures in local files.
//!
//! A read moves to a blocking thread and back, which takes some 20 to 50 µs. A picture is written beside its
//! place and renamed, so that no reader sees a partial one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use barograph_auction_store::StoreDescription;
use object_store::local::LocalFileSystem;
use url::Url;

use super::objects::{About, Clearing, Failure, Layer, Objects};
use super::{Purpose, SIZES, Store, bad};
use crate::error::{PictureError, file};

/// Name of the store in messages.
const NAME: &str = "image folder";

/// Durability of writes. Waiting for the disk after each picture would cost more than the rest of an upload,
/// and the published application does not do it either.
const DURABILITY: &str = "a written picture survives the process, not the machine: its file is renamed into place and \
                          not flushed to the disk";

/// Opens the folders of pictures: that of a fill, and that of uploads.
pub(super) fn open(
    read: &Path,
    write: Option<&Path>,
    purpose: Purpose,
) -> Result<Arc<dyn Store>, PictureError> {
    if purpose == Purpose::Load {
        make(read)?;
    }
    // A load writes to the place of a fill, never to the uploads.
    let uploads = match write.filter(|_| purpose == Purpose::Serve) {
        Some(folder) => {
            make(folder)?;
            Some(layer(folder)?)
        }
        None => None,
    };
    let folders = [Some(read), write].into_iter().flatten().map(PathBuf::from).collect();
    Ok(Arc::new(Objects {
        pictures: layer(read)?,
        uploads,
        about: About {
            name: NAME,
            described: StoreDescription { product: "files".to_owned(), durability: DURABILITY.to_owned() },
            failure: Failure::Refused,
        },
        clearing: Clearing::Folders(folders),
    }))
}

/// Opens the folder of a URL.
pub(super) fn open_url(url: &str, purpose: Purpose) -> Result<Arc<dyn Store>, PictureError> {
    let folder = Url::parse(url).ok().and_then(|parsed| parsed.to_file_path().ok());
    let folder = folder.ok_or_else(|| bad(url, "it is not file:///folder"))?;
    open(&folder, None, purpose)
}

fn make(folder: &Path) -> Result<(), PictureError> {
    std::fs::create_dir_all(folder).map_err(file("make folder", folder))
}

fn layer(folder: &Path) -> Result<Layer, PictureError> {
    let is_folder = std::fs::metadata(folder).map_err(file("look into", folder))?.is_dir();
    let store = LocalFileSystem::new_with_prefix(folder).ok().filter(|_| is_folder);
    let store = store.ok_or_else(|| PictureError::BadPlace {
        place: folder.display().to_string(),
        why: "it is not a folder".to_owned(),
    })?;
    Ok(Layer { store: Arc::new(store), prefix: object_store::path::Path::default() })
}

/// Removes the pictures in some folders.
pub(super) async fn clear(folders: Vec<PathBuf>) -> Result<(), PictureError> {
    let remove = move || {
        for path in folders.iter().flat_map(|folder| SIZES.map(|size| folder.join(size.name()))) {
            match std::fs::remove_dir_all(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(file("remove", path)(error));
                }
                _ => {}
            }
        }
        Ok(())
    };
    blocking(remove).await
}

/// Runs work on files in a thread that may block.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, PictureError> + Send + 'static,
) -> Result<T, PictureError> {
    let joined = tokio::task::spawn_blocking(work).await;
    joined.map_err(|error| PictureError::Refused { store: NAME, what: "use files", source: error.into() })?
}
