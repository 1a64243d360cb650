//! The web tier: nodes of this program that do the operations of visitors for HTTP clients, and the clients of users.
//!
//! A node does the same operations over the same statements as users do who are at the database themselves. It has a number of
//! sessions, each with a thread, and requests wait for a free one: calls of SQLite block, and a session of a server stays on the
//! event loop of its thread. Not a server for a real store: it has no TLS, no sessions of
//! visitors, and believes every request.

mod client;
mod contract;
mod front;
mod program;
mod server;
mod sessions;
#[cfg(test)]
pub(crate) mod tests;
mod topology;

pub(crate) use client::WebSessions;
pub(crate) use front::{Front, answer};
pub(crate) use topology::{FRONT, WEB, WebTier, topology};
