//! A delay line in user space, for kernels without netem: a process between two taps.
//!
//! [`relay_main`] is that process. It is separate so that its resource use can be recorded, and so that a
//! busy driver does not delay packets. [`child::Relay`] controls it from the switch, over the process's stdin
//! and stdout. A closed stdin ends it: however the driver ends, no relay remains.

mod child;
mod count;
mod line;
mod process;

pub use child::RelayProgram;
pub(crate) use child::{Relay, RelayPosition, priority};
pub use count::{LineCount, RelayCount};
pub use process::relay_main;
