//! `cargo xtask fuzz-api`: sends a running application all requests that its OpenAPI document allows, and
//! many that it does not.
//!
//! schemathesis makes the requests from `docs/openapi/auction.json` and checks the answers: no 5xx except the
//! documented 503, no status, content type or body outside of the document, valid data accepted, invalid data
//! refused. Two resources are left out, because they end the test: those that drain the node and that end all
//! waiting requests.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};

use crate::say::say;

pub(crate) const USAGE: &str = "usage: cargo xtask fuzz-api [SECONDS]

  asks the auction application for SECONDS (120 if not given) what its OpenAPI document allows and what it does not;
  needs Python 3.10 or newer with venv, and PyPI the first time";

/// Default duration in seconds: a first look. Ten minutes find rare faults.
const SECONDS: u64 = 120;

/// The fuzzer; pinned, because a later one may have checks that the application does not meet.
const FUZZER: &str = "schemathesis==4.32.5";

/// Information that the fuzzer cannot derive itself.
const HOOKS: &str = include_str!("fuzz_api/hooks.py");

/// Its settings.
const SETTINGS: &str = include_str!("fuzz_api/schemathesis.toml");

/// Resources that would end the test.
const LEFT_OUT: [&str; 2] = ["/auction/live/auction/prepareForShutdown", "/auction/live/auction/release"];

/// Time limit of the data checks, which read every row of the run.
const CHECK_TIME: Duration = Duration::from_secs(60);

/// Fuzzes for a while. Returns whether nothing was found.
pub(crate) fn run(root: &Path, words: &[&str]) -> anyhow::Result<bool> {
    let seconds = match words {
        [] => SECONDS,
        [number] => number.parse().context(USAGE)?,
        _ => bail!(USAGE),
    };
    let fuzzer = match fuzzer(root) {
        Ok(fuzzer) => fuzzer,
        Err(error) => bail!("schemathesis is missing and cannot be installed here: {error:#}"),
    };
    let folder = tempfile::tempdir()?;
    let application = Application::start(root, folder.path())?;
    let found_nothing = fuzz(root, &fuzzer, &application, seconds, folder.path())?;
    let check = application.ask("/auction/check")?;
    let health = application.ask("/auction/healthCheck")?;
    say(&format!("data checks: {check}"));
    say(&format!("health: {health}"));
    let fine = check.contains("\"ok\":true") && health.contains("\"ready\":true");
    say(&format!("memory of the application: {}", application.peak_memory()));
    Ok(found_nothing && fine)
}

/// The fuzzer in a Python environment of its own, installed if missing.
fn fuzzer(root: &Path) -> anyhow::Result<PathBuf> {
    let home = root.join("target/tools/schemathesis");
    let program = home.join("bin/schemathesis");
    let whole = home.join("installed");
    if fs::read_to_string(&whole).is_ok_and(|what| what == FUZZER) {
        return Ok(program);
    }
    say(&format!("installing {FUZZER} into {}, once", home.display()));
    done(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home))
        .context("make a Python environment (Debian packages python3 and python3-venv)")?;
    done(Command::new(home.join("bin/pip")).args(["install", "--quiet", FUZZER])).context("ask PyPI")?;
    fs::write(&whole, FUZZER)?;
    Ok(program)
}

/// Runs a command to its end.
fn done(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status()?;
    ensure!(status.success(), "{status}");
    Ok(())
}

fn fuzz(
    root: &Path,
    fuzzer: &Path,
    application: &Application,
    seconds: u64,
    folder: &Path,
) -> anyhow::Result<bool> {
    let (hooks, settings) = (folder.join("hooks.py"), folder.join("schemathesis.toml"));
    fs::write(&hooks, HOOKS)?;
    fs::write(&settings, SETTINGS)?;
    let target = format!("http://{}", application.address);
    let mut command = Command::new(fuzzer);
    command
        .arg("--config-file")
        .arg(&settings)
        .arg("run")
        .arg(root.join("docs/openapi/auction.json"))
        // Its threads meet a bug of Python 3.11 in the parser of Python, and gain little beside it.
        .args(["--url", &target, "--checks", "all", "--workers", "1"])
        .args(["--max-time", &seconds.to_string()]);
    for path in LEFT_OUT {
        command.args(["--exclude-path", path]);
    }
    let status = command
        .env("SCHEMATHESIS_HOOKS", &hooks)
        .env("BAROGRAPH_TARGET", &target)
        .current_dir(folder)
        .status()
        .context("start schemathesis")?;
    Ok(status.success())
}

/// The application on a small data set; ends with this value.
struct Application {
    process: Child,
    address: String,
}

impl Application {
    fn start(root: &Path, folder: &Path) -> anyhow::Result<Self> {
        let cargo = std::env!("CARGO");
        done(Command::new(cargo).args(["build", "--quiet", "-p", "barograph"]).current_dir(root))
            .context("build the program")?;
        let program = root.join("target/debug/barograph");
        let (data, state) = (folder.join("data"), folder.join("state"));
        let fill = ["fill", "auction", "--size", "nano", "--history", "0.1", "--images", "0.02", "--data"];
        done(Command::new(&program).args(fill).arg(&data).stdout(Stdio::null()).stderr(Stdio::null()))
            .context("fill a data set")?;
        let mut process = Command::new(&program)
            .args(["serve", "auction", "--listen", "127.0.0.1:0", "--supervised", "--data"])
            .arg(&data)
            .arg("--state")
            .arg(&state)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("start the application")?;
        let mut line = String::new();
        if let Some(output) = process.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let started = Application { process, address: address(&line).unwrap_or_default() };
        ensure!(!started.address.is_empty(), "the application did not say where it is, but `{line}`");
        Ok(started)
    }

    /// Requests a public resource; returns the body.
    fn ask(&self, path: &str) -> anyhow::Result<String> {
        let mut connection = TcpStream::connect(&self.address).context("reach the application")?;
        connection.set_read_timeout(Some(CHECK_TIME))?;
        write!(connection, "GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.address)?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer)?;
        let (_, body) = answer.split_once("\r\n\r\n").context("read an answer")?;
        Ok(body.to_owned())
    }

    /// Its peak memory, as reported by the kernel.
    fn peak_memory(&self) -> String {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        line.map_or_else(|| "unknown".to_owned(), |most| format!("at most {}", most.trim()))
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        // It is a process of this command alone; if it has ended already, that is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The address in the line with which the application reports that it is ready.
fn address(line: &str) -> Option<String> {
    let ready: serde_json::Value = serde_json::from_str(line).ok()?;
    ready["address"].as_str().map(str::to_owned)
}
