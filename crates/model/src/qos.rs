//! What makes a result count, and what a profile is derived to do.

use crate::{Nanos, OpId, Share};

/// The limits one operation is judged by in a measured window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QosRule {
    /// The operation.
    pub op: OpId,
    /// The quantile of response time that must be within `limit`.
    pub quantile: Share,
    /// The response-time limit; `None` where response time is not judged (a long poll waits on purpose).
    pub limit: Option<Nanos>,
    /// Is this operation judged at all? The others are counted and shown.
    pub judged: bool,
    /// Required share of all judged operations; zero means that its share is not judged.
    pub mix: Share,
    /// Tolerance of the mix, relative to `mix`.
    pub mix_tolerance: Share,
    /// Largest share of failed operations.
    pub failures: Share,
}

/// Figures that follow from a profile's transitions and paces, to be printed beside the measured ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Derived {
    /// Operations per user and second, all behaviours together.
    pub ops_per_user_s: f64,
    /// HTTP requests (or the protocol's equivalent) per operation.
    pub requests_per_op: f64,
    /// Mean length of a session in seconds.
    pub session_s: f64,
}

/// A named way of using a workload: its rules and what is derived from its data.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The name, as in a plan.
    pub name: &'static str,
    /// One rule per operation, by operation index.
    pub rules: Vec<QosRule>,
    /// Figures derived from the profile, where they can be.
    pub derived: Option<Derived>,
}
