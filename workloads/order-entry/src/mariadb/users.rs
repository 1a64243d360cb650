//! The users of a database, each with a session of its own on the event loop.

use std::rc::Rc;
use std::sync::Arc;

use barograph_engine::{OpContext, User, UserFactory};
use barograph_model::words::in_one_line;
use barograph_model::{ChooserId, OpId, Outcome, UserId};
use barograph_mysql::{Client, Target};
use futures::lock::{Mutex, MutexGuard};

use super::session::MariadbSession;
use crate::user::{LoadState, Terminal, Transaction};

/// Makes the users of one worker.
pub(super) struct MariadbUsers {
    server: Rc<Server>,
    shared: Arc<LoadState>,
}

/// A worker's way to sessions.
struct Server {
    client: Client,
    setup: Arc<str>,
}

impl MariadbUsers {
    /// `setup` is the SQL with which each session begins.
    pub(super) fn new(target: &Target, setup: &Arc<str>, shared: &Arc<LoadState>) -> Self {
        let server = Server { client: Client::new(target), setup: Arc::clone(setup) };
        MariadbUsers { server: Rc::new(server), shared: Arc::clone(shared) }
    }
}

impl UserFactory for MariadbUsers {
    type User = MariadbUser;

    fn user(&self, id: UserId) -> MariadbUser {
        let state = State { terminal: Terminal::new(&self.shared, id.0), session: None };
        MariadbUser { server: Rc::clone(&self.server), number: id.0, state: Mutex::new(state) }
    }
}

/// A user with its session.
pub(super) struct MariadbUser {
    server: Rc<Server>,
    number: u32,
    state: Mutex<State>,
}

struct State {
    terminal: Terminal,
    /// Begun by the first operation, and by the next one after a failure.
    session: Option<MariadbSession>,
}

impl MariadbUser {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.try_lock().expect("a user has one operation in flight")
    }
}

impl User for MariadbUser {
    async fn act(&self, op: OpId, context: &mut OpContext) -> Outcome {
        let transaction = Transaction::ALL[op.index()];
        let State { terminal, session: kept } = &mut *self.state();
        // The session of an operation that is dropped is dropped with it, and with the session its transaction.
        let mut session = match kept.take() {
            Some(session) => session,
            None => {
                let Server { client, setup } = &*self.server;
                match MariadbSession::open(client, self.number, setup).await {
                    Ok(session) => session,
                    Err(fault) => {
                        return terminal.unconnected(transaction, (fault.outcome(), in_one_line(&fault)));
                    }
                }
            }
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
