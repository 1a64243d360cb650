//! The auction application in the same process and in simulated time: its own rules, and answers as small as they may be.
//!
//! The tests of the workload drive it, and so do the simulations of validity checks. It is a model of the application's
//! behaviour towards users, not of its speed: every request takes the same time.

mod application;
mod feed;

pub use application::{Application, Feeds, InProcess, UserLine};
pub use feed::InProcessFeed;
