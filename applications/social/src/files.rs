//! Pictures and documents: files in a folder, and their made-up contents.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use barograph_data::Streams;
use barograph_data::pictures::{PictureSize, Pictures};
use bytes::Bytes;
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

/// The folder of the files.
#[derive(Clone, Debug)]
pub(crate) struct Files(PathBuf);

impl Files {
    /// Opens a folder, and makes its subfolders.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        for number in 0..FOLDERS {
            std::fs::create_dir_all(folder.join(number.to_string()))?;
        }
        Ok(Files(folder.to_owned()))
    }

    /// The path of a file; `None` for a name that no file has.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        let is_of_name =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
        if !name.bytes().all(is_of_name) || !name.starts_with(|first: char| first.is_ascii_alphanumeric()) {
            return None;
        }
        let stem = name.split(['-', '.']).next().unwrap_or_default();
        let sum = stem.bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        Some(self.0.join((sum % FOLDERS).to_string()).join(name))
    }

    fn of(&self, owner: &str, kind: FileKind) -> io::Result<PathBuf> {
        let path = self.path(&format!("{owner}{}", kind.suffix()));
        path.ok_or_else(|| io::ErrorKind::InvalidFilename.into())
    }

    /// Writes a file of an owner, whose name begins its own.
    pub(crate) async fn write(&self, owner: &str, kind: FileKind, bytes: Bytes) -> io::Result<()> {
        tokio::fs::write(self.of(owner, kind)?, bytes).await
    }

    /// Writes files of several owners, made by their numbers, on a thread that may block.
    pub(crate) async fn fill(
        &self,
        maker: &Arc<FileMaker>,
        (letter, kinds): (char, &'static [FileKind]),
        numbers: Range<u64>,
    ) -> io::Result<()> {
        let (files, maker) = (self.clone(), Arc::clone(maker));
        let work = move || -> io::Result<()> {
            let mut bytes = Vec::new();
            for number in numbers {
                for kind in kinds {
                    maker.make(*kind, number, &mut bytes);
                    std::fs::write(files.of(&owner(letter, number), *kind)?, &bytes)?;
                }
            }
            Ok(())
        };
        tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
    }

    /// Removes a file of an owner, if there is one.
    pub(crate) async fn remove(&self, owner: &str, kind: FileKind) -> io::Result<()> {
        match tokio::fs::remove_file(self.of(owner, kind)?).await {
            Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
            _ => Ok(()),
        }
    }

    /// Bytes of the files of an owner; -1 for a missing one. Blocks.
    pub(crate) fn lengths(&self, owner: &str, kinds: &[FileKind]) -> Vec<i64> {
        let length =
            |kind: &FileKind| std::fs::metadata(self.of(owner, *kind)?).map(|file| file.len() as i64);
        kinds.iter().map(|kind| length(kind).unwrap_or(-1)).collect()
    }
}

#[cfg(test)]
mod tests {
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

    #[tokio::test]
    async fn a_name_never_leaves_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::open(folder.path()).unwrap();
        for name in ["../x.jpg", "/etc/passwd", "a/b.jpg", "..", ".x", "", "A.jpg", "a%2fb"] {
            assert_eq!(files.path(name), None, "{name}");
        }
        files.write("e17", FileKind::Document, Bytes::from_static(b"abc")).await.unwrap();
        assert_eq!(files.lengths("e17", &[FileKind::Document, FileKind::EventPicture]), [3, -1]);
        assert!(files.path("e17.pdf").unwrap().starts_with(folder.path()));
        for _ in 0..2 {
            files.remove("e17", FileKind::Document).await.unwrap();
        }
        assert_eq!(files.lengths("e17", &[FileKind::Document]), [-1]);
    }
}
