//! Operations in compiled form: groups of exchanges, extractions, effects on activities.

use std::sync::Arc;

use barograph_model::BehaviourId;

use crate::{Check, Condition, DrawId, Pattern, Pointer, SlotIndex, Source, Template};

/// Index into the names of streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u8);

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The name in records and reports.
    pub name: &'static str,
    /// One sentence about the user's action.
    pub about: &'static str,
    /// Groups of exchanges, done one after the other, or one of them according to `order`.
    pub groups: Vec<Group>,
    /// Choice of one group; `None` for all. Always `None` from files.
    pub order: Option<Order>,
    /// Requests to the engine after the end.
    pub beside: OperationEffects,
}

/// Order in which a user chooses one group of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In turn, beginning with the first one.
    InTurn,
    /// At random, uniformly.
    Random,
}

/// Exchanges that run side by side; by default a single one.
pub type Group = Vec<Exchange>;

/// Requests of an operation to the engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperationEffects {
    /// Draws to make first, where their places are empty, in this order.
    pub draws: Vec<DrawId>,
    /// Starts an activity, after a good operation.
    pub start: Option<Start>,
    /// Ends all other activities of the user, if it holds.
    pub stop_others: Option<Condition>,
    /// Ends this activity, if it holds.
    pub end: Option<Condition>,
    /// Resets the user, if it holds.
    pub reset: Option<Condition>,
}

/// An activity to start.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// Its behaviour.
    pub behaviour: BehaviourId,
    /// Its built-in `argument`.
    pub argument: Template,
    /// Most activities of this behaviour that the user may have.
    pub at_most: u32,
    /// Condition of the start.
    pub when: Option<Condition>,
}

/// One exchange with the target, or one step of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// Condition of the exchange; evaluated for each item of `for_each`.
    pub when: Option<Condition>,
    /// Repetition over a list.
    pub for_each: Option<ForEach>,
    /// Draws to make before each repetition, in this order: always, or where the place is empty.
    pub draws: Vec<DrawId>,
    /// The action.
    pub action: Action,
    /// Set if the target answers only when it has news.
    pub wait: Option<Wait>,
    /// Values to keep from the answer.
    pub extract: Vec<Extraction>,
    /// Checks of the answer.
    pub check: Check,
}

impl Exchange {
    /// Whether the body of the answer is used. If not, counting its bytes is enough.
    #[must_use]
    pub fn reads_body(&self) -> bool {
        let from_body = |e: &Extraction| {
            matches!(
                e.from,
                ExtractionSource::Json(_) | ExtractionSource::Regex { .. } | ExtractionSource::Body
            )
        };
        !self.check.body.is_empty() || self.extract.iter().any(from_body)
    }
}

/// A repetition over a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ForEach {
    /// The list; a single text counts as a list of one.
    pub list: Source,
    /// Place of the current item.
    pub item: SlotIndex,
    /// Most items; the rest is left out.
    pub at_most: u32,
    /// Whether the repetitions run side by side, instead of one after the other.
    pub side_by_side: bool,
}

/// Properties of a wait.
#[derive(Clone, Debug, PartialEq)]
pub struct Wait {
    /// Statuses with which the target ends a wait that ran out.
    pub expired: Vec<u16>,
}

/// Action of an exchange.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A request and its whole answer.
    Request(Request),
    /// A request whose answer is a stream of events. Judged by its head.
    SseOpen(StreamId, Request),
    /// Waits for the next event, of this name if one is given; others are skipped.
    SseNext(StreamId, Option<Box<str>>),
    /// Close the stream.
    SseClose(StreamId),
    /// A request to upgrade, offering these subprotocols. Judged by its head.
    SocketOpen(StreamId, Request, Vec<Box<str>>),
    /// Send a text message.
    SocketSend(StreamId, Template),
    /// Wait for the next message.
    SocketReceive(StreamId),
    /// Close with the code 1000.
    SocketClose(StreamId),
}

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The method, a token.
    pub method: &'static str,
    /// Origin: 0 for the target, or the number of a further origin of a command line.
    pub origin: u16,
    /// Path and query, beginning with a slash; the target's base path goes before it.
    pub target: Template,
    /// Headers, including those of the target, without those of the connection. `host` only if the scenario
    /// sets it.
    pub headers: Vec<Header>,
    /// The body.
    pub body: Option<Body>,
}

/// A header of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// Its name in lower case.
    pub name: Box<str>,
    /// Its value.
    pub value: Template,
}

/// A body. Its content type is one of the headers.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Text, JSON or a form.
    Template(Template),
    /// The bytes of a file.
    File(Arc<[u8]>),
}

/// A value to keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Extraction {
    /// Its name.
    pub name: &'static str,
    /// Its place.
    pub place: SlotIndex,
    /// Its location in the answer.
    pub from: ExtractionSource,
    /// Whether a missing value is a wrong answer.
    pub required: bool,
    /// Value if none is found; without a default the place becomes empty.
    pub default: Option<Box<str>>,
    /// Most items of a list of all values found; `None` keeps only the first value.
    pub list: Option<u32>,
}

/// Location of a value in an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ExtractionSource {
    /// In the JSON body.
    Json(Pointer),
    /// In the body, by an expression.
    Regex {
        /// The expression.
        pattern: Pattern,
        /// Number of the group to keep; 0 is the whole match.
        group: usize,
    },
    /// The value of a header, by its name in lower case.
    Header(Box<str>),
    /// The value of a cookie that the answer sets.
    Cookie(Box<str>),
    /// The whole body.
    Body,
}
