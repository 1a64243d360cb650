//! The workload on real servers: every file, and a lock that is held while a load goes on.

mod lock;

use barograph_test_services::{MissingRequirement, Service, mariadb, or_skip, postgres};

use super::running::{block, carried, plan};

const FILES: [(&str, u64); 5] = [
    ("pgbench", 5),
    ("pgbench-select", 1),
    ("sysbench-point-select", 1),
    ("sysbench-read-only", 14),
    ("sysbench-read-write", 18),
];

/// Runs every file on a server, each in a database of its own.
fn all_files_run(started: Result<Service, MissingRequirement>, begin: &str) {
    let Some(server) = or_skip(started) else { return };
    for (at, (script, statements)) in FILES.into_iter().enumerate() {
        let url = format!("{begin}@127.0.0.1:{}/bank{at}", server.port());
        block(carried(&plan(&url, script, &[]), statements));
    }
}

#[test]
fn all_files_run_on_postgres_and_their_data_are_right() {
    all_files_run(postgres(), "postgres://postgres");
}

#[test]
fn all_files_run_on_mariadb_and_their_data_are_right() {
    all_files_run(mariadb(), "mysql://auction");
}
