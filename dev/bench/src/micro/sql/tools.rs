//! The compared tools: databases, command lines, and places of their figures.

use std::path::Path;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::contest::process::ProgramResult;
use crate::contest::programs::{self, words};
use crate::micro::{json, need_good, number};

pub(super) const GO_TPC: &str = "go-tpc";
pub(super) const PGBENCH: &str = "pgbench";
pub(super) const SYSBENCH: &str = "sysbench";

/// Databases with the tables of each tool.
pub(super) const GO_TPC_DATABASE: &str = "go_tpc";
pub(super) const PGBENCH_DATABASE: &str = "pgbench";
pub(super) const SYSBENCH_DATABASE: &str = "sysbench";

/// Rows of pgbench: 100,000 accounts for each of these.
const SCALE: u32 = 10;

/// Rows of sysbench, and the scale of our files with as many.
const ROWS: u32 = 100_000;

/// Transactions beyond those that a run can end in its time.
const MORE_THAN_ENDS: u32 = 1_000_000_000;

/// Connections, and the length of a run in seconds.
pub(super) type Size = (u32, u64);

/// Figures of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reading {
    pub(super) transactions: f64,
    pub(super) per_s: f64,
    pub(super) p99_ms: Option<f64>,
    pub(super) rate_percent: Option<f64>,
    pub(super) lag_p99_us: Option<f64>,
}

impl Reading {
    /// Its figures with the processor time of the driver, in the order of the page.
    pub(super) fn figures(self, cpu_s: f64) -> Vec<Option<f64>> {
        let driver_us = (self.transactions > 0.0).then(|| cpu_s * 1e6 / self.transactions);
        vec![Some(self.per_s), driver_us, self.p99_ms, self.rate_percent, self.lag_p99_us, None]
    }
}

/// The version of a tool.
pub(super) fn version(name: &str, program: &Path) -> String {
    // The first line of go-tpc's is a title, and its version that of a build without a module is none.
    match name {
        GO_TPC if program.ends_with("target/tools/go-tpc") => "v1.0.12".to_owned(),
        GO_TPC => "of an unknown version".to_owned(),
        _ => programs::version(program, "--version"),
    }
}

fn url(port: u16, database: &str) -> String {
    format!("postgres://postgres@127.0.0.1:{port}/{database}")
}

/// The last words of every run of this product. Without a warm-up there is no window either: all transactions count that the
/// process does, as all its processor time does.
fn usual(seconds: u64, warm_up_s: u64) -> String {
    let counted = match warm_up_s {
        0 => format!("-n {MORE_THAN_ENDS}"),
        warm_up_s => format!("--warm-up {warm_up_s}s"),
    };
    format!("-d {seconds}s {counted} --workers 1 -q --json --set deploy.statistics=false")
}

/// Order-Entry in a form.
pub(super) fn order_entry(port: u16, form: &str, seconds: u64) -> Vec<String> {
    let url = url(port, "order_entry");
    words(&format!("sql {url} --workload order-entry --form {form} -c 2 {}", usual(seconds, 0)))
}

/// A file of this product on the tables of a tool. Processor time is of the whole run, so there is no warm-up.
pub(super) fn file(port: u16, file: (&str, &str), size: Size) -> Vec<String> {
    file_after(port, file, size, 0)
}

/// A file of this product after a warm-up of some seconds.
pub(super) fn file_after(
    port: u16,
    (database, file): (&str, &str),
    (connections, seconds): Size,
    warm_up_s: u64,
) -> Vec<String> {
    let script = crate::root().join(format!("scenarios/sql/{file}.toml"));
    let scale = if database == SYSBENCH_DATABASE { ROWS / 10_000 } else { SCALE };
    words(&format!(
        "sql {} --workload statements --script {} --scale {scale} --no-fill -c {connections} {}",
        url(port, database),
        script.display(),
        usual(seconds, warm_up_s)
    ))
}

/// Makes a database with psql.
pub(super) fn create(port: u16, name: &str) -> Vec<String> {
    let mut all = words(&format!("-q -h 127.0.0.1 -p {port} -U postgres -c"));
    all.extend([format!("CREATE DATABASE {name}"), "postgres".to_owned()]);
    all
}

pub(super) fn go_tpc_fill(port: u16) -> Vec<String> {
    words(&format!("tpcc prepare --no-check {}", go_tpc_place(port)))
}

pub(super) fn go_tpc(port: u16, seconds: u64) -> Vec<String> {
    words(&format!("tpcc run --time {seconds}s {}", go_tpc_place(port)))
}

fn go_tpc_place(port: u16) -> String {
    format!(
        "-d postgres -H 127.0.0.1 -P {port} -U postgres -D {GO_TPC_DATABASE} --conn-params sslmode=disable \
         --warehouses 1 -T 2"
    )
}

pub(super) fn pgbench_fill(port: u16) -> Vec<String> {
    words(&format!("-h 127.0.0.1 -p {port} -U postgres -i -q -s {SCALE} {PGBENCH_DATABASE}"))
}

pub(super) fn pgbench(port: u16, script: &str, (connections, seconds): Size) -> Vec<String> {
    words(&format!(
        "-h 127.0.0.1 -p {port} -U postgres -n -M prepared -j 1 -c {connections} -T {seconds} -b {script} {PGBENCH_DATABASE}"
    ))
}

pub(super) fn sysbench_fill(port: u16) -> Vec<String> {
    words(&format!("oltp_read_write {} prepare", sysbench_place(port)))
}

pub(super) fn sysbench(port: u16, script: &str, (connections, seconds): Size) -> Vec<String> {
    words(&format!(
        "{script} {} --rand-type=uniform --threads={connections} --time={seconds} --percentile=99 run",
        sysbench_place(port)
    ))
}

fn sysbench_place(port: u16) -> String {
    format!(
        "--db-driver=pgsql --pgsql-host=127.0.0.1 --pgsql-port={port} --pgsql-user=postgres \
         --pgsql-db={SYSBENCH_DATABASE} --tables=1 --table-size={ROWS}"
    )
}

/// This product, with the rate that it was asked for.
pub(super) fn read_ours(used: &ProgramResult, rate: Option<u32>) -> anyhow::Result<Reading> {
    let json: Value = json(used)?;
    need_good(&json)?;
    let of = |key: &str| number(&json, key).with_context(|| format!("no number at {key}"));
    let per_s = of("/requests_per_s")?;
    Ok(Reading {
        transactions: of("/requests")?,
        per_s,
        p99_ms: Some(of("/p99_ms")?),
        rate_percent: rate.map(|rate| per_s * 100.0 / f64::from(rate)),
        lag_p99_us: match rate {
            Some(_) => Some(of("/lag_p99_ms")? * 1e3),
            None => None,
        },
    })
}

/// Counts of all transactions. Their rate is that of the longest of their times.
pub(super) fn read_go_tpc(text: &str) -> anyhow::Result<Reading> {
    let (mut transactions, mut seconds) = (0.0, 0.0_f64);
    for line in text.lines().filter_map(|line| line.strip_prefix("[Summary] ")) {
        if line.split(' ').next().is_some_and(|name| name.ends_with("_ERR")) {
            continue;
        }
        transactions += after(line, "Count: ")?;
        seconds = seconds.max(after(line, "Takes(s): ")?);
    }
    if seconds <= 0.0 {
        bail!("it has no summary");
    }
    Ok(Reading { transactions, per_s: transactions / seconds, ..Reading::default() })
}

/// Words of pgbench before the number of transactions that failed.
const FAILED: &str = "number of failed transactions: ";

pub(super) fn read_pgbench(text: &str) -> anyhow::Result<Reading> {
    let transactions = after(text, "number of transactions actually processed: ")?;
    let failed = if text.contains(FAILED) { after(text, FAILED)? } else { 0.0 };
    if failed > 0.0 {
        bail!("{failed} of its transactions failed");
    }
    Ok(Reading { transactions, per_s: after(text, "tps = ")?, ..Reading::default() })
}

pub(super) fn read_sysbench(text: &str) -> anyhow::Result<Reading> {
    let line = text.lines().find(|line| line.trim_start().starts_with("transactions:"));
    let line = line.context("no line of transactions")?;
    Ok(Reading {
        transactions: after(line, "transactions:")?,
        per_s: after(line, "(")?,
        p99_ms: Some(after(text, "99th percentile:")?),
        ..Reading::default()
    })
}

/// The number after some words.
fn after(text: &str, words: &str) -> anyhow::Result<f64> {
    let (_, rest) = text.split_once(words).with_context(|| format!("find `{words}`"))?;
    let rest = rest.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest[..end].parse().with_context(|| format!("no number after `{words}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_where_they_stand() {
        let text = "[Summary] NEW_ORDER - Takes(s): 9.9, Count: 900, TPM: 1.0\n[Summary] NEW_ORDER_ERR - Takes(s): 9.9, Count: 9\n\
                    [Summary] PAYMENT - Takes(s): 10.0, Count: 1100, TPM: 2.0\ntpmC: 1\n";
        let go_tpc = read_go_tpc(text).unwrap();
        assert_eq!((go_tpc.transactions, go_tpc.per_s), (2_000.0, 200.0));
        let text = "number of transactions actually processed: 4591\nlatency average = 17 ms\ntps = 459.1 (without)\n";
        let pgbench = read_pgbench(text).unwrap();
        assert_eq!((pgbench.transactions, pgbench.per_s), (4_591.0, 459.1));
        assert!(read_pgbench(&format!("{text}{FAILED}2 (0.044%)\n")).is_err());
        let text = "    transactions:                        2146   (178.81 per sec.)\n         99th percentile:         15.83\n";
        let sysbench = read_sysbench(text).unwrap();
        assert_eq!((sysbench.transactions, sysbench.per_s, sysbench.p99_ms), (2_146.0, 178.81, Some(15.83)));
        assert!(read_go_tpc("").is_err() && read_pgbench("tps").is_err() && read_sysbench("").is_err());
        let ours = |errors: u32| ProgramResult {
            stdout: format!(
                "{{\"requests\": 5000, \"requests_per_s\": 999.0, \"p99_ms\": 1.5, \"lag_p99_ms\": 0.1, \"errors\": {errors}}}"
            ),
            cpu_s: 1.0,
            peak_rss_mib: 0.0,
            elapsed_s: 1.0,
        };
        let reading = read_ours(&ours(0), Some(1_000)).unwrap();
        assert_eq!(
            reading.figures(1.0),
            [Some(999.0), Some(200.0), Some(1.5), Some(99.9), Some(100.0), None]
        );
        assert!(read_ours(&ours(1), None).is_err());
    }

    #[test]
    fn every_tool_has_the_same_size() {
        let of = |words: Vec<String>| words.join(" ");
        assert!(of(pgbench(7, "tpcb-like", (8, 3))).ends_with("-j 1 -c 8 -T 3 -b tpcb-like pgbench"));
        assert!(of(sysbench(7, "oltp_read_only", (8, 3))).contains("--threads=8 --time=3 "));
        assert!(of(file(7, (SYSBENCH_DATABASE, "x"), (8, 3))).contains("--scale 10 --no-fill -c 8 -d 3s "));
        assert!(of(go_tpc(7, 3)).ends_with("--warehouses 1 -T 2"));
        assert!(
            of(order_entry(7, "stored", 3)).contains("--form stored -c 2 -d 3s -n 1000000000 --workers 1 ")
        );
        assert!(of(file_after(7, ("x", "x"), (8, 3), 2)).contains("-c 8 -d 3s --warm-up 2s --workers 1 "));
    }
}
