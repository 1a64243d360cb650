//! Users that share a connection to each store: with one command in flight each, they are the window of a
//! pipeline.

use std::rc::Rc;
use std::task::Context;

use barograph_data::Position;
use barograph_engine::{Group, Members, OpContext};
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
    /// The keys of each user's command with several; empty if no operation is one.
    several: Vec<Vec<u64>>,
    /// Connections by store.
    lines: Vec<StoreConnection>,
}

/// One user. Its command is the one in flight, or the last one.
#[derive(Clone, Default)]
struct KvUser {
    position: Position,
    /// The number of the command's key; of several, the first.
    key: u64,
    /// The field of a hash.
    field: u32,
    /// Number of the command. A reply to an earlier one has another number.
    number: u32,
    op: u8,
    verb: Verb,
}

impl KvGroup {
    pub(crate) fn new(worker: &Rc<Worker>, number: u32) -> Self {
        let program = &worker.program;
        KvGroup {
            users: vec![KvUser::default(); program.window()],
            several: match program.verbs.contains(&Verb::MGet) {
                true => vec![Vec::new(); program.window()],
                false => Vec::new(),
            },
            lines: (0..program.stores.len())
                .map(|store| StoreConnection::new(store, number, program.window()))
                .collect(),
            worker: Rc::clone(worker),
        }
    }
}

impl Group for KvGroup {
    fn join(&mut self, place: usize, _: UserId) {
        self.users[place].position = Position::default();
    }

    fn begin(&mut self, place: usize, op: OpId, context: &mut OpContext) {
        let KvGroup { worker, users, several, lines } = self;
        let program = &worker.program;
        let user = &mut users[place];
        user.begin(op, program, context);
        if user.verb == Verb::MGet {
            user.draw_several(&mut several[place], program, context);
        }
        let pending = PendingCommand { place: place as u32, number: user.number };
        let store = keys::store_of(user.key, lines.len());
        lines[store].submit(worker, pending, |out| match user.verb {
            Verb::MGet => program.write_several(&several[place], out),
            _ => program.write(op.index(), (user.key, user.field), out),
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
        let KvGroup { worker, users, several, lines } = self;
        for line in lines {
            let end_of = |pending: PendingCommand, end: Result<&Reply<'_>, &Failed>| {
                let place = pending.place as usize;
                let user = &users[place];
                let waits = user.number == pending.number;
                if waits {
                    let keys = several.get(place).map_or(&[][..], Vec::as_slice);
                    let sent = SentCommand { verb: user.verb, key: user.key, field: user.field, keys };
                    let found = match end {
                        Ok(reply) => worker.judge().end(sent, reply),
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
    fn begin(&mut self, op: OpId, program: &PreparedLoad, context: &mut OpContext) {
        let verb = program.verbs[op.index()];
        let key = program.keys.draw(&mut context.rng, &mut self.position);
        self.number = self.number.wrapping_add(1);
        self.op = op.0;
        self.verb = verb;
        self.key = key;
        self.field = match verb {
            Verb::HGet | Verb::HSet => context.rng.random_range(0..program.plan.fields),
            _ => 0,
        };
    }

    /// Draws keys of one store: the first at random, the others are its successors.
    fn draw_several(&mut self, keys: &mut Vec<u64>, program: &PreparedLoad, context: &mut OpContext) {
        let (count, stores) = (program.keys.count(), program.stores.len());
        let store = keys::store_of(self.key, stores);
        keys.clear();
        keys.push(self.key);
        while keys.len() < program.plan.mget_keys as usize {
            let mut key = program.keys.draw(&mut context.rng, &mut self.position);
            while keys::store_of(key, stores) != store {
                key = (key + 1) % count;
            }
            keys.push(key);
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
