//! The databases keep what was committed.

use std::process::Command;

use barograph_test_services::{self as services, Service, or_skip};

use crate::{drop_and_look, kill_and_restart};

/// Runs a client program and returns its output.
fn asked(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said} {}", String::from_utf8_lossy(&output.stderr));
    said.trim().to_owned()
}

fn psql(service: &Service, statement: &str) -> String {
    asked(Command::new("psql").args(["-X", "-q", "-t", "-A", "-d", service.url(), "-c", statement]))
}

fn mariadb(service: &Service, statement: &str) -> String {
    let port = service.port().to_string();
    asked(
        Command::new("mariadb")
            .args(["--no-defaults", "-N", "-u", "auction", "-h", "127.0.0.1", "-P", &port, "auction", "-e"])
            .arg(statement),
    )
}

#[test]
fn postgres_keeps_a_row_when_it_is_killed() {
    let Some(mut postgres) = or_skip(services::postgres()) else { return };
    psql(&postgres, "create table t (n int); insert into t values (41), (1)");
    kill_and_restart(&mut postgres);
    assert_eq!(psql(&postgres, "select sum(n) from t"), "42");
    drop_and_look(postgres);
}

#[test]
fn postgres_is_durable_and_takes_settings() {
    let Some(postgres) =
        or_skip(services::product("postgres", &[("connections", "50"), ("settings", "work_mem=7MB")]))
    else {
        return;
    };
    let statement = "select string_agg(current_setting(s), ' ') from unnest(array['fsync', 'synchronous_commit', \
                     'full_page_writes', 'work_mem', 'max_connections', 'server_encoding']) s";
    assert_eq!(psql(&postgres, statement), "on on on 7MB 50 UTF8");
}

#[test]
fn a_busy_postgres_dies_as_a_whole() {
    let Some(postgres) = or_skip(services::postgres()) else { return };
    // A computing process of PostgreSQL does not notice the death of its parent.
    let mut client = Command::new("psql")
        .args([
            "-X",
            "-q",
            "-d",
            postgres.url(),
            "-c",
            "select count(*) from generate_series(1, 10000000000)",
        ])
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let statement =
        "select count(*) from pg_stat_activity where query like '%generate_series%' and state = 'active'";
    crate::until("the query runs", || (psql(&postgres, statement) == "2").then_some(()));
    drop_and_look(postgres);
    assert!(!client.wait().unwrap().success());
}

#[test]
fn mariadb_keeps_a_row_when_it_is_killed() {
    let Some(mut service) = or_skip(services::mariadb()) else { return };
    mariadb(&service, "create table t (n int) engine=InnoDB; insert into t values (41), (1)");
    kill_and_restart(&mut service);
    assert_eq!(mariadb(&service, "select sum(n) from t"), "42");
    drop_and_look(service);
}

#[test]
fn mariadb_is_durable_and_takes_settings() {
    let Some(service) =
        or_skip(services::product("mariadb", &[("connections", "200"), ("settings", "wait-timeout=77")]))
    else {
        return;
    };
    let statement = "select @@innodb_flush_log_at_trx_commit, @@max_connections, @@global.wait_timeout";
    assert_eq!(mariadb(&service, statement), "1\t200\t77");
}
