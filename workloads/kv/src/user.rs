//! One user: a command after the other, over the connections of its group.

use std::cell::Cell;
use std::rc::Rc;

use barograph_engine::{Turn, User};
use barograph_model::{OpId, Outcome};
use rand::RngExt;

use crate::command::Verb;
use crate::keys::{self, Position};
use crate::line::Seat;
use crate::measures::{BYTES, HITS, LOOKUPS};
use crate::worker::{Group, Worker};

/// One user.
pub(crate) struct KvUser {
    worker: Rc<Worker>,
    group: Rc<Group>,
    seat: Rc<Seat>,
    position: Cell<Position>,
}

impl KvUser {
    pub(crate) fn new(worker: &Rc<Worker>, group: Rc<Group>) -> Self {
        KvUser { worker: Rc::clone(worker), group, seat: Rc::default(), position: Cell::default() }
    }

    fn draw(&self, turn: &mut Turn) -> u64 {
        let mut position = self.position.get();
        let key = self.worker.program.keys.draw(&mut turn.rng, &mut position);
        self.position.set(position);
        key
    }

    /// Keys in one store, the first of them where it was drawn: the others are the next ones from where they were drawn.
    fn draw_several(&self, keys: &mut Vec<u64>, first: u64, turn: &mut Turn) {
        let program = &self.worker.program;
        let (count, stores) = (program.keys.count(), program.stores.len());
        let store = keys::store_of(first, stores);
        keys.clear();
        keys.push(first);
        while keys.len() < program.plan.mget_keys as usize {
            let mut key = self.draw(turn);
            while keys::store_of(key, stores) != store {
                key = (key + 1) % count;
            }
            keys.push(key);
        }
    }
}

impl User for KvUser {
    async fn act(&self, op: OpId, turn: &mut Turn) -> Outcome {
        let program = &self.worker.program;
        let verb = program.verbs[op.index()];
        let key = self.draw(turn);
        let field = match verb {
            Verb::HGet | Verb::HSet => turn.rng.random_range(0..program.plan.fields),
            _ => 0,
        };
        {
            let sent = &mut *self.seat.sent.borrow_mut();
            (sent.verb, sent.key, sent.field) = (verb, key, field);
            if verb == Verb::MGet {
                self.draw_several(&mut sent.keys, key, turn);
            }
        }
        let line = self.group.line(&self.worker, keys::store_of(key, program.stores.len()));
        let write = |out: &mut Vec<u8>| match verb {
            Verb::MGet => program.write_several(&self.seat.sent.borrow().keys, out),
            _ => program.write(op.index(), (key, field), out),
        };
        turn.sent();
        let end = line.command(&self.seat, write).await;
        self.worker.note(op, &end);
        if verb.looks_up() {
            turn.add(LOOKUPS, end.lookups.into());
            turn.add(HITS, end.hits.into());
        }
        turn.add(BYTES, end.bytes.into());
        end.outcome
    }
}

impl Drop for KvUser {
    fn drop(&mut self) {
        self.worker.leave(&self.group);
    }
}
