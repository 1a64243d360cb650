//! The entry point for maintainers: `cargo xtask test` is everything the server runs, `cargo xtask tidy` the
//! house rules.

mod building;
mod dev;
mod dist;
mod features;
mod ferretdb;
mod fuzz_api;
mod go;
mod go_tpc;
mod kill_matrix;
mod kubernetes;
mod maddy;
mod maven;
mod options;
mod packages;
mod say;
mod steps;
mod stolen;
mod testing;
mod tidy;
mod victoria;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use options::Options;
use say::say;
use steps::Cluster;

const USAGE: &str = "usage: cargo xtask COMMAND

  test           tools, format, tidy, clippy, tests and documentation; ends with one line `N passed, N failed, N skipped`
  test --kubernetes
                 the same, after building Kubernetes where it is missing; else the tests that need it are skipped
  test OPTIONS   the tests alone: --group quick|service|program|emulated (may be repeated), --list, --times N in a row,
                 FILTER (a part of `package target name`), and --stolen (as root): all processors are taken away now
                 and then, as on a host that gives their turn to other machines; a test that fails only there depends
                 on how busy a machine is
  t              the quick tests of the packages that are changed and of those that depend on them; --group for others,
                 --base REVISION for the changes since then, --times N, FILTER
  tools          what tests need and is missing: Debian packages as root, programs that are built where Go is installed,
                 engines that come by Maven
                 with --kubernetes also Kubernetes and metrics-server, built in about ten minutes and kept in ~/.cache/barograph;
                 with --maddy also maddy, in some minutes
  tidy           the house rules alone: floors, sizes, module docs, banned calls, Markdown titles, table of crates
  features       pins the features of crates by others in dev/features, after a change of dependencies
  dist           what is installed, in target/dist: the static program, completions, manual pages, check sums, and a container
                 image; --profile dev builds as tests do, `dist image` runs the main job in small in the image, as root
  bench driver   the driver beside other load drivers; writes docs/reference/driver.md (see bench driver --help)
  bench kv       the key-value driver beside redis-benchmark and others; writes docs/reference/kv.md (see bench kv --help)
  bench disk, linpack, stream
                 the same beside fio, HPL and C; each writes its page in docs/reference (see --help of each)
  bench sort     sorts on Spark and Hadoop beside the same jobs by hand; writes docs/reference/sort.md
  bench mail     mail beside smtp-source and imaptest; writes docs/reference/mail.md (see bench mail --help)
  bench net      the network workload beside iperf3 and netperf; writes docs/reference/net.md (see bench net --help)
  bench sql      database loads beside go-tpc, pgbench and sysbench; writes docs/reference/sql.md (see bench sql --help)
  bench auction  the auction application on its stores, buses and proxies (see bench auction --help)
  bench WHAT     what other parts cost (see bench --help)
  kill-matrix    kills or interrupts the program in every phase on every platform and looks at what is left; the tests try
                 a part of it (see kill-matrix --help)
  fuzz-api       the auction's resources against their OpenAPI document (see fuzz-api --help)
  simulate WHAT  what a method is worth where the truth is known (see simulate --help)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let root = root();
    let done = match arguments.as_slice() {
        ["test"] => steps::everything(&root, Cluster::AsItIs),
        ["test", "--kubernetes"] => steps::everything(&root, Cluster::Built),
        ["test", words @ ..] => Options::of_test(words).and_then(|options| steps::tests(&root, &options)),
        ["t", words @ ..] => Options::of_changed(words).and_then(|options| steps::changed(&root, &options)),
        ["tools"] => Ok(steps::install_tools(&root) == 0),
        ["tools", "--maddy"] => Ok(steps::install_tools(&root) + maddy::build_missing(&root) == 0),
        ["tools", "--kubernetes"] => Ok(steps::install_tools(&root) + kubernetes::build_missing() == 0),
        ["tidy"] => tidy_alone(&root),
        ["features"] => features::write(&root),
        ["dist", words @ ..] => dist::run(&root, words),
        ["bench", "sql", words @ ..] => {
            go::build_missing(&root, &go_tpc::GO_TPC);
            dev::run(&root, "barograph-bench", &[&["sql"], words].concat())
        }
        ["bench", words @ ..] => dev::run(&root, "barograph-bench", words),
        ["kill-matrix", "--help"] => {
            say(kill_matrix::USAGE);
            return ExitCode::SUCCESS;
        }
        ["kill-matrix", words @ ..] => kill_matrix::run(&root, words),
        ["fuzz-api", "--help"] => {
            say(fuzz_api::USAGE);
            return ExitCode::SUCCESS;
        }
        ["fuzz-api", words @ ..] => fuzz_api::run(&root, words),
        ["simulate", words @ ..] => dev::run(&root, "barograph-simulations", words),
        ["help" | "--help" | "-h"] => {
            say(USAGE);
            return ExitCode::SUCCESS;
        }
        _ => {
            say(USAGE);
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("xtask failed: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn tidy_alone(root: &Path) -> anyhow::Result<bool> {
    let findings = tidy::all(root)?;
    for finding in &findings {
        say(&finding.to_string());
    }
    say(&format!("tidy: {} findings", findings.len()));
    Ok(findings.is_empty())
}

/// The folder of the workspace: this crate lives right below it.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the workspace").to_path_buf()
}
