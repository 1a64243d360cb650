//! What carries the messages of a group: a connection, or a flow of datagrams.

use std::task::{Context, Poll};

use super::connection::{Break, Connection};
use super::flow::Flow;

/// An open way to the target.
pub(super) enum Link {
    Stream(Connection),
    Datagrams(Flow),
}

impl Link {
    /// Begins a message of this many bytes.
    pub(super) fn send(&mut self, bytes: u32) {
        match self {
            Link::Stream(connection) => connection.send(bytes),
            Link::Datagrams(flow) => flow.send(bytes),
        }
    }

    /// Expects a message of this many bytes.
    pub(super) fn expect(&mut self, bytes: u32) {
        match self {
            Link::Stream(connection) => connection.expect(bytes),
            Link::Datagrams(flow) => flow.expect(bytes),
        }
    }

    /// Whether there is no greeting to send any more.
    pub(super) fn is_greeted(&self) -> bool {
        match self {
            Link::Stream(connection) => connection.is_greeted(),
            Link::Datagrams(_) => true,
        }
    }

    /// Sends what can be sent; ready when the message is sent.
    pub(super) fn poll_send(&mut self, cx: &Context<'_>) -> Poll<Result<(), Break>> {
        match self {
            Link::Stream(connection) => connection.poll_send(cx),
            Link::Datagrams(flow) => flow.poll_send(cx),
        }
    }

    /// Receives what is there; ready when the expected message has come.
    pub(super) fn poll_receive(&mut self, cx: &Context<'_>) -> Poll<Result<(), Break>> {
        match self {
            Link::Stream(connection) => connection.poll_receive(cx),
            Link::Datagrams(flow) => flow.poll_receive(cx),
        }
    }

    /// Gives up the message in progress; what is left for the next one.
    pub(super) fn abandon(self) -> Option<Link> {
        match self {
            // What was sent of it cannot be taken back.
            Link::Stream(connection) => {
                connection.break_off(None);
                None
            }
            Link::Datagrams(mut flow) => {
                flow.forget();
                Some(Link::Datagrams(flow))
            }
        }
    }

    /// Ends it after an error.
    pub(super) fn break_off(self, why: Break) {
        match self {
            Link::Stream(connection) => connection.break_off(Some(why)),
            Link::Datagrams(flow) => drop(flow),
        }
    }
}
