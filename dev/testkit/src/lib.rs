//! Targets for tests: HTTP servers with known answers and known times, that can stall, lie, break or die.
//!
//! There are three. [`Server`] follows a script for every request, down to single bytes. [`TimedServer`]
//! answers at exactly computable times. [`Site`] follows the protocols well, like a real service. [`Peer`]
//! follows a script of any other protocol. Each runs in a thread of its own, listens on a free port of this machine, and stops when it is dropped.
//!
//! Real services, such as databases, are in `dev/test-services`. [`one_of`] judges properties that other work
//! of the machine can only make worse.

mod act;
mod authority;
mod counting;
mod listener;
mod peer;
pub mod pieces;
mod request;
mod serve;
mod server;
mod site;
mod thread;
mod timed;
mod tries;

pub use act::{Act, AfterBytes, Answer, Script, always, dying_after};
pub use authority::{Authority, Identity};
pub use counting::{CountingAllocator, allocations, held_bytes};
pub use listener::{Address, ClosedPort, ListenOptions, has_ipv6};
pub use peer::{Peer, Step, follow, step};
pub use request::Request;
pub use server::Server;
pub use site::{Site, SiteProtocols};
pub use timed::{AnswerTimes, Delay, Delays, Stalls, TimedServer, Timing, exact};
pub use tries::{one_of, one_of_async};
