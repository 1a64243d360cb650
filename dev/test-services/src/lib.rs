//! Real services for tests and measurements, as processes that can be killed and started again.
//!
//! Services of the product are started by their descriptions in `services/`, other programs as plain units; both run on
//! the process platform. Not for running an application: a service here lives as long as the test that started it. Each
//! has a temporary folder with its data, configuration and log, and ports of its own. When its [`Service`] is dropped,
//! also by a panic, and when the process of the test ends in any way, all its processes are killed and the folder is
//! removed.

mod guard;
mod kept;
mod place;
mod plain;
mod product;
mod programs;
mod service;

pub use barograph_platform::MissingRequirement;
pub use plain::{BROWSER_FLAGS, browsers, haproxy, nginx, prometheus, victoria_metrics};
pub use product::{ferretdb, ganesha, mariadb, nats, postgres, product, rabbitmq};
pub use service::Service;

/// Prints the reason why a test is skipped here.
#[expect(clippy::print_stdout, reason = "a skipped test says why")]
pub fn skip(why: &str) {
    println!("skipped: {why}");
}

/// The started service; `None` after the line `skipped: ...` when this machine cannot start it.
#[must_use]
pub fn or_skip<T>(started: Result<T, MissingRequirement>) -> Option<T> {
    started.map_err(|missing| skip(&missing.to_string())).ok()
}
