//! A driver of a site, to be killed by a test at any moment: `whole_site FOLDER HOLD` makes a site below the folder
//! with a unit that has files, steps and daemons, prints `ready`, stops everything when it reads a line, and prints
//! `closed`. Its ledger is `FOLDER/ledger.jsonl`.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use barograph_platform::{
    HostSpec, Ledger, Platform, Readiness, SiteSpec, Step, Unit, UnitFile, User, ignore_lines,
};
use barograph_platform_process::ProcessPlatform;

/// Daemons without mark, group and session, which know the folder by their arguments.
const DAEMONS: &str = "setsid env -i tail -f LEDGER > /dev/null & setsid tail -f LEDGER > /dev/null & ";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, hold] = &args[..] else { return Err("wanted: FOLDER HOLD".into()) };
    let folder = PathBuf::from(folder);
    let ledger = Ledger::open(folder.join("ledger.jsonl"))?;
    let spec = SiteSpec {
        id: "whole".to_owned(),
        folder: folder.join("site"),
        hosts: vec![HostSpec { name: "one".to_owned(), ..HostSpec::default() }],
        options: vec![("hold".to_owned(), hold.clone())],
        ..SiteSpec::default()
    };
    let site = ProcessPlatform.open(&spec, &ledger).await?;
    let unit = unit(&folder, ledger.path());
    let running = site.create(&unit, ignore_lines()).await?;
    writeln!(std::io::stdout(), "ready")?;
    std::io::stdin().read_line(&mut String::new())?;
    running.stop(Duration::from_secs(10)).await?;
    site.close().await?;
    writeln!(std::io::stdout(), "closed")?;
    Ok(())
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
