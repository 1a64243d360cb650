//! `cargo xtask bench sql`: this product beside go-tpc, pgbench and sysbench on one durable PostgreSQL.

mod lock;
mod tools;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use barograph_test_services as services;
use clap::Parser;

use super::wanted::{Bound, Cell, Wanted};
use super::{Case, Contender, Contest, FINE, Figure, OURS, Ratio, head, on_cores, options, ours};
use crate::contest::{DRIVER_CPU, PinnedProgram, TARGET_CPU, need_two_cores, pin, process, programs};
use crate::say::say;
use tools::{GO_TPC, PGBENCH, Reading, SYSBENCH};

/// Longest time of a fill, s.
const LONGEST_FILL_S: u64 = 600;

/// Further settings of the server: room for all tables, and no checkpoint in a run.
const SETTINGS: &str = "shared_buffers=512MB max_wal_size=4GB checkpoint_timeout=1h";

/// Transactions per second of the case with a rate.
const RATE: u32 = 1_000;

/// Warm-up of the case at a rate, in seconds: the start of sessions is no part of it.
const RATE_WARM_UP_S: u64 = 2;

/// Setting with which a worker polls from one start to the next, μs.
const POLLING: &str = "driver.poll_us=1000";

/// Cores of a driver that polls: its worker takes one, its samplers need another.
const BOTH_CORES: usize = 2;

/// Connections of the cases of pgbench and sysbench.
const CONNECTIONS: u32 = 8;

/// The file with the statements of the lock.
const LOCK: &str = "lock.sql";

/// Measures database loads beside go-tpc, pgbench and sysbench. It installs nothing: a tool is looked for on PATH, in
/// target/tools and in the folder BAROGRAPH_BENCH_TOOLS
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench sql")]
struct Options {
    #[command(flatten)]
    common: options::CommonOptions,
    /// Length of a run in seconds
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1_000), value_name = "N")]
    seconds: u64,
}

const FIGURES: [Figure; 6] = [
    Figure { id: "tps", title: "transactions/s", digits: 1 },
    Figure { id: "driver_us", title: "driver CPU us/transaction", digits: 1 },
    Figure { id: "p99_ms", title: "p99 ms", digits: 2 },
    Figure { id: "rate_percent", title: "% of the rate", digits: 3 },
    Figure { id: "lag_p99_us", title: "start lag p99 us", digits: 0 },
    Figure { id: "lock_error", title: "lock: share of the tolerance", digits: 2 },
];

/// Index of the CPU of the driver for a transaction.
const DRIVER_US: usize = 1;

const RATIOS: [Ratio; 6] = [
    Ratio { figure: 0, base: GO_TPC, wanted: "-" },
    Ratio { figure: 1, base: GO_TPC, wanted: "-" },
    Ratio { figure: 0, base: PGBENCH, wanted: "-" },
    Ratio { figure: 1, base: PGBENCH, wanted: "-" },
    Ratio { figure: 0, base: SYSBENCH, wanted: "-" },
    Ratio { figure: 1, base: SYSBENCH, wanted: "-" },
];

/// What is wanted of Order-Entry with a call for each statement, and with statements that are sent together.
const STATEMENTS: &[Wanted] = &[
    Wanted { of: Cell::Ratio(0), bound: Bound::AtLeast(1.0) },
    Wanted { of: Cell::Ratio(1), bound: Bound::AtMost(0.5) },
];

/// What is wanted of Order-Entry with a call for each transaction.
const FUNCTIONS: &[Wanted] = &[
    Wanted { of: Cell::Ratio(0), bound: Bound::AtLeast(1.5) },
    Wanted { of: Cell::Ratio(1), bound: Bound::AtMost(0.5) },
];

/// What is wanted of the transactions of pgbench.
const OF_PGBENCH: &[Wanted] = &[Wanted { of: Cell::Ratio(3), bound: Bound::AtMost(1.0) }];

/// What is wanted of a fixed rate.
const OF_RATE: &[Wanted] = &[
    Wanted { of: Cell::Figure(3), bound: Bound::Within(99.9, 100.1) },
    Wanted { of: Cell::Figure(4), bound: Bound::AtMost(200.0) },
];

/// What is wanted against a lock.
const OF_LOCK: &[Wanted] = &[Wanted { of: Cell::Figure(5), bound: Bound::AtMost(1.0) }];

/// The programs and the server of a measurement.
struct Stand<'a> {
    ours: &'a Path,
    go_tpc: Option<PathBuf>,
    pgbench: Option<PathBuf>,
    sysbench: Option<PathBuf>,
    psql: Option<PathBuf>,
    port: u16,
    seconds: u64,
    folder: &'a Path,
}

/// Measures as the arguments say; true if every program gave figures in every round.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<bool> {
    let Some(options) = options::read::<Options>("sql", words)? else { return Ok(true) };
    need_two_cores()?;
    let ours = ours(&options.common)?;
    let folder = tempfile::tempdir().context("make a folder for outputs")?;
    let Some(server) =
        services::or_skip(services::product("postgres", &[("connections", "300"), ("settings", SETTINGS)]))
    else {
        return Ok(false);
    };
    pin(&server)?;
    let mut folders = programs::folders();
    folders.push(crate::root().join("target/tools"));
    let find = |name: &str| programs::find(name, &folders);
    let stand = Stand {
        ours: &ours,
        go_tpc: find(GO_TPC),
        pgbench: installed(PGBENCH),
        sysbench: find(SYSBENCH),
        psql: installed("psql"),
        port: server.port(),
        seconds: options.seconds,
        folder: folder.path(),
    };
    let others = [
        (GO_TPC, &stand.go_tpc, "cargo xtask bench sql, with Go on the path"),
        (PGBENCH, &stand.pgbench, "apt-get install postgresql-contrib"),
        (SYSBENCH, &stand.sysbench, "apt-get install sysbench"),
    ];
    let (mut versions, mut missing) = (Vec::new(), Vec::new());
    for (name, found, install) in others {
        match found {
            Some(file) => versions.push((name.to_owned(), tools::version(name, file))),
            None => missing.push((name.to_owned(), install.to_owned())),
        }
    }
    let cases = stand.cases();
    if !cases.iter().any(|case| options.common.wants(&case.name)) {
        bail!("no case has this in its name");
    }
    say("filling the databases of all tools");
    stand.fill()?;
    let contest = Contest {
        name: "sql",
        title: "What database loads cost, beside go-tpc, pgbench and sysbench",
        about: about(),
        figures: &FIGURES,
        ratios: &RATIOS,
        cases,
        head: head(&ours, versions, missing),
    };
    contest.measure(&options.common, folder.path())
}

/// Sentences below the title.
fn about() -> String {
    format!(
        "The server is a PostgreSQL of its own on core {TARGET_CPU}, durable (fsync, synchronous_commit and full_page_writes are on), with {SETTINGS}; each driver is on core {DRIVER_CPU} and speaks to it by TCP over loopback.\n\
         Driver CPU is user and system time of the whole process, divided by all its transactions from the first one; that of Barograph with Order-Entry includes the copy of the database before the load and the checks after it.\n\
         Order-Entry and the workload of go-tpc (TPC-C) have the same transactions and mix, one warehouse, two connections, no waits, and tables of their own; SQL and number of statements differ, so this compares drivers with their statements and no databases.\n\
         With a call for each statement Order-Entry does as go-tpc does: a New-Order has one query of all prices, a change of stock for each line and one statement that inserts all lines; pipelined it has the same statements in two or three calls for a transaction, and with functions one call, neither of which go-tpc has.\n\
         Behind a cell stands what is wanted of it, and whether its median keeps it.\n\
         No program asks the server for its statistics meanwhile.\n\
         Cases of pgbench and sysbench run on the tables that pgbench (scale 10) and sysbench (100,000 rows, uniform ids) have made, with {CONNECTIONS} connections and prepared statements; the files are in scenarios/sql.\n\
         pgbench sends BEGIN in a call of its own, and sysbench, too; Barograph sends it with the first statement.\n\
         Quantiles of pgbench and go-tpc for all transactions are not printed by them; those of sysbench are of histogram buckets.\n\
         The case at a rate has a warm-up of {RATE_WARM_UP_S} s, so the CPU of Barograph is left out there; with --realtime its worker shares a core with its own samplers and is scheduled in real time, and with {POLLING} it polls until the next start, with both cores.\n\
         The case of a lock has transactions at {} per second against a table lock held for {} s every {} s; exact quantiles follow from these numbers, up to the distance of two starts, and its figure is the largest difference at p90, p95 and p99 in units of 1 % + 1 ms.\n",
        lock::RATE,
        lock::LASTS_S,
        lock::EVERY_S,
    )
}

/// A program of the newest server. Those in `PATH` are scripts, which would be measured, too.
fn installed(name: &str) -> Option<PathBuf> {
    let all = std::fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let mut found: Vec<PathBuf> = all.map(|folder| folder.path().join("bin").join(name)).collect();
    found.retain(|file| file.is_file());
    found.sort();
    found.pop()
}

impl Stand<'_> {
    /// Fills the databases of all tools. Order-Entry is filled by its first run.
    fn fill(&self) -> anyhow::Result<()> {
        std::fs::write(self.folder.join(LOCK), lock::sql()).context("write the statements of the lock")?;
        let mut programs: Vec<(&Path, Vec<String>)> = Vec::new();
        if let Some(psql) = &self.psql {
            for name in [tools::GO_TPC_DATABASE, tools::PGBENCH_DATABASE, tools::SYSBENCH_DATABASE] {
                programs.push((psql, tools::create(self.port, name)));
            }
        }
        programs.extend(self.go_tpc.as_deref().map(|file| (file, tools::go_tpc_fill(self.port))));
        programs.extend(self.pgbench.as_deref().map(|file| (file, tools::pgbench_fill(self.port))));
        programs.extend(self.sysbench.as_deref().map(|file| (file, tools::sysbench_fill(self.port))));
        for (program, arguments) in programs {
            let pinned = PinnedProgram { program: program.into(), arguments, cpu: DRIVER_CPU, fine: &[0] };
            process::run(&pinned, LONGEST_FILL_S, self.folder)
                .with_context(|| format!("fill with {}", program.display()))?;
        }
        let first = tools::order_entry(self.port, "statements", 1);
        let pinned =
            PinnedProgram { program: self.ours.into(), arguments: first, cpu: DRIVER_CPU, fine: FINE };
        process::run(&pinned, LONGEST_FILL_S, self.folder).context("fill Order-Entry")?;
        Ok(())
    }

    fn cases(&self) -> Vec<Case> {
        let (port, seconds) = (self.port, self.seconds);
        let go_tpc = |arguments| self.other(GO_TPC, self.go_tpc.as_deref(), arguments, tools::read_go_tpc);
        let pgbench =
            |arguments| self.other(PGBENCH, self.pgbench.as_deref(), arguments, tools::read_pgbench);
        let sysbench =
            |arguments| self.other(SYSBENCH, self.sysbench.as_deref(), arguments, tools::read_sysbench);
        let mut cases = Vec::new();
        let mut case = |name: &str, wanted: &'static [Wanted], ours: Contender, other: Option<Contender>| {
            let contenders = std::iter::once(ours).chain(other).collect();
            cases.push(Case { name: name.to_owned(), contenders, wanted });
        };
        for (name, form, wanted) in [
            ("Order-Entry, statements, a call for each", "statements", STATEMENTS),
            ("Order-Entry, statements, pipelined", "pipelined", STATEMENTS),
            ("Order-Entry, functions", "stored", FUNCTIONS),
        ] {
            let ours = self.ours(tools::order_entry(port, form, seconds), None);
            case(name, wanted, ours, go_tpc(tools::go_tpc(port, seconds)));
        }
        for (name, file, script) in [
            ("pgbench, usual transaction", "pgbench", "tpcb-like"),
            ("pgbench, select-only", "pgbench-select", "select-only"),
        ] {
            let ours = tools::file(port, (tools::PGBENCH_DATABASE, file), (CONNECTIONS, seconds));
            let theirs = pgbench(tools::pgbench(port, script, (CONNECTIONS, seconds)));
            case(name, OF_PGBENCH, self.ours(ours, None), theirs);
        }
        let mut theirs = tools::pgbench(port, "select-only", (CONNECTIONS, seconds));
        theirs.splice(0..0, ["-R".to_owned(), RATE.to_string()]);
        let name = format!("pgbench, select-only at {RATE}/s");
        case(&name, OF_RATE, self.at_a_rate(&["--realtime"]), pgbench(theirs));
        let mut polling = self.at_a_rate(&["--set", POLLING]);
        polling.pinned = on_cores(BOTH_CORES, &polling.pinned.program, &polling.pinned.arguments);
        case(&format!("{name}, polling"), OF_RATE, polling, None);
        for (file, script) in [
            ("sysbench-point-select", "oltp_point_select"),
            ("sysbench-read-only", "oltp_read_only"),
            ("sysbench-read-write", "oltp_read_write"),
        ] {
            let ours = tools::file(port, (tools::SYSBENCH_DATABASE, file), (CONNECTIONS, seconds));
            let name = format!("sysbench, {script}");
            case(
                &name,
                &[],
                self.ours(ours, None),
                sysbench(tools::sysbench(port, script, (CONNECTIONS, seconds))),
            );
        }
        if let Some(psql) = &self.psql {
            case("lock", OF_LOCK, self.locked(psql), None);
        }
        cases
    }

    /// This product at a fixed rate.
    fn at_a_rate(&self, options: &[&str]) -> Contender {
        let select = (tools::PGBENCH_DATABASE, "pgbench-select");
        let mut ours = tools::file_after(self.port, select, (CONNECTIONS, self.seconds), RATE_WARM_UP_S);
        ours.extend(["--rate".to_owned(), RATE.to_string()]);
        ours.extend(options.iter().map(|&word| word.to_owned()));
        self.ours(ours, Some(RATE))
    }

    /// This product in a case, with the rate that it was asked for.
    fn ours(&self, arguments: Vec<String>, rate: Option<u32>) -> Contender {
        let pinned = PinnedProgram { program: self.ours.into(), arguments, cpu: DRIVER_CPU, fine: FINE };
        let read = Box::new(move |used: &process::ProgramResult| {
            let mut figures = tools::read_ours(used, rate)?.figures(used.cpu_s);
            // The warm-up is in the CPU of the process and not among its transactions.
            if rate.is_some() {
                figures[DRIVER_US] = None;
            }
            Ok(figures)
        });
        Contender { name: OURS, pinned, seconds: self.seconds, read }
    }

    fn other(
        &self,
        name: &'static str,
        program: Option<&Path>,
        arguments: Vec<String>,
        read: fn(&str) -> anyhow::Result<Reading>,
    ) -> Option<Contender> {
        let pinned = PinnedProgram { program: program?.into(), arguments, cpu: DRIVER_CPU, fine: &[0] };
        let read = Box::new(move |used: &process::ProgramResult| Ok(read(&used.stdout)?.figures(used.cpu_s)));
        Some(Contender { name, pinned, seconds: self.seconds, read })
    }

    /// This product against a lock, which another program holds and lets go.
    fn locked(&self, psql: &Path) -> Contender {
        let mut ours = tools::file_after(
            self.port,
            (tools::PGBENCH_DATABASE, "pgbench-select"),
            (lock::SESSIONS, lock::WINDOW_S),
            lock::WARM_UP_S,
        );
        ours.extend(["--rate".to_owned(), lock::RATE.to_string()]);
        let arguments = lock::beside((psql, self.port, &self.folder.join(LOCK)), (self.ours, &ours));
        let pinned = PinnedProgram { program: "sh".into(), arguments, cpu: DRIVER_CPU, fine: FINE };
        let read = Box::new(|used: &process::ProgramResult| {
            let none = Reading::default().figures(0.0).into_iter().map(|_| None);
            let mut figures: Vec<Option<f64>> = none.collect();
            figures[5] = Some(lock::error(&super::json(used)?)?);
            Ok(figures)
        });
        Contender { name: OURS, pinned, seconds: lock::WARM_UP_S + lock::WINDOW_S, read }
    }
}
