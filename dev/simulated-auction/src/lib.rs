//! The auction application in the same process and in simulated time: its own rules, and minimal answers.
//!
//! Used by tests of the workload, and by simulations of validity checks. It models the application's
//! behaviour towards users, not its speed: every request takes the same time.

mod application;
mod feed;

pub use application::{Application, Feeds, InProcess, UserLine};
pub use feed::InProcessFeed;
