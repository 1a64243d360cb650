//! Purposes of settings.

use std::fmt;

/// Purpose of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Polling of network devices by threads that wait: off.
    BusyPolling,
    /// Received packets are taken together, after fewer interrupts.
    Coalescing,
    /// Devices wait for further packets before they interrupt.
    InterruptDelay,
    /// Received packets are processed on all processors.
    ReceiveSteering,
    /// Devices and the kernel join and split packets.
    Offloads,
    /// Waits of servers end together.
    TimerSlack,
}

impl Purpose {
    /// All purposes.
    pub const ALL: [Purpose; 6] = [
        Purpose::BusyPolling,
        Purpose::Coalescing,
        Purpose::InterruptDelay,
        Purpose::ReceiveSteering,
        Purpose::Offloads,
        Purpose::TimerSlack,
    ];
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Purpose::BusyPolling => "busy polling",
            Purpose::Coalescing => "coalescing of interrupts",
            Purpose::InterruptDelay => "a delay of interrupts by devices (rx-usecs)",
            Purpose::ReceiveSteering => "receive steering",
            Purpose::Offloads => "offloads",
            Purpose::TimerSlack => "timer slack",
        })
    }
}
