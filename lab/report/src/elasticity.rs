//! Elasticity: nodes that were there and nodes that the load needed, over time, and the metrics of both.

use barograph_record::{ElasticCourse, ElasticFigure, Run};
use barograph_stats::elasticity::Steps;

use crate::chart::{Dash, OverTime, Series, YAxis};
use crate::html::{Figure, Grid, Key};
use crate::series::RunSeries;
use crate::{timelines, words};

/// Most rows of the table beside the figure.
const TABLE_ROWS: usize = 60;

/// The section of the report.
pub(crate) struct ElasticSection {
    /// What was held against what, in sentences.
    pub(crate) lede: String,
    pub(crate) figure: Option<Figure>,
    pub(crate) metrics: Grid,
    /// The demand curve.
    pub(crate) curve: Option<Grid>,
}

/// The section; `None` unless the plan asked for it, and for one of several loads.
pub(crate) fn section(run: &Run, measured: &RunSeries) -> Option<ElasticSection> {
    let course = run.elastic_course().filter(|_| run.load.is_none())?;
    let rows = run.elastic_figures().iter().map(row).collect();
    Some(ElasticSection {
        lede: lede(run, &course),
        figure: figure(run, measured, &course),
        metrics: Grid::new(&["Metric", "Value", "Unit", "Within the curve's intervals"], rows)
            .with_words(&["Unit"]),
        curve: curve(run),
    })
}

fn lede(run: &Run, course: &ElasticCourse) -> String {
    let tier = &course.tier;
    let Some(demand) = run.demand() else {
        return format!(
            "Nodes of {tier} over the load. The plan names no demand curve, so there is nothing to hold them against."
        );
    };
    let about = if demand.about.is_empty() { String::new() } else { format!(" ({})", demand.about) };
    let beyond = match course.beyond_s() {
        seconds if seconds > 0.0 => format!(
            " For {} the load was above all that the curve knows: the demand is a lower bound there.",
            words::duration(seconds)
        ),
        _ => String::new(),
    };
    format!(
        "Supply: nodes of {tier} that were ready. Demand: the fewest nodes that hold the load of that moment, by the demand \
         curve of the plan{about}.{beyond}"
    )
}

fn row(figure: &ElasticFigure) -> Vec<String> {
    vec![
        figure.title.to_owned(),
        words::figure(figure.value),
        figure.unit.to_owned(),
        within(figure).unwrap_or_else(|| words::NONE.to_owned()),
    ]
}

/// `10.3 to 14.0`; `None` if the figure does not depend on the curve's intervals.
fn within(figure: &ElasticFigure) -> Option<String> {
    let (low, high) = figure.within?;
    Some(format!("{} to {}", words::figure(low), words::figure(high)))
}

fn curve(run: &Run) -> Option<Grid> {
    let demand = run.demand()?;
    let end = |end: Option<f64>| end.map_or_else(|| words::NONE.to_owned(), words::figure);
    let rows = demand
        .nodes
        .iter()
        .map(|of| vec![of.count.to_string(), words::figure(of.load), end(of.low), end(of.high)]);
    let most = format!("Most load, {}", demand.unit.name());
    Some(Grid::new(&["Nodes", &most, "95 % from", "to"], rows.collect()))
}

/// A line with the corners of its steps.
fn line(name: &str, (class, dash): (&'static str, Dash), steps: &Steps, span: (f64, f64)) -> Series {
    let corners =
        steps.pieces(span).flat_map(|(from, to, nodes)| [from, to].map(|at| (at, f64::from(nodes))));
    Series { name: name.to_owned(), class, dash, points: corners.collect() }
}

fn figure(run: &Run, measured: &RunSeries, course: &ElasticCourse) -> Option<Figure> {
    let stage = timelines::stage(run, measured)?;
    let span = (course.span.0.max(stage.span.0), course.span.1.min(stage.span.1));
    let mut series = vec![line("supply: nodes that are ready", ("c1", Dash::Solid), &course.supply, span)];
    if let Some([demand, most, least]) = &course.demand {
        series.push(line("demand", ("c2", Dash::Dashed), demand, span));
        if most != least {
            series.push(line("demand, if nodes hold the least", ("c3", Dash::Dotted), most, span));
            series.push(line("demand, if they hold the most", ("c4", Dash::Dotted), least, span));
        }
    }
    let (id, title) = ("elasticity", "Demand and supply of nodes");
    let about =
        "Nodes that were ready, and the fewest that hold the load of that moment. Shaded: measured windows.";
    let y = YAxis::Figures;
    let chart = OverTime { id, title, about, course: stage.course(), y, series: &series };
    Some(Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        about: about.to_owned(),
        svg: chart.draw(),
        keys: series.iter().map(|of| Key::line(&of.name, of.class, of.dash)).collect(),
        table: changes(course, span),
    })
}

/// Every change of demand and supply, up to a number.
fn changes(course: &ElasticCourse, span: (f64, f64)) -> Grid {
    let demand = course.demand.as_ref().map(|[demand, ..]| demand);
    let all = course.supply.instants().chain(course.running.instants());
    let all = all.chain(demand.iter().flat_map(|demand| demand.instants()));
    let mut instants: Vec<f64> = all.filter(|at| *at > span.0 && *at < span.1).chain([span.0]).collect();
    instants.sort_by(f64::total_cmp);
    instants.dedup();
    instants.truncate(TABLE_ROWS);
    let rows = instants.into_iter().map(|at| {
        let needed = demand.map_or_else(|| words::NONE.to_owned(), |demand| demand.at(at).to_string());
        vec![
            format!("{} s", words::fixed(at, 1)),
            needed,
            course.supply.at(at).to_string(),
            course.running.at(at).to_string(),
        ]
    });
    Grid::new(&["From", "Demand", "Ready", "Running"], rows.collect())
}

/// The metrics in a terminal: one line each.
pub(crate) fn terminal(run: &Run) -> Vec<String> {
    let line = |figure: &ElasticFigure| {
        let within = within(figure).map_or_else(String::new, |within| format!(" ({within})"));
        format!("{}: {} {}{within}", figure.title, words::figure(figure.value), figure.unit)
    };
    run.elastic_figures().iter().map(line).collect()
}
