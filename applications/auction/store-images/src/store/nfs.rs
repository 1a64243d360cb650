//! Pictures in files of an NFS server, over NFSv4.1 from this process: no mount of the kernel is needed.
//!
//! A picture is written beside its place and renamed, so that no reader sees a partial one.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use barograph_auction_store::StoreDescription;
use bytes::{Bytes, BytesMut};
use futures::{StreamExt, TryStreamExt, stream};
use nfs_rs::{Mount, Nfs4ErrorCode, NfsError, OPEN_READ, parse_url_and_mount, write_all};
use parking_lot::Mutex;
use url::Url;

use super::{Key, Picture, PictureFuture, SIZES, Store, bad, path_of};
use crate::error::PictureError;

/// Name of the store in messages.
const NAME: &str = "NFS";

/// The registered port.
const PORT: u16 = 2049;

/// Sessions with the server, over a connection each.
const SESSIONS: usize = 4;

/// Concurrent writes of one call, and concurrent removals.
const AT_ONCE: usize = 8;

/// Access rights of new folders and files.
const FOLDER_MODE: u32 = 0o755;
const FILE_MODE: u32 = 0o644;

/// Durability of writes.
const DURABILITY: &str = "a written picture survives the server's machine: it is committed to stable storage before it \
                          is renamed into place";

/// A place for a session: one that fails is opened again by its next user.
type SessionSlot = Mutex<Option<Arc<dyn Mount>>>;

/// Pictures of a server.
struct Nfs {
    /// Address of the export, in the client's form.
    address: String,
    slots: [SessionSlot; SESSIONS],
    /// Number of operations, by which the next one chooses its session.
    operations: AtomicUsize,
    /// Names of files that are being written.
    written: AtomicU64,
    /// Folders that are there.
    folders: Mutex<HashSet<String>>,
}

/// A session in use. Unless its operation has ended well, the slot forgets it.
struct Session<'a> {
    slot: &'a SessionSlot,
    mount: Arc<dyn Mount>,
    works: bool,
}

impl Session<'_> {
    /// Ends an operation.
    fn end<T>(mut self, what: &'static str, result: Result<T, NfsError>) -> Result<T, PictureError> {
        self.works = result.is_ok();
        result.map_err(failed(what))
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if !self.works {
            self.slot.lock().take_if(|mount| Arc::ptr_eq(mount, &self.mount));
        }
    }
}

/// Opens an export: `nfs://HOST[:PORT]/EXPORT`.
pub(super) async fn open(url: &str) -> Result<Arc<dyn Store>, PictureError> {
    let parsed = Url::parse(url).map_err(|why| bad(url, why.to_string()))?;
    let host = parsed.host_str().ok_or_else(|| bad(url, "it names no host"))?;
    let port = parsed.port().unwrap_or(PORT);
    let nfs = Nfs {
        address: format!("nfs://{host}{}?version=4.1&nfsport={port}&noresvport=true", parsed.path()),
        slots: Default::default(),
        operations: AtomicUsize::new(0),
        written: AtomicU64::new(0),
        folders: Mutex::default(),
    };
    nfs.session().await?.end("open the export", Ok(()))?;
    Ok(Arc::new(nfs))
}

/// Converts an error of the client. What the server says of a file is a refusal; after all other errors the next
/// session may succeed.
fn failed(what: &'static str) -> impl Fn(NfsError) -> PictureError {
    use Nfs4ErrorCode as Code;
    move |error| match error {
        NfsError::InvalidInput(_)
        | NfsError::Unsupported(_)
        | NfsError::Nfs4(
            Code::NFS4ERR_PERM
            | Code::NFS4ERR_ACCESS
            | Code::NFS4ERR_NOENT
            | Code::NFS4ERR_EXIST
            | Code::NFS4ERR_NOTDIR
            | Code::NFS4ERR_ISDIR
            | Code::NFS4ERR_FBIG
            | Code::NFS4ERR_NOSPC
            | Code::NFS4ERR_DQUOT
            | Code::NFS4ERR_ROFS,
        ) => PictureError::Refused { store: NAME, what, source: error.into() },
        error => PictureError::Unreachable { store: NAME, what, source: error.into() },
    }
}

impl Nfs {
    async fn session(&self) -> Result<Session<'_>, PictureError> {
        let number = self.operations.fetch_add(1, Ordering::Relaxed);
        let slot = &self.slots[number % SESSIONS];
        let known = slot.lock().clone();
        let mount = match known {
            Some(mount) => mount,
            None => {
                let opened = parse_url_and_mount(&self.address).await.map_err(failed("open the export"))?;
                Arc::clone(slot.lock().insert(Arc::from(opened)))
            }
        };
        Ok(Session { slot, mount, works: false })
    }

    async fn get(&self, key: Key) -> Result<Option<Bytes>, PictureError> {
        let session = self.session().await?;
        let read = read(&*session.mount, key).await;
        session.end("read a picture", read)
    }

    async fn put_one(&self, picture: &Picture) -> Result<(), PictureError> {
        let session = self.session().await?;
        let written = self.write(&*session.mount, picture).await;
        if written.is_err() {
            self.folders.lock().clear();
        }
        session.end("write pictures", written)
    }

    async fn write(&self, mount: &dyn Mount, picture: &Picture) -> Result<(), NfsError> {
        let (id, size) = picture.key;
        let path = path_of(id, size);
        let (folder, _) = path.rsplit_once('/').unwrap_or_default();
        self.make(mount, folder).await?;
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let partial = format!("{folder}/.{}-{number}", std::process::id());
        let made = mount.create_path(&partial, Some(FILE_MODE)).await?;
        let written = write_all(mount, made.fh.clone(), 0, picture.bytes.clone()).await;
        let closed = mount.close(made.fh).await;
        written.and(closed)?;
        mount.rename_path(&partial, &path).await
    }

    /// Makes a folder and those above it.
    async fn make(&self, mount: &dyn Mount, folder: &str) -> Result<(), NfsError> {
        if self.folders.lock().contains(folder) {
            return Ok(());
        }
        let ends = folder.match_indices('/').map(|(at, _)| at).chain([folder.len()]);
        for path in ends.map(|end| &folder[..end]) {
            match mount.mkdir_path(path, FOLDER_MODE).await {
                Err(error) if !error.is_exist() => return Err(error),
                _ => {}
            }
        }
        self.folders.lock().insert(folder.to_owned());
        Ok(())
    }

    async fn put(&self, pictures: &[Picture]) -> Result<(), PictureError> {
        let writes: Vec<_> = pictures.iter().map(|picture| self.put_one(picture)).collect();
        stream::iter(writes).buffer_unordered(AT_ONCE).try_collect().await
    }

    async fn clear(&self) -> Result<(), PictureError> {
        self.folders.lock().clear();
        let session = self.session().await?;
        let mut removed = Ok(());
        for size in SIZES {
            removed = remove(&*session.mount, size.name()).await;
            if removed.is_err() {
                break;
            }
        }
        session.end("remove pictures", removed)
    }
}

/// A picture; `None` if it does not exist.
async fn read(mount: &dyn Mount, (id, size): Key) -> Result<Option<Bytes>, NfsError> {
    let file = match mount.open_path(&path_of(id, size), OPEN_READ).await {
        Ok(opened) => opened.fh,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error),
    };
    let read = read_whole(mount, file.clone()).await;
    let closed = mount.close(file).await;
    read.and_then(|bytes| closed.map(|()| Some(bytes)))
}

/// Reads a file to its end.
async fn read_whole(mount: &dyn Mount, file: Bytes) -> Result<Bytes, NfsError> {
    let most = mount.get_max_read_size();
    let mut whole = BytesMut::new();
    loop {
        let part = mount.read(file.clone(), whole.len() as u64, most).await?;
        if part.is_empty() {
            return Ok(whole.freeze());
        }
        if whole.is_empty() && part.len() < most as usize {
            return Ok(part);
        }
        whole.extend_from_slice(&part);
    }
}

/// Removes the folders of one size with their pictures.
async fn remove(mount: &dyn Mount, size: &str) -> Result<(), NfsError> {
    for folder in names_in(mount, size).await? {
        let folder = format!("{size}/{folder}");
        let paths = names_in(mount, &folder).await?.into_iter().map(|file| format!("{folder}/{file}"));
        let removals = paths.map(|path| async move { mount.remove_path(&path).await });
        stream::iter(removals).buffer_unordered(AT_ONCE).try_collect::<()>().await?;
        mount.rmdir_path(&folder).await?;
    }
    match mount.rmdir_path(size).await {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}

/// Names in a folder; none if it is not there.
async fn names_in(mount: &dyn Mount, folder: &str) -> Result<Vec<String>, NfsError> {
    let entries = match mount.readdir_path(folder).await {
        Ok(entries) => entries,
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let names = entries.map_ok(|entry| entry.file_name);
    names.try_filter(|name| std::future::ready(!matches!(name.as_str(), "." | ".."))).try_collect().await
}

impl Store for Nfs {
    fn get(&self, key: Key) -> PictureFuture<'_, Option<Bytes>> {
        Box::pin(self.get(key))
    }

    fn put<'a>(&'a self, pictures: &'a [Picture]) -> PictureFuture<'a, ()> {
        Box::pin(self.put(pictures))
    }

    fn clear(&self) -> PictureFuture<'_, ()> {
        Box::pin(self.clear())
    }

    fn name(&self) -> &'static str {
        NAME
    }

    fn describe(&self) -> StoreDescription {
        StoreDescription { product: "NFSv4.1".to_owned(), durability: DURABILITY.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_a_file_is_no_outage() {
        let full = failed("write pictures")(NfsError::Nfs4(Nfs4ErrorCode::NFS4ERR_NOSPC));
        assert!(matches!(full, PictureError::Refused { .. }), "{full:?}");
        let forgotten = failed("write pictures")(NfsError::Nfs4(Nfs4ErrorCode::NFS4ERR_BADSESSION));
        assert!(forgotten.is_passing(), "{forgotten:?}");
    }
}
