//! Reads and writes of one file through io_uring, on a worker's event loop.
//!
//! A worker has a [`Ring`] with a file and [`Buffers`], both registered with the kernel once. Operations are queued, and one
//! call of the kernel submits all of them and takes what has completed. A thread with nothing to do sleeps in the same call, and
//! its event loop with it. Nothing is allocated for an operation.
//!
//! All unsafe code of disk loads is in this crate. What it does not know: the clock, what is read or written.

mod buffers;
mod error;
mod kernel;
mod ring;

pub use buffers::Buffers;
pub use error::RingError;
pub use ring::{Completion, Ring};
