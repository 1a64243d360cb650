//! A driver of one unit, to be killed by a test: `one_unit LEDGER LOG SCRIPT` runs the shell script as a unit, prints
//! the number of its process when it is ready, and waits.

use std::error::Error;
use std::io::Write;
use std::time::Duration;

use barograph_platform::{Ledger, Platform, Readiness, SiteSpec, Unit, ignore_lines};
use barograph_platform_process::ProcessPlatform;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [ledger, log, script] = &args[..] else { return Err("wanted: LEDGER LOG SCRIPT".into()) };
    let ledger = Ledger::open(ledger)?;
    let site = ProcessPlatform.open(&SiteSpec::default(), &ledger).await?;
    let unit = Unit {
        args: vec!["-c".to_owned(), script.clone()],
        log: log.into(),
        ..Unit::new("example", "/bin/sh".into(), Readiness::StdoutLine { timeout: Duration::from_secs(120) })
    };
    let running = site.create(&unit, ignore_lines()).await?;
    let pid = running.pid().ok_or("a process has a number")?;
    writeln!(std::io::stdout(), "{pid}")?;
    running.wait_exit().await;
    Ok(())
}
