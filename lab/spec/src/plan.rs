//! The settings common to all plans: their keys, allowed values and defaults; those of `[load]`, `[deploy]`
//! and `[[actions]]` are in modules of their own. A workload reads the rest itself.

use std::any::Any;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use barograph_model::{Durations, Level, LoadUnit, Nanos, OfferedLoad, StartOf, Strategy};
use toml::Value;

use crate::actions::{ActionPlan, actions};
use crate::catalogue::Catalogue;
use crate::deploy::{DeployPlan, deploy, limits};
use crate::effect::{ApplicationUse, effects};
use crate::elasticity::{ElasticityPlan, elasticity};
use crate::load::{LoadPlan, load};
use crate::power::{PowerPlan, power};
use crate::settings_reader::SettingsReader;
use crate::tiles::{self, TilePlan};
use crate::workload::{NoSettings, WorkloadKeys, WorkloadSettings};

/// A checked plan: a load, and the settings shared by all loads of its run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its name: the path it was read from.
    pub name: String,
    /// Name of the load; empty for the only one of its run.
    pub load: String,
    /// Initial letter of its hosts' names, if several loads of the run deploy; names of its parts begin with
    /// the name of the load.
    pub letter: Option<char>,
    /// The loads beside the first one, in a run of several.
    pub beside: Vec<Plan>,
    /// Common level of all loads of a run of several, in percent of each load's own; `None` for a single
    /// load.
    pub scale: Option<Strategy>,
    /// Tile of the load; `None` in a run without tiles.
    pub tile: Option<TilePlan>,
    /// Whether levels of the run are percent of a tile, and tiles are loaded one after another.
    pub one_by_one: bool,
    /// Time between the beginnings of the ramps of two tiles.
    pub stagger: Nanos,
    /// File of the reference rates of a tile.
    pub reference: Option<PathBuf>,
    /// The plan of the run with every default filled in, as TOML.
    pub of_run: String,
    /// Name of the workload.
    pub workload: String,
    /// Name of the workload's profile; empty for the workload's first.
    pub profile: String,
    /// Seed of the run's users and of the fill.
    pub seed: u64,
    /// Unit of levels of load.
    pub unit: LoadUnit,
    /// Fixed load, a search, or a path. A search's `max` of 0 stands for the limit of the data or this
    /// machine, its `min` of 0 for [`DEFAULT_MIN_USERS`] or [`DEFAULT_MIN_RATE`], or less if the maximum is
    /// lower.
    pub strategy: Strategy,
    /// Starts from outside; `None` if the load counts users.
    pub open: Option<OpenPlan>,
    /// Number of operations after which a fixed load ends. `durations.window` is then their time limit, or
    /// zero without a limit.
    pub operations: Option<u64>,
    /// Durations of the parts.
    pub durations: Durations,
    /// The initial data of the application.
    pub data: DataPlan,
    /// The deployment.
    pub deploy: DeployPlan,
    /// Actions under load, with their times.
    pub actions: Vec<ActionPlan>,
    /// The tier whose nodes follow the load, and how they are judged.
    pub elasticity: ElasticityPlan,
    /// The application.
    pub target: TargetPlan,
    /// The driver.
    pub driver: DriverPlan,
    /// Power of this machine.
    pub power: PowerPlan,
    /// Settings of the workload.
    pub own: Arc<dyn WorkloadSettings>,
    /// Folder that holds the records.
    pub runs: PathBuf,
    /// The record has absolute paths of this machine, and not those seen from the working folder.
    pub has_absolute_paths: bool,
    /// The plan of this load with every default filled in, as TOML.
    pub resolved: String,
    /// The numbers of the plan with every default filled in, by key.
    pub numbers: BTreeMap<String, f64>,
    /// The same of the run, of several loads.
    pub numbers_of_run: BTreeMap<String, f64>,
    /// The position of each given key: `file:line`, or `--set`.
    pub places: BTreeMap<String, String>,
}

impl Plan {
    /// The position of `key`; the plan's name if it has its default.
    #[must_use]
    pub fn place(&self, key: &str) -> &str {
        self.places.get(key).unwrap_or(&self.name)
    }

    /// The settings of the workload that reads `T`; `None` in the plan of another workload.
    #[must_use]
    pub fn settings<T: WorkloadSettings>(&self) -> Option<&T> {
        let own: &dyn Any = self.own.as_ref();
        own.downcast_ref()
    }

    /// The number of `key` in the resolved plan, such as `deploy.application_nodes`. `None` if the plan has
    /// no such key, or it is not a number.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<f64> {
        self.numbers.get(key).copied()
    }

    /// The same in the plan of the run.
    #[must_use]
    pub fn number_of_run(&self, key: &str) -> Option<f64> {
        self.numbers_of_run.get(key).copied()
    }

    /// Path of a file named by `key`: beside the plan or the study in which the key stands, or in the working
    /// folder if it was set from outside.
    #[must_use]
    pub fn file_of(&self, key: &str, file: &Path) -> PathBuf {
        let written_in = self.places.get(key).and_then(|place| {
            let (name, line) = place.rsplit_once(':')?;
            line.parse::<usize>().is_ok().then_some(name)
        });
        match written_in.and_then(|name| Path::new(name).parent()) {
            Some(folder) => folder.join(file),
            None => file.to_owned(),
        }
    }

    /// Every load of the run, this one first.
    pub fn all(&self) -> impl Iterator<Item = &Plan> {
        std::iter::once(self).chain(&self.beside)
    }

    /// The strategy of the run.
    #[must_use]
    pub fn of_all(&self) -> &Strategy {
        self.scale.as_ref().unwrap_or(&self.strategy)
    }

    /// The unit of levels of the run.
    #[must_use]
    pub fn unit_of_all(&self) -> LoadUnit {
        match &self.scale {
            None => self.unit,
            Some(_) if self.one_by_one => LoadUnit::Tiles,
            Some(_) => LoadUnit::Scale,
        }
    }

    /// A level in the unit of the run.
    #[must_use]
    pub fn offered_by_all(&self, level: impl Into<Level>) -> OfferedLoad {
        OfferedLoad { unit: self.unit_of_all(), level: level.into() }
    }

    /// Whether its operations start by a trace, at any level.
    #[must_use]
    pub fn is_trace(&self) -> bool {
        self.open.as_ref().is_some_and(|open| matches!(open.arrivals, ArrivalsPlan::Trace(_)))
    }

    /// This load with all loads at 100 %, a trace at any scale; `None` for a single load.
    #[must_use]
    pub fn whole(&self) -> Option<OfferedLoad> {
        match (&self.scale, &self.strategy) {
            (Some(_), Strategy::Fixed { level, .. }) => Some(self.offered(*level)),
            _ => None,
        }
    }

    /// The most users at once: the highest level, or the limit of an open loop. 0 if left open.
    #[must_use]
    pub fn most_users(&self) -> u32 {
        match (&self.open, &self.strategy) {
            (Some(open), _) => open.most_users,
            (None, strategy) => strategy.most().whole(),
        }
    }

    /// A level in the plan's unit.
    #[must_use]
    pub fn offered(&self, level: Level) -> OfferedLoad {
        OfferedLoad { unit: self.unit, level }
    }
}

/// An open loop, as in a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenPlan {
    /// Start times of operations.
    pub arrivals: ArrivalsPlan,
    /// The subject of each arrival.
    pub start_of: StartOf,
    /// Most users; 0 stands for the number required by the rate and the response-time limits.
    pub most_users: u32,
    /// Arrivals that may wait for a free user.
    pub most_waiting: u32,
}

/// Start times of operations in an open loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrivalsPlan {
    /// At equal distances.
    Constant,
    /// As independent events.
    Poisson,
    /// At the instants in this file, in seconds from the start of the load, one per line.
    Trace(PathBuf),
}

/// The initial data of the application.
#[derive(Clone, Debug, PartialEq)]
pub struct DataPlan {
    /// Name of the size.
    pub size: String,
    /// Folder of filled data sets, each in a folder of its own.
    pub dir: PathBuf,
    /// Most snapshots of loaded stores kept in it; with 0 stores are loaded in every run.
    pub snapshots: u32,
    /// Most disk space of the snapshots together, in GB.
    pub snapshots_gb: f64,
}

impl Default for DataPlan {
    fn default() -> Self {
        DataPlan { size: String::new(), dir: "data".into(), snapshots: 4, snapshots_gb: 20.0 }
    }
}

/// The application, or any other target.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetPlan {
    /// URL of an existing target: nothing is deployed or filled then.
    pub url: Option<String>,
    /// Port on the loopback address; 0 chooses a free one.
    pub port: u16,
    /// Time limit until it is ready.
    pub start_timeout: Nanos,
}

/// The driver.
#[derive(Clone, Debug, PartialEq)]
pub struct DriverPlan {
    /// Number of drivers: 1 is this process; more are units of their own, on the platform of the plan.
    pub count: u32,
    /// Whether a single driver is a unit too: `auto` (on platforms whose hosts are apart), `own` or `unit`.
    pub place: String,
    /// Worker threads; 0 means half the cores (the other half is the application's), at least one, and as
    /// many as the open files of all connections require.
    pub workers: usize,
    /// Treatment of users' idle connections.
    pub connections: Connections,
    /// Time limit of an operation.
    pub timeout: Nanos,
    /// The pause of a user after a failed operation that would otherwise be followed at once.
    pub failure_pause: Nanos,
    /// Worker threads of this process are scheduled ahead of all other processes, where the system permits it.
    pub realtime: bool,
    /// Length of an interval of the series.
    pub interval: Nanos,
    /// Time before a due start for which a worker polls instead of sleeping.
    pub poll: Nanos,
}

/// Treatment of users' idle connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// Keep them if the machine's limit of open files allows it for every user, else close them.
    Auto,
    /// Keep them from one operation to the next.
    Keep,
    /// Close them when an operation ends.
    Close,
}

impl Connections {
    /// The word in a plan.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Connections::Auto => "auto",
            Connections::Keep => "keep",
            Connections::Close => "close",
        }
    }
}

/// Longest time for which a worker polls before a start, in microseconds: ten times what a busy hypervisor takes to wake a core.
const MOST_POLL_US: u64 = 100_000;

/// Most users of one run: addresses and descriptors of one machine are limited.
pub const MOST_USERS: u64 = 1_000_000;

/// Most starts per second of one run: more than a machine can send.
pub const MOST_RATE: u32 = 10_000_000;

/// Largest scale of several loads, in percent.
pub const MOST_SCALE: u64 = 100_000;

/// Longest duration of any part: a day.
pub(crate) const LONGEST_S: u64 = 86_400;

/// Default of the fewest users worth a trial.
pub const DEFAULT_MIN_USERS: u32 = 100;

/// Default of the fewest starts per second worth a trial.
pub const DEFAULT_MIN_RATE: u32 = 10;

/// Fewest intervals of a measured window: the test for steadiness needs them, and a window without it is
/// never valid.
pub const FEWEST_INTERVALS: u32 = 4;

/// Reads all keys.
pub(crate) fn check(name: &str, g: &mut SettingsReader, catalogue: Catalogue<'_>) -> Option<Plan> {
    let workloads = catalogue.workloads;
    let names: Vec<&str> = workloads.iter().map(|keys| keys.name()).collect();
    let workload = g.word("workload", &names, names.first().unwrap_or(&""));
    // Keys of an unknown workload are those of the default.
    let keys = workload.as_ref().and_then(|name| catalogue.workload(name)).or(workloads.first().copied());
    let tiers = keys.map_or(&[][..], WorkloadKeys::tiers);
    let profile = g.word("profile", &[], "");
    let seed = g.number("seed", 0..=i64::MAX as u64, 1);
    let runs = g.word("runs", &[], "runs");
    let paths = g.choice("record_paths", &["relative", "absolute"], "relative");
    g.number(tiles::INSTANCES, 1..=tiles::MOST, 1);
    g.only_with("tiles", false, "[[loads]]");
    g.number("tiles", 1..=tiles::MOST, 1);
    let load = load(g);
    let data = data(g);
    let deploy = deploy(g, tiers, catalogue);
    let actions = actions(g, deploy.as_ref(), catalogue);
    let elasticity = elasticity(g);
    let target = target(g);
    let driver = driver(g);
    let power = power(g);
    let own =
        keys.map_or_else(|| Some(Arc::new(NoSettings) as Arc<dyn WorkloadSettings>), |keys| keys.read(g));
    for other in workloads.iter().filter(|other| keys.is_some_and(|keys| keys.name() != other.name())) {
        g.elsewhere(&format!("workload = {:?}", other.name()), |g| {
            other.read(g);
            limits(g, other.tiers());
        });
    }
    let LoadPlan { unit, strategy, operations, durations, open, tiles } = load?;
    let driver = driver?;
    if operations.is_none() {
        windows_can_be_judged(g, &strategy, &durations, driver.interval);
    }
    let (resolved, numbers) = (g.resolved(), numbers(g));
    let plan = Plan {
        name: name.into(),
        load: String::new(),
        letter: None,
        beside: Vec::new(),
        scale: None,
        tile: None,
        one_by_one: tiles.one_by_one,
        stagger: tiles.stagger,
        reference: tiles.reference,
        of_run: resolved.clone(),
        workload: workload?,
        profile: profile?,
        seed: seed?,
        unit,
        strategy,
        operations,
        open,
        durations,
        data: data?,
        deploy: deploy?,
        actions: actions?,
        elasticity: elasticity?,
        target: target?,
        driver,
        power: power?,
        own: own?,
        runs: runs?.into(),
        has_absolute_paths: paths? == "absolute",
        resolved,
        numbers_of_run: numbers.clone(),
        numbers,
        places: g.places(),
    };
    plan.own.check(&plan, g);
    let asks = keys.is_some_and(WorkloadKeys::asks_target);
    effects(g, &plan, ApplicationUse { deploys: keys.is_none() || !tiers.is_empty(), asks });
    Some(plan)
}

/// The settings that are numbers, by key.
pub(crate) fn numbers(g: &SettingsReader) -> BTreeMap<String, f64> {
    let number = |value: &Value| value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
    g.values().filter_map(|(key, value)| Some((key.to_owned(), number(value)?))).collect()
}

/// Refuses windows with too few intervals to be valid. A window of no length is as long as the trace.
pub(crate) fn windows_can_be_judged(
    g: &mut SettingsReader,
    strategy: &Strategy,
    d: &Durations,
    interval: Nanos,
) {
    let least = Nanos(interval.0 * u64::from(FEWEST_INTERVALS));
    let windows = match strategy {
        Strategy::Fixed { .. } => vec![("load.window_s".to_owned(), d.window)],
        Strategy::Search(_) => {
            let confirm = (d.confirm != d.window).then(|| ("load.confirm_s".to_owned(), d.confirm));
            [("load.window_s".to_owned(), d.window)].into_iter().chain(confirm).collect()
        }
        Strategy::Path(path) => {
            let holds = path.steps.iter().enumerate();
            holds.map(|(i, step)| (format!("load.path[{i}].hold_s"), step.hold)).collect()
        }
    };
    for (key, window) in windows.into_iter().filter(|(_, w)| *w < least && *w > Nanos::ZERO) {
        let (least_s, interval_ms) = (least.as_secs_f64(), interval.0 / 1_000_000);
        let least_s = if key.ends_with("hold_s") { least_s } else { least_s.ceil() };
        let allowed = format!(
            "at least {least_s}: {FEWEST_INTERVALS} intervals of driver.interval_ms = {interval_ms}, without which no \
             window is valid"
        );
        let remedy = "make it longer, or driver.interval_ms shorter";
        g.refuse(&key, window.as_secs_f64(), &allowed, remedy);
    }
}

fn data(g: &mut SettingsReader) -> Option<DataPlan> {
    let size = g.word("data.size", &[], "");
    let dir = g.word("data.dir", &[], "data");
    let snapshots = g.number("data.snapshots", 0..=1_000, 4);
    let snapshots_gb = g.fraction("data.snapshots_gb", 0.0..=1e6, 20.0);
    Some(DataPlan {
        size: size?,
        dir: dir?.into(),
        snapshots: snapshots? as u32,
        snapshots_gb: snapshots_gb?,
    })
}

fn target(g: &mut SettingsReader) -> Option<TargetPlan> {
    let url = g.optional_word("target.url", "where the target answers, as in \"http://127.0.0.1:8080\"");
    let port = g.number("target.port", 0..=65_535, 0);
    let start = g.number("target.start_timeout_s", 1..=3_600, 60);
    Some(TargetPlan { url: url?, port: port? as u16, start_timeout: Nanos::from_secs(start?) })
}

fn driver(g: &mut SettingsReader) -> Option<DriverPlan> {
    let count = g.number("driver.count", 1..=100, 1);
    let place = g.word("driver.place", &["auto", "own", "unit"], "auto");
    let workers = g.number("driver.workers", 0..=256, 0);
    let connections = g.word("driver.connections", &["auto", "keep", "close"], "auto");
    let timeout = g.time("driver.timeout_s", 0.001..=3_600.0, 60.0);
    let failure_pause = g.time("driver.failure_pause_s", 0.0..=3_600.0, 1.0);
    let interval = g.number("driver.interval_ms", 100..=60_000, 1_000);
    let realtime = g.flag("driver.realtime", false);
    let poll = g.number("driver.poll_us", 0..=MOST_POLL_US, 0);
    if realtime == Some(true)
        && let Some(poll @ 1..) = poll
    {
        // It would never let the others of its core run.
        g.refuse("driver.poll_us", poll, "0 with driver.realtime", "leave one of the two out");
    }
    if place.as_deref() == Some("own") && count.is_some_and(|count| count > 1) {
        g.refuse("driver.place", "\"own\"", "\"auto\" or \"unit\" with several drivers", "leave it out");
    }
    Some(DriverPlan {
        count: count? as u32,
        place: place?,
        workers: workers? as usize,
        connections: match connections?.as_str() {
            "keep" => Connections::Keep,
            "close" => Connections::Close,
            _ => Connections::Auto,
        },
        timeout: timeout?,
        failure_pause: failure_pause?,
        realtime: realtime?,
        interval: Nanos::from_millis(interval?),
        poll: Nanos(poll? * 1_000),
    })
}
