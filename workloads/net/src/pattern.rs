//! Patterns of traffic, and their operations.

use barograph_model::OpSpec;

/// A pattern of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// Streams to the target.
    To,
    /// Streams from the target.
    From,
    /// Streams in both directions of each connection.
    Both,
    /// Requests and answers on a connection that stays.
    Request,
    /// A connection, a request, an answer, and the end of the connection.
    Connect,
}

const SEND: OpSpec = OpSpec { name: "Send", about: "hands a message to the system" };
const RECEIVE: OpSpec = OpSpec { name: "Receive", about: "waits for a message" };
const REQUEST: OpSpec = OpSpec { name: "Request", about: "sends a request and waits for the answer" };
const CONNECT: OpSpec =
    OpSpec { name: "Connect", about: "connects, sends a request, waits for the answer, and closes" };

impl Pattern {
    /// All patterns.
    pub(crate) const ALL: [Pattern; 5] =
        [Pattern::To, Pattern::From, Pattern::Both, Pattern::Request, Pattern::Connect];

    /// Names in plans, by pattern.
    pub(crate) const NAMES: [&'static str; 5] = ["to", "from", "both", "request", "connect"];

    /// Name in plans.
    pub(crate) const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The pattern of a name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|pattern| pattern.name() == name)
    }

    /// Operations, by index.
    pub(crate) const fn ops(self) -> &'static [OpSpec] {
        match self {
            Pattern::To => &[SEND],
            Pattern::From => &[RECEIVE],
            Pattern::Both => &[SEND, RECEIVE],
            Pattern::Request => &[REQUEST],
            Pattern::Connect => &[CONNECT],
        }
    }

    /// Users of a connection.
    pub(crate) const fn users(self) -> u32 {
        self.ops().len() as u32
    }

    /// Whether messages are a stream without answers.
    pub(crate) const fn is_stream(self) -> bool {
        matches!(self, Pattern::To | Pattern::From | Pattern::Both)
    }

    /// Whether the target sends without being asked.
    pub(crate) const fn target_streams(self) -> bool {
        matches!(self, Pattern::From | Pattern::Both)
    }
}
