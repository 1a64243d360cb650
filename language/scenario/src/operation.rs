//! Operations in compiled form: groups of exchanges, what is taken from answers, what happens beside.

use std::sync::Arc;

use barograph_model::BehaviourId;

use crate::{Check, Condition, DrawId, Pattern, Place, Pointer, Source, Template};

/// Index into the names of streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u8);

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The name in records and reports.
    pub name: &'static str,
    /// One sentence: what the user does.
    pub about: &'static str,
    /// One after the other, or one of them where `order` says which.
    pub groups: Vec<Group>,
    /// Which group is done; all where it says nothing. Files say nothing.
    pub order: Option<Order>,
    /// What is asked of the engine once it has ended.
    pub beside: Beside,
}

/// The order in which a user does one thing of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In turn, the first one first.
    InTurn,
    /// At random, each with the same chance.
    Random,
}

/// Exchanges that run side by side; one where nothing is said.
pub type Group = Vec<Exchange>;

/// What an operation asks of the engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beside {
    /// To draw first, where their places are empty, in this order.
    pub draws: Vec<DrawId>,
    /// After a good operation: start an activity.
    pub start: Option<Start>,
    /// End all other activities of the user.
    pub stop_others: Option<Condition>,
    /// End this activity.
    pub end: Option<Condition>,
    /// Start the user over.
    pub reset: Option<Condition>,
}

/// An activity to start.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// What it does.
    pub behaviour: BehaviourId,
    /// Its built-in `argument`.
    pub argument: Template,
    /// Not when the user has so many activities of this behaviour.
    pub at_most: u32,
    /// Only when this holds.
    pub when: Option<Condition>,
}

/// One exchange with the target, or one step of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// Left out unless this holds; asked for each item of `for_each`.
    pub when: Option<Condition>,
    /// Once per item of a list.
    pub for_each: Option<ForEach>,
    /// To draw before each repetition, in this order: always or where the place is empty.
    pub draws: Vec<DrawId>,
    /// What to do.
    pub action: Action,
    /// Said of an exchange in which the target answers when it has something to say.
    pub wait: Option<Wait>,
    /// What to keep of the answer.
    pub extract: Vec<Extract>,
    /// What must hold of the answer.
    pub check: Check,
}

impl Exchange {
    /// Does anything look at the body of the answer? If not, counting its bytes is enough.
    #[must_use]
    pub fn reads_body(&self) -> bool {
        let from_body = |e: &Extract| matches!(e.from, Where::Json(_) | Where::Regex { .. } | Where::Body);
        !self.check.body.is_empty() || self.extract.iter().any(from_body)
    }
}

/// A repetition over a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ForEach {
    /// The list; a single text counts as a list of one.
    pub list: Source,
    /// Where each item is put.
    pub item: Place,
    /// Items beyond this many are left out.
    pub at_most: u32,
    /// Are the repetitions done side by side, or one after the other?
    pub side_by_side: bool,
}

/// What is known about a wait.
#[derive(Clone, Debug, PartialEq)]
pub struct Wait {
    /// The target ends a wait that ran out with one of these statuses.
    pub expired: Vec<u16>,
}

/// What an exchange does.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A request and its whole answer.
    Request(Request),
    /// A request whose answer is a stream of events. Judged by its head.
    SseOpen(StreamId, Request),
    /// Wait for the next event, of this name if one is given; others are passed over.
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
    /// 0 for the target; else one of the further origins that a command line has.
    pub origin: u16,
    /// Path and query, beginning with a slash; the target's base path goes before it.
    pub target: Template,
    /// Headers, those of the target included; never those that belong to the
    /// connection. `host` only where the scenario sets it.
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

/// A body. Its content type stands among the headers.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Text, JSON or a form.
    Template(Template),
    /// The bytes of a file.
    File(Arc<[u8]>),
}

/// A value to keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Extract {
    /// Its name.
    pub name: &'static str,
    /// Where it is put.
    pub place: Place,
    /// Where it is found.
    pub from: Where,
    /// Not finding it is a wrong answer.
    pub required: bool,
    /// Kept when it is not found; without one the place becomes empty.
    pub default: Option<Box<str>>,
    /// All that is found, at most so many, becomes a list; `None` keeps the first.
    pub list: Option<u32>,
}

/// Where in an answer a value is found.
#[derive(Clone, Debug, PartialEq)]
pub enum Where {
    /// In the JSON body.
    Json(Pointer),
    /// In the body, by an expression.
    Regex {
        /// The expression.
        pattern: Pattern,
        /// The number of the group that is kept; 0 is the whole match.
        group: usize,
    },
    /// The value of a header, by its name in lower case.
    Header(Box<str>),
    /// The value of a cookie that the answer sets.
    Cookie(Box<str>),
    /// The whole body.
    Body,
}
