//! The site: its rows, files and geocoder, and the facts about its data.

use std::io;
use std::path::PathBuf;

use parking_lot::RwLock;

use crate::cache::{Cache, CacheError, Subject};
use crate::cookie::hash;
use crate::files::{FilePlace, Files};
use crate::geocoder::Geocoder;
use crate::size::FillOrder;
use crate::store::{Row, Statement, Store, StoreError, Value, values};

/// Name of the row that holds the order of a finished fill.
const ORDER: &str = "order";

/// Settings of a site. Addresses may hold passwords, hence no `Debug`.
#[derive(Clone)]
pub struct SiteOptions {
    /// Folder of the SQLite file, and of the files; made if there is none.
    pub folder: PathBuf,
    /// Pictures and documents, which nodes of a site share; `None` for a folder in `folder`.
    pub files: Option<FilePlace>,
    /// Address of the database, `postgres://...` or `mysql://...`; `None` for the SQLite file.
    pub database: Option<String>,
    /// Address of the cache, `memcached://...` or `redis://...`; `None` for none.
    pub cache: Option<String>,
    /// Address of the geocoder, as HOST:PORT; `None` for one in this process.
    pub geocoder: Option<String>,
    /// Connections that read the SQLite file, or sessions of the database.
    pub sessions: usize,
}

impl SiteOptions {
    /// A site on a folder alone.
    #[must_use]
    pub fn embedded(folder: PathBuf, sessions: usize) -> Self {
        SiteOptions { folder, files: None, database: None, cache: None, geocoder: None, sessions }
    }
}

/// Failure to open a site.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// The folder cannot be used.
    #[error("use the folder `{}`", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The cause.
        #[source]
        why: io::Error,
    },
    /// The place of the files cannot be used.
    #[error("use the place of pictures and documents")]
    Files(#[source] io::Error),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// Facts about filled data.
#[derive(Clone, Debug)]
pub(crate) struct Filled {
    pub(crate) order: FillOrder,
    /// Key of the cookies.
    pub(crate) secret: String,
}

/// A site.
pub struct Site {
    pub(crate) store: Store,
    pub(crate) files: Files,
    pub(crate) geocoder: Geocoder,
    pub(crate) cache: Option<Cache>,
    filled: RwLock<Option<Filled>>,
}

impl Site {
    /// Opens a site, with or without data.
    ///
    /// # Errors
    /// If the folder or the store cannot be used.
    pub fn open(options: &SiteOptions) -> Result<Self, SiteError> {
        let SiteOptions { folder, files, database, cache, geocoder, sessions } = options;
        let used = |why| SiteError::Folder { folder: folder.clone(), why };
        std::fs::create_dir_all(folder).map_err(used)?;
        let place = files.clone().unwrap_or_else(|| FilePlace::Folder(folder.join("files")));
        let files = Files::open(&place).map_err(SiteError::Files)?;
        let store = Store::open(database.as_deref(), &folder.join("social.db"), *sessions)?;
        let geocoder = geocoder.clone().map_or(Geocoder::Here, Geocoder::At);
        let cache = cache.as_deref().map(Cache::new).transpose()?;
        Ok(Site { store, files, geocoder, cache, filled: RwLock::default() })
    }

    /// Checks that the place of the files can be used.
    ///
    /// # Errors
    /// If a bucket does not exist, or cannot be read.
    pub async fn check_files(&self) -> Result<(), SiteError> {
        self.files.check().await.map_err(SiteError::Files)
    }

    /// Reads rows, from the cache if it has them.
    pub(crate) async fn rows(
        &self,
        subject: Subject<'_>,
        (sql, values): (&'static str, &[Value]),
    ) -> Result<Vec<Row>, StoreError> {
        let read = self.store.read(sql, values);
        match &self.cache {
            Some(cache) => cache.rows(subject, (sql, values), read).await,
            None => read.await,
        }
    }

    /// Tells the cache what has changed.
    pub(crate) async fn changed(&self, subjects: &[Subject<'_>]) {
        if let Some(cache) = &self.cache {
            cache.changed(subjects).await;
        }
    }

    /// The facts about the data; `None` until they are filled.
    pub(crate) async fn filled(&self) -> Option<Filled> {
        if let Some(filled) = &*self.filled.read() {
            return Some(filled.clone());
        }
        // Without tables there are no data.
        let rows = self.store.read("SELECT value FROM site WHERE name = ?", &values![ORDER]).await.ok()?;
        let text = rows.first()?.text(0).to_owned();
        let order = serde_json::from_str(&text).ok()?;
        let filled = Filled { order, secret: hash(&["cookies of a social site", &text]) };
        *self.filled.write() = Some(filled.clone());
        Some(filled)
    }

    /// Marks the data as filled.
    pub(crate) async fn mark(&self, order: &FillOrder) -> Result<(), StoreError> {
        let text = serde_json::to_string(order).map_err(|why| StoreError::Refused(why.into()))?;
        let mark = Statement::new("INSERT INTO site (name, value) VALUES (?, ?)", values![ORDER, text]);
        self.store.change(vec![mark]).await.map(drop)
    }
}
