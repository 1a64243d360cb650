//! Loading of a fill's pictures into another place.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use barograph_auction_api::{ImageId, ImageSize};
use bytes::Bytes;
use futures::{StreamExt, stream};

use crate::error::{PictureError, file};
use crate::location::PictureLocation;
use crate::queue::write;
use crate::store::files::blocking;
use crate::store::{Key, Picture, Purpose, SIZES, STAMP, Store, open, path_of};

/// Small pictures per call of the store: some 250 kB of thumbnails, ...
const SMALL_TOGETHER: usize = 64;

/// ... or some 6 MB in full size.
const FULL_TOGETHER: usize = 8;

/// Concurrent calls: enough to keep a server busy while this machine reads files.
const CALLS_AT_ONCE: usize = 8;

/// Empties a place and copies all pictures of a fill's images folder into it; last comes `stamp`, the name of
/// the data set. `progress` receives the number of copied pictures, and the total.
///
/// [`PictureLocation::Files`]: pictures go into its `read` folder and `write` is emptied; nothing is done if `read` is
/// `from`.
pub async fn load(
    from: &Path,
    to: &PictureLocation,
    stamp: &str,
    progress: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<(), PictureError> {
    if is_same(from, to) {
        return Ok(());
    }
    let folder = from.to_owned();
    let keys = blocking(move || list(&folder)).await?;
    let store = open(to, Purpose::Load).await?;
    store.clear().await?;

    let (mut done, total) = (0, keys.len() as u64);
    progress(done, total);
    let copies = calls(&keys).into_iter().map(|keys| copy(from.to_owned(), keys, Arc::clone(&store)));
    let mut copies = stream::iter(copies).buffer_unordered(CALLS_AT_ONCE);
    while let Some(copied) = copies.next().await {
        done += copied?;
        progress(done, total);
    }
    write(&*store, &[Picture { key: STAMP, bytes: Bytes::copy_from_slice(stamp.as_bytes()) }]).await
}

/// Groups pictures into calls: each of one size, so that their number limits their bytes.
fn calls(keys: &[Key]) -> Vec<Vec<Key>> {
    let mut calls = Vec::new();
    for same in keys.chunk_by(|a, b| a.1 == b.1) {
        let together = if same[0].1 == ImageSize::Full { FULL_TOGETHER } else { SMALL_TOGETHER };
        calls.extend(same.chunks(together).map(<[Key]>::to_vec));
    }
    calls
}

fn is_same(from: &Path, to: &PictureLocation) -> bool {
    let whole = |path: &Path| path.canonicalize().ok();
    match to {
        PictureLocation::Files { read, .. } => whole(from).is_some_and(|from| whole(read) == Some(from)),
        PictureLocation::Url(_) => false,
    }
}

async fn copy(from: PathBuf, keys: Vec<Key>, store: Arc<dyn Store>) -> Result<u64, PictureError> {
    let pictures =
        blocking(move || keys.into_iter().map(|key| read(&from, key)).collect::<Result<Vec<_>, _>>());
    let pictures = pictures.await?;
    write(&*store, &pictures).await?;
    Ok(pictures.len() as u64)
}

fn read(from: &Path, key: Key) -> Result<Picture, PictureError> {
    let path = from.join(path_of(key.0, key.1));
    let bytes = std::fs::read(&path).map_err(file("read", path))?;
    Ok(Picture { key, bytes: bytes.into() })
}

/// All pictures of a folder, by size and id. A missing folder of a size counts as empty; other files are
/// ignored.
fn list(from: &Path) -> Result<Vec<Key>, PictureError> {
    let mut keys = Vec::new();
    std::fs::read_dir(from).map_err(file("look into", from))?;
    for size in SIZES {
        let folder = from.join(size.name());
        if !folder.is_dir() {
            continue;
        }
        let first = keys.len();
        for part in std::fs::read_dir(&folder).map_err(file("look into", &folder))? {
            let part = part.map_err(file("look into", &folder))?.path();
            if part.is_dir() {
                list_part(&part, size, &mut keys)?;
            }
        }
        keys[first..].sort_unstable_by_key(|key| key.0);
    }
    Ok(keys)
}

fn list_part(part: &Path, size: ImageSize, keys: &mut Vec<Key>) -> Result<(), PictureError> {
    for entry in std::fs::read_dir(part).map_err(file("look into", part))? {
        let name = entry.map_err(file("look into", part))?.file_name();
        let id = name.to_str().and_then(|name| name.strip_suffix(".jpg")).and_then(|id| id.parse().ok());
        // The id 0 is the stamp of a folder that was loaded itself.
        if let Some(id) = id.filter(|&id: &i64| id > 0) {
            keys.push((ImageId(id), size));
        }
    }
    Ok(())
}
