//! Results of a study as tables: every run with its figures, every comparison.

use std::path::Path;

use barograph_record::{
    BandRecord, Conclusions, ConfigurationRecord, CrossingRecord, Figure, LineRecord, MetricRecord,
    MissingFigure, PercentilesRecord, PointRecord, QuantileRecord, RowRecord, RunEnded, ScalingRecord,
    StudyEntry,
};

use super::{Columns, TableFile, TableSet, some};
use crate::ExportError;
use crate::sheet::Format;

/// Writes a study as one file per table into `folder`, which is made if missing. Files of an earlier export
/// are replaced. `entries` are those of the study, and `conclusions` are drawn from them.
pub fn export_study(
    conclusions: &Conclusions,
    entries: &[StudyEntry],
    format: Format,
    folder: &Path,
) -> Result<Vec<TableFile>, ExportError> {
    let mut book = TableSet::open(("study", conclusions.id.as_str()), format, folder)?;
    answers(&mut book, conclusions)?;
    runs(&mut book, entries)?;
    comparisons(&mut book, conclusions)?;
    scaling(&mut book, conclusions)?;
    percentiles(&mut book, conclusions)?;
    Ok(book.written)
}

fn answers(book: &mut TableSet<'_>, found: &Conclusions) -> Result<(), ExportError> {
    let columns = Columns::<&Conclusions>::new()
        .text("question", |r| (&r.question).into())
        .text("file", |r| (&r.file).into())
        .text("tool", |r| (&r.tool).into())
        .text("started_at", |r| (&r.started_at).into())
        .text("seed", |r| r.seed.to_string().into())
        .whole("blocks", |r| r.blocks.into())
        .truth("complete", |r| r.complete.into())
        .text("repeat", |r| (&r.repeat).into());
    book.table("study", &columns, [found])?;
    let columns = Columns::<(u32, &str, &String)>::new()
        .whole("n", |r| r.0.into())
        .text("kind", |r| r.1.into())
        .text("sentence", |r| r.2.into());
    let answers = (1..).zip(&found.sentences).map(|(n, sentence)| (n, "answer", sentence));
    let warnings = (1..).zip(&found.warnings).map(|(n, sentence)| (n, "warning", sentence));
    book.table("sentences", &columns, answers.chain(warnings))?;
    let columns = Columns::<&ConfigurationRecord>::new()
        .text("configuration", |r| (&r.name).into())
        .text("baseline", |r| (&r.baseline).into())
        .truth("control", |r| r.control.into())
        .whole("valid_runs", |r| r.valid.into())
        .whole("missed_runs", |r| r.missed.into())
        .whole("dropped_runs", |r| r.dropped.into())
        .whole("warm_up_runs", |r| r.warm_up.into())
        .float("stolen_median_share", |r| r.stolen.map(|stolen| stolen.0).into())
        .float("stolen_most_share", |r| r.stolen.map(|stolen| stolen.1).into());
    book.table("configurations", &columns, &found.configurations)?;
    let columns = Columns::<(&ConfigurationRecord, &(String, String))>::new()
        .text("configuration", |r| (&r.0.name).into())
        .text("factor", |r| (&r.1.0).into())
        .text("level", |r| (&r.1.1).into());
    let levels = found.configurations.iter().flat_map(|c| c.levels.iter().map(move |level| (c, level)));
    book.table("levels", &columns, levels)
}

/// The columns that identify a run.
fn of_run<'c, R>(
    columns: Columns<'c, R>,
    run: impl for<'a> Fn(&'a R) -> &'a RunEnded + Copy + 'c,
) -> Columns<'c, R> {
    columns
        .whole("block", move |r| run(r).started.block.into())
        .text("configuration", move |r| (&run(r).started.configuration).into())
        .whole("attempt", move |r| run(r).started.attempt.into())
        .text("run", move |r| (&run(r).started.run).into())
        .truth("warm_up", move |r| run(r).started.warm_up.into())
}

/// The scores of each run, by window and tile.
fn scores<'r>(book: &mut TableSet<'_>, runs: impl Iterator<Item = &'r RunEnded>) -> Result<(), ExportError> {
    let columns = of_run(Columns::<(&RunEnded, u32, u32, f64)>::new(), |r| r.0)
        .whole("window", |r| r.1.into())
        .whole("tile", |r| r.2.into())
        .float("score", |r| r.3.into());
    let of_run = |run: &'r RunEnded| {
        let windows = (1..).zip(&run.scores);
        windows.flat_map(move |(window, tiles)| {
            (1..).zip(tiles).map(move |(tile, score)| (run, window, tile, *score))
        })
    };
    book.table("study_scores", &columns, runs.flat_map(of_run))
}

fn runs(book: &mut TableSet<'_>, entries: &[StudyEntry]) -> Result<(), ExportError> {
    let runs = || {
        entries.iter().filter_map(|entry| match entry {
            StudyEntry::RunEnded(run) => Some(run.as_ref()),
            _ => None,
        })
    };
    let columns = of_run(Columns::<&RunEnded>::new(), |r| r)
        .float("duration_s", |r| r.seconds.into())
        .truth("valid", |r| r.valid.into())
        .truth("passed", |r| r.passed.into())
        .truth("interrupted", |r| r.interrupted.into())
        .text("capacity_bounded_by", |r| r.at_least.as_ref().map(ToString::to_string).into())
        .float("stolen_share", |r| r.stolen.into());
    book.table("study_runs", &columns, runs())?;
    let columns = of_run(Columns::<(&RunEnded, &Figure)>::new(), |r| r.0)
        .truth("valid", |r| r.0.valid.into())
        .text("metric", |r| (&r.1.name).into())
        .float("value", |r| r.1.value.into());
    book.table(
        "figures",
        &columns,
        runs().flat_map(|run| run.figures.iter().map(move |figure| (run, figure))),
    )?;
    scores(book, runs())?;
    let columns = of_run(Columns::<(&RunEnded, &MissingFigure)>::new(), |r| r.0)
        .text("metric", |r| (&r.1.metric).into())
        .text("reason", |r| (&r.1.why).into());
    let missing = runs().flat_map(|run| run.missing.iter().map(move |missing| (run, missing)));
    book.table("missing_figures", &columns, missing)?;
    let columns = of_run(Columns::<(&RunEnded, u32, &String)>::new(), |r| r.0)
        .whole("n", |r| r.1.into())
        .text("reason", |r| r.2.into());
    let reasons = runs().flat_map(|run| (1..).zip(&run.reasons).map(move |(n, reason)| (run, n, reason)));
    book.table("run_reasons", &columns, reasons)
}

fn comparisons(book: &mut TableSet<'_>, found: &Conclusions) -> Result<(), ExportError> {
    let columns = Columns::<(&MetricRecord, &RowRecord)>::new()
        .text("metric", |r| (&r.0.label).into())
        .text("unit", |r| (&r.0.unit).into())
        .truth("more_is_better", |r| r.0.more_is_better.into())
        .text("configuration", |r| (&r.1.configuration).into())
        .text("baseline", |r| (&r.1.baseline).into())
        .truth("control", |r| r.1.control.into())
        .whole("runs", |r| r.1.runs.into())
        .float("median", |r| r.1.median.into())
        .float("lowest", |r| r.1.lowest.into())
        .float("highest", |r| r.1.highest.into())
        .whole("pairs", |r| r.1.pairs.into())
        .float("ratio", |r| r.1.ratio.into())
        .float("ratio_low", |r| r.1.low.into())
        .float("ratio_high", |r| r.1.high.into())
        .float("p", |r| r.1.p.into())
        .float("p_holm", |r| r.1.p_holm.into())
        .text("finding", |r| r.1.finding.name().into())
        .whole("pairs_needed", |r| r.1.pairs_needed.into())
        .float("margin_share", |r| r.0.margin.into())
        .float("noise_floor_share", |r| r.0.noise_floor.into());
    let rows = found.metrics.iter().flat_map(|metric| metric.rows.iter().map(move |row| (metric, row)));
    book.table("comparisons", &columns, rows)?;
    let columns = Columns::<&CrossingRecord>::new()
        .text("factor", |r| (&r.factor).into())
        .text("among", |r| some(&r.among).into())
        .text("metric", |r| (&r.metric).into())
        .text("unit", |r| (&r.unit).into())
        .float("limit", |r| r.limit.into())
        .float("at", |r| r.at.into())
        .float("low", |r| r.low.into())
        .float("high", |r| r.high.into())
        .float("reached_share", |r| r.reached.into());
    book.table("crossings", &columns, &found.crossings)
}

fn percentiles(book: &mut TableSet<'_>, found: &Conclusions) -> Result<(), ExportError> {
    let columns = Columns::<(&PercentilesRecord, &LineRecord, &QuantileRecord)>::new()
        .text("operation", |r| (&r.0.op).into())
        .text("configuration", |r| (&r.1.configuration).into())
        .whole("runs", |r| r.1.runs.into())
        .float("longer_share", |r| r.2.longer.into())
        .float("median_ms", |r| r.2.ms.into())
        .float("median_low_ms", |r| r.2.low.into())
        .float("median_high_ms", |r| r.2.high.into());
    let lines = found.percentiles.iter().flat_map(|of| of.lines.iter().map(move |line| (of, line)));
    let rows = lines.flat_map(|(of, line)| line.points.iter().map(move |point| (of, line, point)));
    book.table("percentiles", &columns, rows)
}

/// The columns that identify a growth.
fn of_growth<'c, R>(run: impl for<'a> Fn(&'a R) -> &'a ScalingRecord + Copy + 'c) -> Columns<'c, R> {
    Columns::new()
        .text("factor", move |r| (&run(r).factor).into())
        .text("among", move |r| some(&run(r).among).into())
        .text("metric", move |r| (&run(r).metric).into())
        .text("unit", move |r| (&run(r).unit).into())
}

fn scaling(book: &mut TableSet<'_>, found: &Conclusions) -> Result<(), ExportError> {
    let columns = of_growth::<(&ScalingRecord, &PointRecord)>(|r| r.0)
        .float("size", |r| r.1.n.into())
        .float("median", |r| r.1.x.into())
        .float("low", |r| r.1.low.into())
        .float("high", |r| r.1.high.into())
        .float("speedup", |r| r.1.speedup.into())
        .float("speedup_low", |r| r.1.speedup_within.low.into())
        .float("speedup_high", |r| r.1.speedup_within.high.into())
        .float("efficiency_share", |r| r.1.efficiency.into())
        .float("serial_share", |r| r.1.serial.into())
        .truth("is_bound", |r| r.0.bounded.contains(&r.1.n).into());
    let points =
        found.scaling.iter().flat_map(|growth| growth.points.iter().map(move |point| (growth, point)));
    book.table("scaling", &columns, points)?;
    let columns = of_growth::<&ScalingRecord>(|r| r)
        .float("contention", |r| r.fit.map(|fit| fit.contention).into())
        .float("contention_low", |r| r.fit.map(|fit| fit.contention_within.low).into())
        .float("contention_high", |r| r.fit.map(|fit| fit.contention_within.high).into())
        .float("coherency", |r| r.fit.map(|fit| fit.coherency).into())
        .float("coherency_low", |r| r.fit.map(|fit| fit.coherency_within.low).into())
        .float("coherency_high", |r| r.fit.map(|fit| fit.coherency_within.high).into())
        .float("gamma", |r| r.fit.map(|fit| fit.gamma).into())
        .float("peak_size", |r| r.fit.and_then(|fit| fit.peak_n).into())
        .float("peak_size_low", |r| r.fit.map(|fit| fit.peak_within.low).into())
        .float("peak_size_high", |r| r.fit.map(|fit| fit.peak_within.high).into())
        .float("knee_size", |r| r.knee.map(|knee| knee.n).into())
        .float("knee_size_low", |r| r.knee.map(|knee| knee.within.low).into())
        .float("knee_size_high", |r| r.knee.map(|knee| knee.within.high).into())
        .float("gained_before_knee", |r| r.knee.map(|knee| knee.before).into())
        .float("gained_after_knee", |r| r.knee.map(|knee| knee.after).into())
        .text("no_fit", |r| some(&r.no_fit).into())
        .float("amdahl_serial_share", |r| r.amdahl.map(|law| law.serial).into())
        .float("amdahl_serial_low", |r| r.amdahl.map(|law| law.within.low).into())
        .float("amdahl_serial_high", |r| r.amdahl.map(|law| law.within.high).into())
        .float("amdahl_limit", |r| r.amdahl.and_then(|law| law.limit()).into())
        .float("amdahl_gamma", |r| r.amdahl.map(|law| law.gamma).into());
    book.table("scaling_fits", &columns, &found.scaling)?;
    let columns = of_growth::<(&ScalingRecord, &BandRecord)>(|r| r.0)
        .float("size", |r| r.1.n.into())
        .float("low", |r| r.1.low.into())
        .float("high", |r| r.1.high.into());
    let band = found.scaling.iter().flat_map(|growth| growth.band.iter().map(move |at| (growth, at)));
    book.table("scaling_bands", &columns, band)
}
