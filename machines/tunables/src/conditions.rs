//! Conditions of a dense host. Dense mode is for hosts on which all of them hold.

use std::fmt;

/// Least ratio of the processors of all servers to those of the host.
const LEAST_RATIO: f64 = 2.0;

/// Least busy share of the host's CPU.
const LEAST_BUSY: f64 = 0.5;

/// Servers of a host, and the use of its CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostLoad {
    /// Number of servers.
    pub servers: u32,
    /// Processors of all servers together: the limit of each, or one.
    pub server_processors: f64,
    /// Processors of the host.
    pub processors: f64,
    /// Busy share of the host's CPU since the previous check, 0 to 1.
    pub busy: f64,
}

/// A condition of a dense host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// As many servers as processors, or more.
    Servers,
    /// Servers have twice as many processors as the host, or more.
    ServerProcessors,
    /// Half of the host's CPU is busy, or more.
    Busy,
}

impl HostLoad {
    /// Returns the first condition that does not hold; `None` on a dense host.
    #[must_use]
    pub fn fails(&self) -> Option<Condition> {
        let holds = [
            (Condition::Servers, f64::from(self.servers) >= self.processors),
            (Condition::ServerProcessors, self.server_processors >= LEAST_RATIO * self.processors),
            (Condition::Busy, self.busy >= LEAST_BUSY),
        ];
        holds.into_iter().find(|(_, holds)| !holds).map(|(condition, _)| condition)
    }
}

impl fmt::Display for HostLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HostLoad { servers, server_processors, processors, busy } = self;
        let busy = busy * 100.0;
        write!(f, "{servers} servers with {server_processors} processors on {processors}, {busy:.0} % busy")
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Condition::Servers => "fewer servers than processors",
            Condition::ServerProcessors => "servers have fewer than twice the processors of the host",
            Condition::Busy => "less than half of the CPU is busy",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_dense_where_all_conditions_hold() {
        let of = |servers, server_processors, busy| {
            HostLoad { servers, server_processors, processors: 4.0, busy }.fails()
        };
        let cases = [
            (of(4, 8.0, 0.5), None),
            (of(100, 100.0, 1.0), None),
            (of(3, 8.0, 0.9), Some(Condition::Servers)),
            (of(4, 7.9, 0.9), Some(Condition::ServerProcessors)),
            (of(4, 8.0, 0.499), Some(Condition::Busy)),
            (of(0, 0.0, 0.0), Some(Condition::Servers)),
        ];
        for (found, expected) in cases {
            assert_eq!(found, expected);
        }
        let load = HostLoad { servers: 100, server_processors: 100.0, processors: 2.0, busy: 0.714 };
        assert_eq!(load.to_string(), "100 servers with 100 processors on 2, 71 % busy");
    }
}
