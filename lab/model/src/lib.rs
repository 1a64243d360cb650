//! Domain types: units, operations, behaviours, load, QoS rules, outcomes and phases as plain types.
//!
//! This crate knows no files, no clock and no async code. All other crates use these types, so that a
//! quantity has its unit in its type and an impossible setting cannot be constructed.

mod ability;
mod behaviour;
mod check;
mod chosen_window;
mod demand;
mod distribution;
mod level;
mod load;
mod measure;
mod metric;
mod offloads;
mod op;
mod outcome;
mod phase;
mod qos;
mod refusal;
pub mod secret;
mod statistic;
mod unit;
mod verdict;
pub mod words;

pub use ability::{Ability, PlatformKind};
pub use behaviour::{
    Behaviour, BehaviourId, Behaviours, ChooserId, MOST_BESIDE, MissedBeats, NextOp, Pace, Vector, Waits,
};
pub use check::{Check, CheckFacts, CheckId, DriftEstimate, Excuse, OutlyingStretch};
pub use chosen_window::ChosenWindow;
pub use demand::{CapacityEnd, DemandCurve, NodesHold};
pub use distribution::Distribution;
pub use level::Level;
pub use load::{
    Arrivals, Durations, LoadPath, LoadStep, LoadUnit, OfferedLoad, OpenLoop, SearchBounds, SearchMethod,
    Stair, StartOf, Strategy,
};
pub use measure::{
    Amount, BetterWhen, CounterId, Counters, Formula, InvalidMeasures, MOST_COUNTERS, MeasureDivisor,
    MeasureSpec, MeasureValue, check_measures,
};
pub use metric::{Metric, is_rate};
pub use offloads::Offloads;
pub use op::{OpId, OpSpec, UserId};
pub use outcome::Outcome;
pub use phase::Phase;
pub use qos::{
    Bound, DerivedFigures, InvalidRules, MOST_FURTHER_LIMITS, Profile, QosRule, Rule, Subject, TimeLimit,
    TimeLimits,
};
pub use refusal::{Refusal, Refusals};
pub use statistic::{Joined, StatisticMetric};
pub use unit::{InvalidShare, Nanos, Share};
pub use verdict::{OpVerdict, RuleVerdict, TrialResult, WindowVerdict};
