//! The keys of `[load]`: amount, unit, duration, and changes over time.

use std::path::PathBuf;

use barograph_model::{
    Durations, Level, LoadPath, LoadStep, LoadUnit, Nanos, SearchBounds, SearchMethod, Share, Stair, StartOf,
    Strategy,
};

use toml::Value;

use crate::durations;
use crate::plan::{ArrivalsPlan, LONGEST_S, MOST_RATE, MOST_SCALE, MOST_USERS, OpenPlan};
use crate::settings_reader::{SettingsReader, level_value};
use crate::tiles::{self, TileLoadPlan};

/// Most steps of a load path; more belong into `load.repeats`.
const MOST_STEPS: usize = 1_000;

/// Default number of arrivals that may wait for a free user: a stall of a second at 100,000 starts/s is kept,
/// in less than a megabyte.
const DEFAULT_MOST_WAITING: u64 = 100_000;

/// Most operations of a load that ends with them: more than any system does in a day. A load of this number ends with its
/// time, and has no steady state either.
pub const MOST_OPERATIONS: u64 = 1_000_000_000_000;

/// Default number of users, or of starts per second.
const DEFAULT_LEVEL: u32 = 1_000;

/// The settings of `[load]`.
pub(crate) struct LoadPlan {
    pub(crate) unit: LoadUnit,
    pub(crate) strategy: Strategy,
    pub(crate) operations: Option<u64>,
    pub(crate) durations: Durations,
    pub(crate) open: Option<OpenPlan>,
    pub(crate) tiles: TileLoadPlan,
}

/// Settings that decide which other keys belong into `[load]`; `None` if refused themselves, and then no
/// other key is refused because of them.
struct Shape {
    unit: Option<LoadUnit>,
    strategy: Option<String>,
    arrivals: Option<String>,
    /// Number of operations after which the load ends.
    operations: Option<u64>,
}

impl Shape {
    /// Reads the shape of all loads together, whose levels are a scale.
    fn of_all(g: &mut SettingsReader) -> Self {
        let strategy = g.word("load.strategy", &["search", "fixed", "path"], "search");
        g.only_with("load.operations", false, "one load, without [[loads]]");
        g.number("load.operations", 0..=MOST_OPERATIONS, 0);
        let arrivals = Some("constant".to_owned());
        Shape { unit: Some(LoadUnit::Scale), strategy, arrivals, operations: None }
    }

    fn read(g: &mut SettingsReader) -> Self {
        let strategy = g.word("load.strategy", &["search", "fixed", "path"], "search");
        let unit = g.word("load.unit", &["users", "rate"], "users").map(|unit| match unit.as_str() {
            "rate" => LoadUnit::PerSecond,
            _ => LoadUnit::Users,
        });
        g.only_with("load.arrivals", unit != Some(LoadUnit::Users), "load.unit = \"rate\"");
        let arrivals = g.word("load.arrivals", &["constant", "poisson", "trace"], "constant");
        let operations = operations(g, strategy.as_deref(), arrivals.as_deref());
        Shape { unit, strategy, arrivals, operations }
    }

    /// Whether levels of this unit belong into the plan.
    fn counts(&self, unit: LoadUnit) -> bool {
        self.unit.is_none_or(|is| is == unit)
    }

    fn is(&self, strategy: &str) -> bool {
        self.strategy.as_deref() == Some(strategy)
    }

    fn is_trace(&self) -> bool {
        self.unit == Some(LoadUnit::PerSecond) && self.arrivals.as_deref() == Some("trace")
    }
}

/// Number of operations after which a fixed load ends; `None` for one that continues.
fn operations(g: &mut SettingsReader, strategy: Option<&str>, arrivals: Option<&str>) -> Option<u64> {
    const KEY: &str = "load.operations";
    g.only_with(KEY, strategy.is_none_or(|strategy| strategy == "fixed"), "load.strategy = \"fixed\"");
    g.only_with(KEY, arrivals != Some("trace"), "load.arrivals = \"constant\" or \"poisson\"");
    g.number(KEY, 0..=MOST_OPERATIONS, 0).filter(|operations| *operations > 0)
}

pub(crate) fn load(g: &mut SettingsReader) -> Option<LoadPlan> {
    let shape = Shape::read(g);
    let open = open(g, &shape);
    shaped(g, shape, open)
}

/// The keys of `[load]` for several loads at once.
pub(crate) fn of_all(g: &mut SettingsReader) -> Option<LoadPlan> {
    let shape = Shape::of_all(g);
    shaped(g, shape, Some(None))
}

fn shaped(g: &mut SettingsReader, shape: Shape, open: Option<Option<OpenPlan>>) -> Option<LoadPlan> {
    let method = method(g, &shape);
    let durations = durations(g, &shape, method);
    let fixed = fixed(g, &shape);
    let bounds = bounds(g, &shape, (method, durations.as_ref().map_or(4, |d| d.1)));
    let path = path(g, &shape);
    let tiles = tiles::of_load(g, shape.unit == Some(LoadUnit::Scale));
    let (unit, open, durations) = (shape.unit?, open?, durations?.0);
    let strategy = match shape.strategy?.as_str() {
        "fixed" => fixed?,
        "path" => path?,
        _ => Strategy::Search(bounds?),
    };
    Some(LoadPlan { unit, strategy, operations: shape.operations, durations, open, tiles: tiles? })
}

/// The name of a level in keys.
fn level_name(unit: LoadUnit) -> &'static str {
    match unit {
        LoadUnit::Users => "users",
        LoadUnit::PerSecond => "rate",
        LoadUnit::Scale | LoadUnit::Tiles => "scale",
    }
}

/// A level of the plan's unit, under `load.users` or `load.rate`; the other key is refused.
fn level(g: &mut SettingsReader, shape: &Shape) -> Option<Level> {
    of_unit(g, shape, "", |g, key, unit| match unit {
        LoadUnit::PerSecond => g.rate(key, MOST_RATE, DEFAULT_LEVEL),
        LoadUnit::Users => g.number(key, 1..=MOST_USERS, DEFAULT_LEVEL.into()).map(|n| Level::from(n as u32)),
        // At 100 % each load has its own level.
        LoadUnit::Scale | LoadUnit::Tiles => {
            g.number(key, 1..=MOST_SCALE, 100).map(|n| Level::from(n as u32))
        }
    })
}

/// A level of a search, a whole number, under `load.{prefix}users` or `load.{prefix}rate`; 0 if left open.
fn whole_level(g: &mut SettingsReader, shape: &Shape, prefix: &str) -> Option<u32> {
    let found = of_unit(g, shape, prefix, |g, key, unit| g.number(key, 0..=most(unit), 0));
    found.map(|level| level as u32)
}

/// The highest level of a unit.
fn most(unit: LoadUnit) -> u64 {
    match unit {
        LoadUnit::Users => MOST_USERS,
        LoadUnit::PerSecond => MOST_RATE.into(),
        LoadUnit::Scale | LoadUnit::Tiles => MOST_SCALE,
    }
}

/// Reads the key of each unit, and returns that of the plan.
fn of_unit<T>(
    g: &mut SettingsReader,
    shape: &Shape,
    prefix: &str,
    read: impl Fn(&mut SettingsReader, &str, LoadUnit) -> Option<T>,
) -> Option<T> {
    let mut found = None;
    for unit in [LoadUnit::Users, LoadUnit::PerSecond, LoadUnit::Scale] {
        let key = format!("load.{prefix}{}", level_name(unit));
        match (unit, shape.unit) {
            (LoadUnit::Scale, of_plan) => g.only_with(&key, of_plan == Some(unit), "[[loads]]"),
            (_, Some(LoadUnit::Scale)) => {
                let scale = format!("load.{prefix}scale");
                let allowed =
                    format!("left out with several loads: {scale} is in percent of the level of each");
                g.foreign(&key, &allowed, &format!("set {scale}, or leave it out"));
            }
            _ => g.only_with(&key, shape.counts(unit), &format!("load.unit = \"{}\"", level_name(unit))),
        }
        let value = read(g, &key, unit);
        if shape.unit == Some(unit) {
            found = value;
        }
    }
    found
}

fn fixed(g: &mut SettingsReader, shape: &Shape) -> Option<Strategy> {
    g.only_with("load.rate", !shape.is_trace(), "load.arrivals = \"constant\" or \"poisson\"");
    let level = level(g, shape);
    g.only_with("load.windows", shape.operations.is_none(), "load.operations = 0");
    let windows = g.number("load.windows", 1..=1_000, 1);
    Some(Strategy::Fixed { level: level?, windows: windows? as u32 })
}

/// The method of a search; keys of one method do not belong to the others.
fn method(g: &mut SettingsReader, shape: &Shape) -> Option<SearchMethod> {
    let searches = shape.strategy.is_none() || shape.is("search");
    g.only_with("load.search", searches, "load.strategy = \"search\"");
    let method = g.word("load.search", &["posterior", "bisect", "findmax", "staircase"], "posterior");
    let is = |name: &str| searches && method.as_deref().is_none_or(|method| method == name);
    let (climbs, stairs) = (is("findmax") || is("staircase"), is("staircase"));
    let condition = "load.search = \"findmax\" or \"staircase\"";
    for key in ["load.stride_users", "load.stride_rate", "load.stride_scale"] {
        g.only_with(key, climbs, condition);
    }
    let step = whole_level(g, shape, "stride_");
    for key in ["load.least_gain", "load.most_cpu"] {
        g.only_with(key, stairs, "load.search = \"staircase\"");
    }
    let least_gain = g.fraction("load.least_gain", 0.0..=1.0, 0.01);
    let most_cpu = g.fraction("load.most_cpu", 0.1..=1.0, 1.0);
    let (step, least_gain, most_cpu) = (step?, least_gain?, most_cpu?);
    Some(match method?.as_str() {
        "bisect" => SearchMethod::Bisect,
        "findmax" => SearchMethod::FindMax { step },
        "staircase" => SearchMethod::Staircase(Stair {
            step,
            least_gain: Share::new(least_gain).ok()?,
            most_cpu: Share::new(most_cpu).ok()?,
        }),
        _ => SearchMethod::Posterior,
    })
}

fn bounds(
    g: &mut SettingsReader,
    shape: &Shape,
    (method, trials): (Option<SearchMethod>, u64),
) -> Option<SearchBounds> {
    let min = whole_level(g, shape, "min_");
    let max = whole_level(g, shape, "max_");
    // FindMax ends at a hundredth.
    let default = if matches!(method, Some(SearchMethod::FindMax { .. })) { 0.01 } else { 0.05 };
    let resolution = g.fraction("load.resolution", 0.001..=0.5, default);
    let max_trials = g.number("load.max_trials", 2..=1_000, trials);
    let (min, max) = (min?, max?);
    if max != 0 && min > max {
        let name = level_name(shape.unit?);
        g.refuse(
            &format!("load.min_{name}"),
            min,
            &format!("at most load.max_{name} = {max}"),
            &format!("lower load.min_{name} or raise load.max_{name}"),
        );
    }
    let (resolution, max_trials) = (Share::new(resolution?).ok()?, max_trials? as u32);
    Some(SearchBounds { min, max, resolution, max_trials, method: method? })
}

/// The durations, and the default number of trials of a search.
fn durations(
    g: &mut SettingsReader,
    shape: &Shape,
    method: Option<SearchMethod>,
) -> Option<(Durations, u64)> {
    let pace = g.word("load.duration", &durations::NAMES, "quick");
    let searches = method.filter(|_| shape.is("search"));
    let (mut default, trials) = durations::of(pace.as_deref().unwrap_or("quick"), searches);
    let is_trace = shape.is_trace();
    let is_counted = shape.operations.is_some();
    if shape.is("path") || is_trace || is_counted {
        // Each load begins in its own way, and a number of operations at once.
        (default.ramp, default.warm_up, default.settle) = (Nanos::ZERO, Nanos::ZERO, Nanos::ZERO);
    }
    let least_window = u64::from(!is_trace && !is_counted);
    if is_trace || is_counted {
        // As long as the trace, or as the operations take.
        default.window = Nanos::ZERO;
    }
    let seconds = |g: &mut SettingsReader, key: &str, least: u64, default: Nanos| {
        g.number(key, least..=LONGEST_S, default.0 / 1_000_000_000).map(Nanos::from_secs)
    };
    let ramp = seconds(g, "load.ramp_s", 0, default.ramp);
    let warm_up = seconds(g, "load.warm_up_s", 0, default.warm_up);
    let window = seconds(g, "load.window_s", least_window, default.window);
    let step = seconds(g, "load.step_s", 0, default.step);
    let settle = seconds(g, "load.settle_s", 0, default.settle);
    if searches == Some(SearchMethod::Posterior) {
        default.confirm = window.unwrap_or(default.confirm);
    }
    let confirm = seconds(g, "load.confirm_s", 1, default.confirm);
    let drain = seconds(g, "load.drain_s", 0, default.drain);
    let durations = Durations {
        ramp: ramp?,
        warm_up: warm_up?,
        window: window?,
        step: step?,
        settle: settle?,
        confirm: confirm?,
        drain: drain?,
    };
    Some((durations, trials))
}

/// Tables of `load.path`: `{ users = 500, over_s = 10, hold_s = 30 }`.
fn path(g: &mut SettingsReader, shape: &Shape) -> Option<Strategy> {
    let belongs = shape.strategy.is_none() || shape.is("path");
    for key in ["load.path", "load.repeats"] {
        g.only_with(key, belongs, "load.strategy = \"path\"");
    }
    let repeats = g.number("load.repeats", 1..=1_000_000, 1);
    let tables =
        g.tables("load.path", MOST_STEPS, "a list like [{ users = 500, over_s = 10, hold_s = 30 }]")?;
    let unit = shape.unit?;
    let steps: Vec<Option<LoadStep>> = (0..tables).map(|at| step(g, unit, at)).collect();
    let steps: Vec<LoadStep> = steps.into_iter().collect::<Option<_>>()?;
    if !shape.is("path") {
        return None;
    }
    if !steps.iter().any(|step| step.hold > Nanos::ZERO && step.level > Level::ZERO) {
        let allowed = "at least one step that holds some load: only held levels are measured and judged";
        g.refuse("load.path", format!("{tables} steps"), allowed, "give a step a level and hold_s");
        return None;
    }
    g.keep("load.path", steps.iter().map(|step| as_table(step, unit)).collect::<Vec<Value>>());
    Some(Strategy::Path(LoadPath { steps, repeats: repeats? as u32 }))
}

fn step(g: &mut SettingsReader, unit: LoadUnit, at: usize) -> Option<LoadStep> {
    let key = |name: &str| format!("load.path[{at}].{name}");
    let name = key(level_name(unit));
    let level = match unit {
        LoadUnit::PerSecond => g.required_rate(&name, MOST_RATE),
        unit => g.required_number(&name, 0..=most(unit)).map(|n| Level::from(n as u32)),
    };
    let other = level_name(if unit == LoadUnit::Users { LoadUnit::PerSecond } else { LoadUnit::Users });
    g.only_with(&key(other), false, &format!("load.unit = \"{other}\""));
    let over = g.seconds(&key("over_s"), LONGEST_S, Nanos::ZERO);
    let hold = g.seconds(&key("hold_s"), LONGEST_S, Nanos::ZERO);
    Some(LoadStep { level: level?, over: over?, hold: hold? })
}

fn as_table(step: &LoadStep, unit: LoadUnit) -> Value {
    let mut table = toml::Table::new();
    table.insert(level_name(unit).to_owned(), level_value(step.level));
    table.insert("over_s".to_owned(), step.over.as_secs_f64().into());
    table.insert("hold_s".to_owned(), step.hold.as_secs_f64().into());
    Value::Table(table)
}

/// Starts of operations in an open loop; `Some(None)` in a closed one.
fn open(g: &mut SettingsReader, shape: &Shape) -> Option<Option<OpenPlan>> {
    const A_FILE: &str = "a file with an instant per line, in seconds from the start of the load";
    let may_be_open = shape.counts(LoadUnit::PerSecond);
    for key in ["load.trace", "load.start_of", "load.most_users", "load.most_waiting"] {
        g.only_with(key, may_be_open, "load.unit = \"rate\"");
    }
    g.only_with("load.start_of", shape.operations.is_none(), "load.operations = 0");
    let start_of = g.word("load.start_of", &["operation", "session"], "operation");
    let most_users = g.number("load.most_users", 0..=MOST_USERS, 0);
    let most_waiting = g.number("load.most_waiting", 0..=MOST_RATE.into(), DEFAULT_MOST_WAITING);
    let is_trace = shape.is_trace();
    g.only_with("load.trace", is_trace || shape.arrivals.is_none(), "load.arrivals = \"trace\"");
    let trace = g.optional_word("load.trace", A_FILE)?;
    if is_trace && shape.strategy.as_deref().is_some_and(|strategy| strategy != "fixed") {
        let allowed =
            "constant or poisson with this load.strategy; a trace has no level to search or to change";
        g.refuse("load.arrivals", "\"trace\"", allowed, "set load.strategy = \"fixed\"");
    }
    let arrivals = match (shape.arrivals.as_deref()?, trace) {
        ("poisson", _) => ArrivalsPlan::Poisson,
        ("trace", Some(file)) => ArrivalsPlan::Trace(PathBuf::from(file)),
        ("trace", None) if is_trace => {
            g.refuse("load.trace", "nothing", A_FILE, "name the file, or choose other load.arrivals");
            return None;
        }
        _ => ArrivalsPlan::Constant,
    };
    let start_of = if start_of? == "session" { StartOf::Session } else { StartOf::Operation };
    let (most_users, most_waiting) = (most_users? as u32, most_waiting? as u32);
    let is_open = shape.unit? == LoadUnit::PerSecond;
    Some(is_open.then_some(OpenPlan { arrivals, start_of, most_users, most_waiting }))
}
