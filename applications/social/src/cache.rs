//! A cache of rows in memcached or Redis, which all nodes of a site share.
//!
//! Rows are kept under a *stamp* of what they depend on: a zone, a tag, an event. A change removes the stamp after its
//! commit, and the next reader draws a new one, so rows that were read before the change are not found again. A cache
//! that does not answer is passed by; a change that it has missed is seen when the rows expire.

mod memcached;
mod redis;

use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use uuid::Uuid;

use crate::cookie::hash;
use crate::store::{Row, Value};

/// Seconds after which rows and stamps expire: how long a change that the cache has missed stays unseen at the most.
const KEPT_S: u32 = 60;

/// Time limit of a question.
const WAIT: Duration = Duration::from_millis(500);

/// Connections at the most.
const CONNECTIONS: usize = 64;

/// Bytes of an answer at the most; memcached keeps no larger entries either.
const LARGEST: usize = 1 << 20;

/// What rows depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject<'a> {
    /// Events of a zone.
    Zone(i64),
    /// Events with a tag.
    Tag(&'a str),
    /// The uses of all tags.
    Tags,
    /// An event with its attendees and comments.
    Event(i64),
}

impl Subject<'_> {
    /// The key of its stamp.
    fn key(self) -> String {
        match self {
            Subject::Zone(zone) => format!("zone:{zone}"),
            // Tags of a search may have any signs.
            Subject::Tag(tag) => format!("tag:{}", hash(&[tag])),
            Subject::Tags => "tags".to_owned(),
            Subject::Event(event) => format!("event:{event}"),
        }
    }
}

/// An address that is none of a cache.
#[derive(Debug, thiserror::Error)]
#[error("use an address of a cache that is none of memcached://HOST:PORT, redis://HOST:PORT")]
pub struct CacheError;

/// A question to the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Question<'q> {
    /// The value of a key.
    Get(&'q str),
    /// Sets a key for a time.
    Set(&'q str, &'q [u8]),
    /// Sets a key that has no value for a time.
    Add(&'q str, &'q [u8]),
    /// Removes a key.
    Remove(&'q str),
    /// Removes all keys.
    Clear,
}

/// The answer: the value of a [`Question::Get`] that has one, else none.
type Answer = Option<Vec<u8>>;

/// A protocol: writes a question, and reads the answer at the front of a buffer, `None` for one that is not whole.
#[derive(Clone, Copy, Debug)]
struct Protocol {
    write: fn(Question<'_>, &mut Vec<u8>),
    read: fn(&[u8]) -> Result<Option<Answer>, io::Error>,
}

/// The cache.
pub(crate) struct Cache {
    protocol: Protocol,
    address: String,
    idle: Mutex<Vec<TcpStream>>,
    places: Semaphore,
}

impl Cache {
    /// The cache at an address.
    pub(crate) fn new(url: &str) -> Result<Self, CacheError> {
        let (scheme, address) = url.split_once("://").ok_or(CacheError)?;
        let protocol = match scheme {
            "memcached" => memcached::PROTOCOL,
            "redis" => redis::PROTOCOL,
            _ => return Err(CacheError),
        };
        let address = address.trim_end_matches('/');
        let port = address.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
        if !matches!(port, Some(Ok(_))) {
            return Err(CacheError);
        }
        let (address, places) = (address.to_owned(), Semaphore::new(CONNECTIONS));
        Ok(Cache { protocol, address, idle: Mutex::default(), places })
    }

    /// Rows kept for a statement and its values; read and kept if there are none.
    pub(crate) async fn rows<E>(
        &self,
        subject: Subject<'_>,
        (sql, values): (&str, &[Value]),
        read: impl Future<Output = Result<Vec<Row>, E>>,
    ) -> Result<Vec<Row>, E> {
        // Before the rows are read: what changes after that removes this stamp.
        let Ok(stamp) = self.stamp(subject).await else { return read.await };
        let mut text = format!("{stamp}\n{sql}");
        for value in values {
            // Writing to memory cannot fail.
            let _ = write!(text, "\n{value:?}");
        }
        let key = format!("rows:{}", hash(&[&text]));
        if let Ok(Some(bytes)) = self.ask(Question::Get(&key)).await
            && let Some(rows) = decoded(&bytes)
        {
            return Ok(rows);
        }
        let rows = read.await?;
        // Rows that are not kept are read again.
        let _ = self.ask(Question::Set(&key, &encoded(&rows))).await;
        Ok(rows)
    }

    /// Removes the stamps of what has changed.
    pub(crate) async fn changed(&self, subjects: &[Subject<'_>]) {
        for subject in subjects {
            // A change that the cache misses is seen when the rows expire.
            let _ = self.ask(Question::Remove(&subject.key())).await;
        }
    }

    /// Removes everything.
    pub(crate) async fn clear(&self) {
        let _ = self.ask(Question::Clear).await;
    }

    /// The stamp of a subject, drawn if there is none.
    async fn stamp(&self, subject: Subject<'_>) -> io::Result<String> {
        let key = subject.key();
        if let Some(known) = self.ask(Question::Get(&key)).await? {
            return Ok(String::from_utf8_lossy(&known).into_owned());
        }
        let drawn = Uuid::new_v4().simple().to_string();
        self.ask(Question::Add(&key, drawn.as_bytes())).await?;
        // Another reader may have been faster.
        let known = self.ask(Question::Get(&key)).await?;
        Ok(known.map_or(drawn, |known| String::from_utf8_lossy(&known).into_owned()))
    }

    async fn ask(&self, question: Question<'_>) -> io::Result<Answer> {
        timeout(WAIT, self.asked(question)).await.unwrap_or_else(|late| Err(late.into()))
    }

    async fn asked(&self, question: Question<'_>) -> io::Result<Answer> {
        let _place = self.places.acquire().await.map_err(io::Error::other)?;
        let kept = self.idle.lock().pop();
        let was_kept = kept.is_some();
        match self.exchanged(kept, question).await {
            // The cache has closed a connection that was idle, as at its restart.
            Err(_) if was_kept => self.exchanged(None, question).await,
            answer => answer,
        }
    }

    async fn exchanged(&self, stream: Option<TcpStream>, question: Question<'_>) -> io::Result<Answer> {
        let mut stream = match stream {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(&self.address).await?;
                stream.set_nodelay(true)?;
                stream
            }
        };
        let mut buffer = Vec::new();
        (self.protocol.write)(question, &mut buffer);
        stream.write_all(&buffer).await?;
        buffer.clear();
        loop {
            if stream.read_buf(&mut buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(answer) = (self.protocol.read)(&buffer)? {
                self.idle.lock().push(stream);
                return Ok(answer);
            }
            if buffer.len() > 2 * LARGEST {
                return Err(io::Error::other("an answer of a cache is too large"));
            }
        }
    }
}

fn encoded(rows: &[Row]) -> Vec<u8> {
    let value = |value: &Value| match value {
        Value::Int(number) => serde_json::Value::from(*number),
        Value::Text(text) => serde_json::Value::from(text.as_str()),
        Value::New => serde_json::Value::Null,
    };
    let row = |row: &Row| serde_json::Value::Array(row.0.iter().map(value).collect());
    serde_json::Value::Array(rows.iter().map(row).collect()).to_string().into_bytes()
}

/// The rows of [`encoded`]; `None` for anything else.
fn decoded(bytes: &[u8]) -> Option<Vec<Row>> {
    let rows: Vec<Vec<serde_json::Value>> = serde_json::from_slice(bytes).ok()?;
    let value = |value| match value {
        serde_json::Value::String(text) => Some(Value::Text(text)),
        other => other.as_i64().map(Value::Int),
    };
    rows.into_iter().map(|row| row.into_iter().map(value).collect::<Option<_>>().map(Row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_were() {
        let row = |number: i64, text: &str| Row(vec![Value::Int(number), Value::from(text)]);
        let rows = [row(i64::MAX, "a\r\n\"é\""), row(-1, "")];
        let back = decoded(&encoded(&rows)).unwrap();
        assert_eq!(back.iter().map(|row| &row.0).collect::<Vec<_>>(), [&rows[0].0, &rows[1].0]);
        assert!(decoded(&encoded(&[])).unwrap().is_empty());
        for other in [&b"x"[..], b"[[null]]", b"[1]", b"[[1.5]]"] {
            assert!(decoded(other).is_none(), "{other:?}");
        }
    }

    #[test]
    fn addresses_are_checked() {
        assert!(Cache::new("memcached://127.0.0.1:11211").is_ok() && Cache::new("redis://h:6379/").is_ok());
        for url in ["", "memcached", "http://h:1", "redis://h", "redis://h:x"] {
            assert!(Cache::new(url).is_err(), "{url}");
        }
    }

    #[tokio::test]
    async fn rows_are_read_where_no_cache_answers() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || listener.incoming().for_each(drop));
        let cache = Cache::new(&format!("memcached://{address}")).unwrap();
        cache.changed(&[Subject::Tags]).await;
        let read = async { Ok::<_, ()>(vec![Row(vec![Value::Int(7)])]) };
        assert_eq!(cache.rows(Subject::Tags, ("SELECT 7", &[]), read).await.unwrap()[0].int(0), 7);
    }
}
