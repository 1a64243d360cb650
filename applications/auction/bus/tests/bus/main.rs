//! The buses: in one process, against servers of the test's own, and with real brokers.

mod broken;
mod common;
mod contract;
mod service;
