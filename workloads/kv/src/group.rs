//! Users that share a connection to each store: with one command in flight each, they are the window of a
//! pipeline.

use std::rc::Rc;
use std::task::Context;

use barograph_data::Position;
use barograph_engine::{Group, Members, OpContext, Stream};
use barograph_model::{OpId, Outcome, UserId};
use barograph_resp::Reply;
use rand::RngExt;

use crate::command::Verb;
use crate::connection::{PendingCommand, StoreConnection};
use crate::judge::{Failed, Found, SentCommand};
use crate::keys;
use crate::measures::{BYTES, HITS, LOOKUPS};
use crate::program::PreparedLoad;
use crate::worker::Worker;

/// The users of one connection to each store.
pub(crate) struct KvGroup {
    worker: Rc<Worker>,
    users: Vec<KvUser>,
    /// By user, what few commands use, so that the others load less into the caches.
    rest: Vec<UserRest>,
    /// Connections by store.
    lines: Vec<StoreConnection>,
}

/// One user. Its command is the one in flight, or the last one.
#[derive(Clone, Default)]
struct KvUser {
    /// The number of the command's key; of several, the first.
    key: u64,
    /// Number of the command. A reply to an earlier one has another number.
    number: u32,
    op: u8,
    verb: Verb,
}

/// State of a user that few commands use.
#[derive(Clone, Default)]
struct UserRest {
    position: Position,
    /// The field of a hash.
    field: u32,
    /// The keys of a command with several.
    keys: Vec<u64>,
}

/// What a user draws its keys with.
struct KeyDraw<'d> {
    program: &'d PreparedLoad,
    rng: &'d mut Stream,
    rest: &'d mut UserRest,
}

impl KvGroup {
    pub(crate) fn new(worker: &Rc<Worker>, number: u32) -> Self {
        let program = &worker.program;
        KvGroup {
            users: vec![KvUser::default(); program.window()],
            rest: vec![UserRest::default(); program.window()],
            lines: (0..program.stores.len())
                .map(|store| StoreConnection::new(store, number, program.window()))
                .collect(),
            worker: Rc::clone(worker),
        }
    }
}

impl Group for KvGroup {
    fn join(&mut self, place: usize, _: UserId) {
        self.rest[place].position = Position::default();
    }

    fn begin(&mut self, place: usize, op: OpId, context: &mut OpContext) {
        let KvGroup { worker, users, rest, lines } = self;
        let program = &worker.program;
        let user = &mut users[place];
        user.begin(op, KeyDraw { program, rng: &mut context.rng, rest: &mut rest[place] });
        let pending = PendingCommand { place: place as u32, number: user.number };
        let store = keys::store_of(user.key, lines.len());
        let sent = user.sent(&rest[place]);
        lines[store].submit(worker, pending, |out| match sent.verb {
            Verb::MGet => program.write_several(sent.keys, out),
            _ => program.write(op.index(), (sent.key, sent.field), out),
        });
        context.sent();
    }

    fn abandon(&mut self, place: usize) {
        let user = &mut self.users[place];
        user.number = user.number.wrapping_add(1);
        let store = keys::store_of(user.key, self.lines.len());
        self.lines[store].abandon();
    }

    fn poll(&mut self, cx: &mut Context<'_>, members: &mut Members) {
        let KvGroup { worker, users, rest, lines } = self;
        for line in lines {
            let end_of = |pending: PendingCommand, end: Result<&Reply<'_>, &Failed>| {
                let place = pending.place as usize;
                let user = &users[place];
                let waits = user.number == pending.number;
                if waits {
                    let found = match end {
                        Ok(reply) => worker.judge().end(user.sent(&rest[place]), reply),
                        Err(failed) => Err(failed.clone()),
                    };
                    let outcome = counted(found, OpId(user.op), worker, members);
                    members.end(place, outcome);
                }
                waits
            };
            line.poll(cx, worker, end_of);
        }
    }
}

impl KvUser {
    /// Draws the key of its next command.
    fn begin(&mut self, op: OpId, mut draw: KeyDraw<'_>) {
        self.number = self.number.wrapping_add(1);
        self.op = op.0;
        self.verb = draw.program.verbs[op.index()];
        self.key = draw.key();
        match self.verb {
            Verb::HGet | Verb::HSet => draw.field(),
            Verb::MGet => draw.several(self.key),
            _ => {}
        }
    }

    /// The command in flight.
    #[inline]
    fn sent<'r>(&self, rest: &'r UserRest) -> SentCommand<'r> {
        let (verb, key) = (self.verb, self.key);
        match verb {
            Verb::HGet | Verb::HSet => SentCommand { verb, key, field: rest.field, keys: &[] },
            Verb::MGet => SentCommand { verb, key, field: 0, keys: &rest.keys },
            _ => SentCommand { verb, key, field: 0, keys: &[] },
        }
    }
}

impl KeyDraw<'_> {
    fn key(&mut self) -> u64 {
        self.program.keys.draw(self.rng, &mut self.rest.position)
    }

    fn field(&mut self) {
        self.rest.field = self.rng.random_range(0..self.program.plan.fields);
    }

    /// Draws keys of one store: the first is given, the others are the successors of keys at random.
    fn several(&mut self, first: u64) {
        let (count, stores) = (self.program.keys.count(), self.program.stores.len());
        let store = keys::store_of(first, stores);
        self.rest.keys.clear();
        self.rest.keys.push(first);
        while self.rest.keys.len() < self.program.plan.mget_keys as usize {
            let mut key = self.key();
            while keys::store_of(key, stores) != store {
                key = (key + 1) % count;
            }
            self.rest.keys.push(key);
        }
    }
}

/// Counts the contents of a reply, or records the reason of a failure; returns the outcome.
#[inline]
fn counted(found: Result<Found, Failed>, op: OpId, worker: &Worker, members: &mut Members) -> Outcome {
    match found {
        Ok(found) => {
            members.add(LOOKUPS, found.lookups.into());
            members.add(HITS, found.hits.into());
            members.add(BYTES, found.bytes.into());
            Outcome::Good
        }
        Err(failed) => {
            worker.note(op, &failed);
            failed.outcome
        }
    }
}
