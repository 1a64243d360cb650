//! Demand and supply of nodes, and the metrics of elasticity.

use barograph_record::{DemandRecord, ElasticFigure, LevelRecord, NodesHoldRecord, Run, SupplyRecord};

use super::{Columns, TableSet, some};
use crate::ExportError;

/// The ends of the curve's intervals, in the order of the demands of a course.
const ENDS: [&str; 3] = ["estimate", "low", "high"];

pub(super) fn write(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    let figures = run.elastic_figures();
    let columns = Columns::<&ElasticFigure>::new()
        .text("figure", |r| r.id.into())
        .text("title", |r| r.title.into())
        .text("unit", |r| r.unit.into())
        .float("value", |r| r.value.into())
        .float("low", |r| r.within.map(|within| within.0).into())
        .float("high", |r| r.within.map(|within| within.1).into());
    book.table("elasticity", &columns, &figures)?;
    let columns = Columns::<&SupplyRecord>::new()
        .float("at_s", |r| r.at_s.into())
        .text("tier", |r| (&r.tier).into())
        .whole("ready_nodes", |r| r.ready.into())
        .whole("running_nodes", |r| r.running.into());
    book.table("supply", &columns, run.supplies())?;
    demand(book, run)?;
    let columns = Columns::<&LevelRecord>::new()
        .float("at_s", |r| r.at_s.into())
        .float("level", |r| f64::from(r.level).into())
        .float("over_s", |r| r.over_s.into());
    book.table("load_levels", &columns, run.levels())?;
    curve(book, run)
}

/// The demand over time, by each end of the curve's intervals.
fn demand(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    type Row = (&'static str, (f64, f64, u32));
    let columns = Columns::<Row>::new()
        .text("capacity_end", |r| r.0.into())
        .float("from_s", |r| r.1.0.into())
        .float("to_s", |r| r.1.1.into())
        .whole("nodes", |r| r.1.2.into());
    let course = run.elastic_course();
    let ends = course.iter().filter_map(|course| Some((course.span, course.demand.as_ref()?)));
    let rows = ends.flat_map(|(span, demands)| {
        let each = ENDS.into_iter().zip(demands);
        each.flat_map(move |(end, demand)| demand.pieces(span).map(move |piece| (end, piece)))
    });
    book.table("demand", &columns, rows)
}

/// The demand curve of the plan.
fn curve(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    type Row<'a> = (&'a DemandRecord, &'a NodesHoldRecord);
    let columns = Columns::<Row<'_>>::new()
        .text("tier", |r| (&r.0.tier).into())
        .text("about", |r| some(&r.0.about).into())
        .text("unit", |r| r.0.unit.name().into())
        .whole("nodes", |r| r.1.count.into())
        .float("load", |r| r.1.load.into())
        .float("load_low", |r| r.1.low.into())
        .float("load_high", |r| r.1.high.into());
    let rows = run.demand().into_iter().flat_map(|demand| demand.nodes.iter().map(move |of| (demand, of)));
    book.table("demand_curve", &columns, rows)
}
