//! RESP2 and RESP3, the protocol of Redis and Valkey: commands, replies, addresses.
//!
//! A [`Command`] is written into a buffer of bytes; [`reply`](fn@reply) reads one reply from the front of a buffer in
//! place, without allocating, and says how many bytes are missing where it is not whole; [`request`] reads a command on
//! the side of a server. An [`Address`] is a `redis://` URL, with more than one host where keys are spread over several
//! stores. Nothing here does input or output.

mod address;
mod command;
mod reply;
mod request;

pub use address::{Address, AddressError, Host};
pub use command::{Command, decimal};
pub use reply::{Flaw, Items, Read, Reply, reply};
pub use request::request;

/// Version of the protocol that a connection speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// RESP2: what every store and proxy speaks without being asked.
    #[default]
    Two,
    /// RESP3: begun with `HELLO 3`.
    Three,
}
