//! The fill of a site, in steps. Everything follows from the seed.

use std::io;
use std::sync::Arc;

use barograph_data::{Stream, Streams};
use parking_lot::Mutex;
use rand::RngExt as _;

use crate::cookie::hash;
use crate::files::{FileKind, FileMaker};
use crate::geocoder::Place;
use crate::made::{self, EventText, PersonText, spread, tag_name, user_name};
use crate::schema::{ADD_EVENTS, ADD_PEOPLE, EVENT_COLUMNS, PEOPLE_COLUMNS};
use crate::site::Site;
use crate::size::{FillOrder, Size};
use crate::store::{Row, Statement, StoreError, Value, values};

/// Values of a statement at the most; every store takes more.
const MOST_VALUES: usize = 8_000;

/// Accepted requests of friends, in percent.
const ACCEPTED: u32 = 90;

/// Failure of a fill.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FillError {
    #[error("fill the tables")]
    Store(#[from] StoreError),
    #[error("write a file")]
    File(#[from] io::Error),
    #[error("fill a site that holds other data")]
    Other,
}

/// The fill of a site.
#[derive(Default)]
pub(crate) struct Filling {
    /// The maker of files, with the order that it is for.
    maker: Mutex<Option<(FillOrder, Arc<FileMaker>)>>,
}

impl Filling {
    /// Carries out a step. Steps of a site that is filled already do nothing.
    pub(crate) async fn step(&self, site: &Site, order: &FillOrder, step: u64) -> Result<(), FillError> {
        if let Some(filled) = site.filled().await {
            return if filled.order == *order { Ok(()) } else { Err(FillError::Other) };
        }
        let (size, streams) = (order.size(), Streams::new(order.seed));
        let step = Step { site, size, streams, maker: self.maker(order), step };
        match step.step {
            0 => Ok(site.store.define().await?),
            1 => step.tags().await,
            number if number < 2 + size.people_steps() => step.people(number - 2).await,
            number if number < size.steps() - 1 => step.events(number - 2 - size.people_steps()).await,
            _ => Ok(site.mark(order).await?),
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
    begin: &'static str,
    columns: usize,
    values: Vec<Value>,
}

impl Rows {
    fn new(begin: &'static str, columns: usize) -> Self {
        Rows { begin, columns, values: Vec::new() }
    }

    /// Statements of bounded length.
    fn statements(self) -> impl Iterator<Item = Statement> {
        let most = MOST_VALUES / self.columns * self.columns;
        let parts: Vec<Vec<Value>> = self.values.chunks(most).map(<[Value]>::to_vec).collect();
        parts.into_iter().map(move |part| Statement::rows(self.begin, self.columns, part))
    }
}

impl Step<'_> {
    async fn add(&self, tables: Vec<Rows>) -> Result<(), FillError> {
        let statements = tables.into_iter().flat_map(Rows::statements).collect();
        self.site.store.change(statements).await?;
        Ok(())
    }

    fn files(&self, owner: &str, kinds: &[FileKind], number: u64) -> io::Result<()> {
        let mut bytes = Vec::new();
        for kind in kinds {
            self.maker.make(*kind, number, &mut bytes);
            self.site.files.write(owner, *kind, &bytes)?;
        }
        Ok(())
    }

    async fn tags(&self) -> Result<(), FillError> {
        let mut tags = Rows::new("INSERT INTO tags (name, uses)", 2);
        (0..self.size.tags).for_each(|number| tags.values.extend(values![tag_name(number), 0_i64]));
        self.add(vec![tags]).await
    }

    async fn people(&self, step: u64) -> Result<(), FillError> {
        let mut people = Rows::new(ADD_PEOPLE, PEOPLE_COLUMNS);
        let mut friends = Rows::new("INSERT INTO friends (person, friend, accepted)", 3);
        for number in self.size.people_of(step) {
            let mut rng = self.streams.stream("person", number);
            let text = PersonText::made(user_name(number + 1), &mut rng);
            let files = format!("p{}", number + 1);
            self.files(&files, &FileKind::OF_PERSON, number)?;
            people.values.extend(person_row(&text, Place::of(&text.address), files));
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
        let mut events = Rows::new(ADD_EVENTS, EVENT_COLUMNS);
        let mut tags = Rows::new("INSERT INTO event_tags (tag, event)", 2);
        let mut attendees = Rows::new("INSERT INTO attendees (event, person)", 2);
        let mut comments = Rows::new("INSERT INTO comments (event, author, rating, body)", 4);
        let mut uses: Vec<i64> = Vec::new();
        let people = self.size.people;
        for number in self.size.events_of(step) {
            let mut rng = self.streams.stream("event", number);
            let text = EventText::made(&[], &mut rng);
            let (files, event) = (format!("e{}", number + 1), number + 1);
            self.files(&files, &FileKind::OF_EVENT, number)?;
            let creator = rng.random_range(1..=people);
            let place = Place::of(&text.address);
            events.values.extend(event_row(Value::from(creator), &text, (place, self.size.zones), files));
            let count = rng.random_range(1..=made::MOST_TAGS);
            for tag in spread(self.size.tags, count, &mut rng) {
                tags.values.extend(values![tag + 1, event]);
                uses.push(tag as i64 + 1);
            }
            let count = rng.random_range(10..=100);
            let coming = spread(people, count, &mut rng);
            coming.for_each(|person| attendees.values.extend(values![event, person + 1]));
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
        let used =
            |tag| Statement::new("UPDATE tags SET uses = uses + 1 WHERE id = ?", vec![Value::Int(tag)]);
        self.site.store.change(uses.into_iter().map(used).collect()).await?;
        Ok(())
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
