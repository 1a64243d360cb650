//! How often each of many numbered things is asked for.

use rand::RngExt;
use rand_distr::{Distribution as _, Zipf};

use crate::Stream;

/// How often each number is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Popularity {
    /// All alike.
    Uniform,
    /// The k-th most popular number in proportion to `k^-exponent`.
    Zipf {
        /// The exponent, from 0.
        exponent: f64,
    },
    /// A part of the numbers gets a part of the draws; within both parts all are alike.
    Hot {
        /// The part of the numbers that is hot.
        numbers: f64,
        /// The part of the draws that go to them.
        draws: f64,
    },
    /// One after the other, from a random one on.
    Sequential,
}

/// Draws from the numbers below a count.
#[derive(Debug)]
pub struct Numbers {
    count: u64,
    draw: Draw,
    /// Spreads popular numbers over all: coprime to `count`.
    stride: u64,
}

#[derive(Debug)]
enum Draw {
    Uniform,
    Zipf(Zipf<f64>),
    Hot { numbers: u64, draws: f64 },
    Sequential,
}

/// The last number of a sequence.
#[derive(Clone, Copy, Debug, Default)]
pub struct Position(Option<u64>);

impl Numbers {
    /// The numbers below `count`, at least one.
    #[must_use]
    pub fn new(count: u64, popularity: Popularity) -> Self {
        let count = count.max(1);
        let draw = match popularity {
            Popularity::Uniform => Draw::Uniform,
            Popularity::Zipf { exponent } => match Zipf::new(count as f64, exponent) {
                Ok(zipf) => Draw::Zipf(zipf),
                // Only an exponent below zero is an error, since there is a number.
                Err(_) => Draw::Uniform,
            },
            Popularity::Hot { numbers, draws } => {
                let numbers = ((count as f64 * numbers).round() as u64).clamp(1, count);
                Draw::Hot { numbers, draws }
            }
            Popularity::Sequential => Draw::Sequential,
        };
        Numbers { count, draw, stride: coprime(count) }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The next number. `position` is that of a sequence, and unused by other draws.
    pub fn draw(&self, rng: &mut Stream, position: &mut Position) -> u64 {
        match &self.draw {
            Draw::Uniform => rng.random_range(0..self.count),
            Draw::Zipf(zipf) => self.spread((zipf.sample(rng) as u64 - 1).min(self.count - 1)),
            Draw::Hot { numbers, draws } => {
                let rank = if rng.random::<f64>() < *draws || *numbers == self.count {
                    rng.random_range(0..*numbers)
                } else {
                    rng.random_range(*numbers..self.count)
                };
                self.spread(rank)
            }
            Draw::Sequential => {
                let next = match position.0 {
                    None => rng.random_range(0..self.count),
                    Some(last) if last + 1 < self.count => last + 1,
                    Some(_) => 0,
                };
                position.0 = Some(next);
                next
            }
        }
    }

    /// The number of a rank of popularity. Neighbours in rank are no neighbours among the numbers.
    fn spread(&self, rank: u64) -> u64 {
        ((u128::from(rank) * u128::from(self.stride)) % u128::from(self.count)) as u64
    }
}

/// A number coprime to `count`, near its golden section.
fn coprime(count: u64) -> u64 {
    let begin = ((count as f64 * 0.618_033_988_749_894_9) as u64).max(1);
    (begin..).find(|number| gcd(*number, count) == 1).unwrap_or(1)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Streams;

    const DRAWS: u64 = 100_000;

    /// How often each of `count` numbers is drawn in `DRAWS`.
    fn counts(count: u64, popularity: Popularity) -> Vec<u64> {
        let numbers = Numbers::new(count, popularity);
        let (mut rng, mut position) = (Streams::new(1).stream("draws", 2), Position::default());
        let mut all = vec![0; count as usize];
        for _ in 0..DRAWS {
            all[numbers.draw(&mut rng, &mut position) as usize] += 1;
        }
        all
    }

    #[test]
    fn popularity_is_what_was_asked_for() {
        let uniform = counts(100, Popularity::Uniform);
        assert!(uniform.iter().all(|n| (800..1_200).contains(n)), "{uniform:?}");

        let mut zipf = counts(100, Popularity::Zipf { exponent: 1.0 });
        zipf.sort_unstable_by(|a, b| b.cmp(a));
        // The sum of 1/k up to 100 is 5.187.
        let expected = DRAWS as f64 / 5.187_378;
        assert!((zipf[0] as f64 / expected - 1.0).abs() < 0.03, "{} of {expected}", zipf[0]);
        assert!((zipf[1] as f64 / expected - 0.5).abs() < 0.03);

        let mut hot = counts(100, Popularity::Hot { numbers: 0.1, draws: 0.9 });
        hot.sort_unstable_by(|a, b| b.cmp(a));
        let share = hot[..10].iter().sum::<u64>() as f64 / DRAWS as f64;
        assert!((share - 0.9).abs() < 0.01, "{share}");

        let sequential = counts(100, Popularity::Sequential);
        assert!(sequential.iter().all(|n| *n == DRAWS / 100));
    }

    #[test]
    fn every_rank_has_a_number_of_its_own() {
        for count in (1..300).chain([997, 1_000, 1_024, 1_999]) {
            let numbers = Numbers::new(count, Popularity::Uniform);
            let all: std::collections::BTreeSet<u64> = (0..count).map(|rank| numbers.spread(rank)).collect();
            assert_eq!(all.len() as u64, count);
        }
    }
}
