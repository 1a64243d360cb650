//! The fill of a site, in steps. Everything follows from the seed.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use barograph_data::{Stream, Streams};
use parking_lot::Mutex;
use rand::RngExt as _;

use crate::cookie::hash;
use crate::files::{FileKind, FileMaker, owner};
use crate::geocoder::Place;
use crate::made::{self, EventText, PersonText, spread, tag_name, user_name};
use crate::reset::{number_anew, reset};
use crate::schema::{ADD_EVENTS, ADD_PEOPLE, COUNT_USES, EVENT_COLUMNS, PEOPLE_COLUMNS, TABLES};
use crate::site::Site;
use crate::size::{FillOrder, Size};
use crate::store::{Row, Statement, StoreError, Value, values};

/// Values of a statement at the most; every store takes more.
const MOST_VALUES: usize = 8_000;

/// Accepted requests of friends, in percent.
const ACCEPTED: u32 = 90;

/// Failure of a fill.
#[derive(Debug, thiserror::Error)]
pub enum FillError {
    /// The store failed.
    #[error("fill the tables")]
    Store(#[from] StoreError),
    /// A file could not be written.
    #[error("write a file")]
    File(#[from] io::Error),
    /// The site was filled by another order.
    #[error("fill a site that holds other data")]
    Other,
}

/// Fills a site; one that is filled already returns to its loaded state.
///
/// # Errors
/// The store or the folder failed, or the site holds other data.
pub async fn fill(site: &Site, order: &FillOrder) -> Result<(), FillError> {
    let filling = Filling::default();
    for step in 0..order.size().steps() {
        filling.step(site, order, step).await?;
    }
    Ok(())
}

/// The fill of a site.
#[derive(Default)]
pub(crate) struct Filling {
    /// The maker of files, with the order that it is for.
    maker: Mutex<Option<(FillOrder, Arc<FileMaker>)>>,
}

impl Filling {
    /// Carries out a step. On a site that is filled already the first one removes what was added since, and the others
    /// do nothing.
    pub(crate) async fn step(&self, site: &Site, order: &FillOrder, step: u64) -> Result<(), FillError> {
        if let Some(filled) = site.filled().await {
            return match step {
                _ if filled.order != *order => Err(FillError::Other),
                0 => reset(site, order.size()).await,
                _ => Ok(()),
            };
        }
        let (size, streams) = (order.size(), Streams::new(order.seed));
        let step = Step { site, size, streams, maker: self.maker(order), step };
        match step.step {
            0 => Ok(site.store.define().await?),
            1 => step.tags().await,
            number if number < 2 + size.people_steps() => step.people(number - 2).await,
            number if number < size.steps() - 1 => step.events(number - 2 - size.people_steps()).await,
            _ => step.finish(order).await,
        }
    }

    fn maker(&self, order: &FillOrder) -> Arc<FileMaker> {
        let mut kept = self.maker.lock();
        match &*kept {
            Some((known, maker)) if known == order => Arc::clone(maker),
            _ => {
                let maker = Arc::new(FileMaker::new(order.seed, order.file_scale));
                *kept = Some((*order, Arc::clone(&maker)));
                maker
            }
        }
    }
}

struct Step<'s> {
    site: &'s Site,
    size: Size,
    streams: Streams,
    maker: Arc<FileMaker>,
    step: u64,
}

/// Rows to be added to a table.
struct Rows {
    begin: Cow<'static, str>,
    columns: usize,
    values: Vec<Value>,
}

impl Rows {
    fn new(begin: &'static str, columns: usize) -> Self {
        Rows { begin: begin.into(), columns, values: Vec::new() }
    }

    /// Rows of a table whose numbers are given.
    fn numbered(begin: &'static str, columns: usize) -> Self {
        Rows { begin: begin.replacen('(', "(id, ", 1).into(), columns: columns + 1, values: Vec::new() }
    }

    /// Statements of bounded length.
    fn statements(self) -> impl Iterator<Item = Statement> {
        let most = MOST_VALUES / self.columns * self.columns;
        let parts: Vec<Vec<Value>> = self.values.chunks(most).map(<[Value]>::to_vec).collect();
        parts.into_iter().map(move |part| Statement::rows(&self.begin, self.columns, part))
    }
}

impl Step<'_> {
    async fn add(&self, tables: Vec<Rows>) -> Result<(), FillError> {
        let statements = tables.into_iter().flat_map(Rows::statements).collect();
        self.site.store.change(statements).await?;
        Ok(())
    }

    async fn tags(&self) -> Result<(), FillError> {
        let mut tags = Rows::numbered("INSERT INTO tags (name, uses)", 2);
        (0..self.size.tags).for_each(|tag| tags.values.extend(values![tag + 1, tag_name(tag), 0_i64]));
        self.add(vec![tags]).await
    }

    async fn people(&self, step: u64) -> Result<(), FillError> {
        self.site.files.fill(&self.maker, ('p', &FileKind::OF_PERSON), self.size.people_of(step)).await?;
        let mut people = Rows::numbered(ADD_PEOPLE, PEOPLE_COLUMNS);
        let mut friends = Rows::new("INSERT INTO friends (person, friend, accepted)", 3);
        for number in self.size.people_of(step) {
            let mut rng = self.streams.stream("person", number);
            let text = PersonText::made(user_name(number + 1), &mut rng);
            people.values.push(Value::from(number + 1));
            people.values.extend(person_row(&text, Place::of(&text.address), owner('p', number)));
            friends.values.extend(self.friends(number, &mut rng));
        }
        self.add(vec![people, friends]).await
    }

    /// From 2 to 28 friends of a person, some of whom are only asked.
    fn friends(&self, person: u64, rng: &mut Stream) -> Vec<Value> {
        let count = rng.random_range(2..=28);
        let others = spread(self.size.people - 1, count, rng);
        let mut rows = Vec::new();
        for other in others {
            let friend = (person + 1 + other) % self.size.people;
            let is_accepted = i64::from(rng.random_range(0..100) < ACCEPTED);
            rows.extend(values![person + 1, friend + 1, is_accepted]);
        }
        rows
    }

    async fn events(&self, step: u64) -> Result<(), FillError> {
        self.site.files.fill(&self.maker, ('e', &FileKind::OF_EVENT), self.size.events_of(step)).await?;
        let mut events = Rows::numbered(ADD_EVENTS, EVENT_COLUMNS);
        let mut tags = Rows::new("INSERT INTO event_tags (tag, event)", 2);
        let mut attendees = Rows::new("INSERT INTO attendees (event, person, added)", 3);
        let mut comments = Rows::new("INSERT INTO comments (event, author, rating, body)", 4);
        let people = self.size.people;
        for number in self.size.events_of(step) {
            let mut rng = self.streams.stream("event", number);
            let text = EventText::made(&[], &mut rng);
            let event = number + 1;
            let creator = rng.random_range(1..=people);
            let place = Place::of(&text.address);
            events.values.push(Value::from(event));
            let files = owner('e', number);
            events.values.extend(event_row(Value::from(creator), &text, (place, self.size.zones), files));
            let count = rng.random_range(1..=made::MOST_TAGS);
            for tag in spread(self.size.tags, count, &mut rng) {
                tags.values.extend(values![tag + 1, event]);
            }
            let count = rng.random_range(10..=100);
            let coming = spread(people, count, &mut rng);
            coming.for_each(|person| attendees.values.extend(values![event, person + 1, 0_i64]));
            for _ in 0..rng.random_range(0..=20) {
                let (author, rating) = (rng.random_range(1..=people), rng.random_range(2..=5_i64));
                comments.values.extend(values![
                    event,
                    author,
                    rating,
                    barograph_data::text::words(&mut rng, 10..=1_000)
                ]);
            }
        }
        self.add(vec![events, tags, attendees, comments]).await?;
        Ok(())
    }

    /// Counts what the others have added, and marks the site as filled.
    async fn finish(&self, order: &FillOrder) -> Result<(), FillError> {
        let site = self.site;
        site.store.change(vec![Statement::new(COUNT_USES, Vec::new())]).await?;
        number_anew(site, self.size).await?;
        for statement in TABLES.into_iter().filter_map(|table| site.store.dialect().analyze(table)) {
            site.store.change(vec![statement]).await?;
        }
        Ok(site.mark(order).await?)
    }
}

/// The columns of a person.
pub(crate) fn person_row(text: &PersonText, place: Place, files: String) -> Vec<Value> {
    let mut row: Vec<Value> = text.fields().into_iter().map(|(_, value)| Value::from(value)).collect();
    row[1] = Value::Text(password_hash(&text.name, &text.password));
    row.extend(values![place.latitude, place.longitude, files]);
    row
}

/// The columns of an event, of a map with a number of zones.
pub(crate) fn event_row(
    creator: Value,
    text: &EventText,
    (place, zones): (Place, u64),
    files: String,
) -> Vec<Value> {
    let mut row = vec![creator];
    // The day is the last but one of the fields, and tags are rows of their own.
    let fields = text.fields();
    row.extend(fields[..8].iter().map(|(_, value)| Value::from(*value)));
    let day = text.day.parse().unwrap_or(0).clamp(0, made::DAYS - 1);
    row.extend(values![day, place.latitude, place.longitude, place.zone(zones), files]);
    row
}

/// The kept form of a password.
pub(crate) fn password_hash(name: &str, password: &str) -> String {
    hash(&[name, password])
}

/// The number in the first column of the first row.
pub(crate) fn number(rows: &[Row]) -> i64 {
    rows.first().map_or(0, |row| row.int(0))
}
