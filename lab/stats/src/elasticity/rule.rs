//! The rule by which a tier is scaled: the published one of Kubernetes' horizontal autoscaler.

use std::collections::VecDeque;

/// Relative error of rounding, far below any difference that matters.
const ROUNDING: f64 = 1e-9;

/// A rule that keeps a value, such as the use of the CPU, near a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TargetRule {
    /// The value that each node should have.
    pub target: f64,
    /// Relative distance from the target within which nothing changes.
    pub tolerance: f64,
    /// Fewest nodes.
    pub least: u32,
    /// Most nodes.
    pub most: u32,
    /// Nodes go only when the rule has not wished for as many for this long.
    pub settle_s: f64,
}

impl TargetRule {
    /// Nodes that would bring the mean value of the nodes that run to the target.
    fn wish(&self, nodes: u32, value: f64) -> u32 {
        let ratio = value / self.target;
        let wish = if (ratio - 1.0).abs() <= self.tolerance || !ratio.is_finite() {
            f64::from(nodes)
        } else {
            // What is a whole number but for rounding is one.
            (f64::from(nodes) * ratio * (1.0 - ROUNDING)).ceil()
        };
        (wish as u32).clamp(self.least, self.most)
    }
}

/// A rule with what it wished for lately.
#[derive(Clone, Debug)]
pub struct Scaler {
    rule: TargetRule,
    /// Instants with the nodes wished for, within the time to settle.
    wishes: VecDeque<(f64, u32)>,
}

impl Scaler {
    /// Begins with a number of nodes at time zero, which stays for the time to settle unless more are needed.
    #[must_use]
    pub fn new(rule: TargetRule, nodes: u32) -> Self {
        Scaler { rule, wishes: VecDeque::from([(0.0, nodes)]) }
    }

    /// The nodes that should run, from the mean value of those that run now.
    pub fn nodes(&mut self, at_s: f64, running: u32, value: f64) -> u32 {
        let wish = self.rule.wish(running, value);
        let oldest = at_s - self.rule.settle_s;
        while self.wishes.front().is_some_and(|(at, _)| *at < oldest) {
            self.wishes.pop_front();
        }
        self.wishes.push_back((at_s, wish));
        // The highest wish of late holds, so that a short dip stops nothing.
        let highest = self.wishes.iter().map(|(_, wish)| *wish).max().unwrap_or(wish);
        highest.clamp(self.rule.least, self.rule.most)
    }
}
