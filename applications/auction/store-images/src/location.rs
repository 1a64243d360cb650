//! Places of pictures, and limits of memory: the settings of an image store.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::error::PictureError;

/// A place of pictures. Displayed without its password.
#[derive(Clone, PartialEq, Eq)]
pub enum PictureLocation {
    /// Files of this machine.
    Files {
        /// The images folder of a fill.
        read: PathBuf,
        /// Folder of uploads, searched first for pictures in full size; made if missing. By default uploads
        /// go into `read`.
        write: Option<PathBuf>,
    },
    /// A store by its URL:
    /// `s3://[KEY:SECRET@]bucket[/prefix][?endpoint=http://host:port&region=name]` (key and secret percent-encoded;
    /// without them those of the environment, `AWS_*`), `file:///folder`, `nfs://host[:port]/export`, `postgres://...`,
    /// `mongodb://.../database`. Several, separated by spaces, share the pictures.
    Url(String),
}

impl fmt::Display for PictureLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PictureLocation::Files { read, write: None } => read.display().fmt(f),
            PictureLocation::Files { read, write: Some(write) } => {
                write!(f, "{} and {}", read.display(), write.display())
            }
            PictureLocation::Url(text) => {
                let urls: Vec<String> = urls_of(text).into_iter().map(without_secrets).collect();
                f.write_str(&urls.join(" "))
            }
        }
    }
}

impl fmt::Debug for PictureLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PictureLocation({self})")
    }
}

/// Parses a text with `://` as a URL, any other as the folder of a fill. URLs are validated when they are
/// opened.
impl FromStr for PictureLocation {
    type Err = PictureError;

    fn from_str(text: &str) -> Result<Self, PictureError> {
        match text {
            "" => Err(PictureError::BadPlace { place: "\"\"".to_owned(), why: "it is empty".to_owned() }),
            url if url.contains("://") => Ok(PictureLocation::Url(url.to_owned())),
            folder => Ok(PictureLocation::Files { read: folder.into(), write: None }),
        }
    }
}

/// The URLs in a text; a space may also be part of a folder's name.
pub(crate) fn urls_of(text: &str) -> Vec<&str> {
    let parts: Vec<&str> = text.split_whitespace().collect();
    if parts.iter().all(|part| part.contains("://")) { parts } else { vec![text] }
}

/// A URL without user, password and options. Rather hides too much of a malformed one.
pub(crate) fn without_secrets(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return "***".to_owned() };
    let (user, shown) = match rest.rsplit_once('@') {
        // The @ may end a password with a question mark, or be part of an option's value.
        Some((before, _)) if before.contains('?') => return format!("{scheme}://***"),
        Some((_, after)) => ("***@", after),
        None => ("", rest),
    };
    let shown = shown.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}://{user}{shown}")
}

/// Limits of memory, and the number of writers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of cached small pictures.
    pub cache_bytes: u64,
    /// Uploads waiting or being written.
    pub queue: usize,
    /// Bytes of those uploads.
    pub queue_bytes: usize,
    /// Concurrent writes; at least 1.
    pub writers: usize,
}

/// Default length of the queue: that of the published application.
const QUEUE: usize = 4000;

/// Default bytes of the queue: some 450 uploads of the published 586 kB. A full queue of them would be 2.3
/// GB, more than the memory of many nodes.
const QUEUE_BYTES: usize = 256 << 20;

/// Default size of the cache: all thumbnails of a small fill.
const CACHE_BYTES: u64 = 64 << 20;

impl Default for Limits {
    fn default() -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        Limits {
            cache_bytes: CACHE_BYTES,
            queue: QUEUE,
            queue_bytes: QUEUE_BYTES,
            writers: (cpus / 2).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_shown_without_secrets() {
        for (text, shown) in [
            ("/data/images", "/data/images"),
            ("s3://KEY:SEC%2FRET@bucket/p?endpoint=http://h:9000", "s3://***@bucket/p"),
            ("s3://bucket?secret=hunter2", "s3://bucket"),
            ("postgres://u:hunter2@h:1/db", "postgres://***@h:1/db"),
            ("postgres://u:hun@ter2@h/db", "postgres://***@h/db"),
            ("postgres://u:hun?ter2@h/db", "postgres://***"),
            ("mongodb://h/db?password=hunt@er2", "mongodb://***"),
            ("file:///data", "file:///data"),
            ("file:///my data", "file:///my data"),
            (
                "mongodb://u:hunter2@one/db postgres://hunter3@two/db",
                "mongodb://***@one/db postgres://***@two/db",
            ),
        ] {
            let place: PictureLocation = text.parse().unwrap();
            assert_eq!(place.to_string(), shown);
            assert_eq!(format!("{place:?}"), format!("PictureLocation({shown})"));
        }
        assert!("".parse::<PictureLocation>().is_err());
    }
}
