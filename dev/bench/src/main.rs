//! The cost of the product and its parts: the measurements behind pages in `docs/reference`, and some for
//! development.
//!
//! `cargo xtask bench` builds this program with optimisation and runs it.

mod auction;
mod bus;
mod contest;
mod driver;
mod guests;
mod idle;
mod kv;
mod micro;
mod net;
mod postgres;
mod product;
mod say;
mod scenario;
mod search;
mod stores;
mod timed;

use std::path::Path;
use std::process::ExitCode;

use say::say;

/// The allocator of the product: the driver is measured here, too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str = "usage: cargo xtask bench WHAT

  driver     the driver beside other load drivers; writes docs/reference/driver.md (see driver --help)
  kv         the key-value driver beside redis-benchmark and others; writes docs/reference/kv.md (see kv --help)
  disk       disk loads beside fio; writes docs/reference/disk.md (see disk --help)
  linpack    LINPACK beside HPL and OpenBLAS; writes docs/reference/linpack.md (see linpack --help)
  mail       submissions of mail beside smtp-source; writes docs/reference/mail.md (see mail --help)
  stream     the bandwidth of memory beside C; writes docs/reference/stream.md (see stream --help)
  sort       sorts on Spark and Hadoop beside the same jobs by hand; writes docs/reference/sort.md (see sort --help)
  net        the network workload beside iperf3 and netperf; writes docs/reference/net.md (see net --help)
  sql        database loads beside go-tpc, pgbench and sysbench; writes docs/reference/sql.md (see sql --help)
  postgres [ROUNDS CONNECTIONS TRANSACTIONS]
             the PostgreSQL client beside pgbench: CPU for a transaction of pgbench, on a server of its own
  auction    the auction application on its stores, buses and proxies (see auction --help)
  services   services that nobody asks anything: start, stop, memory, CPU (see services --help)

  scenario FILE URL USERS SECONDS [WARM_UP]
             a scenario against an address: operations per second, and the CPU of each
  search [SEARCHES]
             the time that a search by posterior takes to choose its next trial
  bus ADDRESS...
             messages through the bus between nodes: in-process, amqp://..., nats://...
  stores [postgres|mariadb], sqlite FOLDER, documents [ADDRESS...]
             the application's stores by themselves: loading, reads, writes
  guests [N] the boot of N virtual machines at once
  timed constant MS | bimodal QUICK_MS SLOW_MS SHARE | pareto LEAST_MS MOST_MS SHAPE [stall EVERY_MS LASTS_MS]
             no measurement: a server with known response times, for any client, until its input ends

Relative paths begin at the workspace.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match measure(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("failed to measure: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Makes one measurement; true without any trouble.
fn measure(words: &[&str]) -> anyhow::Result<bool> {
    match words {
        ["driver", words @ ..] => driver::run(words),
        ["kv", words @ ..] => kv::run(words),
        ["disk", words @ ..] => micro::disk(words),
        ["linpack", words @ ..] => micro::linpack(words),
        ["mail", words @ ..] => micro::mail(words),
        ["sort", words @ ..] => micro::sort(words),
        ["stream", words @ ..] => micro::stream(words),
        ["net", words @ ..] => net::run(words),
        ["postgres", words @ ..] => postgres::run(words),
        ["auction", words @ ..] => auction::run(words),
        ["services", words @ ..] => idle::run(words),
        ["scenario", words @ ..] => scenario::run(words),
        ["search", words @ ..] => search::run(words),
        ["bus", words @ ..] => bus::run(words),
        ["sql", words @ ..] => micro::sql(words),
        ["stores", words @ ..] => stores::sql::run(words),
        ["sqlite", words @ ..] => stores::sqlite::run(words),
        ["documents", words @ ..] => stores::documents::run(words),
        ["guests", words @ ..] => guests::run(words),
        ["timed", words @ ..] => timed::run(words),
        ["help" | "--help" | "-h"] => {
            say(USAGE);
            Ok(true)
        }
        _ => {
            say(USAGE);
            Ok(false)
        }
    }
}

/// The folder of the workspace.
fn root() -> &'static Path {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).parent().and_then(Path::parent);
    above.expect("this crate is a folder of `dev`")
}
