//! Actions of a script on a request.

use std::sync::Arc;
use std::time::Duration;

use crate::Request;

/// A well-formed HTTP answer.
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
    /// An answer without delay.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Answer { status, headers: Vec::new(), body: body.into(), delay: Duration::ZERO }
    }

    /// Adds a delay.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        Answer { delay, ..self }
    }

    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// Action on one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Answers it.
    Answer(Answer),
    /// Never answers; the connection stays open until the client or the server ends.
    Stall,
    /// Sends these bytes instead of an answer, then closes the connection.
    Garbage(Vec<u8>),
    /// Sends these bytes unchanged, and keeps the connection; for answers in chunks or in unusual forms.
    Raw(Vec<u8>),
    /// Sends these pieces, one write each with a pause between them. A pause makes it very likely, though not
    /// certain, that the client reads the pieces one by one.
    Pieces {
        /// The pieces, in order.
        pieces: Vec<Vec<u8>>,
        /// Time between two pieces; the runtime rounds it to milliseconds.
        pause: Duration,
        /// The end of the connection.
        then: AfterBytes,
    },
    /// Sends the head and the first half of the body of this answer, then closes the connection.
    CloseMid(Answer),
    /// Resets the connection without any answer. A Unix socket has no reset and just ends.
    Refuse,
    /// Kills the whole server: it stops listening, and all its connections are reset.
    Die,
}

/// End of a connection after scripted bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterBytes {
    /// Continues with the next request.
    Stay,
    /// Closes in order.
    Close,
    /// Resets. A Unix socket has no reset and just ends.
    Reset,
}

impl From<Answer> for Act {
    fn from(answer: Answer) -> Self {
        Act::Answer(answer)
    }
}

/// Decides the action on a request.
pub type Script = Arc<dyn Fn(&Request) -> Act + Send + Sync>;

/// A script with the same action for every request.
#[must_use]
pub fn always(act: Act) -> Script {
    Arc::new(move |_| act.clone())
}

/// Follows `script` for the first `n` requests; the next one kills the server.
#[must_use]
pub fn dying_after(n: u64, script: Script) -> Script {
    Arc::new(move |request| if request.n < n { script(request) } else { Act::Die })
}
