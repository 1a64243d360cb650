//! A number that changes in steps.

/// A whole number over time, in seconds: constant between its changes, and known at all times.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    first: u32,
    /// Values with the instants from which on they hold, in the order of time.
    later: Vec<(f64, u32)>,
}

impl Steps {
    /// A number that does not change so far.
    #[must_use]
    pub fn new(value: u32) -> Self {
        Steps { first: value, later: Vec::new() }
    }

    /// Sets the value from an instant on, in place of everything from there on. NaN changes nothing.
    pub fn set(&mut self, at_s: f64, value: u32) {
        if at_s.is_nan() {
            return;
        }
        let end = self.later.partition_point(|(at, _)| *at < at_s);
        self.later.truncate(end);
        if self.last() != value {
            self.later.push((at_s, value));
        }
    }

    /// The latest value.
    #[must_use]
    pub fn last(&self) -> u32 {
        self.later.last().map_or(self.first, |(_, value)| *value)
    }

    /// The value at an instant; at that of a change, the new one.
    #[must_use]
    pub fn at(&self, s: f64) -> u32 {
        let end = self.later.partition_point(|(at, _)| *at <= s);
        end.checked_sub(1).map_or(self.first, |place| self.later[place].1)
    }

    /// The instants of the changes.
    pub fn instants(&self) -> impl Iterator<Item = f64> {
        self.later.iter().map(|(at, _)| *at)
    }

    /// Number of changes after the first instant and before the second.
    #[must_use]
    pub fn changes(&self, (from, to): (f64, f64)) -> u32 {
        self.instants().filter(|at| *at > from && *at < to).count() as u32
    }

    /// The values between two instants, each with its stretch.
    pub fn pieces(&self, (from, to): (f64, f64)) -> impl Iterator<Item = (f64, f64, u32)> {
        let starts = std::iter::once(from).chain(self.instants().filter(move |at| *at > from && *at < to));
        let starts: Vec<f64> = starts.collect();
        let ends = starts.iter().skip(1).copied().chain([to]).collect::<Vec<_>>();
        starts.into_iter().zip(ends).map(|(from, to)| (from, to, self.at(from)))
    }

    /// The value times seconds between two instants: the cost of nodes.
    #[must_use]
    pub fn integral(&self, span: (f64, f64)) -> f64 {
        self.pieces(span).map(|(from, to, value)| (to - from) * f64::from(value)).sum()
    }
}
