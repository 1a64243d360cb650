//! Settings of network devices: features and coalescing, read and set through the kernel's `ethtool` interface of netlink.
//!
//! `ip` has no words for them, and the program `ethtool` is rarely installed. A [`Line`] is to the devices of the network
//! namespace in which it was opened.

mod attributes;
mod line;
mod setting;

pub use line::Line;
pub use setting::{RX_USECS, read, write};
