//! Starts a service several times, measures it, and ends it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, ensure};
use barograph_platform::{HERE, HostSpec, Ledger, Limits, Site, SiteSpec, Unit, UnitHandle, ignore_lines};
use barograph_platform_process::Local;
use barograph_services::{Figures, Flavour, Placement, Service, find};

use super::backdrop::{OwnHost, well_server};
use super::figures::median;
use super::usage::{self, Memory};

/// Time after a start until one-time work is over.
const SETTLE: Duration = Duration::from_secs(2);

/// Length of the measurement of idle CPU.
const IDLE: Duration = Duration::from_secs(5);

/// Memory for which a unit is tuned, and its limit.
const MEMORY: u64 = 2 << 30;

/// Memory of the workers of a cluster for jobs, in MiB.
const WORKER_MIB: u64 = 1024;

/// Services that must be there before another: the word of the latter, the service, and its port.
const BEHIND: [(&str, &str, &str); 3] =
    [("server", "postgres", "main"), ("master", "spark", "main"), ("manager", "yarn", "nodes")];

/// A running service behind another, with the time that it gets to end.
type Behind = Option<(Box<dyn UnitHandle>, Duration)>;

pub(crate) struct Measure {
    pub(crate) repeats: u32,
    pub(crate) barograph: Option<PathBuf>,
    pub(crate) data: Option<PathBuf>,
    /// Folder for files that services require.
    pub(crate) scratch: tempfile::TempDir,
}

/// Hosts for one service, and the folder of its files.
struct BenchSite {
    site: Local,
    host: &'static str,
    folder: tempfile::TempDir,
    // Dropped after the site on it.
    _own: Option<OwnHost>,
}

/// One start.
struct StartTimes {
    ready_s: f64,
    stop_s: f64,
}

/// Resources used when idle.
struct IdleUse {
    memory: Memory,
    millicores: f64,
}

impl Measure {
    /// Measures a service; the inner error gives the reason why it cannot run here.
    pub(crate) async fn service(
        &self,
        service: &Service,
        flavour: Flavour,
    ) -> anyhow::Result<Result<Figures, String>> {
        if let Some(missing) = service.missing() {
            return Ok(Err(missing.to_string()));
        }
        let own = service.packages().is_empty() && service.install().contains("lab/cli");
        if own && self.barograph.is_none() {
            return Ok(Err("it is this program: give --barograph".to_owned()));
        }
        let Some(mut values) = self.values(service).await? else {
            return Ok(Err("it needs what is not given: see --help".to_owned()));
        };
        let ground = BenchSite::make(service)?;
        let behind = match self.behind(service, &ground, &mut values).await? {
            Ok(behind) => behind,
            Err(missing) => return Ok(Err(missing)),
        };
        let (mut all, mut idle) = (Vec::new(), None);
        for number in 0..self.repeats {
            let name = format!("{}-{number}", service.name());
            let unit = self.unit((service, flavour), &ground, (&name, &values), &ground.ports(service)?)?;
            all.push(once(service, &ground, &unit, &mut idle).await?);
        }
        if let Some((unit, grace)) = behind {
            unit.stop(grace).await?;
        }
        ground.end().await?;
        let of = |figure: fn(&StartTimes) -> f64| median(all.iter().map(figure).collect());
        let idle = idle.context("look at the first of several starts")?;
        Ok(Ok(Figures {
            ready_s: of(|once| once.ready_s),
            stop_s: of(|once| once.stop_s),
            rss_mib: idle.memory.rss_kib as f64 / 1024.0,
            pss_mib: idle.memory.pss_kib as f64 / 1024.0,
            idle_millicores: idle.millicores,
            processes: idle.memory.processes,
        }))
    }

    /// The measured version.
    pub(crate) fn version(&self, service: &Service) -> anyhow::Result<String> {
        service.version().with_context(|| format!("ask {} for its version", service.title()))
    }

    /// The values required by the service; `None` if the arguments do not suffice.
    async fn values(&self, service: &Service) -> anyhow::Result<Option<BTreeMap<String, String>>> {
        let mut values = BTreeMap::new();
        for word in service.words().iter().filter(|word| word.needed) {
            let value = match word.name.as_str() {
                "servers" => format!("well={}", well_server().await?),
                "virtual_address" => "10.213.0.100/24".to_owned(),
                "peers" => "10.213.0.2".to_owned(),
                "token_file" => self.token()?,
                "bytes" => (1_u64 << 30).to_string(),
                "store" | "geocoder" => well_server().await?.to_string(),
                "database" => format!("sqlite://{}", self.scratch.path().join("store.db").display()),
                "cores" => std::thread::available_parallelism()?.to_string(),
                "heap_mib" => WORKER_MIB.to_string(),
                "number" => "1".to_owned(),
                "sets" => match self.sets()? {
                    Some(folder) => folder,
                    None => return Ok(None),
                },
                name if BEHIND.iter().any(|(word, ..)| *word == name) => continue,
                _ => return Ok(None),
            };
            values.insert(word.name.clone(), value);
        }
        if service.name() == "auction" {
            let Some(data) = &self.data else { return Ok(None) };
            let data = std::path::absolute(data)?;
            values.insert("data".to_owned(), data.display().to_string());
        }
        Ok(Some(values))
    }

    /// Starts the service that must be there before this one and adds its address to the values; the inner error says why
    /// it cannot run here.
    async fn behind(
        &self,
        service: &Service,
        ground: &BenchSite,
        values: &mut BTreeMap<String, String>,
    ) -> anyhow::Result<Result<Behind, String>> {
        let needed = |word: &str| service.words().iter().any(|known| known.needed && known.name == word);
        let Some((word, name, port)) = BEHIND.into_iter().find(|(word, ..)| needed(word)) else {
            return Ok(Ok(None));
        };
        let other = find(name).with_context(|| format!("find {name}"))?;
        if let Some(missing) = other.missing() {
            return Ok(Err(missing.to_string()));
        }
        let ports = ground.ports(other)?;
        let host = ground.site.address(ground.host).context("find the host of the unit")?;
        let own = (format!("{name}-behind"), BTreeMap::new());
        let unit = self.unit((other, Flavour::Vanilla), ground, (&own.0, &own.1), &ports)?;
        let handle = ground.site.create(&unit, ignore_lines()).await?;
        values.insert(word.to_owned(), SocketAddr::new(host, ports[port]).to_string());
        Ok(Ok(Some((handle, other.grace()))))
    }

    /// A folder with the files of one static web server; `None` without this program, which writes them.
    fn sets(&self) -> anyhow::Result<Option<String>> {
        let Some(program) = &self.barograph else { return Ok(None) };
        let folder = self.scratch.path().join("sets");
        let fill = Command::new(program)
            .args(["fill", "web-farm", "--servers", "1", "--folder"])
            .arg(&folder)
            .status();
        ensure!(
            fill.context("fill the files of a web server")?.success(),
            "the files of a web server were not filled"
        );
        Ok(Some(folder.display().to_string()))
    }

    fn token(&self) -> anyhow::Result<String> {
        let path = self.scratch.path().join("token");
        std::fs::write(&path, "not-a-secret-nobody-is-asked\n").context("write a token for the driver")?;
        Ok(path.display().to_string())
    }

    fn unit(
        &self,
        (service, flavour): (&Service, Flavour),
        ground: &BenchSite,
        (name, values): (&str, &BTreeMap<String, String>),
        ports: &BTreeMap<String, u16>,
    ) -> anyhow::Result<Unit> {
        let (folder, log) = (ground.folder("site").join(name), ground.folder(&format!("{name}.log")));
        let limits = Limits { memory_bytes: Some(MEMORY), ..Limits::default() };
        let place = Placement {
            name,
            host: ground.host,
            address: ground.site.address(ground.host).context("find the host of the unit")?,
            ports,
            folder: &folder,
            log: &log,
            flavour,
            limits: &limits,
            machine: (std::thread::available_parallelism()?.get(), MEMORY),
            values,
            own_program: self.barograph.as_deref().unwrap_or(Path::new("/no/program")),
        };
        Ok(service.unit(&place)?)
    }
}

impl BenchSite {
    fn make(service: &Service) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let ledger = Ledger::open(folder.path().join("ledger"))?;
        let spec = SiteSpec {
            id: "cost".to_owned(),
            folder: folder.path().join("site"),
            hosts: vec![HostSpec { name: "own".to_owned(), ..HostSpec::default() }],
            ..SiteSpec::default()
        };
        let own = if service.needs_own_host() { Some(OwnHost::make()?) } else { None };
        let site = Local::open(&spec, &ledger);
        let (site, host) = match &own {
            Some(own) => (site.with_host("own", own.on()), "own"),
            None => (site, HERE),
        };
        Ok(BenchSite { site: site.with_folder()?, host, folder, _own: own })
    }

    /// Ports for a unit of a service.
    fn ports(&self, service: &Service) -> anyhow::Result<BTreeMap<String, u16>> {
        let port = |usual: &(String, u16)| Ok((usual.0.clone(), self.site.port(self.host, usual.1)?));
        service.ports().iter().map(port).collect()
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    async fn end(self) -> anyhow::Result<()> {
        let site: Box<dyn Site> = Box::new(self.site);
        Ok(site.close().await?)
    }
}

/// Starts and ends it; the first time it is measured in between.
async fn once(
    service: &Service,
    ground: &BenchSite,
    unit: &Unit,
    idle: &mut Option<IdleUse>,
) -> anyhow::Result<StartTimes> {
    let began = Instant::now();
    let running = ground.site.create(unit, ignore_lines()).await.map_err(|fault| {
        let log = std::fs::read_to_string(&unit.log).unwrap_or_default();
        anyhow!("{fault}\n{log}")
    })?;
    let ready_s = began.elapsed().as_secs_f64();
    if idle.is_none() {
        *idle = Some(look(&*running).await?);
    }
    let began = Instant::now();
    running.stop(service.grace()).await?;
    Ok(StartTimes { ready_s, stop_s: began.elapsed().as_secs_f64() })
}

async fn look(running: &dyn UnitHandle) -> anyhow::Result<IdleUse> {
    tokio::time::sleep(SETTLE).await;
    let accounts = running.accounts();
    let (before, began) = (usage::cpu_us(&accounts)?, Instant::now());
    tokio::time::sleep(IDLE).await;
    let used_ms = (usage::cpu_us(&accounts)? - before) as f64 / 1e3;
    Ok(IdleUse { memory: usage::memory(&accounts)?, millicores: used_ms / began.elapsed().as_secs_f64() })
}
