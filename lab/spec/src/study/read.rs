//! Reads a study's file, with refusals like those of plans.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use barograph_model::{BetterWhen, ChosenWindow, Metric, Refusals};
use toml::Value;

use super::{
    Configuration, Crossing, Divisor, Factor, Level, MOST_CONFIGURATIONS, MOST_METRICS, MetricPlan, Repeats,
    Study, beside, named, of_load,
};
use crate::settings_reader::SettingsReader;
use crate::{Setting, WorkloadKeys};

/// Most levels of one factor.
const MOST_LEVELS: usize = 50;

/// Most blocks of one study.
const MOST_BLOCKS: u64 = 10_000;

/// Most blocks of warm-up: a system that has not settled after them does not settle by running.
const MOST_WARM_UP_BLOCKS: u64 = 100;

/// Largest number of a level or a limit: far beyond usual counts, and readable in a refusal.
const LARGEST: f64 = 1e12;

/// Default number of blocks: enough to resolve about 10 % on a busy machine.
const BLOCKS: u64 = 10;

/// Reads a study of the metrics common to all runs. `name` is its name in refusals: its path.
pub fn read(name: &str, text: &str) -> Result<Study, Refusals> {
    read_with(&[], name, text)
}

/// Reads a study, which may name the measures of `workloads`.
pub fn read_with(workloads: &[&'static dyn WorkloadKeys], name: &str, text: &str) -> Result<Study, Refusals> {
    let mut given = SettingsReader::parse(name, text, &[])?;
    let measures = workloads.iter().flat_map(|workload| workload.measures()).map(Metric::Measure);
    let statistics = workloads.iter().flat_map(|workload| workload.statistics()).map(Metric::Statistic);
    let mut known: Vec<Metric> = Metric::ALL.to_vec();
    for metric in measures.chain(statistics) {
        // Workloads of a family have some in common.
        if known.iter().all(|other| other.name() != metric.name()) {
            known.push(metric);
        }
    }
    let study = check(name, &mut given, &known);
    let mut refusals = given.finish();
    for refusal in &mut refusals {
        // In a study the command that lists the keys of plans does not help.
        if refusal.remedy.contains("barograph list keys") {
            "remove the key; docs/studies.md names all of them".clone_into(&mut refusal.remedy);
        }
        if refusal.allowed == "a TOML document" {
            "correct the line; `barograph study --dry-run` reads a study without running it"
                .clone_into(&mut refusal.remedy);
        }
    }
    match study {
        Some(study) if refusals.is_empty() => Ok(study),
        _ => Err(Refusals(refusals)),
    }
}

fn check(name: &str, g: &mut SettingsReader, known: &[Metric]) -> Option<Study> {
    let question = required(g, "question", "the question that the study answers, as a sentence");
    let plan = required(g, "plan", "the plan that all configurations begin with, beside the study");
    let settings = settings(g, "settings");
    let seed = g.number("seed", 0..=i64::MAX as u64, 1);
    let control = g.flag("control", true);
    let again = g.number("again", 0..=20, 1);
    let margin = g.fraction("margin", 0.0..=1.0, 0.01);
    let repeats = repeats(g);
    let warm_up_blocks = g.number("warm_up_blocks", 0..=MOST_WARM_UP_BLOCKS, 0);
    let factors = factors(g);
    let metrics = metrics(g, known, margin.unwrap_or(0.01));
    let of_levels = factors.as_ref().zip(metrics).and_then(|(factors, metrics)| only(g, factors, metrics));
    let (Some(factors), Some(metrics)) = (factors, of_levels) else {
        // Keys are not refused because of others that were refused themselves.
        ["configurations", "baseline", "crossing"].iter().for_each(|key| g.leave(key));
        (0..MOST_METRICS).for_each(|at| g.leave(&format!("metric[{at}].only")));
        return None;
    };
    let configurations = configurations(g, &factors);
    let baseline = baseline(g, &factors);
    let crossings = crossings(g, &factors, &metrics);
    let study = Study {
        name: name.to_owned(),
        question: question?,
        plan: beside(name, &plan?),
        settings,
        factors,
        configurations: configurations?,
        baseline: baseline?,
        control: control?,
        warm_up_blocks: warm_up_blocks? as u32,
        repeats: repeats?,
        again: again? as u32,
        seed: seed?,
        margin: margin?,
        metrics,
        crossings: crossings?,
    };
    every_configuration_has_a_baseline(g, &study);
    something_is_compared(g, &study);
    Some(study)
}

/// A required text.
fn required(g: &mut SettingsReader, key: &str, what: &str) -> Option<String> {
    let taken = g.optional_word(key, what)?;
    if taken.is_none() {
        g.refuse(key, "nothing", what, "give it a value");
    }
    taken
}

/// The keys of a plan below `prefix`.
fn settings(g: &mut SettingsReader, prefix: &str) -> Vec<Setting> {
    let below = g.below(prefix).into_iter();
    below.map(|(key, value, place)| Setting { key, value: value.to_string(), place }).collect()
}

fn repeats(g: &mut SettingsReader) -> Option<Repeats> {
    let blocks = g.number("repeats", 1..=MOST_BLOCKS, BLOCKS);
    let width = g.fraction("width", 0.0..=10.0, 0.0);
    let most = g.number("most_repeats", 1..=MOST_BLOCKS, blocks.unwrap_or(BLOCKS).max(4 * BLOCKS));
    let (blocks, width, most) = (blocks?, width?, most?);
    if most < blocks {
        let allowed = format!("at least repeats = {blocks}");
        g.refuse("most_repeats", most, &allowed, "raise it, or lower repeats");
    }
    let width = Some(width).filter(|width| *width > 0.0);
    Some(Repeats { blocks: blocks as u32, width, most: if width.is_some() { most } else { blocks } as u32 })
}

fn factors(g: &mut SettingsReader) -> Option<Vec<Factor>> {
    let count = g.tables("factor", 10, "a list of tables [[factor]] with `name` and `levels`, at most 10")?;
    let factors: Vec<Option<Factor>> = (0..count).map(|at| factor(g, &format!("factor[{at}]"))).collect();
    let factors: Vec<Factor> = factors.into_iter().collect::<Option<_>>()?;
    unique(g, "factor", factors.iter().map(|factor| factor.name.as_str()));
    Some(factors)
}

fn factor(g: &mut SettingsReader, at: &str) -> Option<Factor> {
    let name = g.listed_word(&format!("{at}.name"), &[]);
    let key = format!("{at}.levels");
    let allowed = format!("a list of 1 to {MOST_LEVELS} tables with `name` and `set`");
    let count = g.tables(&key, MOST_LEVELS, &allowed)?;
    if count == 0 {
        g.refuse(&key, "nothing", &allowed, "give the factor its levels");
        return None;
    }
    let levels: Vec<Option<Level>> = (0..count).map(|n| level(g, &format!("{key}[{n}]"))).collect();
    let levels: Vec<Level> = levels.into_iter().collect::<Option<_>>()?;
    unique(g, &key, levels.iter().map(|level| level.name.as_str()));
    if levels.iter().all(|level| level.on_request) {
        let allowed = "a level without on_request, which is run unless another one is asked for";
        g.refuse(&key, "none", allowed, "leave on_request of a level out");
        return None;
    }
    Some(Factor { name: name?, levels })
}

fn level(g: &mut SettingsReader, at: &str) -> Option<Level> {
    let name = g.listed_word(&format!("{at}.name"), &[]);
    let value = g.fraction(&format!("{at}.value"), -LARGEST..=LARGEST, f64::NAN);
    let on_request = g.flag(&format!("{at}.on_request"), false);
    let settings = settings(g, &format!("{at}.set"));
    let (name, on_request) = (name?, on_request?);
    // A name that is a number is also the level's value.
    let value = value.filter(|value| !value.is_nan()).or_else(|| name.parse().ok());
    Some(Level { value: value.filter(|value| value.is_finite()), name, settings, on_request })
}

/// Refuses duplicate names.
fn unique<'n>(g: &mut SettingsReader, key: &str, names: impl Iterator<Item = &'n str>) {
    let mut seen = BTreeSet::new();
    let twice: Vec<String> = names.filter(|name| !seen.insert(*name)).map(str::to_owned).collect();
    for name in twice {
        g.refuse(key, format!("{name:?}"), "a name of its own for each", "rename one of them");
    }
}

/// The index of a level by its name.
fn level_of(g: &mut SettingsReader, key: &str, factor: &Factor, name: &str) -> Option<usize> {
    let found = factor.levels.iter().position(|level| level.name == name);
    if found.is_none() {
        let names: Vec<&str> = factor.levels.iter().map(|level| level.name.as_str()).collect();
        let allowed = format!("one of {}, the levels of {}", names.join(", "), factor.name);
        g.refuse(key, format!("{name:?}"), &allowed, "name one of them");
    }
    found
}

fn configurations(g: &mut SettingsReader, factors: &[Factor]) -> Option<Vec<Configuration>> {
    let allowed = format!("a list of 1 to {MOST_CONFIGURATIONS} tables with a level for each factor");
    let listed = g.tables("configurations", MOST_CONFIGURATIONS, &allowed)?;
    let all = if listed == 0 {
        combinations(factors)
    } else {
        let all: Vec<Option<Vec<usize>>> =
            (0..listed).map(|at| listed_levels(g, &format!("configurations[{at}]"), factors)).collect();
        all.into_iter().collect::<Option<_>>()?
    };
    if all.len() > MOST_CONFIGURATIONS {
        let allowed = format!("at most {MOST_CONFIGURATIONS} combinations of levels");
        let remedy = "list those that are of interest as `configurations`";
        g.refuse("factor", format!("{} combinations", all.len()), &allowed, remedy);
        return None;
    }
    let named = all.into_iter().map(|levels| Configuration { name: name_of(factors, &levels), levels });
    let named: Vec<Configuration> = named.collect();
    unique(g, "configurations", named.iter().map(|configuration| configuration.name.as_str()));
    Some(named)
}

fn listed_levels(g: &mut SettingsReader, at: &str, factors: &[Factor]) -> Option<Vec<usize>> {
    let mut levels = Vec::new();
    for factor in factors {
        let key = format!("{at}.{}", factor.name);
        let name = g.listed_word(&key, &[])?;
        levels.push(level_of(g, &key, factor, &name)?);
    }
    Some(levels)
}

/// Every combination of levels, the last factor varying fastest. A single empty one without factors.
fn combinations(factors: &[Factor]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for factor in factors {
        let longer = |levels: Vec<usize>| {
            (0..factor.levels.len()).map(move |level| levels.iter().copied().chain([level]).collect())
        };
        all = all.into_iter().flat_map(longer).take(MOST_CONFIGURATIONS + 1).collect();
    }
    all
}

fn name_of(factors: &[Factor], levels: &[usize]) -> String {
    if factors.is_empty() {
        return "as planned".to_owned();
    }
    let parts = factors.iter().zip(levels).map(|(factor, at)| {
        let level = &factor.levels[*at].name;
        format!("{} {level}", factor.name)
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// Per factor the level of the baseline: by default the first, or as named, or `same`.
fn baseline(g: &mut SettingsReader, factors: &[Factor]) -> Option<Vec<Option<usize>>> {
    let mut baseline = Vec::new();
    for factor in factors {
        let key = format!("baseline.{}", factor.name);
        let level = g.word(&key, &[], &factor.levels[0].name)?;
        let is_level = factor.levels.iter().any(|known| known.name == level);
        baseline.push(match level.as_str() {
            "same" if !is_level => None,
            name => Some(level_of(g, &key, factor, name)?),
        });
    }
    Some(baseline)
}

fn metrics(g: &mut SettingsReader, known: &[Metric], margin: f64) -> Option<Vec<MetricPlan>> {
    let allowed = format!("a list of 1 to {MOST_METRICS} tables [[metric]] with `of`");
    let count = g.tables("metric", MOST_METRICS, &allowed)?;
    if count == 0 {
        g.refuse("metric", "nothing", &allowed, "say what is compared");
        return None;
    }
    let metrics: Vec<Option<MetricPlan>> =
        (0..count).map(|at| metric(g, &format!("metric[{at}]"), known, margin)).collect();
    let metrics: Vec<MetricPlan> = metrics.into_iter().collect::<Option<_>>()?;
    unique(g, "metric", metrics.iter().map(|metric| metric.label.as_str()));
    Some(metrics)
}

fn metric(g: &mut SettingsReader, at: &str, known: &[Metric], margin: f64) -> Option<MetricPlan> {
    let names: Vec<&str> = known.iter().map(|metric| metric.name()).collect();
    let of = g.listed_word(&format!("{at}.of"), &names);
    let metric = of.and_then(|name| known.iter().copied().find(|metric| metric.name() == name));
    let of_operation = metric.is_none_or(Metric::is_of_operation);
    let key = format!("{at}.operation");
    g.only_with(&key, of_operation, "a metric of response or service times");
    let operation = match metric {
        Some(metric) if metric.is_of_operation() => g.listed_word(&key, &[]).map(Some),
        Some(_) => Some(None),
        None => {
            g.leave(&key);
            None
        }
    };
    let ways = ["higher", "lower"];
    let key = format!("{at}.better");
    let load = g.optional_word(&format!("{at}.load"), "the name of a load of the plan");
    let better = match metric.map_or(BetterWhen::Lower, Metric::better) {
        BetterWhen::Higher => g.word(&key, &ways, "higher"),
        BetterWhen::Lower => g.word(&key, &ways, "lower"),
        BetterWhen::Neither => g.listed_word(&key, &ways),
    };
    let margin = g.fraction(&format!("{at}.margin"), 0.0..=1.0, margin);
    let window = window(g, &format!("{at}.window"), metric);
    let per = divisor(g, &format!("{at}.per"), metric);
    let key = format!("{at}.scaling");
    let is_divided = !matches!(per, Some(None));
    let scaling = g.flag(&key, metric == Some(Metric::Capacity) && !is_divided);
    if scaling == Some(true) && matches!(per, Some(Some(_))) {
        let remedy = "leave it out here, and add a [[metric]] without `per` for the growth";
        g.refuse(&key, true, "false with `per`: what is divided is no speed of the whole", remedy);
    }
    let by_pair = g.flag(&format!("{at}.by_pair"), false)?;
    let (metric, operation, better, margin, scaling) = (metric?, operation?, better?, margin?, scaling?);
    let (per, load, window) = (per?, load?, window?);
    let name = named(metric.name(), (operation.as_deref(), window), per.as_ref());
    let label = of_load(load.as_deref(), &name);
    let more_is_better = better == "higher";
    let only = Vec::new();
    Some(MetricPlan {
        label,
        load,
        metric,
        operation,
        window,
        per,
        more_is_better,
        margin,
        scaling,
        by_pair,
        only,
    })
}

/// The same metrics with the levels that have them.
fn only(g: &mut SettingsReader, factors: &[Factor], mut metrics: Vec<MetricPlan>) -> Option<Vec<MetricPlan>> {
    let mut is_right = true;
    for (at, metric) in metrics.iter_mut().enumerate() {
        for (place, factor) in factors.iter().enumerate() {
            let key = format!("metric[{at}].only.{}", factor.name);
            let allowed = format!("LEVEL,LEVEL with levels of {}", factor.name);
            let Some(Some(names)) = g.optional_word(&key, &allowed) else { continue };
            let levels = names.split(',').map(|name| level_of(g, &key, factor, name.trim()));
            let levels: Option<Vec<usize>> = levels.collect();
            is_right &= levels.is_some();
            metric.only.extend(levels.map(|levels| (place, levels)));
        }
    }
    is_right.then_some(metrics)
}

/// The window that the figures of `metric` are of.
fn window(g: &mut SettingsReader, key: &str, metric: Option<Metric>) -> Option<ChosenWindow> {
    let word = g.word(key, &ChosenWindow::ALL.map(ChosenWindow::name), ChosenWindow::Deciding.name())?;
    let chosen = ChosenWindow::ALL.into_iter().find(|known| known.name() == word)?;
    if let Some(metric) = metric.filter(|metric| !metric.is_of_window() && chosen != ChosenWindow::Deciding) {
        let allowed = format!("left out with {}, which is of the whole run", metric.name());
        g.refuse(key, format!("{word:?}"), &allowed, "leave it out, or compare something of a window");
        return None;
    }
    Some(chosen)
}

/// The divisor of the figures of `metric`, if any.
fn divisor(g: &mut SettingsReader, key: &str, metric: Option<Metric>) -> Option<Option<Divisor>> {
    let known = Metric::DIVISORS.into_iter().filter(|divisor| Some(*divisor) != metric);
    let known: Vec<&str> = known.map(Metric::name).collect();
    let allowed = format!(
        "one of {}, or a key of the plan that is a number, as in deploy.application_nodes",
        known.join(", ")
    );
    let Some(name) = g.optional_word(key, &allowed)? else { return Some(None) };
    if let Some(measured) = Metric::of_name(&name).filter(|_| known.contains(&name.as_str())) {
        return Some(Some(Divisor::Measured(measured)));
    }
    // The existence and type of the key are checked once there are plans.
    let is_of_key = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.contains('.') && name.chars().all(is_of_key) {
        return Some(Some(Divisor::Planned(name)));
    }
    g.refuse(key, format!("{name:?}"), &allowed, "name one of them, or leave the key out");
    None
}

fn crossings(g: &mut SettingsReader, factors: &[Factor], metrics: &[MetricPlan]) -> Option<Vec<Crossing>> {
    let allowed = "a list of 1 to 20 tables [[crossing]] with `factor`, `metric` and `limit`";
    let count = g.tables("crossing", 20, allowed)?;
    let crossings: Vec<Option<Crossing>> =
        (0..count).map(|at| crossing(g, &format!("crossing[{at}]"), factors, metrics)).collect();
    crossings.into_iter().collect()
}

fn crossing(
    g: &mut SettingsReader,
    at: &str,
    factors: &[Factor],
    metrics: &[MetricPlan],
) -> Option<Crossing> {
    let names: Vec<&str> = factors.iter().filter(|f| f.is_numeric()).map(|f| f.name.as_str()).collect();
    let key = format!("{at}.factor");
    let factor = g.listed_word(&key, &[]);
    let place = factor.as_ref().and_then(|name| factors.iter().position(|f| f.name == *name));
    let numeric = place.is_some_and(|place| factors[place].is_numeric());
    if let Some(name) = factor.filter(|_| !numeric) {
        let allowed = format!("a factor whose levels all have a number; here: {}", names.join(", "));
        g.refuse(&key, format!("{name:?}"), &allowed, "give each level a `value`, or name another factor");
    }
    let labels: Vec<&str> = metrics.iter().map(|metric| metric.label.as_str()).collect();
    let metric = g.listed_word(&format!("{at}.metric"), &labels);
    let limit = g.listed_fraction(&format!("{at}.limit"), 0.0..=LARGEST)?;
    if limit == 0.0 {
        g.refuse(&format!("{at}.limit"), "nothing", "a number above 0", "say where the line is");
        return None;
    }
    let metric = metric?;
    let metric = metrics.iter().position(|known| known.label == metric)?;
    Some(Crossing { factor: place.filter(|_| numeric)?, metric, limit })
}

/// Refuses configurations whose baseline is not run.
fn every_configuration_has_a_baseline(g: &mut SettingsReader, study: &Study) {
    let missing = study.configurations.iter().find(|c| study.baseline_of(c).is_none());
    if let Some(configuration) = missing {
        let allowed = "a baseline among the configurations for each of them";
        let remedy = "list the baseline too, or name levels that are run in [baseline]";
        g.refuse("configurations", format!("{:?} without it", configuration.name), allowed, remedy);
    }
}

/// Refuses a study of one configuration without a control: it would compare nothing.
fn something_is_compared(g: &mut SettingsReader, study: &Study) {
    if study.configurations.len() == 1 && !study.control {
        let allowed = "true where there is only one configuration";
        g.refuse("control", false, allowed, "add a [[factor]], or leave the control on");
    }
}

/// The study with all defaults filled in, as TOML.
pub(super) fn resolved(study: &Study) -> String {
    let mut text = String::new();
    let mut line = |words: String| writeln!(text, "{words}").expect("writing to memory cannot fail");
    line(format!("question = {}", quoted(&study.question)));
    line(format!("plan = {}", quoted(&study.plan.display().to_string())));
    line(format!("seed = {}", study.seed));
    line(format!("control = {}", study.control));
    line(format!("again = {}", study.again));
    line(format!("margin = {:?}", study.margin));
    line(format!("repeats = {}", study.repeats.blocks));
    // Left out if it is zero, so that studies begun before this key existed can continue.
    if study.warm_up_blocks > 0 {
        line(format!("warm_up_blocks = {}", study.warm_up_blocks));
    }
    if let Some(width) = study.repeats.width {
        line(format!("width = {width:?}\nmost_repeats = {}", study.repeats.most));
    }
    let levels = |levels: &[usize]| {
        let parts = study.factors.iter().zip(levels);
        let parts = parts.map(|(f, at)| format!("{} = {}", quoted(&f.name), quoted(&f.levels[*at].name)));
        parts.collect::<Vec<_>>().join(", ")
    };
    if !study.factors.is_empty() {
        let all = study.configurations.iter().map(|c| format!("    {{ {} }},", levels(&c.levels)));
        line(format!("configurations = [\n{}\n]", all.collect::<Vec<_>>().join("\n")));
        line("\n[baseline]".to_owned());
        for (factor, level) in study.factors.iter().zip(&study.baseline) {
            let level = level.map_or("same", |at| factor.levels[at].name.as_str());
            line(format!("{} = {}", quoted(&factor.name), quoted(level)));
        }
    }
    let set = |all: &[Setting]| {
        let parts = all.iter().map(|s| format!("{} = {}", quoted(&s.key), s.value));
        parts.collect::<Vec<_>>().join(", ")
    };
    if !study.settings.is_empty() {
        line("\n[settings]".to_owned());
        // Keys of one load have brackets.
        let key = |key: &str| if key.contains('[') { quoted(key) } else { key.to_owned() };
        study.settings.iter().for_each(|s| line(format!("{} = {}", key(&s.key), s.value)));
    }
    for factor in &study.factors {
        line(format!("\n[[factor]]\nname = {}\nlevels = [", quoted(&factor.name)));
        for level in &factor.levels {
            let value = level.value.map_or_else(String::new, |value| format!(", value = {value:?}"));
            let asked = if level.on_request { ", on_request = true" } else { "" };
            line(format!(
                "    {{ name = {}{value}{asked}, set = {{ {} }} }},",
                quoted(&level.name),
                set(&level.settings)
            ));
        }
        line("]".to_owned());
    }
    study.metrics.iter().for_each(|metric| resolved_metric(&mut line, study, metric));
    for crossing in &study.crossings {
        let (factor, metric) = (&study.factors[crossing.factor].name, &study.metrics[crossing.metric].label);
        line(format!("\n[[crossing]]\nfactor = {}\nmetric = {}", quoted(factor), quoted(metric)));
        line(format!("limit = {:?}", crossing.limit));
    }
    text
}

/// A text as TOML has it.
fn quoted(words: &str) -> String {
    Value::String(words.to_owned()).to_string()
}

/// Writes one metric, line by line.
fn resolved_metric(line: &mut impl FnMut(String), study: &Study, metric: &MetricPlan) {
    line(format!("\n[[metric]]\nof = {}", quoted(metric.metric.name())));
    metric.load.iter().for_each(|load| line(format!("load = {}", quoted(load))));
    metric.operation.iter().for_each(|op| line(format!("operation = {}", quoted(op))));
    // Left out if they are the usual ones, so that studies begun before these keys existed can continue.
    if metric.window != ChosenWindow::Deciding {
        line(format!("window = {}", quoted(metric.window.name())));
    }
    metric.per.iter().for_each(|per| line(format!("per = {}", quoted(per.name()))));
    if metric.by_pair {
        line("by_pair = true".to_owned());
    }
    let better = if metric.more_is_better { "higher" } else { "lower" };
    line(format!("better = \"{better}\"\nmargin = {:?}\nscaling = {}", metric.margin, metric.scaling));
    for (factor, levels) in &metric.only {
        let factor = &study.factors[*factor];
        let names: Vec<&str> = levels.iter().map(|at| factor.levels[*at].name.as_str()).collect();
        line(format!("only.{} = {}", quoted(&factor.name), quoted(&names.join(","))));
    }
}
