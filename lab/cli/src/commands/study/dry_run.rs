//! Description of a study before it is run.

use std::fmt::Write as _;
use std::path::Path;

use barograph_model::Nanos;
use barograph_model::words::span;
use barograph_platform::MissingRequirement;
use barograph_spec::study::{Divisor, Level, MetricPlan, Study};
use barograph_stats::compare::NARROW_LOOKS;
use barograph_study::{Progress, Schedule, places};

use super::prepare::PreparedStudy;

/// Number of blocks whose order is shown.
const SHOWN: u32 = 5;

/// Prints the description.
pub(super) fn explain(
    prepared: &PreparedStudy,
    missing: &[(String, MissingRequirement)],
    runs: &Path,
) -> String {
    let study = &prepared.study;
    let mut text = String::new();
    let mut line = |begin: &str, rest: &str| writeln!(text, "{begin:<10}{rest}").expect("memory takes it");
    line("study", &study.name);
    line("question", &study.question);
    line("plan", &study.plan.display().to_string());
    for setting in &study.settings {
        line("", &format!("{} = {}", setting.key, setting.value));
    }
    for set in &prepared.sets {
        line("", &format!("{set} (--set)"));
    }
    factors(study, &mut line);
    let names = places(study);
    for (at, configuration) in study.configurations.iter().enumerate() {
        let baseline = study.baseline_of(configuration).unwrap_or(at);
        let against = match baseline == at {
            true => "the baseline".to_owned(),
            false => format!("against {}", study.configurations[baseline].name),
        };
        line(if at == 0 { "runs of" } else { "" }, &format!("{} ({against})", configuration.name));
    }
    if study.control {
        let controlled = &study.configurations[study.controlled()].name;
        line("", &format!("{} ({controlled} once more)", barograph_study::CONTROL));
    }
    blocks(study, names.len(), &mut line);
    order(study, &names, &mut line);
    compared(prepared, &mut line);
    line("duration", &duration(study, &prepared.expected()));
    line("record", &format!("a new folder in {}", runs.display()));
    for (configuration, MissingRequirement { what, hint }) in missing {
        line("missing", &format!("{configuration}: {what}"));
        line("  to do:", hint);
    }
    if !missing.is_empty() {
        line("", "`--only FACTOR=LEVEL,LEVEL` runs the levels that are possible here");
    }
    text
}

fn factors(study: &Study, line: &mut impl FnMut(&str, &str)) {
    for factor in &study.factors {
        let named = |level: &Level| match level.on_request {
            true => format!("{} (on request, by --only)", level.name),
            false => level.name.clone(),
        };
        let names: Vec<String> = factor.levels.iter().map(named).collect();
        line("factor", &format!("{}: {}", factor.name, names.join(", ")));
    }
}

fn order(study: &Study, names: &[String], line: &mut impl FnMut(&str, &str)) {
    let schedule = Schedule::new(study.seed, names.len());
    let named = |order: Vec<usize>| {
        let named: Vec<&str> = order.into_iter().map(|at| names[at].as_str()).collect();
        named.join(" | ")
    };
    let (warm_up, shown) = (study.warm_up_blocks.min(SHOWN), study.repeats.blocks.min(SHOWN));
    let warm_ups =
        (1..=warm_up).map(|block| format!("warm-up block {block}: {}", named(schedule.warm_up(block))));
    let blocks = (1..=shown).map(|block| format!("block {block}: {}", named(schedule.block(block))));
    for (at, told) in warm_ups.chain(blocks).enumerate() {
        line(if at == 0 { "order" } else { "" }, &told);
    }
    if study.repeats.blocks > shown || study.warm_up_blocks > warm_up {
        line("", "and so on, each block in an order of its own");
    }
}

fn blocks(study: &Study, places: usize, line: &mut impl FnMut(&str, &str)) {
    let repeats = study.repeats;
    let runs = repeats.blocks as usize * places;
    let order = format!("in random order within each block, by seed {}", study.seed);
    if study.warm_up_blocks > 0 {
        let (blocks, warm_ups) = (study.warm_up_blocks, study.warm_up_blocks as usize * places);
        line("warm-up", &format!("{blocks} of {places} runs: {warm_ups} runs, recorded and not judged"));
    }
    line("blocks", &format!("{} of {places} runs: {runs} runs, {order}", repeats.blocks));
    if let Some(width) = repeats.width {
        let until = format!("until the 95 % intervals of {} are", study.metrics[0].label);
        let wide = format!("{:.1} % wide after {NARROW_LOOKS} blocks in a row", width * 100.0);
        line("", &format!("then more {until} at most {wide}, {} blocks in all at most", repeats.most));
    }
    if let Some(why) = barograph_study::too_few_blocks(study) {
        line("take note", &why);
    }
    let again = match study.again {
        0 => "a run that cannot be used is left out".to_owned(),
        1 => "a run that cannot be used is tried once more in its block".to_owned(),
        times => format!("a run that cannot be used is tried up to {times} more times in its block"),
    };
    line("", &again);
}

/// Duration of the load, with `expected` seconds per run of each configuration: for all blocks or, if a width
/// is sought, for the largest number of blocks.
fn duration(study: &Study, expected: &[f64]) -> String {
    let seconds = Progress::new(study, &[]).seconds_left(expected);
    let time = |seconds: f64| span(Nanos::from_secs_f64(seconds));
    let repeats = &study.repeats;
    let further = expected.iter().sum::<f64>() * f64::from(repeats.most.saturating_sub(repeats.blocks));
    let of_load = match repeats.width {
        Some(_) if further > 0.0 => format!(
            "at most {} of load for {} blocks, and {} where it takes all {}",
            time(seconds),
            repeats.blocks,
            time(seconds + further),
            repeats.most
        ),
        _ => format!("at most {} of load", time(seconds)),
    };
    format!("{of_load}; fill, start and end of every run come on top")
}

fn compared(prepared: &PreparedStudy, line: &mut impl FnMut(&str, &str)) {
    let study = &prepared.study;
    for (at, metric) in study.metrics.iter().enumerate() {
        let better = if metric.more_is_better { "more" } else { "less" };
        let margin = metric.margin * 100.0;
        let about = format!(
            "{} ({}), {better} is better; within ±{margin:.1} % counts as the same, within the noise floor as noise",
            metric.label,
            prepared.unit(metric)
        );
        line(if at == 0 { "compared" } else { "" }, &about);
        for (factor, levels) in &metric.only {
            let factor = &study.factors[*factor];
            let names: Vec<&str> = levels.iter().map(|level| factor.levels[*level].name.as_str()).collect();
            line("", &format!("of {} {} only", factor.name, names.join(", ")));
        }
        divided(prepared, metric, line);
    }
    for crossing in &study.crossings {
        let (factor, metric) = (&study.factors[crossing.factor].name, &study.metrics[crossing.metric]);
        let (label, unit) = (&metric.label, prepared.unit(metric));
        line("sought", &format!("{factor} at which {label} reaches {} {unit}", crossing.limit));
    }
}

/// Divisor of the figures of each configuration, if it is a key of the plans.
fn divided(prepared: &PreparedStudy, metric: &MetricPlan, line: &mut impl FnMut(&str, &str)) {
    let Some(Divisor::Planned(key)) = &metric.per else { return };
    let numbers =
        prepared.numbers(metric.load.as_deref(), key).into_iter().map(|(name, number)| match number {
            Some(number) if number > 0.0 => format!("{number} for {name}"),
            Some(number) => format!("{number} for {name}, which has no figure then"),
            None => format!("no number for {name}, which has no figure then"),
        });
    line("", &format!("{key} is {}", numbers.collect::<Vec<_>>().join("; ")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_width_that_is_sought_may_take_all_blocks() {
        let study = |more: &str| {
            let text = format!(
                "question = \"q\"\nplan = \"p\"\nrepeats = 6\n{more}[[metric]]\nof = \"throughput\"\n"
            );
            barograph_spec::study::read("s.toml", &text).unwrap_or_else(|refused| panic!("{refused}"))
        };
        // One configuration and its control.
        let said = |more: &str| duration(&study(more), &[65.0, 65.0]);
        let end = "; fill, start and end of every run come on top";
        assert_eq!(said(""), format!("at most 13 min 00 s of load{end}"));
        assert_eq!(
            said("width = 0.1\nmost_repeats = 9\n"),
            format!("at most 13 min 00 s of load for 6 blocks, and 19 min 30 s where it takes all 9{end}")
        );
    }
}
