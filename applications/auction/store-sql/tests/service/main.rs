//! The store on real servers.

mod common;
mod contract;
mod fencing;
mod outage;
mod plans;
