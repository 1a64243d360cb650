//! What the users of one worker share: connections to the stores, buffers, reasons of failures.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use barograph_engine::UserFactory;
use barograph_model::{OpId, UserId};
use barograph_net::{Dialer, Fault, Stream};
use barograph_workload::{Failure, Reasons};

use crate::judge::{End, Judge};
use crate::line::Line;
use crate::program::Prepared;
use crate::user::KvUser;

/// Buffers kept for the next read.
const KEPT: usize = 16;

/// A buffer that grew beyond this is not kept.
const KEPT_BYTES: usize = 1024 * 1024;

/// What the users of one worker share.
pub(crate) struct Worker {
    pub(crate) program: Arc<Prepared>,
    dialers: Vec<Dialer>,
    reasons: Arc<Mutex<Reasons>>,
    buffers: RefCell<Vec<Vec<u8>>>,
    /// Groups with room for one more user.
    open: RefCell<Vec<Rc<Group>>>,
    groups: Cell<u32>,
}

/// The users that share a connection to each store.
pub(crate) struct Group {
    number: u32,
    users: Cell<usize>,
    lines: RefCell<Vec<Option<Rc<Line>>>>,
}

impl Worker {
    pub(crate) fn new(program: &Arc<Prepared>, reasons: &Arc<Mutex<Reasons>>) -> Rc<Self> {
        Rc::new(Worker {
            dialers: program.stores.iter().map(Dialer::new).collect(),
            program: Arc::clone(program),
            reasons: Arc::clone(reasons),
            buffers: RefCell::default(),
            open: RefCell::default(),
            groups: Cell::new(0),
        })
    }

    /// Makes a connection to a store.
    pub(crate) async fn connect(&self, store: usize, number: u32) -> Result<Stream, Fault> {
        match &self.program.tls {
            None => self.dialers[store].connect(number).await,
            Some(tls) => self.dialers[store].connect_tls(number, tls).await,
        }
    }

    pub(crate) fn judge(&self) -> Judge<'_> {
        Judge { values: &self.program.values, verify: self.program.plan.verify }
    }

    /// The group of one more user.
    fn join(&self) -> Rc<Group> {
        let mut open = self.open.borrow_mut();
        let group = open.last().cloned().unwrap_or_else(|| {
            let number = self.groups.get();
            self.groups.set(number.wrapping_add(1));
            let lines = RefCell::new(vec![None; self.program.stores.len()]);
            let group = Rc::new(Group { number, users: Cell::new(0), lines });
            open.push(Rc::clone(&group));
            group
        });
        group.users.set(group.users.get() + 1);
        if group.users.get() >= self.program.window() {
            open.pop();
        }
        group
    }

    /// A user of the group is gone; with the last one its connections are.
    pub(crate) fn leave(&self, group: &Rc<Group>) {
        let users = group.users.get();
        let mut open = self.open.borrow_mut();
        if users >= self.program.window() {
            open.push(Rc::clone(group));
        }
        group.users.set(users - 1);
        if users == 1 {
            open.retain(|other| !Rc::ptr_eq(other, group));
            group.lines.borrow().iter().flatten().for_each(|line| line.close());
        }
    }

    /// Notes a failed command for people.
    pub(crate) fn note(&self, op: OpId, end: &End) {
        if let Some(why) = end.why.filter(|_| end.outcome.is_failure()) {
            let failure = Failure { outcome: end.outcome, why: why.to_owned(), seen: &end.seen };
            Reasons::note(&self.reasons, op, &failure);
        }
    }

    /// A buffer to read into.
    pub(crate) fn take_buffer(&self) -> Vec<u8> {
        self.buffers.borrow_mut().pop().unwrap_or_default()
    }

    /// Takes an empty buffer back.
    pub(crate) fn give_back(&self, buffer: Vec<u8>) {
        let mut buffers = self.buffers.borrow_mut();
        if buffers.len() < KEPT && buffer.capacity() <= KEPT_BYTES {
            buffers.push(buffer);
        }
    }
}

impl Group {
    /// The connection to a store; it is made where there is none.
    pub(crate) fn line(&self, worker: &Rc<Worker>, store: usize) -> Rc<Line> {
        let line = &mut self.lines.borrow_mut()[store];
        match line {
            Some(line) if line.is_usable() => Rc::clone(line),
            _ => Rc::clone(line.insert(Line::open(worker, store, self.number))),
        }
    }
}

/// Makes the users of one worker.
pub(crate) struct KvUsers(Rc<Worker>);

impl KvUsers {
    pub(crate) fn new(program: &Arc<Prepared>, reasons: &Arc<Mutex<Reasons>>) -> Self {
        KvUsers(Worker::new(program, reasons))
    }
}

impl UserFactory for KvUsers {
    type User = KvUser;

    fn user(&self, _: UserId) -> KvUser {
        KvUser::new(&self.0, self.0.join())
    }
}
