//! The site: its rows, files and geocoder, and the facts about its data.

use std::io;
use std::path::PathBuf;

use parking_lot::RwLock;

use crate::cookie::hash;
use crate::files::Files;
use crate::geocoder::Geocoder;
use crate::size::FillOrder;
use crate::sqlite::Sqlite;
use crate::store::{Statement, Store, StoreError, values};

/// Name of the row that holds the order of a finished fill.
const ORDER: &str = "order";

/// Settings of a site.
#[derive(Clone, Debug)]
pub struct SiteOptions {
    /// Folder of the rows, pictures and documents; made if there is none.
    pub folder: PathBuf,
    /// Address of the geocoder, as HOST:PORT; `None` for one in this process.
    pub geocoder: Option<String>,
    /// Connections that read.
    pub readers: usize,
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
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
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
    filled: RwLock<Option<Filled>>,
}

impl Site {
    /// Opens a site, with or without data.
    ///
    /// # Errors
    /// If the folder or the store cannot be used.
    pub fn open(options: &SiteOptions) -> Result<Self, SiteError> {
        let SiteOptions { folder, geocoder, readers } = options;
        let files = Files::open(&folder.join("files"));
        let files = files.map_err(|why| SiteError::Folder { folder: folder.clone(), why })?;
        let store = Store::Sqlite(Sqlite::open(&folder.join("social.db"), *readers)?);
        let geocoder = geocoder.clone().map_or(Geocoder::Here, Geocoder::At);
        Ok(Site { store, files, geocoder, filled: RwLock::default() })
    }

    /// The facts about the data; `None` until they are filled.
    pub(crate) async fn filled(&self) -> Option<Filled> {
        if let Some(filled) = &*self.filled.read() {
            return Some(filled.clone());
        }
        // Without tables there are no data.
        let rows = self.store.read("SELECT value FROM site WHERE name = ?", values![ORDER]).await.ok()?;
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
