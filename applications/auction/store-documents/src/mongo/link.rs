//! The connection to a server over the MongoDB protocol, with the few commands of this store.

use std::time::Duration;

use barograph_auction_store::StoreError;
use futures::stream::TryStreamExt;
use mongodb::bson::{Bson, Document, doc};
use mongodb::error::{Error, ErrorKind, WriteFailure};
use mongodb::options::{Acknowledgment, ClientOptions, WriteConcern};
use mongodb::{Client, Collection, Database};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::{ANSWER_LIMIT, Access, BULK_LIMIT, CONNECT_LIMIT, RACES, StoreAction, refused};

/// Name of the store in errors.
pub(super) const STORE: &str = "the document store";

/// Default database.
const DATABASE: &str = "auction_events";

/// Time limit of a command for finding a server. Short, since writes to FerretDB 1.x wait for each other, and
/// without the server each would wait this long in turn; callers retry anyway.
const SERVER_LIMIT: Duration = Duration::from_secs(1);

/// Tries when a store is opened, each for [`FIRST_LIMIT`]: a server on a busy machine may be slow to answer
/// first, and a failed opening is not repeated.
const FIRST_TRIES: u32 = 5;

/// Time limit for finding the server and for its first answer.
const FIRST_LIMIT: Duration = Duration::from_secs(2);

/// Error code: a document with this `_id` exists.
const DUPLICATE: i32 = 11000;

/// Error codes of a server that is shutting down, or is no longer the primary of its set: nothing was done.
const GOING_DOWN: [i32; 7] = [91, 189, 10107, 11600, 11602, 13435, 13436];

/// Documents per insert while loading. The driver splits further at the server's limits.
const INSERT_DOCUMENTS: usize = 5_000;

/// Most changes in one command: 512 of a large write fit into one, and the message stays small. FerretDB 1.x
/// keeps a SQLite connection open for every change until the command is done, which doubles the time of each,
/// so it gets them one by one.
const CHANGES_AT_ONCE: usize = 1_000;

/// Most keys in one query: 1,000 keys of 30 bytes are far below the limit of a message.
const KEYS_AT_ONCE: usize = 1_000;

/// A change of one document, which is made if it does not exist.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) id: String,
    pub(super) set: Document,
    pub(super) unset: Document,
}

impl Change {
    pub(super) fn new(id: String) -> Self {
        Self { id, set: Document::new(), unset: Document::new() }
    }
}

/// A query for one key (FerretDB 1.x uses its database's index for nothing else, and reads all documents
/// otherwise) or for many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    OneByOne,
    Together,
}

pub(super) struct Link {
    database: Database,
    changes_at_once: usize,
}

pub(super) fn read(what: &'static str) -> StoreAction {
    StoreAction { store: STORE, what, access: Access::Read, limit: ANSWER_LIMIT }
}

pub(super) fn write(what: &'static str) -> StoreAction {
    StoreAction { store: STORE, what, access: Access::Write, limit: ANSWER_LIMIT }
}

pub(super) fn bulk(deed: StoreAction) -> StoreAction {
    StoreAction { limit: BULK_LIMIT, ..deed }
}

impl Link {
    /// Waits for the server's first answer, within limits.
    pub(super) async fn new(url: &str, connections: usize) -> Result<Self, StoreError> {
        // The driver's own words may repeat parts of the address, and addresses hold passwords.
        let wrong = |_: Error| refused(STORE, "read its address", "it is no address of a MongoDB server");
        let mut options = ClientOptions::parse(url).await.map_err(wrong)?;
        options.max_pool_size = Some(u32::try_from(connections).unwrap_or(u32::MAX));
        options.connect_timeout = Some(CONNECT_LIMIT);
        options.server_selection_timeout = Some(SERVER_LIMIT);
        // A server that was restarted is found again within this time.
        options.heartbeat_freq = Some(Duration::from_secs(1));
        options.app_name = Some("barograph auction".to_owned());
        options.write_concern =
            Some(WriteConcern::builder().w(Acknowledgment::Majority).journal(true).build());
        let name = options.default_database.clone().unwrap_or_else(|| DATABASE.to_owned());
        let client = Client::with_options(options).map_err(wrong)?;
        let link = Self { database: client.database(&name), changes_at_once: CHANGES_AT_ONCE };
        link.reach().await?;
        Ok(link)
    }

    async fn reach(&self) -> Result<(), StoreError> {
        let ping = StoreAction { limit: FIRST_LIMIT, ..read("answer a ping") };
        let mut left = FIRST_TRIES;
        loop {
            left -= 1;
            match self.run(ping, doc! { "ping": 1 }).await {
                Err(StoreError::Unreachable { .. }) if left > 0 => {}
                answered => return answered.map(drop),
            }
        }
    }

    /// Sends one change per command from now on.
    pub(super) fn change_one_by_one(&mut self) {
        self.changes_at_once = 1;
    }

    /// Runs any command.
    pub(super) async fn run(&self, deed: StoreAction, command: Document) -> Result<Document, StoreError> {
        deed.within(async { self.database.run_command(command).await.map_err(|error| failed(deed, error)) })
            .await
    }

    /// Runs a command on the server rather than on a database.
    pub(super) async fn run_admin(
        &self,
        deed: StoreAction,
        command: Document,
    ) -> Result<Document, StoreError> {
        let admin = self.database.client().database("admin");
        deed.within(async { admin.run_command(command).await.map_err(|error| failed(deed, error)) }).await
    }

    fn collection<T: Send + Sync>(&self, name: &str) -> Collection<T> {
        self.database.collection(name)
    }

    /// Changes documents, each of them atomically if the server does so.
    pub(super) async fn update(
        &self,
        deed: StoreAction,
        name: &str,
        changes: &[Change],
    ) -> Result<(), StoreError> {
        for part in changes.chunks(self.changes_at_once) {
            self.update_part(deed, name, part).await?;
        }
        Ok(())
    }

    async fn update_part(&self, deed: StoreAction, name: &str, changes: &[Change]) -> Result<(), StoreError> {
        let command = doc! {
            "update": name,
            "updates": changes.iter().map(statement).collect::<Vec<Bson>>(),
            "ordered": false,
            "writeConcern": { "w": "majority", "j": true },
        };
        for _ in 0..RACES {
            let answer = self.run(deed, command.clone()).await?;
            match complaint(&answer) {
                None => return Ok(()),
                // Two writers made the same document; now that it exists, both change it.
                Some((DUPLICATE, _)) => {}
                Some((_, text)) => return Err(deed.lost(text.into())),
            }
        }
        Err(deed.lost("the same document was made by others again and again".into()))
    }

    /// Inserts a document; false if one with its `_id` exists.
    pub(super) async fn insert<T: Serialize + Send + Sync>(
        &self,
        deed: StoreAction,
        name: &str,
        document: &T,
    ) -> Result<bool, StoreError> {
        let inserted = async {
            match self.collection::<T>(name).insert_one(document).await {
                Ok(_) => Ok(true),
                Err(error) if is_duplicate(&error) => Ok(false),
                Err(error) => Err(failed(deed, error)),
            }
        };
        deed.within(inserted).await
    }

    /// Inserts new documents.
    pub(super) async fn insert_all<T: Serialize + Send + Sync>(
        &self,
        deed: StoreAction,
        name: &str,
        documents: &[T],
    ) -> Result<(), StoreError> {
        let collection = self.collection::<T>(name);
        for part in documents.chunks(INSERT_DOCUMENTS) {
            let inserted = async { collection.insert_many(part).await.map_err(|error| failed(deed, error)) };
            deed.within(inserted).await?;
        }
        Ok(())
    }

    /// Deletes documents by id; returns their number.
    pub(super) async fn delete(
        &self,
        deed: StoreAction,
        name: &str,
        ids: &[String],
    ) -> Result<usize, StoreError> {
        if ids.is_empty() {
            return Ok(0);
        }
        self.delete_where(deed, name, ids.iter().map(|id| doc! { "_id": id }).collect()).await
    }

    /// Deletes the first document of each filter; returns their number.
    pub(super) async fn delete_where(
        &self,
        deed: StoreAction,
        name: &str,
        filters: Vec<Document>,
    ) -> Result<usize, StoreError> {
        let deletes: Vec<Bson> =
            filters.into_iter().map(|q| Bson::Document(doc! { "q": q, "limit": 1 })).collect();
        let command = doc! {
            "delete": name,
            "deletes": deletes,
            "ordered": false,
            "writeConcern": { "w": "majority", "j": true },
        };
        let answer = self.run(deed, command).await?;
        if let Some((_, text)) = complaint(&answer) {
            return Err(deed.lost(text.into()));
        }
        let deleted = answer.get("n").and_then(whole).unwrap_or_default();
        Ok(usize::try_from(deleted).unwrap_or_default())
    }

    /// One document, if it exists.
    pub(super) async fn find<T>(
        &self,
        deed: StoreAction,
        name: &str,
        id: &str,
    ) -> Result<Option<T>, StoreError>
    where
        T: DeserializeOwned + Send + Sync,
    {
        let found = async {
            let found = self.collection::<T>(name).find_one(doc! { "_id": id }).await;
            found.map_err(|error| failed(deed, error))
        };
        deed.within(found).await
    }

    /// The existing ones of some documents, in any order.
    pub(super) async fn find_all<T>(
        &self,
        deed: StoreAction,
        places: LookupKeys<'_>,
    ) -> Result<Vec<T>, StoreError>
    where
        T: DeserializeOwned + Send + Sync,
    {
        let LookupKeys { collection, ids, lookup } = places;
        if lookup == Lookup::OneByOne || ids.len() == 1 {
            let each = ids.iter().map(|id| self.find::<T>(deed, collection, id));
            return Ok(futures::future::try_join_all(each).await?.into_iter().flatten().collect());
        }
        let mut all = Vec::new();
        for part in ids.chunks(KEYS_AT_ONCE) {
            all.extend(self.filter(deed, collection, doc! { "_id": { "$in": part } }).await?);
        }
        Ok(all)
    }

    /// A whole collection.
    pub(super) async fn scan<T>(&self, deed: StoreAction, name: &str) -> Result<Vec<T>, StoreError>
    where
        T: DeserializeOwned + Send + Sync,
    {
        self.filter(bulk(deed), name, doc! {}).await
    }

    async fn filter<T>(&self, deed: StoreAction, name: &str, filter: Document) -> Result<Vec<T>, StoreError>
    where
        T: DeserializeOwned + Send + Sync,
    {
        let found = async {
            let cursor =
                self.collection::<T>(name).find(filter).await.map_err(|error| failed(deed, error))?;
            cursor.try_collect().await.map_err(|error| failed(deed, error))
        };
        deed.within(found).await
    }

    /// Removes a collection with all it holds.
    pub(super) async fn drop(&self, deed: StoreAction, name: &str) -> Result<(), StoreError> {
        let dropped =
            async { self.collection::<Document>(name).drop().await.map_err(|error| failed(deed, error)) };
        deed.within(dropped).await
    }
}

/// Documents to look up.
#[derive(Clone, Copy, Debug)]
pub(super) struct LookupKeys<'a> {
    pub(super) collection: &'static str,
    pub(super) ids: &'a [String],
    pub(super) lookup: Lookup,
}

fn statement(change: &Change) -> Bson {
    let mut update = Document::new();
    if !change.set.is_empty() {
        update.insert("$set", change.set.clone());
    }
    if !change.unset.is_empty() {
        update.insert("$unset", change.unset.clone());
    }
    Bson::Document(doc! { "q": { "_id": &change.id }, "u": update, "upsert": true })
}

/// The first error in an answer that is otherwise successful, as code and message, unless all are duplicates.
fn complaint(answer: &Document) -> Option<(i32, String)> {
    let errors = answer.get_array("writeErrors").into_iter().flatten().filter_map(Bson::as_document);
    let concern = answer.get_document("writeConcernError").ok();
    let told = errors.chain(concern).map(|error| {
        let code =
            error.get("code").and_then(whole).and_then(|code| i32::try_from(code).ok()).unwrap_or_default();
        (code, error.get_str("errmsg").unwrap_or("the server gives no reason").to_owned())
    });
    told.min_by_key(|(code, _)| *code == DUPLICATE)
}

/// Reads a number of any type of the protocol, since servers differ.
pub(super) fn whole(value: &Bson) -> Option<i64> {
    match value {
        Bson::Int32(number) => Some(i64::from(*number)),
        Bson::Int64(number) => Some(*number),
        Bson::Double(number) if number.fract() == 0.0 => Some(*number as i64),
        _ => None,
    }
}

fn is_duplicate(error: &Error) -> bool {
    match error.kind.as_ref() {
        ErrorKind::Write(WriteFailure::WriteError(error)) => error.code == DUPLICATE,
        ErrorKind::Command(error) => error.code == DUPLICATE,
        _ => false,
    }
}

fn failed(deed: StoreAction, error: Error) -> StoreError {
    match error.kind.as_ref() {
        ErrorKind::ServerSelection { .. } | ErrorKind::DnsResolve { .. } => deed.unreachable(error.into()),
        ErrorKind::Command(told) if GOING_DOWN.contains(&told.code) => deed.lost(error.into()),
        ErrorKind::Io(_) | ErrorKind::ConnectionPoolCleared { .. } => deed.lost(error.into()),
        ErrorKind::Write(WriteFailure::WriteConcernError(_)) => deed.lost(error.into()),
        // FerretDB on SQLite: another process kept the file locked for longer than its wait.
        _ if error.to_string().contains("SQLITE_BUSY") => deed.lost(error.into()),
        _ => deed.refused(error.into()),
    }
}
