//! Runs users against a target on a schedule and records what happened.
//!
//! The engine chooses the operation, its time and its deadline; a [`User`] only does one operation. Only the
//! engine reads the clock and counts. Every operation has an intended start: response time is counted from
//! it, service time from the actual start, and both are recorded. A worker is a thread with an event loop,
//! and with open files, users, pacer, random streams and recorders of its own; intervals are handed over
//! whole.
//!
//! The same worker code runs in simulated time, see [`sim`]. The engine knows no protocols, no files, and no
//! meaning of operations.

mod activity;
mod blocking;
mod clock;
mod core;
mod cores;
mod dispatcher;
mod draw;
mod error;
mod group;
mod handle;
mod op_context;
mod pacer;
mod population;
mod quota;
mod realtime;
mod recorder;
mod schedule;
pub mod sim;
mod worker;
mod workload;

pub use blocking::{BlockingFactory, BlockingUser, runnable_threads};
pub use clock::Timer;
pub use cores::cores_are_permitted;
pub use draw::{Stream, stream};
pub use error::EngineError;
pub use group::{Group, GroupFactory, Groups, Members};
pub use handle::{EngineHandle, Runnable, runnable, runnable_groups};
pub use op_context::OpContext;
pub use realtime::realtime_is_permitted;
pub use workload::{LoadStart, Settings, User, UserFactory, WorkerShare};
