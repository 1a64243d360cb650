//! States of services, sampled during the load: a figure over time by class, and a table of all states.

use barograph_record::{Run, STATE, StatisticRow};

use crate::chart::TimeAxis;
use crate::cpu::{Stack, figure};
use crate::html::{Figure, Grid};
use crate::words;

/// CSS classes of the areas, by their order; further classes of states share the last.
const AREAS: [&str; 7] = ["l1", "l2", "l3", "l4", "l5", "l6", "l7"];

/// States of a part, in the order of time.
struct PartStates<'r> {
    part: &'r str,
    unit: &'r str,
    /// States by name.
    names: Vec<&'r str>,
    /// Means of each state at an instant, seconds from the start of the load.
    rows: Vec<(f64, Vec<f64>)>,
}

/// A figure for each part with states.
pub(crate) fn figures(run: &Run, course: TimeAxis<'_>, window: (f64, f64)) -> Vec<Figure> {
    all(run).iter().enumerate().filter_map(|(number, part)| part.figure(number, course, window)).collect()
}

/// The class of a state.
fn class(state: &str) -> &str {
    state.split_once('/').map_or(state, |(class, _)| class)
}

/// All parts with states.
fn all(run: &Run) -> Vec<PartStates<'_>> {
    let start = run.load_start_s().unwrap_or(0.0);
    let mut parts: Vec<PartStates<'_>> = Vec::new();
    for StatisticRow { at_s, part, statistic, unit, value, .. } in
        run.statistics.iter().filter(|row| row.kind == STATE)
    {
        let known = parts.iter().position(|known| known.part == part).unwrap_or_else(|| {
            parts.push(PartStates { part, unit, names: Vec::new(), rows: Vec::new() });
            parts.len() - 1
        });
        parts[known].add(at_s - start, statistic, *value);
    }
    for part in &mut parts {
        // A state has no values before it was seen first.
        part.rows.iter_mut().for_each(|(_, values)| values.resize(part.names.len(), 0.0));
    }
    parts
}

impl<'r> PartStates<'r> {
    fn add(&mut self, at_s: f64, state: &'r str, value: f64) {
        let place = self.names.iter().position(|name| *name == state).unwrap_or_else(|| {
            self.names.push(state);
            self.names.len() - 1
        });
        if self.rows.last().is_none_or(|(last, _)| *last != at_s) {
            self.rows.push((at_s, Vec::new()));
        }
        if let Some((_, values)) = self.rows.last_mut() {
            values.resize(values.len().max(place + 1), 0.0);
            values[place] = value;
        }
    }

    fn figure(&self, number: usize, course: TimeAxis<'_>, window: (f64, f64)) -> Option<Figure> {
        let stack = self.by_class(course.span).without_nothing()?;
        let id = format!("states-{number}");
        let title = format!("States of {}, {}", self.unit, self.part);
        let about = format!(
            "Mean number of {} in each class of states, on each other, sampled while the load went on; those without work are \
             left out. Strips along the top: measured windows. The table has all states, as means over the window the answer \
             rests on.",
            self.unit
        );
        let table = self.table(window);
        Some(Figure { table, ..figure((id.as_str(), title.as_str(), about), course, &stack) })
    }

    /// The layers of classes within a span, the first class by name at the bottom.
    fn by_class(&self, (from, to): (f64, f64)) -> Stack {
        let mut classes: Vec<&str> = self.names.iter().map(|name| class(name)).collect();
        classes.sort_unstable();
        classes.dedup();
        let last = AREAS.len() - 1;
        let layers = classes.iter().enumerate().map(|(at, name)| ((*name).to_owned(), AREAS[at.min(last)]));
        let sums = |values: &[f64]| {
            let of = |class: &&str| {
                let all = self.names.iter().zip(values);
                all.filter(|(name, _)| self::class(name) == *class).map(|(_, value)| value).sum()
            };
            classes.iter().map(of).collect()
        };
        let shown = self.rows.iter().filter(|(at, _)| (from..=to).contains(at));
        let rows = shown.map(|(at, values)| (*at, sums(values))).collect();
        Stack { layers: layers.collect(), rows, top: 0.0 }
    }

    /// All states with their means over a window and their shares, the largest first.
    fn table(&self, (from, to): (f64, f64)) -> Grid {
        let within: Vec<&Vec<f64>> =
            self.rows.iter().filter(|(at, _)| (from..=to).contains(at)).map(|(_, values)| values).collect();
        let mean = |at: usize| within.iter().map(|values| values[at]).sum::<f64>() / within.len() as f64;
        let mut means: Vec<(&str, f64)> =
            self.names.iter().enumerate().map(|(at, name)| (*name, mean(at))).collect();
        means.retain(|(_, mean)| *mean > 0.0);
        means.sort_by(|(a, x), (b, y)| y.total_cmp(x).then_with(|| a.cmp(b)));
        let all: f64 = means.iter().map(|(_, mean)| mean).sum();
        let row = |(name, mean): (&str, f64)| {
            let (class, state) = name.split_once('/').unwrap_or((name, ""));
            vec![
                class.to_owned(),
                state.to_owned(),
                words::fixed(mean, 2),
                words::fixed(100.0 * mean / all, 1),
            ]
        };
        Grid::new(&["Class", "State", "Mean", "Share %"], means.into_iter().map(row).collect())
            .with_words(&["State"])
    }
}

/// A line for each part with states: the mean number in each class, in a window.
pub(crate) fn terminal(run: &Run, (from, to): (f64, f64)) -> Vec<String> {
    let line = |part: &PartStates<'_>| {
        let Stack { layers, rows, .. } = part.by_class((from, to)).without_nothing()?;
        let mean = |at: usize| rows.iter().map(|(_, values)| values[at]).sum::<f64>() / rows.len() as f64;
        let classes: Vec<String> = layers
            .iter()
            .enumerate()
            .map(|(at, (name, _))| format!("{name} {}", words::fixed(mean(at), 2)))
            .collect();
        Some(format!("{:<15} {} by state: {}", part.part, part.unit, classes.join(", ")))
    };
    all(run).iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part() -> PartStates<'static> {
        let mut part = PartStates { part: "database-1", unit: "sessions", names: vec![], rows: vec![] };
        for (at, state, value) in [
            (1.0, "running/running", 2.0),
            (1.0, "io/sync", 1.0),
            (2.0, "running/running", 1.0),
            (2.0, "io/sync", 0.0),
            (2.0, "lock/tuple", 0.5),
            (2.0, "lock/transaction", 2.5),
        ] {
            part.add(at, state, value);
        }
        part.rows.iter_mut().for_each(|(_, values)| values.resize(part.names.len(), 0.0));
        part
    }

    #[test]
    fn states_of_a_class_are_one_layer() {
        let Stack { layers, rows, .. } = part().by_class((0.0, 9.0)).without_nothing().unwrap();
        let names: Vec<&str> = layers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["io", "lock", "running"]);
        assert_eq!(rows, [(1.0, vec![1.0, 0.0, 2.0]), (2.0, vec![0.0, 3.0, 1.0])]);
    }

    #[test]
    fn the_table_has_the_means_of_the_window() {
        let table = part().table((0.0, 9.0));
        let expected = [
            ["running", "running", "1.50", "42.9"],
            ["lock", "transaction", "1.25", "35.7"],
            ["io", "sync", "0.50", "14.3"],
            ["lock", "tuple", "0.25", "7.1"],
        ];
        assert_eq!(table.rows, expected);
        assert_eq!(part().table((1.5, 9.0)).rows.len(), 3);
        assert_eq!(part().table((3.0, 9.0)).rows.len(), 0);
    }
}
