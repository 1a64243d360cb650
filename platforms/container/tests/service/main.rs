//! Real containers of real engines. Skipped, with the reason, where there can be none.

mod disks;
mod limits;
mod place;
mod postgres;
mod remote;
mod shared;
mod sweeping;
mod units;
