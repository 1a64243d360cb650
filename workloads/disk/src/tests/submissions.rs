//! Order of operations and the calls that submit them.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::task::Context;

use barograph_engine::sim::Simulation;
use barograph_engine::{GroupFactory, Groups};
use barograph_ring::Completion;

use super::stalls::reading;
use super::*;
use crate::group::QueueGroup;
use crate::program::Program;
use crate::queue::Queue;

/// Most operations of a call.
const TOGETHER: usize = 2;

/// A disk that notes each operation as `o` and each call as `|`, and completes nothing. Its calls fail after a number.
struct NotingDisk {
    notes: Rc<RefCell<String>>,
    calls_left: u32,
}

impl Queue for NotingDisk {
    fn is_in_flight(&self, _: usize) -> bool {
        false
    }

    fn buffer(&self, _: usize) -> &[u8] {
        &[]
    }

    fn buffer_mut(&mut self, _: usize) -> &mut [u8] {
        &mut []
    }

    fn read(&mut self, _: usize, _: u64, _: usize) {
        self.notes.borrow_mut().push('o');
    }

    fn write(&mut self, _: usize, _: u64, _: usize) {
        unreachable!("the load only reads")
    }

    fn sync(&mut self, _: usize) {
        unreachable!("the load only reads")
    }

    fn poll_work(&mut self, _: &mut Context<'_>) -> bool {
        self.notes.borrow().ends_with('o')
    }

    fn together(&self) -> usize {
        TOGETHER
    }

    fn enter(&mut self) -> io::Result<()> {
        self.notes.borrow_mut().push('|');
        self.calls_left = self.calls_left.checked_sub(1).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(())
    }

    fn completed(&mut self) -> Option<Completion> {
        None
    }

    fn queued(&self) -> usize {
        0
    }
}

struct NotingDisks {
    program: Arc<Program>,
    notes: Rc<RefCell<String>>,
    calls: u32,
}

impl GroupFactory for NotingDisks {
    type Group = QueueGroup<NotingDisk>;

    fn size(&self) -> usize {
        5
    }

    fn group(&self) -> QueueGroup<NotingDisk> {
        let disk = NotingDisk { notes: Rc::clone(&self.notes), calls_left: self.calls };
        QueueGroup::new(&self.program, Ok(disk), self.size())
    }
}

/// Notes of five users on a disk that takes this many calls, and outcomes by operation.
fn five_users(calls: u32) -> (String, Vec<barograph_stats::OpStats>) {
    let (program, settings) = reading(None);
    let notes = Rc::<RefCell<String>>::default();
    let disks =
        |_| Groups::new(NotingDisks { program: Arc::clone(&program), notes: Rc::clone(&notes), calls });
    let mut simulation = Simulation::new(&settings, disks);
    simulation.ramp(5, Nanos::ZERO);
    let ops = simulation.run(Nanos::from_millis(1)).ops.clone();
    (notes.take(), ops)
}

#[test]
fn a_full_call_does_not_wait_for_later_operations() {
    let (notes, ops) = five_users(3);
    assert_eq!(notes, "oo|oo|o|");
    assert_eq!(ops[0].count(), 0);
}

#[test]
fn a_refused_call_fails_all_operations_that_wait() {
    let (notes, ops) = five_users(1);
    assert_eq!(notes, "oo|oo|");
    assert_eq!(ops[0].outcomes[Outcome::DriverFault.index()], 5);
}
