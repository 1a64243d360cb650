//! Units on a real cluster of this machine.

mod refusals;
mod stand;
mod units;
