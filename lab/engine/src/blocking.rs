//! Users whose operations block their thread, as those of an embedded database or of a processor do. Each
//! user has a worker, and so a thread, of its own.

use std::cell::RefCell;

use barograph_model::{ChooserId, OpId, Outcome, UserId};

use crate::handle::runnable_sharing_files;
use crate::{OpContext, Runnable, User, UserFactory};

/// Makes users whose operations block. One value per worker.
pub trait BlockingFactory: 'static {
    /// A user.
    type User: BlockingUser;

    /// Makes the user with this order number, on its own thread.
    fn user(&self, id: UserId) -> Self::User;
}

/// A user whose operations block.
pub trait BlockingUser: 'static {
    /// Does one operation and returns its outcome. It is not interrupted: a time-out is counted when it ends,
    /// and a run waits for its end.
    fn act(&mut self, op: OpId, context: &mut OpContext) -> Outcome;

    /// Answers a question about the user's state with the index of a branch. Never called if behaviours have
    /// no choosers.
    fn choose(&mut self, chooser: ChooserId, context: &mut OpContext) -> usize {
        let _ = (chooser, context);
        0
    }

    /// Forgets the state of a session that ended.
    fn end_session(&mut self) {}
}

/// Erases the type of a workload whose operations block: `make` is called once in each worker's thread. The
/// settings must have as many workers as the load has users. All users share the open files of the process,
/// unlike users that do not block: libraries that block, such as SQLite, keep files that all threads use.
pub fn runnable_threads<W, F>(make: F) -> Box<dyn Runnable>
where
    W: BlockingFactory,
    F: Fn() -> W + Send + Sync + 'static,
{
    runnable_sharing_files(move || BlockingAdapter(make()))
}

struct BlockingAdapter<F>(F);

struct ThreadUser<U>(RefCell<U>);

impl<F: BlockingFactory> UserFactory for BlockingAdapter<F> {
    type User = ThreadUser<F::User>;

    fn user(&self, id: UserId) -> Self::User {
        ThreadUser(RefCell::new(self.0.user(id)))
    }
}

impl<U: BlockingUser> User for ThreadUser<U> {
    async fn act(&self, op: OpId, context: &mut OpContext) -> Outcome {
        self.0.borrow_mut().act(op, context)
    }

    fn choose(&self, chooser: ChooserId, context: &mut OpContext) -> usize {
        self.0.borrow_mut().choose(chooser, context)
    }

    fn end_session(&self) {
        self.0.borrow_mut().end_session();
    }
}
