//! A container engine inside a virtual machine, used from outside: the base of containers in virtual machines.

use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use barograph_platform::{
    Ask, HERE, HostSpec, Ledger, Limits, Readiness, Site, SiteSpec, Unit, UnitFile, ignore_lines,
};
use barograph_platform_vm::{Program, VmPlatform};

/// What the engine asks of the guest's kernel for networks of containers.
const MODULES: &str = "bridge br_netfilter veth nf_tables nft_compat nft_chain_nat xt_MASQUERADE xt_addrtype \
    xt_conntrack xt_tcpudp xt_nat nft_ct";

/// Makes an image of one program, and runs it on the engine's own network, with the host's network, and with limits.
const USE: &str = r#"set -e
export DOCKER_HOST="$1" PATH=/usr/bin:/bin:/usr/sbin:/sbin
docker info --format '{{.ServerVersion}} {{.Driver}} cgroup {{.CgroupVersion}} kernel {{.KernelVersion}}'
mkdir -p image/bin && cp "$2" image/bin/busybox && tar -C image -c . | docker import - bb >/dev/null
docker run --rm bb /bin/busybox echo from a container
docker run --rm --network host bb /bin/busybox hostname
docker run --rm --memory 64m --cpus 0.5 bb /bin/busybox sh -c 'busybox cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/cpu.max'
docker run -d --name web -p 8080:80 bb /bin/busybox sh -c 'busybox mkdir /w; echo hej >/w/index.html; busybox httpd -f -h /w' >/dev/null
docker ps --format '{{.Names}} {{.Ports}}'
"#;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "it is what the example is for")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let word = |word: &str| vec![word.to_owned()];
    let path = std::env::current_exe()?.with_file_name("vm_program");
    let platform = VmPlatform::new(Program { path, agent: word("agent"), relay: word("relay") });
    let host = HostSpec { name: "engine".to_owned(), limits: Limits::default(), ..HostSpec::default() };
    let site = SiteSpec {
        id: format!("docker-{}", std::process::id()),
        folder: folder.path().join("site"),
        hosts: vec![host],
        options: vec![("modules".to_owned(), MODULES.to_owned())],
        ..SiteSpec::default()
    };
    let ledger = Ledger::open(folder.path().join("ledger"))?;
    let begun = Instant::now();
    let said = |what: &str| println!("{:6.2} s: {what}", begun.elapsed().as_secs_f64());
    let vm = platform.open_site(&site, &ledger).await?;
    said("the guest is ready");
    let ip = vm.address("engine").ok_or("no address")?;
    let program =
        ["/usr/sbin/dockerd", "/usr/bin/dockerd"].iter().map(PathBuf::from).find(|path| path.is_file());
    let program = program
        .ok_or("dockerd is not there; apt-get install -y --no-install-recommends docker.io iptables")?;
    let limit = Duration::from_secs(120);
    let ready = Readiness::Answers {
        ask: Ask::Http { path: "/_ping".to_owned() },
        address: SocketAddr::new(ip, 2375),
        timeout: limit,
    };
    let mut engine = Unit::new("dockerd", program, ready);
    engine.host = "engine".to_owned();
    engine.workdir = site.folder.join("engine");
    engine.log = folder.path().join("dockerd.log");
    engine.files = vec![UnitFile { path: "daemon.json".into(), bytes: b"{}".to_vec(), mode: 0o644 }];
    let place = engine.workdir.display();
    let words = format!(
        "--config-file {place}/daemon.json --data-root {place}/data --exec-root {place}/exec --pidfile {place}/pid \
         --tls=false -H tcp://0.0.0.0:2375 --storage-driver overlay2"
    );
    engine.args = words.split_whitespace().map(str::to_owned).collect();
    let engine = vm.create(&engine, ignore_lines()).await?;
    said("the engine answers");
    let mut job = Unit::new("use", PathBuf::from("/bin/sh"), Readiness::Exit { timeout: limit });
    job.host = HERE.to_owned();
    job.workdir = folder.path().to_owned();
    job.log = folder.path().join("use.log");
    job.args = ["-c", USE, "use", &format!("tcp://{ip}:2375"), "/var/cache/barograph/vm/kernel/bin/busybox"]
        .map(str::to_owned)
        .to_vec();
    vm.create(&job, Arc::new(|line: &str| println!("  | {line}"))).await?;
    said("containers ran");
    job.args =
        ["-c".to_owned(), format!("wget -q -O - http://{ip}:8080/ || curl -s http://{ip}:8080/")].to_vec();
    vm.create(&job, Arc::new(|line: &str| println!("  | {line}"))).await?;
    said("a container answered from outside");
    engine.stop(Duration::from_secs(20)).await?;
    Box::new(vm).close().await?;
    said("closed");
    println!("left: {:?}", ledger.left());
    Ok(())
}
