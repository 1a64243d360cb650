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
use crate::judge::{Failed, SentCommand};
use crate::keys;
use crate::measures::{BYTES, HITS, LOOKUPS};
use crate::program::PreparedLoad;
use crate::worker::Worker;

/// The users of one connection to each store.
pub(crate) struct KvGroup {
    worker: Rc<Worker>,
    users: Vec<KvUser>,
    /// Connections by store.
    lines: Vec<StoreConnection>,
}

/// One user, in one cache line.
struct KvUser {
    position: Position,
    /// The command in flight, or the last one.
    sent: SentCommand,
    /// Number of the command in flight. A reply to an earlier one has another number.
    number: u32,
    op: OpId,
}

impl KvGroup {
    pub(crate) fn new(worker: &Rc<Worker>, number: u32) -> Self {
        let program = &worker.program;
        KvGroup {
            users: std::iter::repeat_with(KvUser::new).take(program.window()).collect(),
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
        let program = &self.worker.program;
        let user = &mut self.users[place];
        user.begin(op, program, context);
        let pending = PendingCommand { place: place as u32, number: user.number };
        let sent = &user.sent;
        let store = keys::store_of(user.sent.key, self.lines.len());
        self.lines[store].submit(&self.worker, pending, |out| match sent.verb {
            Verb::MGet => program.write_several(&sent.keys, out),
            _ => program.write(op.index(), (sent.key, sent.field), out),
        });
        context.sent();
    }

    fn abandon(&mut self, place: usize) {
        let user = &mut self.users[place];
        user.number = user.number.wrapping_add(1);
        let store = keys::store_of(user.sent.key, self.lines.len());
        self.lines[store].abandon();
    }

    fn poll(&mut self, cx: &mut Context<'_>, members: &mut Members) {
        let KvGroup { worker, users, lines } = self;
        for line in lines {
            let end_of = |pending: PendingCommand, end: Result<&Reply<'_>, &Failed>| {
                let user = &users[pending.place as usize];
                let waits = user.number == pending.number;
                if waits {
                    let outcome = user.end(end, worker, members);
                    members.end(pending.place as usize, outcome);
                }
                waits
            };
            line.poll(cx, worker, end_of);
        }
    }
}

impl KvUser {
    fn new() -> Self {
        KvUser { position: Position::default(), sent: SentCommand::default(), number: 0, op: OpId(0) }
    }

    /// Draws the keys of its next command.
    fn begin(&mut self, op: OpId, program: &PreparedLoad, context: &mut OpContext) {
        let verb = program.verbs[op.index()];
        let key = program.keys.draw(&mut context.rng, &mut self.position);
        self.number = self.number.wrapping_add(1);
        self.op = op;
        self.sent.verb = verb;
        self.sent.key = key;
        self.sent.field = match verb {
            Verb::HGet | Verb::HSet => context.rng.random_range(0..program.plan.fields),
            _ => 0,
        };
        if verb == Verb::MGet {
            self.draw_several(program, context);
        }
    }

    /// Draws keys of one store: the first at random, the others are its successors.
    fn draw_several(&mut self, program: &PreparedLoad, context: &mut OpContext) {
        let (count, stores) = (program.keys.count(), program.stores.len());
        let store = keys::store_of(self.sent.key, stores);
        let keys = &mut self.sent.keys;
        keys.clear();
        keys.push(self.sent.key);
        while keys.len() < program.plan.mget_keys as usize {
            let mut key = program.keys.draw(&mut context.rng, &mut self.position);
            while keys::store_of(key, stores) != store {
                key = (key + 1) % count;
            }
            keys.push(key);
        }
    }

    /// Counts the contents of a reply; returns the outcome of its command.
    #[inline]
    fn end(&self, end: Result<&Reply<'_>, &Failed>, worker: &Worker, members: &mut Members) -> Outcome {
        let found = match end {
            Ok(reply) => worker.judge().end(&self.sent, reply),
            Err(failed) => Err(failed.clone()),
        };
        match found {
            Ok(found) => {
                members.add(LOOKUPS, found.lookups.into());
                members.add(HITS, found.hits.into());
                members.add(BYTES, found.bytes.into());
                Outcome::Good
            }
            Err(failed) => {
                worker.note(self.op, &failed);
                failed.outcome
            }
        }
    }
}
