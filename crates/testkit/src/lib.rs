//! Fakes for tests: a known-answer HTTP server that can stall, lie, break or die.
//!
//! A script, which is a plain function from request to act, decides what happens to every request. The server runs in
//! a thread of its own, listens on a free port of 127.0.0.1, and stops when it is dropped.

mod act;
mod request;
mod serve;
mod server;

pub use act::{Act, Answer, Script, always, dying_after};
pub use request::Request;
pub use server::Server;
