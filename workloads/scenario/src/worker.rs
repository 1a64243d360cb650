//! State shared by the users of one worker.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use barograph_engine::UserFactory;
use barograph_http::Client;
use barograph_model::{OpId, UserId};
use barograph_scenario_script::Scripts;
use barograph_workload::{Failure, Reasons};

use crate::judge::ExchangeFailure;
use crate::origins::Origins;
use crate::program::Program;
use crate::script;
use crate::slot::{self, Slot};
use crate::traffic::{Traffic, WorkerWatch};
use crate::user::ScenarioUser;

/// Most sets of slots kept for later operations; others are freed.
const KEPT: usize = 256;

/// State shared by the users of one worker.
pub(crate) struct Worker {
    pub(crate) program: Arc<Program>,
    pub(crate) client: Rc<Client>,
    /// Origins beside the target.
    pub(crate) origins: Origins,
    pub(crate) scripts: Vec<Scripts>,
    pub(crate) traffic: Traffic,
    pub(crate) watching: WorkerWatch,
    /// Room for texts on their way from values to values.
    pub(crate) scratch: RefCell<Vec<u8>>,
    reasons: Arc<Mutex<Reasons>>,
    sets: RefCell<Vec<Box<[Slot]>>>,
}

impl Worker {
    pub(crate) fn new(program: &Arc<Program>, reasons: &Arc<Mutex<Reasons>>) -> Rc<Self> {
        Rc::new(Worker {
            client: Client::new(&program.resolved),
            origins: Origins::known(&program.further),
            traffic: Traffic::default(),
            watching: WorkerWatch::default(),
            scripts: script::compile(&program.scenario)
                .expect("they were compiled when the program was made"),
            program: Arc::clone(program),
            scratch: RefCell::default(),
            reasons: Arc::clone(reasons),
            sets: RefCell::default(),
        })
    }

    /// Counts a failure with its reason. Endings that are not failures are left out.
    pub(crate) fn note(&self, op: OpId, bad: ExchangeFailure, seen: &[u8]) {
        if bad.outcome.is_failure() {
            let failure = Failure { outcome: bad.outcome, why: bad.why, seen };
            Reasons::note(&self.reasons, op, &failure);
        }
    }

    /// Empty slots for an operation. An idle user has none.
    pub(crate) fn take_set(&self) -> Box<[Slot]> {
        let kept = self.sets.borrow_mut().pop();
        kept.unwrap_or_else(|| slot::empty(self.program.scenario.slots.operation))
    }

    /// Returns the slots of an operation.
    pub(crate) fn give_back(&self, mut set: Box<[Slot]>) {
        let mut sets = self.sets.borrow_mut();
        if sets.len() < KEPT {
            set.iter_mut().for_each(Slot::clear);
            sets.push(set);
        }
    }
}

/// The scenario as a workload: one per worker.
pub(crate) struct ScenarioWorkload {
    worker: Rc<Worker>,
}

impl ScenarioWorkload {
    pub(crate) fn new(program: &Arc<Program>, reasons: &Arc<Mutex<Reasons>>) -> Self {
        ScenarioWorkload { worker: Worker::new(program, reasons) }
    }
}

impl UserFactory for ScenarioWorkload {
    type User = ScenarioUser;

    fn user(&self, id: UserId) -> ScenarioUser {
        ScenarioUser::new(&self.worker, id)
    }
}
