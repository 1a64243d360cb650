//! Boots virtual machines and prints the time taken.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use barograph_platform::{HostSpec, Ledger, Readiness, Site, SiteSpec, Unit};
use barograph_platform_vm::{Program, VmPlatform};
use tokio::runtime::Runtime;

use crate::product;
use crate::say::say;

/// Boots this number of hosts at once, by default one.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<bool> {
    let count = match words {
        [] => 1,
        [number] => number.parse().with_context(|| format!("read `{number}` as a number of hosts"))?,
        _ => bail!("wanted is a number of hosts, or nothing"),
    };
    let program = Program {
        path: product::built(crate::root())?,
        agent: vec!["agent".to_owned()],
        relay: vec!["relay".to_owned()],
    };
    Runtime::new()?.block_on(boot(count, program))?;
    Ok(true)
}

async fn boot(count: usize, program: Program) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let name = |n: usize| format!("h{n}");
    let site = SiteSpec {
        id: format!("boot-{}", std::process::id()),
        folder: folder.path().join("site"),
        hosts: (0..count).map(|n| HostSpec { name: name(n), ..HostSpec::default() }).collect(),
        ..SiteSpec::default()
    };
    let ledger = Ledger::open(folder.path().join("ledger"))?;
    let begun = Instant::now();
    let vm = VmPlatform::new(program).open_site(&site, &ledger).await?;
    say(&format!("{count} hosts ready after {:.2} s", begun.elapsed().as_secs_f64()));
    for (fact, value) in vm.facts() {
        say(&format!("  {fact}: {value}"));
    }
    let mut unit =
        Unit::new("job", PathBuf::from("/bin/sh"), Readiness::Exit { timeout: Duration::from_secs(60) });
    unit.host = name(0);
    unit.args =
        ["-c", "uname -a; id; df -h / . | cat; free -m; ls /sys/fs/cgroup"].map(str::to_owned).to_vec();
    unit.workdir = site.folder.clone();
    unit.log = folder.path().join("job.log");
    let begun = Instant::now();
    vm.create(&unit, Arc::new(|line: &str| say(&format!("  | {line}")))).await?;
    say(&format!("a job took {:.2} s", begun.elapsed().as_secs_f64()));
    let begun = Instant::now();
    Box::new(vm).close().await?;
    say(&format!("closed after {:.2} s; left: {:?}", begun.elapsed().as_secs_f64(), ledger.left()));
    Ok(())
}
