//! The tiles of a run, their score in each window, and the rates behind it.

use barograph_record::{
    CopiesRate, OperationRatioRecord, OperationReferenceRecord, RatioRecord, Run, ScoreRecord,
    TileLoadRecord, TilesRecord, WindowScoreRecord,
};

use super::{Columns, TableSet, some};
use crate::ExportError;

pub(super) fn write(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    let score = run.verdict().and_then(|verdict| verdict.score.as_deref());
    tiles(book, run.tiles())?;
    copies(book, run)?;
    scores(book, score)?;
    ratios(book, score)?;
    operations(book, score)
}

/// Each rate of each copy of a load, and of all together.
fn copies(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    type Row<'a> = (Option<&'a String>, &'a CopiesRate, Option<f64>);
    let rates = run.rates_of_copies();
    let columns = Columns::<Row<'_>>::new()
        .text("load", |r| r.0.into())
        .text("rate", |r| (&r.1.of).into())
        .text("title", |r| (&r.1.title).into())
        .text("unit", |r| (&r.1.unit).into())
        .float("value", |r| r.2.into());
    let rows = rates.iter().flat_map(|rate| {
        let each =
            run.load_names().iter().zip(&rate.each).map(move |(load, value)| (Some(load), rate, *value));
        each.chain([(None, rate, rate.total())])
    });
    book.table("copies", &columns, rows)
}

fn tiles(book: &mut TableSet<'_>, tiles: Option<&TilesRecord>) -> Result<(), ExportError> {
    type Row<'a> = (&'a TilesRecord, &'a TileLoadRecord);
    let columns = Columns::<Row<'_>>::new()
        .text("load", |r| (&r.1.load).into())
        .text("member", |r| (&r.1.member).into())
        .whole("tile", |r| r.1.tile.into())
        .float("whole_level", |r| f64::from(r.1.whole).into())
        .text("of", |r| r.1.of.as_ref().into())
        .float("reference", |r| r.1.rate.into())
        .text("reference_of", |r| some(&r.0.reference).into())
        .truth("one_by_one", |r| r.0.one_by_one.into());
    let rows = tiles.into_iter().flat_map(|tiles| tiles.loads.iter().map(move |load| (tiles, load)));
    book.table("tiles", &columns, rows)?;
    let columns = Columns::<&OperationReferenceRecord>::new()
        .text("act", |r| (&r.act).into())
        .float("reference_per_hour", |r| r.per_hour.into());
    book.table("tile_operations", &columns, tiles.map_or(&[][..], |tiles| &tiles.operations))
}

/// The score of each window that counts.
fn scores(book: &mut TableSet<'_>, score: Option<&ScoreRecord>) -> Result<(), ExportError> {
    let columns = Columns::<&WindowScoreRecord>::new()
        .whole("trial", |r| r.trial.into())
        .float("score", |r| r.score.into());
    book.table("scores", &columns, score.map_or(&[][..], |score| &score.windows))
}

/// Rates of the loads in the scored window, and those of the reference.
fn ratios(book: &mut TableSet<'_>, score: Option<&ScoreRecord>) -> Result<(), ExportError> {
    let columns = Columns::<&RatioRecord>::new()
        .text("load", |r| (&r.load).into())
        .whole("tile", |r| r.tile.into())
        .text("of", |r| (&r.of).into())
        .float("rate", |r| r.rate.into())
        .float("reference", |r| r.reference.into())
        .float("ratio", |r| r.ratio.into());
    book.table("ratios", &columns, score.map_or(&[][..], |score| &score.terms))
}

/// Rates of operations on the infrastructure in the windows that count, and those of the reference.
fn operations(book: &mut TableSet<'_>, score: Option<&ScoreRecord>) -> Result<(), ExportError> {
    let columns = Columns::<&OperationRatioRecord>::new()
        .text("act", |r| (&r.act).into())
        .whole("done", |r| r.done.into())
        .whole("failed", |r| r.failed.into())
        .float("per_hour", |r| r.per_hour.into())
        .float("reference_per_hour", |r| r.reference.into())
        .float("ratio", |r| r.ratio.into());
    book.table("operation_ratios", &columns, score.map_or(&[][..], |score| &score.operations))
}
