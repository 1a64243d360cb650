//! The buses: in one process, against the test's own servers, and with real brokers.

mod broken;
mod common;
mod contract;
mod service;
