//! Real services for tests and measurements: PostgreSQL, MariaDB, RabbitMQ, NATS, FerretDB, Prometheus, VictoriaMetrics, nginx,
//! HAProxy and browsers as processes of their own, that can be killed and started again.
//!
//! Not for running an application: a service here lives as long as the test that started it. Each has a temporary
//! folder with its data, configuration and log, and ports of its own; nothing is read from or written to `/etc` and
//! `/var`. When its [`Service`] is dropped, also by a panic, and when the test's process ends in whatever way, all
//! processes of the service are killed and the folder is removed.
//!
//! A service runs in a process namespace (`unshare`), because only the kernel kills everything at once: PostgreSQL's
//! processes leave their group, and RabbitMQ leaves a daemon behind.

mod browsers;
mod bytes;
mod databases;
mod monitoring;
mod plan;
mod ports;
mod programs;
mod proxies;
mod queues;
mod ready;
mod service;
mod supervised;
mod template;

pub use browsers::{BROWSER_FLAGS, browsers};
pub use databases::{ferretdb, mariadb, mariadb_with, postgres, postgres_with};
pub use monitoring::{prometheus, victoria_metrics};
pub use programs::Missing;
pub use proxies::{haproxy, nginx};
pub use queues::{nats, rabbitmq, rabbitmq_shared};
pub use service::Service;

/// Says why something was not tried here.
#[expect(clippy::print_stdout, reason = "a skipped test says why")]
pub fn skip(why: &str) {
    println!("skipped: {why}");
}

/// What was started; or `None` after the line `skipped: ...` when this machine cannot.
#[must_use]
pub fn or_skip<T>(started: Result<T, Missing>) -> Option<T> {
    started.map_err(|missing| skip(&missing.to_string())).ok()
}
