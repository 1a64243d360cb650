//! The ability of a cluster to say how many units of a tier should run.

use std::time::Duration;

use crate::{BoxFuture, Fault};

/// A site whose cluster has an autoscaler.
pub trait Autoscaling: Send + Sync {
    /// Lets the autoscaler follow the use of processors by a tier. It only decides: the units are started and
    /// stopped by this process. What is made for it is removed with the site.
    fn follow<'a>(&'a self, tier: &'a ScaledTier) -> BoxFuture<'a, Result<Box<dyn Autoscaler>, Fault>>;
}

/// An autoscaler that follows a tier until it is dropped.
pub trait Autoscaler: Send + Sync {
    /// Returns its latest decision.
    fn decision(&self) -> ScaleDecision;
}

/// A tier whose number of running units an autoscaler decides.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaledTier {
    /// Name.
    pub name: String,
    /// Names of all its units, those that run and the others.
    pub units: Vec<String>,
    /// Units that run at the start.
    pub first: u32,
    /// Cores that each running unit should use on average.
    pub cores: f64,
    /// Fewest units.
    pub least: u32,
    /// Most units.
    pub most: u32,
    /// Time for which fewer units must be enough before any goes.
    pub settle: Duration,
}

/// A decision of an autoscaler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScaleDecision {
    /// Units that should run.
    pub units: u32,
    /// Why it cannot decide now.
    pub problem: Option<String>,
}
