//! `cargo xtask bench postgres`: CPU of the PostgreSQL client for a transaction, beside pgbench's for the
//! same one.
//!
//! Both drive the tables of `pgbench -i` from one thread over prepared statements, each user on a connection
//! of its own, and end after a number of transactions. The CPU is that of the whole process, including
//! connecting and preparing.

mod client;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use barograph_test_services as services;

use crate::contest::figures::{ratios, with_spread};
use crate::contest::{DRIVER_CPU, PinnedProgram, load, need_two_cores, process, turns};
use crate::say::say;
use client::Case;

/// Rows of the tables: 100,000 accounts for each of these.
const SCALE: u32 = 10;

/// Longest time of one run, s.
const RUN_S: u64 = 600;

/// Extent of the measurement.
struct Size {
    rounds: u32,
    connections: u32,
    transactions: u32,
}

/// Measures, or drives a server as one of the measured processes.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<bool> {
    let number = |word: &str| word.parse::<u32>().with_context(|| format!("read `{word}` as a number"));
    match words {
        ["client", url, case, connections, transactions] => {
            let case = Case::named(case).context("wanted is select, tpcb or tpcb-batch")?;
            client::drive(url, case, number(connections)?, number(transactions)?)?;
            Ok(true)
        }
        [] => compare(&Size { rounds: 5, connections: 8, transactions: 20_000 }),
        [rounds, connections, transactions] => compare(&Size {
            rounds: number(rounds)?,
            connections: number(connections)?,
            transactions: number(transactions)?,
        }),
        _ => bail!(
            "wanted is nothing, ROUNDS CONNECTIONS TRANSACTIONS, or client URL CASE CONNECTIONS TRANSACTIONS"
        ),
    }
}

fn compare(size: &Size) -> anyhow::Result<bool> {
    need_two_cores()?;
    let pgbench =
        pgbench().context("there is no pgbench; to install it: apt-get install postgresql-contrib")?;
    let Some(server) = services::or_skip(services::postgres()) else { return Ok(false) };
    let own = std::env::current_exe().context("find this program")?;
    let folder = tempfile::tempdir().context("make a folder for what programs print")?;
    let place = ["-h", "127.0.0.1", "-p", &server.port().to_string(), "-U", "postgres"].map(str::to_owned);
    let fill = [&place[..], &["-i", "-q", "-s", &SCALE.to_string(), "postgres"].map(str::to_owned)].concat();
    process::run(&pinned(&pgbench, fill), RUN_S, folder.path()).context("fill the tables")?;
    say(&format!("load of this machine: {}; {} connections", load(), size.connections));
    for case in Case::ALL {
        let theirs = pinned(&pgbench, [&place[..], &words_of(case, size)].concat());
        let words = [server.url(), case.name()].map(str::to_owned);
        let number = [size.connections, size.transactions].map(|number| number.to_string());
        let begin = ["postgres", "client"].map(str::to_owned);
        let ours = pinned(&own, [&begin[..], &words, &number].concat());
        contest(case, &[theirs, ours], size, folder.path())?;
    }
    Ok(true)
}

/// Runs the two in turn, for all rounds.
fn contest(case: Case, contenders: &[PinnedProgram; 2], size: &Size, folder: &Path) -> anyhow::Result<()> {
    let transactions = f64::from(size.connections * size.transactions);
    let mut figures = [Vec::new(), Vec::new()];
    for round in 0..size.rounds {
        for place in turns(round, contenders.len()) {
            let end = process::run(&contenders[place], RUN_S, folder)?;
            figures[place].push((round, end.cpu_s * 1e6 / transactions));
        }
    }
    let [theirs, ours] = figures;
    let all = |figures: &[(u32, f64)]| with_spread(&figures.iter().map(|(_, f)| *f).collect::<Vec<_>>(), 2);
    say(&format!("{}, CPU of the driver in µs for each of {transactions} transactions", case.name()));
    say(&format!("  pgbench    {}", all(&theirs)));
    say(&format!("  barograph  {}", all(&ours)));
    say(&format!("  ratio      {}", with_spread(&ratios(&ours, &theirs), 3)));
    Ok(())
}

/// The arguments of pgbench. It cannot send its transaction in one round trip, so that case is compared with
/// the usual one.
fn words_of(case: Case, size: &Size) -> Vec<String> {
    let (connections, transactions) = (size.connections.to_string(), size.transactions.to_string());
    let script = if case == Case::Select { "select-only" } else { "tpcb-like" };
    ["-n", "-M", "prepared", "-j", "1", "-c", &connections, "-t", &transactions, "-b", script, "postgres"]
        .map(str::to_owned)
        .into()
}

fn pinned(program: &Path, arguments: Vec<String>) -> PinnedProgram {
    PinnedProgram { program: program.to_owned(), arguments, cpu: DRIVER_CPU, fine: &[0] }
}

/// The program of the newest server. The one in `PATH` is a script that chooses one, and would be measured
/// too.
fn pgbench() -> Option<PathBuf> {
    let all = std::fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let mut found: Vec<PathBuf> = all.map(|folder| folder.path().join("bin/pgbench")).collect();
    found.retain(|file| file.is_file());
    found.sort();
    found.pop()
}
