//! A user: its session at the site, and how it does each operation.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use barograph_engine::{OpContext, User, UserFactory};
use barograph_http::{Answer, Client, Connections};
use barograph_model::{Nanos, OpId, Outcome, UserId};
use barograph_social::{EventText, FileKind, PASSWORD, PersonText, tag_name, user_name};
use barograph_workload::{Failure, Reasons};
use rand::RngExt as _;
use rand_distr::{Distribution as _, Exp1};

use crate::browser::{Browser, Cache, Failed, PictureCounters, expect};
use crate::form;
use crate::ledger::{Acknowledged, hash};
use crate::measures::{
    ATTENDED, CYCLES, CYCLES_US, EVENT_NAMED, HOME_BYTES, HOME_LOADED, HOME_NAMED, SEARCH_LOADED,
};
use crate::operation::Operation;
use crate::page::References;
use crate::prepared::PreparedLoad;

/// Part of the events looked at that a user attends who may.
const ATTENDS: f64 = 0.1;

/// Mean place of the tags of new events in the list of tags, as a part of it.
const TAG_PLACE: f64 = 0.1;

/// Most tags of a new event.
const MOST_TAGS: usize = 7;

/// The media type of a login.
const LOGIN_TYPE: &str = "application/x-www-form-urlencoded";

/// Makes the users of one worker.
pub(crate) struct SocialUsers {
    load: Arc<PreparedLoad>,
    client: Rc<Client>,
}

impl SocialUsers {
    pub(crate) fn new(load: &Arc<PreparedLoad>) -> Self {
        SocialUsers { client: Client::new(&load.target), load: Arc::clone(load) }
    }
}

impl UserFactory for SocialUsers {
    type User = SocialUser;

    fn user(&self, id: UserId) -> SocialUser {
        SocialUser {
            load: Arc::clone(&self.load),
            connections: self.client.user(id.0),
            number: id.0,
            session: Cell::default(),
            posted: Cell::default(),
            started: Cell::default(),
        }
    }
}

/// A user.
pub(crate) struct SocialUser {
    load: Arc<PreparedLoad>,
    connections: Connections,
    number: u32,
    /// `None` before the first operation, and after one that was dropped.
    session: Cell<Option<Box<Session>>>,
    /// People that it has added.
    posted: Cell<u32>,
    /// Start of its last operation.
    started: Cell<Option<Nanos>>,
}

/// What a user knows in a session.
#[derive(Debug, Default)]
struct Session {
    cache: Cache,
    is_logged_in: bool,
    zone: u64,
    /// Events of the last page that had any.
    events: Vec<u64>,
    /// People of the last page that had any.
    people: Vec<u64>,
    /// The event or the person that the user has added and looks at next.
    own_event: Option<u64>,
    own_person: Option<u64>,
}

impl User for SocialUser {
    async fn act(&self, op: OpId, context: &mut OpContext) -> Outcome {
        self.count_cycle(context);
        let operation = Operation::ALL[op.index()];
        let mut session = self.session.take().unwrap_or_else(|| self.begin(context));
        let done = Visit { user: self, session: &mut session }.act(operation, context).await;
        self.session.set(Some(session));
        match done {
            Ok(()) => Outcome::Good,
            Err((outcome, why)) => {
                Reasons::note(&self.load.reasons, op, &Failure { outcome, why, seen: &[] });
                outcome
            }
        }
    }
}

impl SocialUser {
    fn begin(&self, context: &mut OpContext) -> Box<Session> {
        let zone = context.rng.random_range(0..self.load.size.zones);
        Box::new(Session { cache: Cache::new(context), zone, ..Session::default() })
    }

    fn count_cycle(&self, context: &mut OpContext) {
        let now = context.watch()();
        if let Some(before) = self.started.replace(Some(now)) {
            context.add(CYCLES_US, (now - before).0 / 1_000);
            context.add(CYCLES, 1);
        }
    }
}

/// An operation of a user in its session.
struct Visit<'u> {
    user: &'u SocialUser,
    session: &'u mut Session,
}

impl Visit<'_> {
    async fn act(&mut self, operation: Operation, context: &mut OpContext) -> Result<(), Failed> {
        match operation {
            Operation::Home => self.home(context).await,
            Operation::Login => self.login(context).await,
            Operation::TagSearch => self.search(context).await,
            Operation::Event => self.event(context).await,
            Operation::Person => self.person(context).await,
            Operation::AddPerson => self.add_person(context).await,
            Operation::AddEvent => self.add_event(context).await,
        }
    }

    fn browser(&mut self) -> Browser<'_> {
        Browser { load: &self.user.load, connections: &self.user.connections, cache: &mut self.session.cache }
    }

    /// Opens a page and loads its files.
    async fn open(
        &mut self,
        path: &str,
        counters: PictureCounters,
        context: &mut OpContext,
    ) -> Result<Answer, Failed> {
        let answer = self.browser().get(path, context).await?;
        expect(&answer, 200)?;
        self.show(&answer, counters, context).await?;
        Ok(answer)
    }

    /// Loads the files of a page, and remembers its links.
    async fn show(
        &mut self,
        answer: &Answer,
        counters: PictureCounters,
        context: &mut OpContext,
    ) -> Result<(), Failed> {
        let mut found = References::of(answer.body());
        self.browser().load(&found, counters, context).await?;
        if !found.events.is_empty() {
            self.session.events = std::mem::take(&mut found.events);
        }
        if !found.people.is_empty() {
            self.session.people = std::mem::take(&mut found.people);
        }
        Ok(())
    }

    async fn home(&mut self, context: &mut OpContext) -> Result<(), Failed> {
        let path = format!("/?zone={}", self.session.zone);
        let counters = PictureCounters { loaded: Some(HOME_LOADED), bytes: Some(HOME_BYTES) };
        let answer = self.open(&path, counters, context).await?;
        context.add(HOME_NAMED, References::of(answer.body()).pictures.len() as u64);
        Ok(())
    }

    async fn search(&mut self, context: &mut OpContext) -> Result<(), Failed> {
        let tag = tag_name(context.rng.random_range(0..self.user.load.size.tags));
        let counters = PictureCounters { loaded: Some(SEARCH_LOADED), bytes: None };
        self.open(&format!("/tags?tag={tag}"), counters, context).await.map(drop)
    }

    /// Logs out if the user is logged in, which empties the cache.
    async fn log_out(&mut self, context: &mut OpContext) -> Result<(), Failed> {
        if self.session.is_logged_in {
            let answer = self.browser().get("/logout", context).await?;
            expect(&answer, 200)?;
            *self.session = *self.user.begin(context);
        }
        Ok(())
    }

    async fn login(&mut self, context: &mut OpContext) -> Result<(), Failed> {
        self.log_out(context).await?;
        // Every user has people of its own.
        let each = u64::from(self.user.load.people_each);
        let person = u64::from(self.user.number) * each + context.rng.random_range(1..=each);
        let body = format!("name={}&password={PASSWORD}", user_name(person));
        let answer = self.browser().post("/login", (LOGIN_TYPE, body.as_bytes()), context).await?;
        expect(&answer, 200)?;
        self.browser().keep_cookie(&answer)?;
        self.session.is_logged_in = true;
        let found = References::of(answer.body());
        self.browser().load(&found, PictureCounters::default(), context).await
    }

    async fn event(&mut self, context: &mut OpContext) -> Result<(), Failed> {
        let all = self.user.load.size.events;
        let id = match self.session.own_event.take() {
            Some(id) => id,
            None => one_of(&self.session.events, all, context),
        };
        let answer = self.open(&format!("/events/{id}"), PictureCounters::default(), context).await?;
        let found = References::of(answer.body());
        context.add(EVENT_NAMED, found.pictures.len() as u64);
        if self.session.is_logged_in && found.can_attend && context.rng.random_bool(ATTENDS) {
            self.attend(id, context).await?;
        }
        Ok(())
    }

    async fn attend(&mut self, id: u64, context: &mut OpContext) -> Result<(), Failed> {
        self.user.load.ledger.lock().attended_sent += 1;
        let answer = self.browser().post(&format!("/events/{id}/attend"), (LOGIN_TYPE, &[]), context).await?;
        expect(&answer, 201)?;
        self.user.load.ledger.lock().attended += 1;
        context.add(ATTENDED, 1);
        Ok(())
    }

    async fn person(&mut self, context: &mut OpContext) -> Result<(), Failed> {
        let all = self.user.load.size.people;
        let id = match self.session.own_person.take() {
            Some(id) => id,
            None => one_of(&self.session.people, all, context),
        };
        self.open(&format!("/people/{id}"), PictureCounters::default(), context).await.map(drop)
    }

    async fn add_person(&mut self, context: &mut OpContext) -> Result<(), Failed> {
        self.log_out(context).await?;
        let user = self.user;
        let count = user.posted.get();
        user.posted.set(count + 1);
        let name = format!("new{:08x}u{}n{count}", user.load.run, user.number);
        let answer = self.browser().get(&format!("/people/free?name={name}"), context).await?;
        expect(&answer, 200)?;
        if answer.body() != b"free" {
            return Err((Outcome::WrongAnswer, "a new name is not free".to_owned()));
        }
        self.open("/people/new", PictureCounters::default(), context).await?;
        let text = PersonText::made(name.clone(), &mut context.rng);
        user.load.ledger.lock().people_sent += 1;
        let id = self.send_form("/people", (&text.fields(), &FileKind::OF_PERSON), context).await?;
        user.load.ledger.lock().people.push(Acknowledged { id: id as i64, hash: hash(&name) });
        self.session.own_person = Some(id);
        Ok(())
    }

    async fn add_event(&mut self, context: &mut OpContext) -> Result<(), Failed> {
        // Only after a login that failed.
        if !self.session.is_logged_in {
            self.login(context).await?;
        }
        self.open("/events/new", PictureCounters::default(), context).await?;
        let count = context.rng.random_range(1..=MOST_TAGS);
        let tags: Vec<String> = (0..count).map(|_| self.tag(context)).collect();
        let text = EventText::made(&tags, &mut context.rng);
        let user = self.user;
        user.load.ledger.lock().events_sent += 1;
        let id = self.send_form("/events", (&text.fields(), &FileKind::OF_EVENT), context).await?;
        user.load.ledger.lock().events.push(Acknowledged { id: id as i64, hash: hash(text.title()) });
        self.session.own_event = Some(id);
        Ok(())
    }

    /// A tag for a new event: the first ones of the list are the most popular.
    fn tag(&self, context: &mut OpContext) -> String {
        let all = self.user.load.size.tags;
        let drawn: f64 = Exp1.sample(&mut context.rng);
        tag_name(((drawn * TAG_PLACE * all as f64) as u64).min(all - 1))
    }

    /// Sends a form with files. Returns the number of the new row.
    async fn send_form(
        &mut self,
        path: &str,
        (fields, kinds): (&[(&str, &str)], &[FileKind]),
        context: &mut OpContext,
    ) -> Result<u64, Failed> {
        let (mut body, number) = (Vec::new(), context.rng.random());
        form::write(fields, (kinds, &self.user.load.maker, number), &mut body);
        let answer = self.browser().post(path, (&form::media_type(), &body), context).await?;
        expect(&answer, 201)?;
        let place = answer.header("location").and_then(|place| std::str::from_utf8(place).ok());
        let id = place.and_then(|place| place.strip_prefix(path)?.strip_prefix('/')?.parse().ok());
        let id = id.ok_or_else(|| {
            (Outcome::WrongAnswer, "the answer does not say where the new page is".to_owned())
        })?;
        let found = References::of(answer.body());
        self.browser().load(&found, PictureCounters::default(), context).await?;
        Ok(id)
    }
}

/// One of the numbers, or of all from 1 where there are none.
fn one_of(numbers: &[u64], all: u64, context: &mut OpContext) -> u64 {
    match numbers {
        [] => context.rng.random_range(1..=all),
        _ => numbers[context.rng.random_range(0..numbers.len())],
    }
}
