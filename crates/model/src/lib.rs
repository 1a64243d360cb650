//! The words: units, operations, behaviours, load, QoS rules, outcomes and phases as plain types.
//!
//! This crate knows no files, no clock and no async code. Everything above it speaks in these types, so a
//! quantity has its unit in its type and a setting that makes no sense does not construct.

mod behaviour;
mod load;
mod op;
mod outcome;
mod phase;
mod qos;
mod unit;
mod verdict;

pub use behaviour::{Behaviour, BehaviourId, Behaviours, ChooserId, Distribution, Next, Pace, Vector};
pub use load::{Durations, SearchBounds, Strategy};
pub use op::{OpId, OpSpec, UserId};
pub use outcome::Outcome;
pub use phase::Phase;
pub use qos::{Derived, Profile, QosRule};
pub use unit::{Nanos, NotAShare, Share};
pub use verdict::{Check, OpVerdict, TrialResult, WindowVerdict};
