//! Units on a real cluster of this machine.

mod autoscaler;
mod hundred;
mod refusals;
mod sent;
mod stand;
mod units;
mod volumes;
