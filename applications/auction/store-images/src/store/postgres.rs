//! Pictures as rows of PostgreSQL.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use barograph_auction_store::StoreDescription;
use bytes::Bytes;
use tokio::sync::Mutex;
use tokio_postgres::config::SslMode;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, Statement};

use super::{Key, Picture, PictureFuture, Store, bad, name_of};
use crate::error::PictureError;

/// Name of the store in messages.
const NAME: &str = "PostgreSQL";

/// Number of connections. Requests of one connection are answered in order, so a few connections keep a large
/// picture from delaying others. Each costs a process of the server.
const CONNECTIONS: usize = 4;

/// Time limit for a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// Time limit for noticing a server that vanished silently.
const SILENCE_WITHIN: Duration = Duration::from_secs(15);

/// Attempts of a call: one that finds its connection broken is repeated once on a new one, since all calls
/// are idempotent.
const ATTEMPTS: usize = 2;

/// Time limit for removing all pictures, which takes a lock and unlinks files: their number does not matter.
const CLEAR_WITHIN: Duration = Duration::from_secs(60);

/// The table of pictures. JPEG does not compress further, so the server's compression is off.
const SCHEMA: &str = "\
    CREATE TABLE IF NOT EXISTS picture (_id text PRIMARY KEY, bytes bytea NOT NULL);
    ALTER TABLE picture ALTER COLUMN bytes SET STORAGE EXTERNAL;";

/// The bytes of a picture.
const GET: &str = "SELECT bytes FROM picture WHERE _id = $1";

/// Inserts pictures, or replaces their bytes.
const PUT: &str = "\
    INSERT INTO picture (_id, bytes) SELECT * FROM unnest($1::text[], $2::bytea[])
    ON CONFLICT (_id) DO UPDATE SET bytes = excluded.bytes";

/// A table of pictures.
struct Postgres {
    config: Config,
    lines: [Mutex<Option<Arc<Line>>>; CONNECTIONS],
    next: AtomicUsize,
    described: StoreDescription,
}

/// A connection with its statements.
struct Line {
    client: Client,
    get: Statement,
    put: Statement,
}

/// Opens the database, and makes the table if it is missing.
pub(super) async fn open(url: &str) -> Result<Arc<dyn Store>, PictureError> {
    let mut config: Config = url.parse().map_err(|_| bad(url, "the driver does not understand it"))?;
    if config.get_ssl_mode() == SslMode::Require {
        return Err(bad(url, "connections to PostgreSQL are made without TLS here"));
    }
    config
        .application_name("barograph pictures")
        .connect_timeout(CONNECT_WITHIN)
        .keepalives_idle(SILENCE_WITHIN)
        .tcp_user_timeout(SILENCE_WITHIN);
    let client = connect(&config).await?;
    prepare_table(&client).await?;
    let described = describe(&client).await.map_err(failed("ask who it is"))?;
    let lines = std::array::from_fn(|_| Mutex::new(None));
    Ok(Arc::new(Postgres { config, lines, next: AtomicUsize::new(0), described }))
}

async fn connect(config: &Config) -> Result<Client, PictureError> {
    let connecting = tokio::time::timeout(CONNECT_WITHIN, config.connect(NoTls)).await;
    let slow = |_| PictureError::Slow { store: NAME, what: "connect", limit: CONNECT_WITHIN };
    let (client, connection) = connecting.map_err(slow)?.map_err(failed("connect"))?;
    // Ends with the client, which reports its errors too.
    tokio::spawn(connection);
    Ok(client)
}

/// Makes the table. Several nodes may do so at the same time, and one of them gets an error: its second try
/// finds the table.
async fn prepare_table(client: &Client) -> Result<(), PictureError> {
    let exists = "SELECT 1 FROM pg_class WHERE oid = to_regclass('picture')";
    for _ in 0..ATTEMPTS {
        let found = client.simple_query(exists).await.map_err(failed("look for the table"))?;
        if found.iter().any(|message| matches!(message, tokio_postgres::SimpleQueryMessage::Row(_))) {
            return Ok(());
        }
        if client.batch_execute(SCHEMA).await.is_ok() {
            return Ok(());
        }
    }
    client.batch_execute(SCHEMA).await.map_err(failed("make the table"))
}

async fn describe(client: &Client) -> Result<StoreDescription, tokio_postgres::Error> {
    let settings = "SELECT current_setting('server_version'), current_setting('fsync'), \
                    current_setting('synchronous_commit')";
    let row = client.query_one(settings, &[]).await?;
    let (version, fsync, commit): (String, String, String) =
        (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    let survives = match (fsync.as_str(), commit.as_str()) {
        ("off", _) => "survives the server process, not the machine",
        (_, "off") => "may be lost when the server dies within a moment of it",
        _ => "survives the server and the machine",
    };
    Ok(StoreDescription {
        product: format!("{NAME} {version}"),
        durability: format!("a written picture {survives} (fsync {fsync}, synchronous_commit {commit})"),
    })
}

/// Converts an error of the driver.
fn failed(what: &'static str) -> impl Fn(tokio_postgres::Error) -> PictureError {
    move |error| match is_lost(&error) {
        true => PictureError::Unreachable { store: NAME, what, source: error.into() },
        false => PictureError::Refused { store: NAME, what, source: error.into() },
    }
}

/// Whether the connection is at fault, or a server that is starting or stopping (class 57), or has no
/// connection to spare (class 53).
fn is_lost(error: &tokio_postgres::Error) -> bool {
    let passing = |code: &str| code.starts_with("57P") || code.starts_with("53");
    match error.code() {
        Some(code) => passing(code.code()),
        None => true,
    }
}

impl Postgres {
    /// Returns the next connection in turn that is not known to be broken.
    async fn line(&self) -> Result<Arc<Line>, PictureError> {
        let at = self.next.fetch_add(1, Ordering::Relaxed) % CONNECTIONS;
        // One caller connects, others that need this connection wait for it.
        let mut line = self.lines[at].lock().await;
        if let Some(open) = line.as_ref().filter(|open| !open.client.is_closed()) {
            return Ok(Arc::clone(open));
        }
        let client = connect(&self.config).await?;
        let get = client.prepare(GET).await.map_err(failed("prepare"))?;
        let put = client.prepare(PUT).await.map_err(failed("prepare"))?;
        Ok(Arc::clone(line.insert(Arc::new(Line { client, get, put }))))
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, PictureError> {
        let mut attempts = 1;
        loop {
            let line = self.line().await?;
            match line.client.query_opt(&line.get, &[&name]).await {
                Ok(None) => return Ok(None),
                Ok(Some(row)) => {
                    let bytes: &[u8] = row.try_get(0).map_err(failed("read a picture"))?;
                    return Ok(Some(Bytes::copy_from_slice(bytes)));
                }
                Err(error) if is_lost(&error) && attempts < ATTEMPTS => attempts += 1,
                Err(error) => return Err(failed("read a picture")(error)),
            }
        }
    }

    async fn put(&self, pictures: &[Picture]) -> Result<(), PictureError> {
        let names: Vec<String> = pictures.iter().map(|picture| name_of(picture.key)).collect();
        let bytes: Vec<&[u8]> = pictures.iter().map(|picture| &*picture.bytes).collect();
        let values: [&(dyn ToSql + Sync); 2] = [&names, &bytes];
        let mut attempts = 1;
        loop {
            let line = self.line().await?;
            match line.client.execute(&line.put, &values).await {
                Ok(_) => return Ok(()),
                Err(error) if is_lost(&error) && attempts < ATTEMPTS => attempts += 1,
                Err(error) => return Err(failed("write pictures")(error)),
            }
        }
    }

    async fn clear(&self) -> Result<(), PictureError> {
        let emptying = async {
            let line = self.line().await?;
            line.client.batch_execute("TRUNCATE picture").await.map_err(failed("remove pictures"))
        };
        let emptied = tokio::time::timeout(CLEAR_WITHIN, emptying).await;
        let slow = |_| PictureError::Slow { store: NAME, what: "remove pictures", limit: CLEAR_WITHIN };
        emptied.map_err(slow)?
    }
}

impl Store for Postgres {
    fn get(&self, key: Key) -> PictureFuture<'_, Option<Bytes>> {
        Box::pin(async move { self.get(&name_of(key)).await })
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
