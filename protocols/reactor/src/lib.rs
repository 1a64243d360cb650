//! One thread's event loop: tasks, sockets by readiness, waits to the nanosecond, open files of its own.
//!
//! A driver worker is one thread that runs one [`Reactor`]. Tasks are futures that stay on the thread; a [`Socket`]
//! wakes its task when it becomes readable or writable; whoever owns the time ([`Pace`]) says how long the thread may
//! sleep. A turn of the loop is: run what is ready, let the pace wake who is due, ask the kernel once for everything
//! that happened. Nothing is allocated on the way, and nothing is shared with other threads: what comes from outside is
//! looked at by the pace.
//!
//! Why not a general runtime: docs/decisions/0004. What it does not know: protocols, the clock, what a task is for.

mod descriptor;
mod files;
mod socket;
mod source;
mod stream;
mod tasks;
mod turn;

pub use descriptor::Descriptor;
pub use files::{copy_open_files, own_open_files};
pub use socket::{Peer, Socket};
pub use turn::{Alone, Pace, Reactor, block_on, spawn};
