//! Statements about a server that is there already, over a session on a thread of its own.

use std::future::poll_fn;
use std::io;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use barograph_model::words::in_one_line;
use barograph_reactor::{Descriptor, block_on};
use barograph_service_metrics::{StatementError, StatementFuture, Statements};
use futures::future::{Either, select};
use tokio::sync::oneshot;

use crate::errors::Cause;
use crate::product::Product;

/// Statements that wait, most of them of samples that were given up.
const MOST_WAITING: usize = 8;

/// Rows of a name and a value.
pub(crate) type Pairs = Result<Vec<(String, String)>, StatementError>;

/// A statement, and where its rows go.
struct Question {
    sql: String,
    reply: oneshot::Sender<Pairs>,
}

/// A session for statements about a server.
#[derive(Debug)]
pub(crate) struct Observer {
    questions: SyncSender<Question>,
    /// Its end is the end of the session, even within a call.
    _bell: Option<UnixStream>,
}

impl Observer {
    /// Starts the thread. The session is made for the first statement.
    pub(crate) fn new<P: Product>(url: &str) -> Self {
        let (questions, asked) = sync_channel(MOST_WAITING);
        let (url, pair) = (url.to_owned(), UnixStream::pair());
        let started = pair.and_then(|(ours, theirs)| {
            let work = move || serve::<P>(&url, &asked, theirs);
            std::thread::Builder::new().name("statistics".to_owned()).spawn(work)?;
            Ok(ours)
        });
        // Without a thread every statement fails.
        Observer { questions, _bell: started.ok() }
    }
}

impl Statements for Observer {
    fn rows<'a>(&'a mut self, sql: &'a str) -> StatementFuture<'a> {
        let (reply, answer) = oneshot::channel();
        let sent = self.questions.try_send(Question { sql: sql.to_owned(), reply });
        Box::pin(async move {
            let ended = || StatementError::Broken(io::Error::other("the session ended"));
            sent.map_err(|_| ended())?;
            answer.await.map_err(|_| ended())?
        })
    }
}

/// Answers statements until the session breaks or is not wanted any more.
fn serve<P: Product>(url: &str, asked: &Receiver<Question>, bell: UnixStream) {
    let target = P::observed(url);
    // Without an event loop the questions end without an answer.
    let _ = block_on(async {
        let Ok(bell) = Descriptor::new(bell.into()) else { return };
        let mut session = None;
        // Between two statements there is nothing else to do on this thread.
        while let Ok(Question { sql, reply }) = asked.recv() {
            let rows = async {
                let target = target.as_ref().map_err(unreachable)?;
                let open = match session.take() {
                    Some(open) => session.insert(open),
                    None => session.insert(P::observe(target).await?),
                };
                P::pairs(open, &sql).await
            };
            let unwanted = poll_fn(|cx| bell.poll_event(cx));
            let Either::Left((rows, _)) = select(pin!(rows), pin!(unwanted)).await else { return };
            let is_broken = matches!(rows, Err(StatementError::Broken(_)));
            // A statement that is not waited for any more needs no rows.
            let _ = reply.send(rows);
            if is_broken {
                return;
            }
        }
    });
}

fn unreachable(why: &Cause) -> StatementError {
    StatementError::Broken(io::Error::other(in_one_line(why.as_ref())))
}
