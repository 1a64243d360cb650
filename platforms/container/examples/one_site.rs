//! Opens a site with two hosts and one unit of each kind, prints a line, and waits for the end of its stdin;
//! for tests that kill it on the way. Arguments: the site's identifier, and an existing folder.

use std::path::{Path, PathBuf};
use std::time::Duration;

use barograph_platform::{
    HostSpec, Ledger, Platform, Readiness, Site, SiteSpec, Step, Unit, UnitFile, ignore_lines,
};
use barograph_platform_container::ContainerPlatform;
use barograph_virtual_network::RelayProgram;

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let words: Vec<String> = std::env::args().collect();
    let (id, folder) = (words[1].clone(), PathBuf::from(&words[2]));
    let ledger = Ledger::open(folder.join("ledger.jsonl"))?;
    let host = |name: &str| HostSpec { name: name.to_owned(), ..HostSpec::default() };
    let spec = SiteSpec {
        id,
        folder: folder.join("site"),
        hosts: vec![host("a"), host("b")],
        ..SiteSpec::default()
    };
    // Plain links need no relay.
    let platform = ContainerPlatform::new(RelayProgram { program: "/bin/false".into(), args: Vec::new() });
    let site = platform.open(&spec, &ledger).await?;
    let units = run(site.as_ref(), &folder).await?;
    say("ready\n")?;
    tokio::task::spawn_blocking(|| std::io::Read::read_to_end(&mut std::io::stdin(), &mut Vec::new()))
        .await??;
    for unit in units {
        unit.stop(Duration::from_secs(5)).await?;
    }
    site.close().await?;
    say("closed\n")
}

async fn run(
    site: &dyn Site,
    folder: &Path,
) -> Result<Vec<Box<dyn barograph_platform::UnitHandle>>, Box<dyn std::error::Error>> {
    let unit = |name: &str, host: &str, script: &str, ready: Readiness| Unit {
        host: host.to_owned(),
        args: vec!["-c".to_owned(), script.to_owned()],
        files: vec![UnitFile { path: "one.conf".into(), bytes: b"x=1\n".to_vec(), mode: 0o644 }],
        prepare: vec![Step { program: "/bin/cat".into(), args: vec!["one.conf".to_owned()] }],
        workdir: folder.join("site").join(name),
        log: folder.join(format!("{name}.log")),
        ..Unit::new(name, "/bin/sh".into(), ready)
    };
    let within = Duration::from_secs(60);
    let ready = r#"echo '{"ready":true,"address":"0.0.0.0:1234"}'; exec sleep infinity"#;
    let service = unit("service", "a", ready, Readiness::StdoutLine { timeout: within });
    let job = unit("job", "b", "sleep 0.3", Readiness::Exit { timeout: within });
    let service = site.create(&service, ignore_lines()).await?;
    let job = site.create(&job, ignore_lines()).await?;
    Ok(vec![service, job])
}

fn say(text: &str) -> Outcome {
    use std::io::Write;
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(std::io::stdout().flush()?)
}
