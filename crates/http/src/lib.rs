//! The measured HTTP/1.1 client: keep-alive connections of one user, answers parsed in place.
//!
//! It does what a measuring client may do and nothing more: no redirects, no pool shared between users, no retry
//! that could hide time. One exception is what every browser does: a GET on a kept connection that the peer closed
//! before the first byte of an answer is sent once more on a fresh one. It knows no clock: time-outs are the
//! engine's, which drops the exchange, and with it the connection.
//!
//! A waiting exchange holds no buffer: buffers are taken when bytes arrive and given back when the answer is dropped.

mod answer;
mod buffers;
mod connections;
mod parse;

pub use answer::Answer;
pub use connections::{Client, Connections, Fault, Method, Request};
