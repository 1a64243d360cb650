//! The measured NBD client: reads and writes of an export, on a worker's event loop.
//!
//! A [`Client`] is one connection with a buffer for each operation. It is made with the first operation, and again with the
//! first one after its end. Requests are pipelined, and replies come in any order.
//!
//! It has no clock: an operation that takes too long is given up by the engine. TLS, structured replies and block status are
//! not offered.

mod address;
mod ask;
mod client;
mod error;
mod handshake;
mod input;
mod wire;

pub use address::NbdAddress;
pub use client::{Client, Completed};
pub use error::{AddressError, NbdError};
pub use handshake::Export;
