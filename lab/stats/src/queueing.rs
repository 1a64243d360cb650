//! Queues with known answers: waiting and response times of one or several servers.
//!
//! Times are in the unit of the service time. Everything here holds in the long run, for load below saturation.

/// Several equal servers that take from one queue: Poisson arrivals, exponential service times (M/M/k).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Queue {
    servers: u32,
    service: f64,
    /// Mean number of busy servers.
    busy: f64,
    /// Probability that an arrival waits (Erlang's C).
    waits: f64,
}

impl Queue {
    /// `servers` with a mean service time of `service`, and `rate` arrivals per unit of time. `None` if the
    /// load is not below saturation, or an argument is invalid.
    #[must_use]
    pub fn new(servers: u32, service: f64, rate: f64) -> Option<Self> {
        let busy = rate * service;
        let sensible = servers > 0 && service > 0.0 && rate > 0.0 && busy < f64::from(servers);
        sensible.then(|| Queue { servers, service, busy, waits: erlang_c(servers, busy) })
    }

    /// Share of the servers that are busy, 0 to 1.
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        self.busy / f64::from(self.servers)
    }

    /// Probability that an arrival has to wait.
    #[must_use]
    pub fn waits(&self) -> f64 {
        self.waits
    }

    /// Rate at which a queue is worked off: spare servers over the service time.
    fn spare(&self) -> f64 {
        (f64::from(self.servers) - self.busy) / self.service
    }

    /// Mean wait, including arrivals that do not wait.
    #[must_use]
    pub fn wait(&self) -> f64 {
        self.waits / self.spare()
    }

    /// Mean response time: wait and service.
    #[must_use]
    pub fn response(&self) -> f64 {
        self.wait() + self.service
    }

    /// The wait that a `quantile` of arrivals, 0 to 1, does not exceed.
    #[must_use]
    pub fn wait_quantile(&self, quantile: f64) -> f64 {
        ((self.waits / (1.0 - quantile)).ln() / self.spare()).max(0.0)
    }

    /// Mean wait for other distributions of interarrival and service times, given the squares of their
    /// coefficients of variation (Allen and Cunneen; an approximation, exact where both are one).
    #[must_use]
    pub fn wait_scattered(&self, arrivals_cv2: f64, service_cv2: f64) -> f64 {
        self.wait() * (arrivals_cv2 + service_cv2) / 2.0
    }
}

/// Probability that an arrival waits when `busy` of `servers` are busy on average. Uses the recurrence of
/// Erlang's B, which stays between 0 and 1 where powers and factorials would overflow.
fn erlang_c(servers: u32, busy: f64) -> f64 {
    let lost = (1..=servers).fold(1.0, |lost, k| busy * lost / (f64::from(k) + busy * lost));
    let count = f64::from(servers);
    count * lost / (count - busy * (1.0 - lost))
}

/// The response time of one server (M/M/1) that a `quantile` of operations, 0 to 1, does not exceed. `None`
/// if the load is not below saturation.
#[must_use]
pub fn response_quantile_of_one(service: f64, rate: f64, quantile: f64) -> Option<f64> {
    Some(-Queue::new(1, service, rate)?.response() * (1.0 - quantile).ln())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Service time 1, utilisation 0.8: probability of a wait, mean wait, mean response, p99 of the wait.
    #[test]
    fn as_tabulated() {
        for (servers, waits, wait, response, p99) in [
            (1, 0.80000, 4.00000, 5.00000, 21.9101),
            (2, 0.71111, 1.77778, 2.77778, 10.6606),
            (4, 0.59643, 0.74554, 1.74554, 5.1105),
            (8, 0.45764, 0.28603, 1.28603, 2.3897),
            (16, 0.30488, 0.09528, 1.09528, 1.0679),
        ] {
            let queue = Queue::new(servers, 1.0, 0.8 * f64::from(servers)).unwrap();
            let found = [queue.waits(), queue.wait(), queue.response(), queue.wait_quantile(0.99)];
            for ((found, told), digit) in
                found.iter().zip([waits, wait, response, p99]).zip([1e-5, 1e-5, 1e-5, 1e-4])
            {
                assert!((found - told).abs() <= 0.501 * digit, "{servers} servers: {found} is not {told}");
            }
            assert!((queue.utilisation() - 0.8).abs() < 1e-12);
        }
    }

    #[test]
    fn one_server_by_its_own_formula() {
        // R = 1 / (1 - 0.5) = 2, and p99 is 4.605 of it.
        let p99 = response_quantile_of_one(1.0, 0.5, 0.99).unwrap();
        assert!((p99 - 2.0 * 4.605_170).abs() < 1e-5, "{p99}");
        assert_eq!(response_quantile_of_one(1.0, 1.0, 0.99), None);
    }

    #[test]
    fn scatter_scales_the_wait() {
        let queue = Queue::new(4, 1.0, 3.2).unwrap();
        assert!((queue.wait_scattered(1.0, 1.0) - queue.wait()).abs() < 1e-12);
        // Constant service times halve the wait of one server, exactly.
        let one = Queue::new(1, 1.0, 0.8).unwrap();
        assert!((one.wait_scattered(1.0, 0.0) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn what_makes_no_sense_is_no_queue() {
        for (servers, service, rate) in
            [(0, 1.0, 0.5), (2, 1.0, 2.0), (1, 0.0, 1.0), (1, 1.0, -1.0), (1, f64::NAN, 0.1)]
        {
            assert_eq!(Queue::new(servers, service, rate), None);
        }
    }

    proptest! {
        #[test]
        fn more_load_waits_longer_and_many_servers_do_not_overflow(servers in 1u32..2_000, share in 0.01f64..0.98) {
            let at = |share: f64| Queue::new(servers, 1.0, share * f64::from(servers)).unwrap();
            let (less, more) = (at(share), at(share + 0.01));
            prop_assert!((0.0..=1.0).contains(&less.waits()));
            prop_assert!(more.waits() >= less.waits() && more.wait() >= less.wait());
            prop_assert!(more.wait_quantile(0.99) >= more.wait_quantile(0.9));
        }
    }
}
