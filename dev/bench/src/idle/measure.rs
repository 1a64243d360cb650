//! Starts a service several times, measures it, and ends it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use barograph_platform::{HERE, HostSpec, Ledger, Limits, Site, SiteSpec, Unit, UnitHandle, ignore_lines};
use barograph_platform_process::Local;
use barograph_services::{Figures, Flavour, Placement, Service};

use super::backdrop::{OwnHost, well_server};
use super::figures::median;
use super::usage::{self, Memory};

/// Time after a start until one-time work is over.
const SETTLE: Duration = Duration::from_secs(2);

/// Length of the measurement of idle CPU.
const IDLE: Duration = Duration::from_secs(5);

/// Memory for which a unit is tuned, and its limit.
const MEMORY: u64 = 2 << 30;

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
        let Some(values) = self.values(service).await? else {
            return Ok(Err("it needs what is not given: see --help".to_owned()));
        };
        let ground = BenchSite::make(service)?;
        let (mut all, mut idle) = (Vec::new(), None);
        for number in 0..self.repeats {
            let name = format!("{}-{number}", service.name());
            let unit = self.unit(service, flavour, &ground, (&name, &values))?;
            all.push(once(service, &ground, &unit, &mut idle).await?);
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

    fn token(&self) -> anyhow::Result<String> {
        let path = self.scratch.path().join("token");
        std::fs::write(&path, "not-a-secret-nobody-is-asked\n").context("write a token for the driver")?;
        Ok(path.display().to_string())
    }

    fn unit(
        &self,
        service: &Service,
        flavour: Flavour,
        ground: &BenchSite,
        (name, values): (&str, &BTreeMap<String, String>),
    ) -> anyhow::Result<Unit> {
        let port = |usual: &(String, u16)| Ok((usual.0.clone(), ground.site.port(ground.host, usual.1)?));
        let ports = service.ports().iter().map(port).collect::<anyhow::Result<BTreeMap<String, u16>>>()?;
        let (folder, log) = (ground.folder("site").join(name), ground.folder(&format!("{name}.log")));
        let limits = Limits { memory_bytes: Some(MEMORY), ..Limits::default() };
        let place = Placement {
            name,
            host: ground.host,
            address: ground.site.address(ground.host).context("find the host of the unit")?,
            ports: &ports,
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
