//! Schedule of an open loop: turns a rate that changes over time into arrivals.
//!
//! An arrival is due when the rate, integrated since the arrival before, reaches its threshold: 1 at equal
//! distances, an exponential draw of mean 1 for independent events. Both therefore follow any path of the
//! rate exactly, and a change of the rate during a wait shortens or lengthens it correctly. Every worker
//! computes all arrivals and takes every n-th, so that the number of workers does not change them.

use barograph_model::{Arrivals, Nanos};
use rand_distr::{Distribution as _, Exp1};

use crate::Stream;

/// The rate over time: on a straight line, then constant.
#[derive(Clone, Copy, Debug)]
struct RateLine {
    /// Start of the line, in seconds.
    at: f64,
    from: f64,
    to: f64,
    /// Length of the line in seconds.
    over: f64,
}

impl RateLine {
    fn rate(&self, t: f64) -> f64 {
        if t >= self.at + self.over {
            self.to
        } else {
            self.from + (self.to - self.from) * (t - self.at).max(0.0) / self.over
        }
    }

    /// Integral of the rate from `t` to `until`.
    fn integral(&self, t: f64, until: f64) -> f64 {
        let bend = (self.at + self.over).clamp(t, until);
        (self.rate(t) + self.rate_before(bend)) / 2.0 * (bend - t) + self.to * (until - bend)
    }

    /// Rate just before `t`: at a jump (a line of length zero), the old one.
    fn rate_before(&self, t: f64) -> f64 {
        if t > self.at + self.over || self.over == 0.0 { self.rate(t) } else { self.sloped(t) }
    }

    fn sloped(&self, t: f64) -> f64 {
        self.from + (self.to - self.from) * ((t - self.at) / self.over).clamp(0.0, 1.0)
    }

    /// Time at which the integral from `t` on reaches `need`; `None` if it never does.
    fn reaches(&self, t: f64, need: f64) -> Option<f64> {
        let bend = self.at + self.over;
        let mut left = need;
        let mut t = t;
        if t < bend {
            let on_slope = self.integral(t, bend);
            if left <= on_slope {
                return Some(t + along(self.rate(t), (self.to - self.from) / self.over, left));
            }
            left -= on_slope;
            t = bend;
        }
        (self.to > 0.0).then(|| t + left / self.to)
    }
}

/// Time until a rate that begins at `r` and grows by `s` per second has added up to `need`, which it does.
fn along(r: f64, s: f64, need: f64) -> f64 {
    // This form of the root of s/2 x² + r x - need = 0 does not cancel if s is small.
    let root = (r * r + 2.0 * s * need).max(0.0).sqrt();
    if r + root > 0.0 { 2.0 * need / (r + root) } else { 0.0 }
}

/// All arrivals of a run, one after another.
#[derive(Clone)]
pub(crate) struct Schedule {
    arrivals: Arrivals,
    rng: Stream,
    line: RateLine,
    /// Next line, which begins at its `at`; until then the present one applies.
    next_line: Option<RateLine>,
    /// Time up to which the rate is integrated.
    reached: f64,
    /// Rest of the threshold of the next arrival.
    need: f64,
    /// Arrivals so far.
    count: u64,
    /// Start of the instants of a trace.
    trace_from: Option<Nanos>,
}

impl Schedule {
    pub(crate) fn new(arrivals: Arrivals, mut rng: Stream) -> Self {
        let need = first_need(&arrivals, &mut rng);
        let line = RateLine { at: 0.0, from: 0.0, to: 0.0, over: 0.0 };
        Schedule { arrivals, rng, line, next_line: None, reached: 0.0, need, count: 0, trace_from: None }
    }

    /// Changes the rate from `at` on to `to` per second within `over`. A change planned after `at` is
    /// dropped.
    pub(crate) fn change(&mut self, at: Nanos, to: f64, over: Nanos) {
        self.trace_from.get_or_insert(at);
        let at = at.as_secs_f64();
        if let Some(next) = self.next_line.take_if(|next| next.at <= at) {
            self.begin(next);
        }
        self.next_line = Some(RateLine { at, from: 0.0, to, over: over.as_secs_f64() });
    }

    /// Integrates the present line up to the start of `next`, and continues with that.
    fn begin(&mut self, next: RateLine) {
        let at = next.at.max(self.reached);
        self.need -= self.line.integral(self.reached, at);
        self.reached = at;
        self.line = RateLine { at, from: self.line.rate(at), ..next };
    }

    /// Returns the next arrival and its number, if there is one at this rate.
    fn peek(&mut self) -> Option<(u64, Nanos)> {
        if let Arrivals::Trace(instants) = &self.arrivals {
            let from = self.trace_from?;
            return instants.get(self.count as usize).map(|at| (self.count, from + *at));
        }
        let mut at = self.line.reaches(self.reached, self.need.max(0.0));
        if let Some(next) = self.next_line.take_if(|next| at.is_none_or(|at| at >= next.at)) {
            self.begin(next);
            at = self.line.reaches(self.reached, self.need.max(0.0));
        }
        at.map(|at| (self.count, Nanos::from_secs_f64(at)))
    }

    /// Moves past the next arrival.
    pub(crate) fn advance(&mut self) {
        if let Some(at) = self.line.reaches(self.reached, self.need.max(0.0)) {
            self.reached = at;
        }
        self.need = match self.arrivals {
            Arrivals::Poisson => Exp1.sample(&mut self.rng),
            Arrivals::Constant | Arrivals::Trace(_) => 1.0,
        };
        self.count += 1;
    }

    /// Returns the next arrival of one of several workers, which gets every n-th. Arrivals of the others are
    /// not skipped yet: the rate may still change before them.
    pub(crate) fn peek_of(&self, worker: usize, workers: usize) -> Option<Nanos> {
        let mut ahead = self.clone();
        loop {
            let (number, at) = ahead.peek()?;
            if number as usize % workers == worker {
                return Some(at);
            }
            ahead.advance();
        }
    }

    /// Moves past this worker's arrival, and past those of others before it.
    pub(crate) fn advance_of(&mut self, worker: usize, workers: usize) {
        while let Some((number, _)) = self.peek() {
            self.advance();
            if number as usize % workers == worker {
                return;
            }
        }
    }
}

/// Evenly spaced arrivals begin at once; independent ones after a random distance.
fn first_need(arrivals: &Arrivals, rng: &mut Stream) -> f64 {
    match arrivals {
        Arrivals::Poisson => Exp1.sample(rng),
        Arrivals::Constant | Arrivals::Trace(_) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(arrivals: Arrivals) -> Schedule {
        Schedule::new(arrivals, crate::stream(5, 0, 0))
    }

    fn take(s: &mut Schedule, n: usize) -> Vec<f64> {
        let mut all = Vec::new();
        for _ in 0..n {
            let Some((_, at)) = s.peek() else { break };
            all.push(at.as_secs_f64());
            s.advance();
        }
        all
    }

    fn close(got: &[f64], want: &[f64]) {
        assert_eq!(got.len(), want.len(), "{got:?}");
        for (g, w) in got.iter().zip(want) {
            assert!((g - w).abs() < 1e-6, "{got:?} is not {want:?}");
        }
    }

    #[test]
    fn a_constant_rate_comes_at_equal_distances() {
        let mut s = schedule(Arrivals::Constant);
        s.change(Nanos::from_secs(1), 4.0, Nanos::ZERO);
        close(&take(&mut s, 4), &[1.0, 1.25, 1.5, 1.75]);
    }

    #[test]
    fn a_ramp_integrates_to_its_arrivals() {
        // 0 to 8 per second in 4 s: t² arrivals after t seconds.
        let mut s = schedule(Arrivals::Constant);
        s.change(Nanos::ZERO, 8.0, Nanos::from_secs(4));
        let want: Vec<f64> = (0..=16).map(|n| f64::from(n).sqrt()).collect();
        close(&take(&mut s, 17), &want);
        close(&take(&mut s, 2), &[4.125, 4.25]);
        // And back to zero: 16 more, then none.
        s.change(Nanos::from_millis(4_250), 0.0, Nanos::from_secs(4));
        assert_eq!(take(&mut s, 100).len(), 16);
        assert_eq!(s.peek(), None);
    }

    #[test]
    fn a_change_in_the_middle_of_a_wait_counts_what_was_waited() {
        let mut s = schedule(Arrivals::Constant);
        s.change(Nanos::ZERO, 1.0, Nanos::ZERO);
        close(&take(&mut s, 1), &[0.0]);
        // Half of the threshold is reached after half a second; at ten per second the rest takes a twentieth.
        s.change(Nanos::from_millis(500), 10.0, Nanos::ZERO);
        close(&take(&mut s, 2), &[0.55, 0.65]);
    }

    #[test]
    fn independent_arrivals_have_the_rate_and_the_spread_of_a_poisson_process() {
        let mut s = schedule(Arrivals::Poisson);
        s.change(Nanos::ZERO, 1_000.0, Nanos::ZERO);
        let all = take(&mut s, 50_000);
        let mean = all[49_999] / 50_000.0;
        assert!((mean - 0.001).abs() < 2e-5, "{mean}");
        let distances: Vec<f64> = all.windows(2).map(|w| w[1] - w[0]).collect();
        let variance = distances.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / 49_999.0;
        assert!(
            (variance.sqrt() / mean - 1.0).abs() < 0.03,
            "coefficient of variation of an exponential is 1"
        );
    }

    #[test]
    fn a_trace_is_followed_and_ends() {
        let instants = [Nanos::from_secs(1), Nanos::from_secs(1), Nanos::from_secs(4)];
        let mut s = schedule(Arrivals::Trace(instants.into()));
        assert_eq!(s.peek(), None, "the load has not begun");
        s.change(Nanos::from_secs(2), 1.0, Nanos::ZERO);
        close(&take(&mut s, 9), &[3.0, 3.0, 6.0]);
    }

    /// All arrivals of a run whose workers learn of a change at different instants, each before it begins.
    fn shared(arrivals: &Arrivals, workers: usize) -> Vec<Nanos> {
        let ms = Nanos::from_millis;
        let changes = [(ms(0), 100.0, ms(2_000)), (ms(3_000), 1_000.0, ms(0)), (ms(4_000), 10.0, ms(500))];
        let mut times = Vec::new();
        for worker in 0..workers {
            let mut s = schedule(arrivals.clone());
            let early = ms(20 - 7 * worker as u64);
            let mut changes = changes.iter().peekable();
            for now in (0..6_000).map(ms) {
                if let Some((at, to, over)) = changes.next_if(|change| change.0 <= now + early) {
                    s.change(*at, *to, *over);
                }
                while let Some(at) = s.peek_of(worker, workers).filter(|at| *at <= now) {
                    times.push(at);
                    s.advance_of(worker, workers);
                }
            }
        }
        times.sort();
        times
    }

    #[test]
    fn workers_share_the_arrivals_whatever_their_number_and_whenever_they_hear_of_a_change() {
        for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
            let one = shared(&arrivals, 1);
            assert_eq!(one, shared(&arrivals, 3), "{arrivals:?}");
            // 100 on the ramp, 100, 1,000, then 252.5 on the way down and 15: none is lost at a change.
            assert!(arrivals == Arrivals::Poisson || one.len().abs_diff(1_467) <= 1, "{}", one.len());
        }
    }
}
