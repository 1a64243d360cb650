//! The users of a database, each with a session of its own on the event loop.

use std::rc::Rc;
use std::sync::Arc;

use barograph_engine::{OpContext, User, UserFactory};
use barograph_model::words::in_one_line;
use barograph_model::{ChooserId, OpId, Outcome, UserId};
use barograph_postgres::{Client, Target};
use futures::lock::{Mutex, MutexGuard};

use super::session::PostgresSession;
use crate::plan::Form;
use crate::user::{LoadState, Terminal, Transaction};

/// Makes the users of one worker.
pub(super) struct PostgresUsers {
    client: Rc<Client>,
    form: Form,
    shared: Arc<LoadState>,
}

impl PostgresUsers {
    pub(super) fn new(target: &Target, form: Form, shared: &Arc<LoadState>) -> Self {
        PostgresUsers { client: Rc::new(Client::new(target)), form, shared: Arc::clone(shared) }
    }
}

impl UserFactory for PostgresUsers {
    type User = PostgresUser;

    fn user(&self, id: UserId) -> PostgresUser {
        let state = State { terminal: Terminal::new(&self.shared, id.0), session: None };
        let client = Rc::clone(&self.client);
        PostgresUser { client, form: self.form, number: id.0, state: Mutex::new(state) }
    }
}

/// A user with its session.
pub(super) struct PostgresUser {
    client: Rc<Client>,
    form: Form,
    number: u32,
    state: Mutex<State>,
}

struct State {
    terminal: Terminal,
    /// Begun by the first operation, and by the next one after a failure.
    session: Option<PostgresSession>,
}

impl PostgresUser {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.try_lock().expect("a user has one operation in flight")
    }
}

impl User for PostgresUser {
    async fn act(&self, op: OpId, context: &mut OpContext) -> Outcome {
        let transaction = Transaction::ALL[op.index()];
        let State { terminal, session: kept } = &mut *self.state();
        // The session of an operation that is dropped is dropped with it, and with the session its transaction.
        let mut session = match kept.take() {
            Some(session) => session,
            None => match PostgresSession::open(&self.client, self.form, self.number).await {
                Ok(session) => session,
                Err(fault) => {
                    return terminal.unconnected(transaction, (fault.outcome(), in_one_line(&fault)));
                }
            },
        };
        let outcome = terminal.transact(&mut session, transaction, context).await;
        if !outcome.is_failure() {
            *kept = Some(session);
        }
        outcome
    }

    fn choose(&self, _: ChooserId, context: &mut OpContext) -> usize {
        self.state().terminal.next(context)
    }
}
