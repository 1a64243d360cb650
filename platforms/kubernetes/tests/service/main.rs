//! Units on a real cluster of this machine.

mod hundred;
mod refusals;
mod stand;
mod units;
