//! Counts and checks of the data, as JSON for programs.

use serde::{Deserialize, Serialize};

use crate::files::FileKind;
use crate::fill::number;
use crate::site::Site;
use crate::store::{Row, StoreError, Value, values};

/// Rows of a list at the most.
const MOST: i64 = 1_000;

/// Numbers of rows, and of rows that are wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// People.
    pub people: i64,
    /// Rows of friends.
    pub friends: i64,
    /// Tags.
    pub tags: i64,
    /// Events.
    pub events: i64,
    /// Attendees of all events.
    pub attendees: i64,
    /// Comments.
    pub comments: i64,
    /// Tags of all events.
    pub event_tags: i64,
    /// Defects, in sentences.
    pub defects: Vec<String>,
}

/// A person or an event that was added after the fill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Added {
    /// Its number.
    pub id: i64,
    /// Name of the person, or title of the event.
    pub name: String,
    /// Bytes of its files in the order of their kinds; -1 for a missing one.
    pub files: Vec<i64>,
}

/// Conditions of right data, each with a query that counts violations.
const CONDITIONS: [(&str, &str); 6] = [
    (
        "a tag counts the events that have it",
        "SELECT count(*) FROM tags LEFT JOIN (SELECT tag, count(*) AS n FROM event_tags GROUP BY tag) used \
         ON used.tag = tags.id WHERE tags.uses <> coalesce(used.n, 0)",
    ),
    (
        "an event has from 1 to 7 tags",
        "SELECT count(*) FROM events LEFT JOIN (SELECT event, count(*) AS n FROM event_tags GROUP BY event) had \
         ON had.event = events.id WHERE coalesce(had.n, 0) NOT BETWEEN 1 AND 7",
    ),
    (
        "an attendee is a person at an event",
        "SELECT count(*) FROM attendees LEFT JOIN people ON people.id = attendees.person \
         LEFT JOIN events ON events.id = attendees.event WHERE people.id IS NULL OR events.id IS NULL",
    ),
    (
        "an event has a creator",
        "SELECT count(*) FROM events LEFT JOIN people ON people.id = events.creator WHERE people.id IS NULL",
    ),
    (
        "a comment has an author, an event and a rating from 2 to 5",
        "SELECT count(*) FROM comments LEFT JOIN people ON people.id = author LEFT JOIN events ON events.id = event \
         WHERE people.id IS NULL OR events.id IS NULL OR rating NOT BETWEEN 2 AND 5",
    ),
    (
        "friends are two people",
        "SELECT count(*) FROM friends LEFT JOIN people ON people.id = friend WHERE people.id IS NULL OR person = friend",
    ),
];

/// Counts all rows and checks all conditions.
pub(crate) async fn counts(site: &Site) -> Result<Counts, StoreError> {
    let of = async |sql| site.store.read(sql, &[]).await.map(|rows| number(&rows));
    let mut counts = Counts {
        people: of("SELECT count(*) FROM people").await?,
        friends: of("SELECT count(*) FROM friends").await?,
        tags: of("SELECT count(*) FROM tags").await?,
        events: of("SELECT count(*) FROM events").await?,
        attendees: of("SELECT count(*) FROM attendees").await?,
        comments: of("SELECT count(*) FROM comments").await?,
        event_tags: of("SELECT count(*) FROM event_tags").await?,
        defects: Vec::new(),
    };
    for (rule, sql) in CONDITIONS {
        let violations = of(sql).await?;
        if violations > 0 {
            counts.defects.push(format!("{rule}: {violations} rows do not keep this"));
        }
    }
    Ok(counts)
}

/// People with numbers above one, in their order.
pub(crate) async fn people(site: &Site, after: i64) -> Result<Vec<Added>, StoreError> {
    let sql = "SELECT id, name, files FROM people WHERE id > ? ORDER BY id LIMIT ?";
    added(site, (sql, after), &FileKind::OF_PERSON).await
}

/// Events with numbers above one, in their order.
pub(crate) async fn events(site: &Site, after: i64) -> Result<Vec<Added>, StoreError> {
    let sql = "SELECT id, title, files FROM events WHERE id > ? ORDER BY id LIMIT ?";
    added(site, (sql, after), &FileKind::OF_EVENT).await
}

async fn added(
    site: &Site,
    (sql, after): (&'static str, i64),
    kinds: &'static [FileKind],
) -> Result<Vec<Added>, StoreError> {
    let rows = site.store.read(sql, &[Value::Int(after), Value::Int(MOST)]).await?;
    let owners = rows.iter().map(|row| row.text(2).to_owned()).collect();
    let lengths = site.files.lengths(owners, kinds).await.map_err(|why| StoreError::Refused(why.into()))?;
    let of = |(row, files): (&Row, _)| Added { id: row.int(0), name: row.text(1).to_owned(), files };
    Ok(rows.iter().zip(lengths).map(of).collect())
}

/// Whether a login name is free.
pub(crate) async fn is_free(site: &Site, name: &str) -> Result<bool, StoreError> {
    Ok(site.store.read("SELECT id FROM people WHERE name = ?", &values![name]).await?.is_empty())
}
