//! Services' own statistics: a row per answer and statistic.

use barograph_record::{Run, StatisticRow};

use super::{Columns, TableSet};
use crate::ExportError;

pub(super) fn write(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    let columns = Columns::<&StatisticRow>::new()
        .float("at_s", |r| r.at_s.into())
        .text("part", |r| (&r.part).into())
        .text("statistic", |r| (&r.statistic).into())
        .text("kind", |r| (&r.kind).into())
        .text("unit", |r| (&r.unit).into())
        .float("value", |r| r.value.into());
    book.table("statistics", &columns, &run.statistics)
}
