//! Bounds: the demand of an operation on each resource that works, the highest throughput by that, and the
//! number of users that reaches it.

use barograph_record::{Run, Trial, UnitRecord};
use barograph_stats::bounds::ClosedSystem;

use super::{MOST_NAMED, Resource, WorkKind, rows, three_digits};
use crate::answer::{capitalised, mean};
use crate::html::Grid;
use crate::words;

/// The section of the report.
pub(crate) struct Bounds {
    pub(crate) points: Vec<String>,
    pub(crate) table: Grid,
}

/// One resource at the throughput of the window.
struct Bound<'r> {
    resource: &'r Resource,
    /// The demand in words.
    demand: String,
    /// Seconds per operation for which all of it is busy.
    busy_s: f64,
    /// Highest throughput, in operations per second.
    throughput: f64,
}

/// The bounds; `None` if no resource that works has a limit. `resources` are ordered by the level at which
/// they are used up.
pub(super) fn bounds(run: &Run, trial: &Trial, resources: &[Resource]) -> Option<Bounds> {
    let throughput = trial.window.throughput;
    let found = resources.iter().filter_map(|resource| Bound::of(resource, throughput));
    let found: Vec<Bound<'_>> = found.take(MOST_NAMED).collect();
    let first = found.first()?;
    let mut points = vec![
        format!(
            "Saturates at {} operations/s at most: {} per operation ({})",
            rate(first.throughput),
            first.demand,
            first.resource.name
        ),
        format!(
            "Demand is measured, as use over throughput; that it stays so, up to {} times the load, is assumed",
            words::figure(first.throughput / throughput)
        ),
    ];
    let mut head = vec!["Resource", "Demand per operation", "Operations/s, at most"];
    let mut table: Vec<Vec<String>> = found.iter().map(Bound::row).collect();
    if trial.unit == UnitRecord::Users {
        let think = think_s(run, trial);
        points.push(of_knees(think).to_owned());
        head.push("Users at the knee");
        for (row, bound) in table.iter_mut().zip(&found) {
            row.push(bound.knee(think));
        }
    }
    Some(Bounds { points, table: Grid::new(&head, table) })
}

impl<'r> Bound<'r> {
    fn of(resource: &'r Resource, throughput: f64) -> Option<Self> {
        let of = resource.of;
        let each = of.used / throughput;
        let demand = match resource.work? {
            WorkKind::Cores => format!("{} of a core", words::time(each * 1e3)),
            WorkKind::Link => words::bytes(each * 1e6 / 8.0),
        };
        // Several cores count as a single one of their joint speed.
        let busy_s = each / of.limit;
        let throughput = ClosedSystem::new(&[busy_s], 0.0)?.saturation();
        Some(Bound { resource, demand, busy_s, throughput })
    }

    fn row(&self) -> Vec<String> {
        vec![capitalised(&self.resource.name), self.demand.clone(), rate(self.throughput)]
    }

    /// Range of users that fill it, given their think time: from the number if all of the response time was
    /// waiting, to the number if none of it was.
    fn knee(&self, think_s: Option<f64>) -> String {
        let most = three_digits(self.resource.used_up_at);
        let closed = think_s.and_then(|think| ClosedSystem::new(&[self.busy_s], think));
        let least = closed.map(|closed| three_digits(closed.knee()));
        match least {
            Some(least) if least < most => {
                format!("{} to {}", words::count(least.into()), words::count(most.into()))
            }
            Some(_) => words::count(most.into()),
            None => format!("at most {}", words::count(most.into())),
        }
    }
}

/// Mean time of a user between an answer and the next operation, in seconds, by Little's law: the users not
/// in flight, over the throughput. `None` if users had several operations in flight at once, or were not
/// counted.
fn think_s(run: &Run, trial: &Trial) -> Option<f64> {
    let in_flight = mean(rows(run, &trial.window).map(|row| row.in_flight))?;
    let thinking = f64::from(trial.level) - in_flight;
    (thinking >= 0.0).then_some(thinking / trial.window.throughput)
}

fn of_knees(think_s: Option<f64>) -> &'static str {
    match think_s {
        Some(_) => {
            "A knee is at its lower end if response times were all waiting, at its upper end if they held none"
        }
        None => "Think time does not follow from what was in flight, so knees are known from above only",
    }
}

/// Operations per second with three significant digits.
fn rate(x: f64) -> String {
    if x < 100.0 { words::figure(x) } else { words::count(three_digits(x).into()) }
}
