//! The two kinds of users of a worker: tasks of their own, or groups driven by one task.

use std::rc::Rc;

use barograph_model::BehaviourId;

use crate::UserFactory;
use crate::activity::{self, ActiveUser, ActivityStart};
use crate::core::WaitSlots;
use crate::worker::{UserEntry, Worker};

/// Users of one worker.
pub trait Population: Sized + 'static {
    /// State of a user.
    type User: 'static;

    /// Number of a worker's users that become active at one instant of a ramp, at least 1.
    fn together(&self) -> usize;

    /// Makes a user active.
    fn enter(worker: &Rc<Worker<Self>>, entering: UserEntry) -> Rc<ActiveUser<Self::User>>;
}

impl<W: UserFactory> Population for W {
    type User = W::User;

    fn together(&self) -> usize {
        1
    }

    fn enter(worker: &Rc<Worker<Self>>, entering: UserEntry) -> Rc<ActiveUser<W::User>> {
        let UserEntry { id, life, at } = entering;
        let seat = Rc::new(ActiveUser::new(id, worker.population.user(id), life));
        let slot = WaitSlots::slot(&worker.core);
        seat.main.set(Some(slot.key));
        let (its_worker, its_seat) = (Rc::clone(worker), Rc::clone(&seat));
        worker.spawn(async move {
            let begin = ActivityStart { behaviour: BehaviourId(0), argument: 0, first_at: at };
            activity::run(&its_worker, &its_seat, slot, begin).await;
            its_worker.running.set(its_worker.running.get() - 1);
        });
        seat
    }
}
