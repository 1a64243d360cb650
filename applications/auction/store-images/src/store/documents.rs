//! Pictures as documents over the MongoDB protocol: MongoDB itself, or a compatible server.
//!
//! A document is read by its `_id` alone, because some of these servers scan the collection for anything
//! else. A document holds at most 16 MB, which is the origin of the published limit of uploads.

use std::sync::Arc;
use std::time::Duration;

use barograph_auction_store::StoreDescription;
use bytes::Bytes;
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, Document, RawDocumentBuf, doc};
use mongodb::error::{Error, ErrorKind};
use mongodb::options::{Acknowledgment, ClientOptions, WriteConcern};
use mongodb::{Client, Collection};

use super::{Key, Picture, PictureFuture, Store, bad, name_of};
use crate::error::PictureError;

/// Name of the store in messages.
const NAME: &str = "MongoDB protocol";

/// Default database.
const DATABASE: &str = "auction";

/// The collection of pictures.
const COLLECTION: &str = "picture";

/// Default number of connections; each serves one operation at a time.
const CONNECTIONS: u32 = 16;

/// Time limit for finding a server.
const FIND_SERVER_WITHIN: Duration = Duration::from_secs(5);

/// Time limit for removing all pictures, which drops a collection.
const CLEAR_WITHIN: Duration = Duration::from_secs(60);

/// Server's error code of a second document with one name.
const DUPLICATE: i32 = 11_000;

/// A collection of pictures.
struct Documents {
    read: Collection<RawDocumentBuf>,
    write: Collection<Document>,
    described: StoreDescription,
}

/// Opens the database.
pub(super) async fn open(url: &str) -> Result<Arc<dyn Store>, PictureError> {
    let parsed = ClientOptions::parse(url).await;
    // The driver's own words may repeat parts of the URL.
    let mut options = parsed.map_err(|_| bad(url, "the driver does not understand it"))?;
    options.app_name.get_or_insert_with(|| "barograph pictures".to_owned());
    options.max_pool_size.get_or_insert(CONNECTIONS);
    options.connect_timeout.get_or_insert(FIND_SERVER_WITHIN);
    options.server_selection_timeout.get_or_insert(FIND_SERVER_WITHIN);
    options
        .write_concern
        .get_or_insert_with(|| WriteConcern::builder().w(Acknowledgment::Majority).journal(true).build());
    let client = Client::with_options(options).map_err(|_| bad(url, "the driver refuses it"))?;
    let database = client.default_database().unwrap_or_else(|| client.database(DATABASE));
    let facts = database.run_command(doc! { "buildInfo": 1 }).await.map_err(failed("ask who it is"))?;
    Ok(Arc::new(Documents {
        read: database.collection(COLLECTION),
        write: database.collection(COLLECTION),
        described: describe(&facts),
    }))
}

fn describe(facts: &Document) -> StoreDescription {
    let speaks = facts.get_str("version").unwrap_or("of an unknown version");
    let ferret = facts.get_str("ferretdbVersion");
    let ferret =
        ferret.or_else(|_| facts.get_document("ferretdb").and_then(|about| about.get_str("version")));
    let (product, durability) = match ferret {
        Ok(version) => (
            format!("FerretDB {version}, speaking MongoDB {speaks}"),
            "a written picture survives what the database below FerretDB survives: it passes no write concern on",
        ),
        Err(_) => (
            format!("MongoDB {speaks}"),
            "a written picture is in the journal of a majority of the servers, unless the URL asks for less",
        ),
    };
    StoreDescription { product, durability: durability.to_owned() }
}

/// Converts an error of the driver.
fn failed(what: &'static str) -> impl Fn(Error) -> PictureError {
    move |error| {
        let lost = matches!(
            *error.kind,
            ErrorKind::Io(_) | ErrorKind::ServerSelection { .. } | ErrorKind::ConnectionPoolCleared { .. }
        );
        match lost || error.contains_label("RetryableWriteError") {
            true => PictureError::Unreachable { store: NAME, what, source: error.into() },
            false => PictureError::Refused { store: NAME, what, source: error.into() },
        }
    }
}

fn document(picture: &Picture) -> Document {
    let bytes = Binary { subtype: BinarySubtype::Generic, bytes: picture.bytes.to_vec() };
    doc! { "_id": name_of(picture.key), "bytes": bytes }
}

/// Whether the only errors are existing documents.
fn only_duplicates(error: &Error) -> bool {
    match &*error.kind {
        ErrorKind::InsertMany(failure) => {
            failure.write_concern_error.is_none()
                && failure
                    .write_errors
                    .as_ref()
                    .is_some_and(|all| all.iter().all(|one| one.code == DUPLICATE))
        }
        _ => false,
    }
}

impl Documents {
    async fn get(&self, key: Key) -> Result<Option<Bytes>, PictureError> {
        let found = self.read.find_one(doc! { "_id": name_of(key) }).await;
        let Some(document) = found.map_err(failed("read a picture"))? else { return Ok(None) };
        let bytes = document.get_binary("bytes").map_err(|error| PictureError::Refused {
            store: NAME,
            what: "read a picture",
            source: error.into(),
        })?;
        Ok(Some(Bytes::copy_from_slice(bytes.bytes)))
    }

    /// Writes many new pictures in one request. If some of them exist already all are replaced one by one.
    async fn put(&self, pictures: &[Picture]) -> Result<(), PictureError> {
        if pictures.len() > 1 {
            let inserted = self.write.insert_many(pictures.iter().map(document)).ordered(false).await;
            match inserted {
                Err(error) if only_duplicates(&error) => {}
                other => return other.map(drop).map_err(failed("write pictures")),
            }
        }
        for picture in pictures {
            let place = doc! { "_id": name_of(picture.key) };
            let replaced = self.write.replace_one(place, document(picture)).upsert(true).await;
            replaced.map_err(failed("write pictures"))?;
        }
        Ok(())
    }

    async fn clear(&self) -> Result<(), PictureError> {
        let dropped = tokio::time::timeout(CLEAR_WITHIN, self.write.drop().into_future()).await;
        let slow = |_| PictureError::Slow { store: NAME, what: "remove pictures", limit: CLEAR_WITHIN };
        dropped.map_err(slow)?.map_err(failed("remove pictures"))
    }
}

impl Store for Documents {
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
        self.described.clone()
    }
}
