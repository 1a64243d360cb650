//! Every setting a user can make: its key, what is allowed, its default. The only such list.

use std::collections::BTreeMap;
use std::path::PathBuf;

use barograph_model::{Durations, Nanos, SearchBounds, Share, Strategy};

use crate::durations;
use crate::given::Given;

/// A checked plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What the plan is called: the path it was read from.
    pub name: String,
    /// Name of the workload.
    pub workload: String,
    /// Name of the workload's profile.
    pub profile: String,
    /// Start of all randomness of the run's users and of the fill.
    pub seed: u64,
    /// Fixed load, or a search. A search's `max_users` of 0 stands for "what the data admits", its `min_users` of 0 for
    /// [`DEFAULT_MIN_USERS`], or fewer where there cannot be so many.
    pub strategy: Strategy,
    /// How long the parts take.
    pub durations: Durations,
    /// The data the application starts with.
    pub data: DataPlan,
    /// The application.
    pub target: TargetPlan,
    /// The driver.
    pub driver: DriverPlan,
    /// Folder that holds the records.
    pub runs: PathBuf,
    /// The plan with every default filled in, as TOML.
    pub resolved: String,
    /// Where each key that was given stands: `file:line`, or `--set`.
    pub places: BTreeMap<String, String>,
}

impl Plan {
    /// Where `key` stands; the plan's name when it was left to its default.
    #[must_use]
    pub fn place(&self, key: &str) -> &str {
        self.places.get(key).unwrap_or(&self.name)
    }
}

/// The data the application starts with.
#[derive(Clone, Debug, PartialEq)]
pub struct DataPlan {
    /// Name of the size.
    pub size: String,
    /// Depth of history, future and attendance relative to the published ratios; 0 means the workload's default for the size.
    pub history: f64,
    /// Bytes of pictures relative to the published ones; 0 means the workload's default for the size.
    pub images: f64,
    /// Folder that holds filled data sets, each in a folder of its own.
    pub dir: PathBuf,
}

/// The application.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetPlan {
    /// Port on the loopback address; 0 takes a free one.
    pub port: u16,
    /// Threads of the application; 0 means one per core.
    pub threads: usize,
    /// How long it may take to become ready.
    pub start_timeout: Nanos,
}

/// The driver.
#[derive(Clone, Debug, PartialEq)]
pub struct DriverPlan {
    /// Worker threads; 0 means half the cores, at least one: the other half is the application's.
    pub workers: usize,
    /// What users do with connections they do not use.
    pub connections: Connections,
    /// An operation without an answer for this long is timed out.
    pub timeout: Nanos,
    /// Length of an interval of the series.
    pub interval: Nanos,
}

/// What users do with connections they do not use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// Keep them if the machine's limit of open files allows it for every user, else close them.
    Auto,
    /// Keep them from one operation to the next.
    Keep,
    /// Close them when an operation ends.
    Close,
}

/// Most users of one run: addresses and descriptors of one machine end somewhere.
const MOST_USERS: u64 = 1_000_000;

/// Longest duration of any part: a day.
const LONGEST_S: u64 = 86_400;

/// Fewest users worth a trial, unless the plan says otherwise.
pub const DEFAULT_MIN_USERS: u32 = 100;

/// Fewest intervals of a measured window: the test for steadiness needs so many, and a window without it is never valid.
pub const FEWEST_INTERVALS: u32 = 4;

pub(crate) fn check(name: &str, g: &mut Given) -> Option<Plan> {
    let workload = g.word("workload", &[], "auction");
    let profile = g.word("profile", &[], "official2");
    let seed = g.number("seed", 0..=i64::MAX as u64, 1);
    let runs = g.word("runs", &[], "runs");
    let load = load(g);
    let data = data(g);
    let target = target(g);
    let driver = driver(g);
    let (strategy, durations) = load?;
    let driver = driver?;
    windows_can_be_judged(g, &strategy, &durations, driver.interval);
    Some(Plan {
        name: name.into(),
        workload: workload?,
        profile: profile?,
        seed: seed?,
        strategy,
        durations,
        data: data?,
        target: target?,
        driver,
        runs: runs?.into(),
        resolved: g.resolved(),
        places: g.places(),
    })
}

/// Refuses windows of so few intervals that they could never be valid.
fn windows_can_be_judged(g: &mut Given, strategy: &Strategy, d: &Durations, interval: Nanos) {
    let least = Nanos(interval.0 * u64::from(FEWEST_INTERVALS));
    let mut windows = vec![("load.window_s", d.window)];
    if matches!(strategy, Strategy::Search(_)) {
        windows.push(("load.confirm_s", d.confirm));
    }
    for (key, window) in windows.into_iter().filter(|(_, window)| *window < least) {
        let (least_s, interval_ms) = (least.0.div_ceil(1_000_000_000), interval.0 / 1_000_000);
        let allowed = format!(
            "at least {least_s}: {FEWEST_INTERVALS} intervals of driver.interval_ms = {interval_ms}, without which no \
             window is valid"
        );
        g.refuse(key, window.0 / 1_000_000_000, &allowed, "make it longer, or driver.interval_ms shorter");
    }
}

fn load(g: &mut Given) -> Option<(Strategy, Durations)> {
    let strategy = g.word("load.strategy", &["search", "fixed"], "search");
    let pace = g.word("load.duration", &durations::NAMES, "quick");
    let (default, trials) = durations::of(pace.as_deref().unwrap_or("quick"));
    let seconds = |g: &mut Given, key: &str, least: u64, default: Nanos| {
        g.number(key, least..=LONGEST_S, default.0 / 1_000_000_000).map(Nanos::from_secs)
    };
    let ramp = seconds(g, "load.ramp_s", 0, default.ramp);
    let warm_up = seconds(g, "load.warm_up_s", 0, default.warm_up);
    let window = seconds(g, "load.window_s", 1, default.window);
    let step = seconds(g, "load.step_s", 0, default.step);
    let settle = seconds(g, "load.settle_s", 0, default.settle);
    let confirm = seconds(g, "load.confirm_s", 1, default.confirm);
    let drain = seconds(g, "load.drain_s", 0, default.drain);
    let users = g.number("load.users", 1..=MOST_USERS, 1_000);
    let windows = g.number("load.windows", 1..=1_000, 1);
    let min_users = g.number("load.min_users", 0..=MOST_USERS, 0);
    let max_users = g.number("load.max_users", 0..=MOST_USERS, 0);
    let resolution = g.fraction("load.resolution", 0.001..=0.5, 0.05);
    let max_trials = g.number("load.max_trials", 2..=1_000, trials);
    let (min_users, max_users) = (min_users? as u32, max_users? as u32);
    if max_users != 0 && min_users > max_users {
        g.refuse(
            "load.min_users",
            min_users,
            &format!("at most load.max_users = {max_users}"),
            "lower load.min_users or raise load.max_users",
        );
    }
    let resolution = Share::new(resolution?).ok()?;
    let bounds = SearchBounds { min_users, max_users, resolution, max_trials: max_trials? as u32 };
    let fixed = Strategy::Fixed { users: users? as u32, windows: windows? as u32 };
    let strategy = if strategy? == "fixed" { fixed } else { Strategy::Search(bounds) };
    let durations = Durations {
        ramp: ramp?,
        warm_up: warm_up?,
        window: window?,
        step: step?,
        settle: settle?,
        confirm: confirm?,
        drain: drain?,
    };
    Some((strategy, durations))
}

fn data(g: &mut Given) -> Option<DataPlan> {
    let size = g.word("data.size", &[], "");
    let history = g.fraction("data.history", 0.0..=1.0, 0.0);
    let images = g.fraction("data.images", 0.0..=1.0, 0.0);
    let dir = g.word("data.dir", &[], "data");
    Some(DataPlan { size: size?, history: history?, images: images?, dir: dir?.into() })
}

fn target(g: &mut Given) -> Option<TargetPlan> {
    let port = g.number("target.port", 0..=65_535, 0);
    let threads = g.number("target.threads", 0..=1_024, 0);
    let start = g.number("target.start_timeout_s", 1..=3_600, 60);
    Some(TargetPlan {
        port: port? as u16,
        threads: threads? as usize,
        start_timeout: Nanos::from_secs(start?),
    })
}

fn driver(g: &mut Given) -> Option<DriverPlan> {
    let workers = g.number("driver.workers", 0..=256, 0);
    let connections = g.word("driver.connections", &["auto", "keep", "close"], "auto");
    let timeout = g.number("driver.timeout_s", 1..=3_600, 60);
    let interval = g.number("driver.interval_ms", 100..=60_000, 1_000);
    Some(DriverPlan {
        workers: workers? as usize,
        connections: match connections?.as_str() {
            "keep" => Connections::Keep,
            "close" => Connections::Close,
            _ => Connections::Auto,
        },
        timeout: Nanos::from_secs(timeout?),
        interval: Nanos::from_millis(interval?),
    })
}
