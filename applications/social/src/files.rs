//! Pictures and documents: files in a folder or a bucket, and their made-up contents.

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use barograph_bucket::Bucket;
use barograph_data::Streams;
use barograph_data::pictures::{PictureSize, Pictures};
use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use object_store::ObjectStoreExt as _;
use rand::Rng as _;

/// Subfolders: a folder of tens of thousands of files is slow to list.
const FOLDERS: u64 = 64;

/// Factor of the pictures that files begin with. They stay smaller than the smallest file.
const PICTURE_FACTOR: f64 = 0.01;

/// Beginning of a document: one page without text.
const DOCUMENT: &[u8] = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n";

/// Kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Picture of an event.
    EventPicture,
    /// Small picture of an event.
    EventThumbnail,
    /// Document of an event.
    Document,
    /// Picture of a person.
    PersonPicture,
    /// Small picture of a person.
    PersonThumbnail,
}

impl FileKind {
    /// The kinds of an event.
    pub const OF_EVENT: [FileKind; 3] =
        [FileKind::EventPicture, FileKind::EventThumbnail, FileKind::Document];

    /// The kinds of a person.
    pub const OF_PERSON: [FileKind; 2] = [FileKind::PersonPicture, FileKind::PersonThumbnail];

    /// Bytes at a factor. Thumbnails have one size.
    #[must_use]
    pub fn bytes(self, scale: f64) -> usize {
        let full: f64 = match self {
            FileKind::EventPicture => 669_128.0,
            FileKind::EventThumbnail => return 5_895,
            FileKind::Document => 129_617.0,
            FileKind::PersonPicture => 671_520.0,
            FileKind::PersonThumbnail => return 5_758,
        };
        (full * scale).round() as usize
    }

    /// End of the file's name.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            FileKind::EventPicture | FileKind::PersonPicture => ".jpg",
            FileKind::EventThumbnail | FileKind::PersonThumbnail => "-small.jpg",
            FileKind::Document => ".pdf",
        }
    }

    /// Name of the field of forms.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            FileKind::EventPicture | FileKind::PersonPicture => "picture",
            FileKind::EventThumbnail | FileKind::PersonThumbnail => "thumbnail",
            FileKind::Document => "document",
        }
    }

    /// Media type.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        if self == FileKind::Document { "application/pdf" } else { "image/jpeg" }
    }
}

/// Maker of files: valid pictures and documents, lengthened by random bytes to the size of their kind.
#[derive(Debug)]
pub struct FileMaker {
    pictures: Pictures,
    streams: Streams,
    scale: f64,
}

impl FileMaker {
    /// The maker for a seed and a factor on sizes.
    #[must_use]
    pub fn new(seed: u64, scale: f64) -> Self {
        let pictures = Pictures::build(seed, PICTURE_FACTOR, 1).expect("the factor is between 0 and 1");
        FileMaker { pictures, streams: Streams::new(seed), scale }
    }

    /// Writes a file by its number, in the place of what the buffer held.
    pub fn make(&self, kind: FileKind, number: u64, out: &mut Vec<u8>) {
        match kind {
            FileKind::EventPicture | FileKind::PersonPicture => {
                self.pictures.compose(number, PictureSize::Preview, out);
            }
            FileKind::EventThumbnail | FileKind::PersonThumbnail => {
                self.pictures.compose(number, PictureSize::Thumbnail, out);
            }
            FileKind::Document => {
                out.clear();
                out.extend_from_slice(DOCUMENT);
            }
        }
        let (from, bytes) = (out.len(), kind.bytes(self.scale));
        if bytes > from {
            out.resize(bytes, 0);
            self.streams.stream(kind.suffix(), number).fill_bytes(&mut out[from..]);
        }
    }
}

/// The owner of files that are filled: a letter and its number in the store.
pub(crate) fn owner(letter: char, number: u64) -> String {
    format!("{letter}{}", number + 1)
}

/// A place for the files. A URL may hold a secret, hence no `Debug`.
#[derive(Clone)]
pub enum FilePlace {
    /// A folder, made if there is none.
    Folder(PathBuf),
    /// A bucket that exists, `s3://[KEY:SECRET@]BUCKET[/PREFIX][?endpoint=http://HOST:PORT&region=NAME]`.
    Bucket(String),
}

impl FilePlace {
    /// The place in a text: the URL of a bucket, or a folder, which may be a file:// URL.
    #[must_use]
    pub fn of(text: &str) -> Self {
        if text.starts_with("s3://") {
            FilePlace::Bucket(text.to_owned())
        } else {
            FilePlace::Folder(text.strip_prefix("file://").unwrap_or(text).into())
        }
    }

    /// The place in words, without a secret.
    ///
    /// # Errors
    /// For an invalid URL, which the message does not have.
    pub fn title(&self) -> io::Result<String> {
        match self {
            FilePlace::Folder(folder) => Ok(folder.display().to_string()),
            FilePlace::Bucket(url) => Ok(Bucket::open(url).map_err(io::Error::other)?.title),
        }
    }
}

/// Object that need not exist, to see whether a bucket can be read.
const NO_FILE: &str = "none";

/// Objects of a bucket that are written or looked for at once.
const AT_ONCE: usize = 16;

/// The place of the files.
#[derive(Clone, Debug)]
pub(crate) enum Files {
    Folder(PathBuf),
    Bucket(Bucket),
}

/// Name of the subfolder of a file; `None` for a name that no file has.
fn subfolder(name: &str) -> Option<String> {
    let is_of_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    if !name.bytes().all(is_of_name) || !name.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        return None;
    }
    let stem = name.split(['-', '.']).next().unwrap_or_default();
    let sum = stem.bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    Some((sum % FOLDERS).to_string())
}

/// The name of a file of an owner, after that of its subfolder.
fn named(owner: &str, kind: FileKind) -> io::Result<(String, String)> {
    let name = format!("{owner}{}", kind.suffix());
    let folder = subfolder(&name).ok_or(io::ErrorKind::InvalidFilename)?;
    Ok((folder, name))
}

impl Files {
    /// Opens a folder, and makes its subfolders; or a bucket at a URL of S3, which must exist before the first file.
    pub(crate) fn open(place: &FilePlace) -> io::Result<Self> {
        match place {
            FilePlace::Folder(folder) => {
                for number in 0..FOLDERS {
                    std::fs::create_dir_all(folder.join(number.to_string()))?;
                }
                Ok(Files::Folder(folder.clone()))
            }
            FilePlace::Bucket(url) => Ok(Files::Bucket(Bucket::open(url).map_err(io::Error::other)?)),
        }
    }

    /// Checks that a bucket exists and can be read.
    pub(crate) async fn check(&self) -> io::Result<()> {
        match self {
            Files::Folder(_) => Ok(()),
            Files::Bucket(bucket) => bucket.check(&bucket.path([NO_FILE])).await.map_err(io::Error::other),
        }
    }

    /// Reads a file by its name; `None` if there is none.
    pub(crate) async fn read(&self, name: &str) -> io::Result<Option<Bytes>> {
        let Some(subfolder) = subfolder(name) else { return Ok(None) };
        let read = match self {
            Files::Folder(folder) => {
                tokio::fs::read(folder.join(subfolder).join(name)).await.map(Bytes::from)
            }
            Files::Bucket(bucket) => {
                let read = async { bucket.store.get(&bucket.path([&*subfolder, name])).await?.bytes().await };
                read.await.map_err(io::Error::from)
            }
        };
        match read {
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        }
    }

    /// Writes a file of an owner, whose name begins its own.
    pub(crate) async fn write(&self, owner: &str, kind: FileKind, bytes: Bytes) -> io::Result<()> {
        let (subfolder, name) = named(owner, kind)?;
        match self {
            Files::Folder(folder) => tokio::fs::write(folder.join(subfolder).join(name), bytes).await,
            Files::Bucket(bucket) => {
                let path = bucket.path([&*subfolder, &*name]);
                Ok(bucket.store.put(&path, bytes.into()).await.map(drop)?)
            }
        }
    }

    /// Writes files of several owners, made by their numbers.
    pub(crate) async fn fill(
        &self,
        maker: &Arc<FileMaker>,
        (letter, kinds): (char, &'static [FileKind]),
        numbers: Range<u64>,
    ) -> io::Result<()> {
        let Files::Folder(folder) = self else {
            let of = |number| kinds.iter().map(move |kind| (number, *kind));
            let all: Vec<(u64, FileKind)> = numbers.flat_map(of).collect();
            let writes = all.into_iter().map(|(number, kind)| async move {
                let mut bytes = Vec::new();
                maker.make(kind, number, &mut bytes);
                self.write(&owner(letter, number), kind, bytes.into()).await
            });
            return stream::iter(writes).buffer_unordered(AT_ONCE).try_collect().await;
        };
        let (folder, maker) = (folder.clone(), Arc::clone(maker));
        // On a thread that may block.
        let work = move || -> io::Result<()> {
            let mut bytes = Vec::new();
            for number in numbers {
                for kind in kinds {
                    maker.make(*kind, number, &mut bytes);
                    let (subfolder, name) = named(&owner(letter, number), *kind)?;
                    std::fs::write(folder.join(subfolder).join(name), &bytes)?;
                }
            }
            Ok(())
        };
        tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
    }

    /// Removes a file of an owner, if there is one.
    pub(crate) async fn remove(&self, owner: &str, kind: FileKind) -> io::Result<()> {
        let (subfolder, name) = named(owner, kind)?;
        let removed = match self {
            Files::Folder(folder) => tokio::fs::remove_file(folder.join(subfolder).join(name)).await,
            Files::Bucket(bucket) => {
                let path = bucket.path([&*subfolder, &*name]);
                bucket.store.delete(&path).await.map_err(io::Error::from)
            }
        };
        match removed {
            Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
            _ => Ok(()),
        }
    }

    /// Bytes of the files of owners; -1 for a missing one.
    pub(crate) async fn lengths(
        &self,
        owners: Vec<String>,
        kinds: &'static [FileKind],
    ) -> io::Result<Vec<Vec<i64>>> {
        let all = owners.into_iter().map(async |owner| {
            let mut lengths = Vec::with_capacity(kinds.len());
            for kind in kinds {
                lengths.push(self.length(&owner, *kind).await?);
            }
            Ok(lengths)
        });
        stream::iter(all).buffered(AT_ONCE).try_collect().await
    }

    async fn length(&self, owner: &str, kind: FileKind) -> io::Result<i64> {
        let (subfolder, name) = named(owner, kind)?;
        let found = match self {
            Files::Folder(folder) => {
                tokio::fs::metadata(folder.join(subfolder).join(name)).await.map(|file| file.len())
            }
            Files::Bucket(bucket) => {
                let found = bucket.store.head(&bucket.path([&*subfolder, &*name])).await;
                found.map(|object| object.size).map_err(io::Error::from)
            }
        };
        match found {
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(-1),
            found => found.map(|bytes| bytes as i64),
        }
    }
}

#[cfg(test)]
mod tests {
    use barograph_test_s3::{S3, SECRET};

    use super::*;

    #[test]
    fn files_have_their_sizes_and_differ() {
        let maker = FileMaker::new(7, 0.02);
        let (mut one, mut other) = (Vec::new(), Vec::new());
        for kind in [
            FileKind::EventPicture,
            FileKind::PersonPicture,
            FileKind::EventThumbnail,
            FileKind::PersonThumbnail,
            FileKind::Document,
        ] {
            maker.make(kind, 1, &mut one);
            maker.make(kind, 2, &mut other);
            assert_eq!((one.len(), other.len()), (kind.bytes(0.02), kind.bytes(0.02)), "{kind:?}");
            assert_ne!(one, other);
            let start: &[u8] = if kind == FileKind::Document { b"%PDF" } else { &[0xff, 0xd8, 0xff] };
            assert!(one.starts_with(start));
        }
        assert_eq!((FileKind::EventPicture.bytes(1.0), FileKind::Document.bytes(1.0)), (669_128, 129_617));
    }

    #[test]
    fn a_name_never_leaves_the_folder() {
        for name in ["../x.jpg", "/etc/passwd", "a/b.jpg", "..", ".x", "", "A.jpg", "a%2fb"] {
            assert_eq!(subfolder(name), None, "{name}");
        }
        assert!(subfolder("e17.pdf").unwrap().parse::<u64>().unwrap() < FOLDERS);
    }

    /// Files of two owners in a place.
    async fn are_kept_and_removed(place: &FilePlace) {
        let files = Files::open(place).unwrap();
        files.check().await.unwrap();
        files.write("e17", FileKind::Document, Bytes::from_static(b"abc")).await.unwrap();
        let maker = Arc::new(FileMaker::new(7, 0.02));
        files.fill(&maker, ('p', &FileKind::OF_PERSON), 3..5).await.unwrap();
        assert_eq!(files.read("e17.pdf").await.unwrap().unwrap(), "abc");
        let thumbnail = files.read("p5-small.jpg").await.unwrap().unwrap();
        let mut expected = Vec::new();
        maker.make(FileKind::PersonThumbnail, 4, &mut expected);
        assert_eq!(thumbnail, expected);
        for missing in ["e18.pdf", "../e17.pdf"] {
            assert_eq!(files.read(missing).await.unwrap(), None, "{missing}");
        }
        let lengths = async |owner: &str, kinds| files.lengths(vec![owner.to_owned()], kinds).await.unwrap();
        assert_eq!(lengths("e17", &FileKind::OF_EVENT).await, [[-1, -1, 3]]);
        assert_eq!(lengths("p4", &FileKind::OF_PERSON).await, [[13_430, 5_758]]);
        for _ in 0..2 {
            files.remove("e17", FileKind::Document).await.unwrap();
        }
        assert_eq!(lengths("e17", &[FileKind::Document]).await, [[-1]]);
    }

    #[tokio::test]
    async fn files_in_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        are_kept_and_removed(&FilePlace::Folder(folder.path().to_owned())).await;
    }

    #[tokio::test]
    async fn files_in_a_bucket() {
        let mut server = S3::start().await;
        are_kept_and_removed(&FilePlace::of(&server.url())).await;
        let missing = Files::open(&FilePlace::of(&server.url_of("nothing", SECRET))).unwrap();
        assert_eq!(missing.check().await.unwrap_err().to_string(), "there is no such bucket");
        let files = Files::open(&FilePlace::of(&server.url())).unwrap();
        server.kill().await;
        assert!(files.read("p5.jpg").await.is_err(), "a store that does not answer is no missing file");
    }
}
