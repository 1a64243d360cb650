//! State shared by the users of one worker: connections to the stores, buffers, reasons of failures.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use barograph_engine::GroupFactory;
use barograph_model::OpId;
use barograph_net::{Dialer, Fault, Stream};
use barograph_workload::{Failure, Reasons};

use crate::group::KvGroup;
use crate::judge::{Failed, Judge};
use crate::program::PreparedLoad;

/// Most buffers kept.
const KEPT: usize = 16;

/// Largest capacity of a kept buffer, in bytes.
const KEPT_BYTES: usize = 1024 * 1024;

/// State shared by the users of one worker.
pub(crate) struct Worker {
    pub(crate) program: Arc<PreparedLoad>,
    dialers: Vec<Dialer>,
    reasons: Arc<Mutex<Reasons>>,
    buffers: RefCell<Vec<Vec<u8>>>,
}

impl Worker {
    pub(crate) fn new(program: &Arc<PreparedLoad>, reasons: &Arc<Mutex<Reasons>>) -> Rc<Self> {
        Rc::new(Worker {
            dialers: program.stores.iter().map(Dialer::new).collect(),
            program: Arc::clone(program),
            reasons: Arc::clone(reasons),
            buffers: RefCell::default(),
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

    /// Records the reason of a failed command.
    #[cold]
    pub(crate) fn note(&self, op: OpId, failed: &Failed) {
        let failure = Failure { outcome: failed.outcome, why: failed.why.to_owned(), seen: &failed.seen };
        Reasons::note(&self.reasons, op, &failure);
    }

    /// A buffer to read into.
    pub(crate) fn take_buffer(&self) -> Vec<u8> {
        self.buffers.borrow_mut().pop().unwrap_or_default()
    }

    /// Returns an empty buffer.
    pub(crate) fn give_back(&self, buffer: Vec<u8>) {
        let mut buffers = self.buffers.borrow_mut();
        if buffers.len() < KEPT && buffer.capacity() <= KEPT_BYTES {
            buffers.push(buffer);
        }
    }
}

/// Factory of the groups of one worker.
pub(crate) struct KvUsers {
    worker: Rc<Worker>,
    /// Number of groups made.
    groups: Cell<u32>,
}

impl KvUsers {
    pub(crate) fn new(program: &Arc<PreparedLoad>, reasons: &Arc<Mutex<Reasons>>) -> Self {
        KvUsers { worker: Worker::new(program, reasons), groups: Cell::new(0) }
    }
}

impl GroupFactory for KvUsers {
    type Group = KvGroup;

    fn size(&self) -> usize {
        self.worker.program.window()
    }

    fn group(&self) -> KvGroup {
        let number = self.groups.get();
        self.groups.set(number.wrapping_add(1));
        KvGroup::new(&self.worker, number)
    }
}
