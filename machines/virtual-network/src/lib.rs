//! A bridge in a network namespace of its own, hosts and guests on it, and a leg to this machine.
//!
//! Every host is a network namespace; every guest of a virtual machine is a tap on the bridge. A host or
//! guest is connected to the bridge by its *port*. A link with a limit, a delay or a loss puts a small bridge
//! and a pair of devices between the port and the bridge, so that nothing changes inside of the host and all
//! kinds of ports are treated alike:
//!
//! ```text
//! host -- port == main                       plain
//! host -- port == small -- inner~~outer == main    shaped: tbf on port and inner; `~~` is a veth pair, or
//!                                            two taps joined by a relay, which delays and drops packets
//! ```
//!
//! A partition moves the outer ends of some hosts to another bridge: their packets go nowhere, without an
//! error, and open connections stall until they time out or the partition is healed.
//!
//! Devices are created by `ip` and `tc` as child processes, many commands per process: a host takes three of
//! them, a few milliseconds each, and users can read and repeat the commands. A netlink crate would save
//! these milliseconds and cost a second language for everything that `tc` can express.
//!
//! The machine's own traffic to a host, including the driver's readiness checks and probes over the network,
//! goes through the leg, and so through the link of the host: it is slow when the link is, and stalls when
//! the host is cut off. Units are started, signalled and read through the kernel and not through the network,
//! so a host that is cut off can still be stopped and examined.

mod address;
mod calibrate;
mod clock;
mod error;
mod ip;
mod lacks;
mod names;
mod namespace;
mod offloads;
mod port;
mod queue;
mod relay;
pub mod rootless;
mod settings;
mod state;
mod subnet;
mod sweep;
mod switch;

pub use calibrate::{Calibration, DelaySpread};
pub use error::SwitchError;
pub use lacks::{facts, has_netem, lacking};
pub use names::{HOST_DEVICE, leg_device};
pub use namespace::{enter, inside};
pub use relay::{LineCount, RelayCount, RelayProgram, relay_main};
pub use sweep::sweep;
pub use switch::{Host, Switch, Tap};
