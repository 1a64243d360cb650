//! A delay line in user space, for kernels without netem: a process between two taps.
//!
//! [`relay_main`] is that process. It is one of its own so that what it uses can be recorded, and so that a busy driver
//! does not make packets late. [`child::Relay`] is the switch's hold on it. The two talk over the process's stdin and
//! stdout, and a closed stdin ends it: however the driver ends, no relay stays.

mod child;
mod count;
mod line;
mod process;

pub use child::RelayProgram;
pub(crate) use child::{Place, Relay, priority};
pub use count::{LineCount, RelayCount};
pub use process::relay_main;
