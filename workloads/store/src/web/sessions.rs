//! The sessions of a node: threads that do the operations of requests, each with a session of its own.

use std::io;
use std::sync::Arc;

use barograph_database::sqlite::{Connection, ConnectionOptions, file_of};
use barograph_database::{Access, Value, with_retries};
use barograph_database_engines::{
    DatabaseSettings, MariadbSessions, PostgresSessions, ServerError, Sessions,
};
use barograph_engine::OpContext;
use barograph_model::Outcome;
use barograph_model::secret::masked;
use barograph_model::words::in_one_line;
use barograph_reactor::block_on;
use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::FairMutex;
use tokio::sync::oneshot;

use super::contract::{Answer, LoginForm, OrderForm, RETRIES};
use crate::engines;
use crate::operations;
use crate::session::{Field, Page, Session};

/// Requests that wait for a session at the most.
const QUEUE: usize = 4_096;

/// The database of a node.
#[derive(Debug)]
pub(crate) struct NodeDatabase {
    pub(crate) url: String,
    pub(crate) settings: DatabaseSettings,
    /// Sessions, each with a thread.
    pub(crate) sessions: u32,
}

/// An error of the start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NodeError {
    #[error(
        "use --database `{0}`: allowed are sqlite:///PATH/FILE, postgres://USER@HOST/NAME and mysql://USER@HOST/NAME"
    )]
    Address(String),
    #[error("use the database")]
    Database(#[from] ServerError),
    #[error("start a thread")]
    Thread(#[source] io::Error),
}

/// A request of a visitor.
#[derive(Debug)]
pub(crate) enum Request {
    Login(LoginForm<'static>),
    NewCustomer(Vec<Value>),
    BrowseByCategory { category: i64, most: i64 },
    Search { field: Field, words: [String; 2], most: i64 },
    Purchase(OrderForm<'static>),
}

impl Request {
    fn access(&self) -> Access {
        match self {
            Request::NewCustomer(_) | Request::Purchase(_) => Access::Write,
            _ => Access::Read,
        }
    }
}

/// The result of a request: an answer, or outcome and reason.
pub(crate) type Done = Result<Answer<String>, (Outcome, String)>;

/// A request that waits for a session.
pub(crate) struct Job {
    pub(crate) request: Request,
    pub(crate) done: oneshot::Sender<Done>,
}

/// Starts the threads, which end with the last sender. Blocks.
///
/// # Errors
/// [`NodeError`].
pub(crate) fn start(database: &NodeDatabase) -> Result<Sender<Job>, NodeError> {
    let NodeDatabase { url, settings, sessions } = database;
    let (send, jobs) = bounded(QUEUE);
    match url.split_once("://") {
        Some(("postgres" | "postgresql", _)) => {
            let make = PostgresSessions::<engines::postgres::Sql>::of(url, settings)?;
            threads(*sessions, &jobs, make)?;
        }
        Some(("mysql" | "mariadb", _)) => {
            let make = MariadbSessions::<engines::mariadb::Sql>::of(url, settings)?;
            threads(*sessions, &jobs, make)?;
        }
        _ => {
            let path = file_of(url).ok_or_else(|| NodeError::Address(masked(url).into_owned()))?.to_owned();
            let DatabaseSettings { is_durable, is_queued, busy, .. } = *settings;
            let connecting = ConnectionOptions { path, is_durable, busy };
            let queue = is_queued.then(|| Arc::new(FairMutex::new(())));
            let files = SqliteSessions { connecting, queue };
            threads(*sessions, &jobs, move || files.clone())?;
        }
    }
    Ok(send)
}

/// The connections to a SQLite file.
#[derive(Clone)]
struct SqliteSessions {
    connecting: ConnectionOptions,
    /// A fair lock of the writers of this node in front of SQLite's own, which is polled and starves waiters.
    queue: Option<Arc<FairMutex<()>>>,
}

impl Sessions for SqliteSessions {
    type Session = Connection;

    async fn open(&self, _: u32) -> Result<Connection, (Outcome, String)> {
        Connection::open(&self.connecting).map_err(|why| (Outcome::Broken, in_one_line(&why)))
    }
}

/// A kind of sessions of a node.
trait NodeSessions: Sessions<Session: Session> {
    /// Does an operation in a session.
    fn carry_out(&self, session: &mut Self::Session, request: &Request) -> impl Future<Output = Done> {
        carry_out(session, request)
    }
}

impl NodeSessions for PostgresSessions<engines::postgres::Sql> {}

impl NodeSessions for MariadbSessions<engines::mariadb::Sql> {}

impl NodeSessions for SqliteSessions {
    /// Calls of SQLite never wait for this thread's event loop, so the lock is held by a thread that works.
    async fn carry_out(&self, session: &mut Connection, request: &Request) -> Done {
        let queue = self.queue.as_ref().filter(|_| request.access() == Access::Write);
        let _lock = queue.map(|queue| queue.lock());
        carry_out(session, request).await
    }
}

fn threads<S: NodeSessions>(
    count: u32,
    jobs: &Receiver<Job>,
    make: impl Fn() -> S + Clone + Send + 'static,
) -> Result<(), NodeError> {
    for number in 0..count {
        let (jobs, make) = (jobs.clone(), make.clone());
        let work = move || {
            // A thread that gets no event loop leaves its requests to the others.
            let _ = block_on(serve(&make(), number, &jobs));
        };
        let thread = std::thread::Builder::new().name(format!("session-{number}"));
        thread.spawn(work).map_err(NodeError::Thread)?;
    }
    Ok(())
}

/// Does one request after the other. A session is opened when it is needed, and again after a failure.
async fn serve<S: NodeSessions>(sessions: &S, number: u32, jobs: &Receiver<Job>) {
    let mut kept = None;
    while let Ok(Job { request, done }) = jobs.recv() {
        let answer = async {
            let mut session = match kept.take() {
                Some(session) => session,
                None => sessions.open(number).await?,
            };
            let answer = sessions.carry_out(&mut session, &request).await?;
            kept = Some(session);
            Ok(answer)
        };
        // Without a receiver the client is gone.
        let _ = done.send(answer.await);
    }
}

/// Does the operation of a request, again after conflicts with other transactions.
async fn carry_out<S: Session>(session: &mut S, request: &Request) -> Done {
    let (mut context, mut page, mut prices) = (OpContext::detached(), Page::default(), Vec::new());
    let attempt = async |session: &mut S, context: &mut OpContext| {
        page = Page::kept();
        let end = match request {
            Request::Login(LoginForm { name, password }) => {
                operations::login(session, (name, password), &mut page, context).await
            }
            Request::NewCustomer(row) => operations::new_customer(session, row, context).await,
            Request::BrowseByCategory { category, most } => {
                operations::browse_category(session, (*category, *most), &mut page).await
            }
            Request::Search { field, words, most } => {
                let words = words.each_ref().map(String::as_str);
                operations::search(session, *field, (words, *most), &mut page).await
            }
            Request::Purchase(OrderForm { customer, lines }) => {
                operations::purchase(session, (*customer, lines), &mut prices, context).await
            }
        }?;
        if end.is_committed() {
            session.commit().await?;
        }
        Ok(end)
    };
    let end = with_retries(session, &mut context, attempt).await?;
    Ok(Answer { end, retries: RETRIES.map(|kind| context.added(kind)), rows: page.into_rows() })
}
