//! RESP2 and RESP3, the protocol of Redis and Valkey: commands, replies, addresses.
//!
//! A [`Command`] is written into a byte buffer; [`reply`](fn@reply) reads one reply from the front of a
//! buffer in place, without allocating, and returns the number of missing bytes if it is incomplete;
//! [`request`] reads a command on the side of a server. An [`Address`] is a `redis://` URL, with more than
//! one host if keys are spread over several stores. This crate does no I/O.

mod address;
mod command;
mod reply;
mod request;

pub use address::{Address, AddressError, Host};
pub use command::{Command, decimal, write_decimal};
pub use reply::{Flaw, Items, ReadResult, Reply, reply};
pub use request::request;

/// Version of the protocol of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// RESP2: the default of every store and proxy.
    #[default]
    Two,
    /// RESP3: chosen by `HELLO 3`.
    Three,
}
