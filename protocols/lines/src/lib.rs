//! Connections of text protocols whose messages are lines, as SMTP and IMAP.
//!
//! An [`Address`] is read by the [`Scheme`] of its protocol and becomes a [`Target`] before any clock starts.
//! A [`Link`] is a connection with its buffers; the protocol says where a message ends ([`Frame`]). Not for
//! HTTP and RESP, which have connections of their own. Time-outs are the engine's: a call that is dropped
//! leaves its link unusable.

mod address;
mod fault;
mod greeting;
mod link;
mod target;

pub use address::{Address, AddressError, Scheme, Security};
pub use fault::Fault;
pub use greeting::foreign;
pub use link::{Frame, Link};
pub use target::Target;
