//! What service demands say before anything is saturated: bounds of a closed network of queues.
//!
//! A *service demand* is the time of a resource that one operation needs. It follows from the utilisation law: what a
//! resource was busy, over the rate of operations. Bounds need nothing else, and no assumption about how times scatter,
//! but they do assume that demands stay as they are when load grows.

/// A resource and what one operation needs of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Seconds of the resource per operation.
    pub seconds: f64,
    /// How many of it work side by side: cores.
    pub servers: f64,
}

impl Demand {
    /// By the utilisation law: `busy` servers of `servers`, on average, at `rate` operations per second.
    /// `None` without operations or servers.
    #[must_use]
    pub fn measured(busy: f64, servers: f64, rate: f64) -> Option<Self> {
        (rate > 0.0 && servers > 0.0 && busy >= 0.0).then(|| Demand { seconds: busy / rate, servers })
    }

    /// Seconds per operation when all servers share the work: its inverse is the rate that saturates the resource.
    fn shared(&self) -> f64 {
        self.seconds / self.servers
    }
}

/// A closed network: users that think, then need all demands once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Network<'d> {
    /// The resources.
    pub demands: &'d [Demand],
    /// Mean time between an answer and the next operation of a user, seconds.
    pub think_s: f64,
}

impl Network<'_> {
    /// Response time of a user who is alone: the sum of the demands.
    #[must_use]
    pub fn alone_s(&self) -> f64 {
        self.demands.iter().map(|d| d.seconds).sum()
    }

    fn largest(&self) -> f64 {
        self.demands.iter().map(Demand::shared).fold(0.0, f64::max)
    }

    /// The largest rate that `users` can reach: none of them ever waits, or the busiest resource is never idle.
    #[must_use]
    pub fn most(&self, users: f64) -> f64 {
        (users / (self.alone_s() + self.think_s)).min(1.0 / self.largest())
    }

    /// With so many users somebody must wait: where the two parts of [`Network::most`] meet.
    #[must_use]
    pub fn saturated_at(&self) -> f64 {
        (self.alone_s() + self.think_s) / self.largest()
    }

    /// The rate between two bounds that `users` reach, least and most, as if the demands were spread evenly. A resource of
    /// several servers counts as one of their joint speed and a delay that makes up for it.
    #[must_use]
    pub fn balanced(&self, users: f64) -> (f64, f64) {
        let queued: f64 = self.demands.iter().map(Demand::shared).sum();
        let think = self.think_s + self.alone_s() - queued;
        let largest = self.largest();
        let mean = queued / self.demands.len() as f64;
        let others = users - 1.0;
        let least = users / (queued + think + others * largest / (1.0 + think / (users * queued)));
        let most = users / (queued + think + others * mean / (1.0 + think / queued));
        (least, most.min(1.0 / largest))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn demands(seconds: &[f64]) -> Vec<Demand> {
        seconds.iter().map(|s| Demand { seconds: *s, servers: 1.0 }).collect()
    }

    /// Exact rate of a closed network of single servers, by mean value analysis.
    fn exact(demands: &[f64], think: f64, users: u32) -> f64 {
        let (mut queues, mut rate) = (vec![0.0; demands.len()], 0.0);
        for n in 1..=users {
            let times: Vec<f64> = demands.iter().zip(&queues).map(|(d, q)| d * (1.0 + q)).collect();
            rate = f64::from(n) / (think + times.iter().sum::<f64>());
            queues = times.iter().map(|t| rate * t).collect();
        }
        rate
    }

    #[test]
    fn by_hand() {
        let all = demands(&[0.03, 0.01]);
        let network = Network { demands: &all, think_s: 0.16 };
        assert!((network.alone_s() - 0.04).abs() < 1e-12);
        assert!((network.most(2.0) - 10.0).abs() < 1e-9 && (network.most(100.0) - 100.0 / 3.0).abs() < 1e-9);
        assert!((network.saturated_at() - 0.2 / 0.03).abs() < 1e-9);
        // Half of 4 cores at 100 per second: 20 ms each, saturated at 200 per second.
        let found = Demand::measured(2.0, 4.0, 100.0).unwrap();
        assert!((found.seconds - 0.02).abs() < 1e-12 && (1.0 / found.shared() - 200.0).abs() < 1e-9);
        assert_eq!(Demand::measured(1.0, 1.0, 0.0), None);
    }

    #[test]
    fn without_thinking_the_balanced_bounds_are_those_of_the_book() {
        let all = demands(&[0.3, 0.2, 0.1]);
        let (least, most) = Network { demands: &all, think_s: 0.0 }.balanced(3.0);
        assert!((least - 3.0 / (0.6 + 2.0 * 0.3)).abs() < 1e-9);
        assert!((most - 3.0 / (0.6 + 2.0 * 0.2)).abs() < 1e-9);
    }

    proptest! {
        /// The exact solution of a network of queues lies between the bounds, whatever the demands.
        #[test]
        fn the_exact_rate_lies_between(
            seconds in prop::collection::vec(0.001f64..0.1, 1..5),
            think in 0.0f64..1.0,
            users in 1u32..200,
        ) {
            let all = demands(&seconds);
            let network = Network { demands: &all, think_s: think };
            let rate = exact(&seconds, think, users);
            let (least, most) = network.balanced(f64::from(users));
            prop_assert!(rate <= network.most(f64::from(users)) * (1.0 + 1e-9));
            prop_assert!(least <= rate * (1.0 + 1e-9) && rate <= most * (1.0 + 1e-9), "{} {} {}", least, rate, most);
        }
    }
}
