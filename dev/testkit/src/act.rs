//! What a script may do to a request.

use std::sync::Arc;
use std::time::Duration;

use crate::Request;

/// An answer in good HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Headers besides `content-length`.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
    /// Time between the end of the request and the beginning of the answer.
    pub delay: Duration,
}

impl Answer {
    /// Status and body, at once.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Answer { status, headers: Vec::new(), body: body.into(), delay: Duration::ZERO }
    }

    /// The same, later.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        Answer { delay, ..self }
    }

    /// The same with one more header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// What happens to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// It is answered.
    Answer(Answer),
    /// It is never answered; the connection stays open until the client or the server goes.
    Stall,
    /// These bytes come instead of an answer, then the connection is closed.
    Garbage(Vec<u8>),
    /// These bytes come as they are, and the connection goes on; for answers in chunks or in strange forms.
    Raw(Vec<u8>),
    /// These pieces come, one write each with a pause between them. A pause makes it very likely that the client reads
    /// the pieces one by one; TCP promises it to nobody.
    Pieces {
        /// What comes, in order.
        pieces: Vec<Vec<u8>>,
        /// Time between two pieces; the runtime rounds it to milliseconds.
        pause: Duration,
        /// What happens after the last.
        then: Then,
    },
    /// The head and the first half of the body of this answer come, then the connection is closed.
    CloseMid(Answer),
    /// The connection is reset without a byte of answer. A Unix socket knows no reset and just ends.
    Refuse,
    /// The whole server dies: it listens no more, and all its connections are reset.
    Die,
}

/// What happens to a connection after scripted bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It goes on with the next request.
    Stay,
    /// It is closed in order.
    Close,
    /// It is reset. A Unix socket knows no reset and just ends.
    Reset,
}

impl From<Answer> for Act {
    fn from(answer: Answer) -> Self {
        Act::Answer(answer)
    }
}

/// Decides what happens to a request.
pub type Script = Arc<dyn Fn(&Request) -> Act + Send + Sync>;

/// The same for every request.
#[must_use]
pub fn always(act: Act) -> Script {
    Arc::new(move |_| act.clone())
}

/// As `script` says for the first `n` requests; the next one kills the server.
#[must_use]
pub fn dying_after(n: u64, script: Script) -> Script {
    Arc::new(move |request| if request.n < n { script(request) } else { Act::Die })
}
