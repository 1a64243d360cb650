//! The program that the tests of this crate start, and kill at any moment.
//!
//! - `one_unit LEDGER LOG SCRIPT` runs the shell script as a unit, prints the number of its process when it
//!   is ready, and waits.
//! - `whole_site FOLDER HOLD` creates a site below the folder with a unit that has files, steps and daemons,
//!   prints `ready`, stops everything when it reads a line, and prints `closed`. Its ledger is
//!   `FOLDER/ledger.jsonl`.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use barograph_platform::{
    HostSpec, Ledger, Platform, Readiness, SiteSpec, Step, Unit, UnitFile, User, ignore_lines,
};
use barograph_platform_process::ProcessPlatform;

/// Daemons without mark, group and session, which have the folder among their arguments.
const DAEMONS: &str = "setsid env -i tail -f LEDGER > /dev/null & setsid tail -f LEDGER > /dev/null & ";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["one_unit", ledger, log, script] => one_unit(Path::new(ledger), Path::new(log), script).await,
        ["whole_site", folder, hold] => whole_site(Path::new(folder), hold).await,
        _ => Err("wanted: one_unit LEDGER LOG SCRIPT, or whole_site FOLDER HOLD".into()),
    }
}

async fn one_unit(ledger: &Path, log: &Path, script: &str) -> Result<(), Box<dyn Error>> {
    let ledger = Ledger::open(ledger)?;
    let spec = SiteSpec { id: name(ledger.path().parent())?, ..SiteSpec::default() };
    let site = ProcessPlatform.open(&spec, &ledger).await?;
    let unit = Unit {
        args: vec!["-c".to_owned(), script.to_owned()],
        log: log.into(),
        ..Unit::new("example", "/bin/sh".into(), Readiness::StdoutLine { timeout: Duration::from_secs(120) })
    };
    let running = site.create(&unit, ignore_lines()).await?;
    let pid = running.pid().ok_or("a process has a number")?;
    writeln!(std::io::stdout(), "{pid}")?;
    running.wait_exit().await;
    Ok(())
}

async fn whole_site(folder: &Path, hold: &str) -> Result<(), Box<dyn Error>> {
    let ledger = Ledger::open(folder.join("ledger.jsonl"))?;
    let spec = SiteSpec {
        id: name(Some(folder))?,
        folder: folder.join("site"),
        hosts: vec![HostSpec { name: "one".to_owned(), ..HostSpec::default() }],
        options: vec![("hold".to_owned(), hold.to_owned())],
        ..SiteSpec::default()
    };
    let site = ProcessPlatform.open(&spec, &ledger).await?;
    let unit = unit(folder, ledger.path());
    let running = site.create(&unit, ignore_lines()).await?;
    writeln!(std::io::stdout(), "ready")?;
    std::io::stdin().read_line(&mut String::new())?;
    running.stop(Duration::from_secs(10)).await?;
    site.close().await?;
    writeln!(std::io::stdout(), "closed")?;
    Ok(())
}

/// Name of the site in a folder: that of the folder.
fn name(folder: Option<&Path>) -> Result<String, Box<dyn Error>> {
    let name = folder.and_then(Path::file_name).ok_or("the folder has no name")?;
    Ok(name.to_string_lossy().into_owned())
}

fn unit(folder: &Path, ledger: &Path) -> Unit {
    let script = |text: &str| {
        let text = format!("{DAEMONS}{text}").replace("LEDGER", &ledger.display().to_string());
        vec!["-c".to_owned(), text]
    };
    let step = Step { program: "/bin/sh".into(), args: script("cp file made") };
    Unit {
        host: "one".to_owned(),
        args: script(r#"echo '{"ready":true,"address":"127.0.0.1:1"}'; while :; do sleep 1000; done"#),
        files: vec![UnitFile { path: "file".into(), bytes: b"text".to_vec(), mode: 0o644 }],
        prepare: vec![step.clone(), step],
        workdir: folder.join("data/unit"),
        log: folder.join("log"),
        user: User::NotRoot,
        ..Unit::new("unit", "/bin/sh".into(), Readiness::StdoutLine { timeout: Duration::from_secs(120) })
    }
}
