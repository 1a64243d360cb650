//! An event loop for one thread: tasks, sockets by readiness, waits to the nanosecond, a table of open files.
//!
//! A driver worker is one thread with one [`Reactor`]. Tasks are futures that stay on the thread; a
//! [`Socket`] wakes its task when it becomes readable or writable; the owner of the time ([`Pace`]) limits
//! the sleep of the thread. A turn of the loop runs all ready tasks, lets the pace wake those that are due,
//! and asks the kernel once for all events. Nothing is allocated on the way, and nothing is shared with other
//! threads: the pace polls for input from them. A ring of the kernel may take the place of the call in which the
//! thread sleeps ([`OtherWait`]).
//!
//! Compared with a general runtime: docs/decisions/0004. The reactor knows no protocols, no clock, and not
//! the purpose of a task.

mod descriptor;
mod event_loop;
mod files;
mod other_wait;
mod socket;
mod source;
mod stream;
mod tasks;

pub use descriptor::Descriptor;
pub use event_loop::{Pace, Reactor, TimelessPace, block_on, spawn};
pub use files::{copy_open_files, own_open_files};
pub use other_wait::{OtherWait, WaitGuard};
pub use socket::{Peer, Socket, SocketOptions};
pub use source::Sleep;
