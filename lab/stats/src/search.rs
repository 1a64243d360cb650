//! Searches for the highest level that passes: pure state machines, fed with the outcomes of trials. A level
//! counts users, or starts per second.
//!
//! [`Search`] is one of several methods behind one interface: `posterior` states its certainty, `bisect`
//! halves a bracket, `findmax` follows the rules of Weathervane, `staircase` goes up step by step. `cargo
//! xtask simulate search` measures each with trials that pass or fail partly by luck;
//! `docs/reference/search.md` has the results.

mod answer;
mod bisect;
mod findmax;
mod posterior;
mod prior;
mod progress;
mod rounded;
mod staircase;

use barograph_model::{SearchBounds, SearchMethod, TrialResult};

pub use answer::{
    Answer, BoundedBy, Confirmation, CrossCheck, Estimate, EvidenceAbove, OPEN, PassPoint, Repeats,
};
use bisect::Bisect;
use findmax::FindMax;
use posterior::Posterior;
pub use prior::Prior;
pub use progress::{EdgeProgress, SearchProgress};
use staircase::Staircase;

/// End of the first ramp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RampEnd {
    /// The target gave way: the given level is the most that it carried.
    GaveWay,
    /// The highest level was reached.
    Reached,
}

/// Purpose of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// A step of a ramp that the search makes of trials.
    Ramp,
    /// Finding the edge.
    Search,
    /// Confirming a level, or trying one with the length of a confirming window.
    Confirm,
    /// Repeating an earlier level, to see whether the target has changed.
    Repeat,
}

/// Next step of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Hold this level, judge a window, and report the result with [`Search::tell`].
    Trial {
        /// The level to hold.
        level: u32,
        /// The purpose; decides the length of the window.
        purpose: Purpose,
    },
    /// The search is over. The curve of an estimate is left out here: [`Search::answer`] has it.
    Done(Answer),
}

/// Result of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialObservation {
    /// Pass, fail, or invalid.
    pub result: TrialResult,
    /// Logarithm of the judged quantile over its limit, of the operation nearest to its limit, or of the host's CPU over its
    /// own if that is nearer: below zero within it.
    pub margin: Option<f64>,
    /// Share of the operations with a limit that met it, 0 to 1.
    pub in_time: Option<f64>,
    /// Operations per second that ended well.
    pub throughput: Option<f64>,
    /// Share of the host's CPU that was busy, 0 to 1.
    pub cpu: Option<f64>,
}

impl From<TrialResult> for TrialObservation {
    fn from(result: TrialResult) -> Self {
        TrialObservation { result, margin: None, in_time: None, throughput: None, cpu: None }
    }
}

/// A trial and its result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// The level held.
    pub level: u32,
    /// The purpose.
    pub purpose: Purpose,
    /// The result.
    pub result: TrialResult,
    /// Distance from the limit, as in [`TrialObservation::margin`].
    pub margin: Option<f64>,
}

impl Trial {
    fn new(level: u32, purpose: Purpose, observed: &TrialObservation) -> Self {
        Trial { level, purpose, result: observed.result, margin: observed.margin }
    }
}

/// A search method.
trait Method {
    /// Takes the end of the first ramp, which estimates the capacity as `at`. Has no effect after the first
    /// trial.
    fn ramp_ended(&mut self, at: u32, how: RampEnd);
    /// The next step; constant until a result is reported.
    fn next(&self) -> Step;
    /// Takes the result of a trial at `level`.
    fn tell(&mut self, level: u32, observed: &TrialObservation);
    /// The trials so far, in order.
    fn trials(&self) -> &[Trial];
    /// The answer so far, without a curve.
    fn answer(&self) -> Answer;
    /// Pass probabilities around the edge, if the method estimates them. They cost as much as many trials.
    fn curve(&self) -> Vec<PassPoint> {
        Vec::new()
    }
}

/// A search: follow [`Search::next`], make the trial, report it with [`Search::tell`], until it is done.
#[derive(Clone, Debug)]
pub struct Search(MethodState);

#[derive(Clone, Debug)]
enum MethodState {
    Posterior(Box<Posterior>),
    Bisect(Bisect),
    FindMax(FindMax),
    Staircase(Staircase),
}

impl Search {
    /// A search by the method of the bounds.
    ///
    /// Invalid bounds are corrected rather than refused, since plans are checked elsewhere: level zero
    /// becomes one, and a maximum below the minimum becomes the minimum.
    #[must_use]
    pub fn new(bounds: SearchBounds) -> Self {
        let min = bounds.min.max(1);
        let bounds = SearchBounds { min, max: bounds.max.max(min), ..bounds };
        Search(match bounds.method {
            SearchMethod::Posterior => {
                MethodState::Posterior(Box::new(Posterior::new(bounds, Prior::default())))
            }
            SearchMethod::Bisect => MethodState::Bisect(Bisect::new(bounds)),
            SearchMethod::FindMax { step } => MethodState::FindMax(FindMax::new(bounds, step)),
            SearchMethod::Staircase(stair) => MethodState::Staircase(Staircase::new(bounds, stair)),
        })
    }

    /// A search by posterior that starts from `prior`, with any method of the bounds. Only simulations choose
    /// one.
    #[must_use]
    pub fn believing(bounds: SearchBounds, prior: Prior) -> Self {
        Search(MethodState::Posterior(Box::new(Posterior::new(bounds, prior))))
    }

    fn method(&self) -> &dyn Method {
        match &self.0 {
            MethodState::Posterior(method) => method.as_ref(),
            MethodState::Bisect(method) => method,
            MethodState::FindMax(method) => method,
            MethodState::Staircase(method) => method,
        }
    }

    fn method_mut(&mut self) -> &mut dyn Method {
        match &mut self.0 {
            MethodState::Posterior(method) => method.as_mut(),
            MethodState::Bisect(method) => method,
            MethodState::FindMax(method) => method,
            MethodState::Staircase(method) => method,
        }
    }

    /// Takes the end of the first ramp, which estimates the capacity as `at`. Has no effect after the first
    /// trial.
    pub fn ramp_ended(&mut self, at: u32, how: RampEnd) {
        if self.trials().is_empty() {
            self.method_mut().ramp_ended(at, how);
        }
    }

    /// The next step; constant until a result is reported.
    #[must_use]
    pub fn next(&self) -> Step {
        self.method().next()
    }

    /// Takes the result of a trial at `level`; normally the one requested by [`Search::next`].
    pub fn tell(&mut self, level: u32, observed: impl Into<TrialObservation>) {
        self.method_mut().tell(level, &observed.into());
    }

    /// The trials so far, in order.
    #[must_use]
    pub fn trials(&self) -> &[Trial] {
        self.method().trials()
    }

    /// The answer so far: the result if the search is over, or was interrupted.
    #[must_use]
    pub fn answer(&self) -> Answer {
        let mut answer = self.method().answer();
        if let Some(estimate) = &mut answer.estimate {
            estimate.curve = self.method().curve();
        }
        answer
    }
}

#[cfg(test)]
mod tests;
