//! Boots so many hosts (1 unless said) and prints how long that took: `cargo run --example boot -- 4`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use barograph_platform::{HostSpec, Ledger, Readiness, Site, SiteSpec, Unit};
use barograph_platform_vm::{Program, VmPlatform};

#[tokio::main]
#[expect(clippy::print_stdout, reason = "it is what the example is for")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count = std::env::args().nth(1).map_or(Ok(1), |text| text.parse::<usize>())?;
    let folder = tempfile::tempdir()?;
    let program = Program {
        path: std::env::current_exe()?.with_file_name("vm_program"),
        agent: vec!["agent".to_owned()],
        relay: vec!["relay".to_owned()],
    };
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
    println!("{count} hosts ready after {:.2} s", begun.elapsed().as_secs_f64());
    for (fact, value) in vm.facts() {
        println!("  {fact}: {value}");
    }
    let mut unit =
        Unit::new("job", PathBuf::from("/bin/sh"), Readiness::Exit { timeout: Duration::from_secs(60) });
    unit.host = name(0);
    unit.args =
        ["-c", "uname -a; id; df -h / . | cat; free -m; ls /sys/fs/cgroup"].map(str::to_owned).to_vec();
    unit.workdir = site.folder.clone();
    unit.log = folder.path().join("job.log");
    let begun = Instant::now();
    vm.create(&unit, std::sync::Arc::new(|line: &str| println!("  | {line}"))).await?;
    println!("a job took {:.2} s", begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    Box::new(vm).close().await?;
    println!("closed after {:.2} s; left: {:?}", begun.elapsed().as_secs_f64(), ledger.left());
    Ok(())
}
