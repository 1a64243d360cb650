//! The users of a server, each with a session of its own on the event loop.

use std::rc::Rc;
use std::sync::Arc;

use barograph_database::{Terminal, Transacts};
use barograph_engine::{OpContext, User, UserFactory};
use barograph_model::{ChooserId, OpId, Outcome, UserId};
use futures::lock::{Mutex, MutexGuard};

/// Opens the sessions of one worker.
pub trait Sessions: 'static {
    /// A session with its prepared statements.
    type Session: 'static;

    /// Opens a session. `number` chooses among the addresses of the server.
    ///
    /// # Errors
    /// Outcome and reason.
    fn open(&self, number: u32) -> impl Future<Output = Result<Self::Session, (Outcome, String)>>;
}

/// Makes the users of one worker.
pub struct SessionUsers<S, T: Terminal> {
    sessions: Rc<S>,
    shared: Arc<T::Shared>,
}

impl<S, T: Terminal> SessionUsers<S, T> {
    /// The users of one worker with their way to sessions and the state that they share.
    pub fn new(sessions: S, shared: &Arc<T::Shared>) -> Self {
        SessionUsers { sessions: Rc::new(sessions), shared: Arc::clone(shared) }
    }
}

impl<S: Sessions, T: Transacts<S::Session>> UserFactory for SessionUsers<S, T> {
    type User = SessionUser<S, T>;

    fn user(&self, id: UserId) -> SessionUser<S, T> {
        let state = State { terminal: T::new(&self.shared, id), session: None };
        SessionUser { sessions: Rc::clone(&self.sessions), number: id.0, state: Mutex::new(state) }
    }
}

/// A user with its session.
pub struct SessionUser<S: Sessions, T> {
    sessions: Rc<S>,
    number: u32,
    state: Mutex<State<S::Session, T>>,
}

struct State<S, T> {
    terminal: T,
    /// Begun by the first operation, and by the next one after a failure.
    session: Option<S>,
}

impl<S: Sessions, T> SessionUser<S, T> {
    fn state(&self) -> MutexGuard<'_, State<S::Session, T>> {
        self.state.try_lock().expect("a user has one operation in flight")
    }
}

impl<S: Sessions, T: Transacts<S::Session>> User for SessionUser<S, T> {
    async fn act(&self, op: OpId, context: &mut OpContext) -> Outcome {
        let State { terminal, session: kept } = &mut *self.state();
        let _lasts = terminal.gaps().map(|gaps| gaps.until_dropped(context.watch()));
        // The session of an operation that is dropped is dropped with it, and with the session its transaction.
        let mut session = match kept.take() {
            Some(session) => session,
            None => match self.sessions.open(self.number).await {
                Ok(session) => session,
                Err((outcome, why)) => return terminal.failed(op, outcome, why),
            },
        };
        let outcome = terminal.act(&mut session, op, context).await;
        if !outcome.is_failure() {
            *kept = Some(session);
        }
        outcome
    }

    fn choose(&self, _: ChooserId, context: &mut OpContext) -> usize {
        self.state().terminal.choose(context)
    }
}
