//! The page of a study: one file that opens offline.

use askama::Template;
use barograph_record::Conclusions;

use super::tables::{self, EveryRun, bounds, crossings, every_run, excluded, growths, runs, runs_title};
use super::{bars, growth, percentiles, together};
use crate::ReportError;
use crate::html::Grid;

/// A figure with its table.
struct StudyFigure {
    id: String,
    title: String,
    /// The CSS class of its place on the page.
    class: &'static str,
    svg: String,
    table: Grid,
    /// A line on what counts, or on how to read it.
    lede: String,
    /// Sentences of the answers about it, unless they are at the top of the page.
    sentences: Vec<String>,
}

/// Explanation of a figure of growth.
const GROWTH: &str = "Points are medians over blocks, with 95 % intervals by drawing whole blocks again. The dotted line is \
                      linear growth from the smallest size, the dashed one, where there is one, the universal scalability law \
                      fitted to the points, with its 95 % interval shaded, or below four sizes Amdahl's law; an upright line \
                      stands where growth bends.";

#[derive(Template)]
#[template(path = "study.html")]
struct Page<'a> {
    study: &'a Conclusions,
    /// Sentences at the top: on the first metric, the subject of the study, on metrics that are better or
    /// worse, and on limits and growth.
    headline: Vec<String>,
    warnings: Vec<String>,
    figures: Vec<StudyFigure>,
    crossings: Option<Grid>,
    runs_title: String,
    runs: Grid,
    every_run: EveryRun,
    /// Whether reports of runs lie beside the page.
    is_linked: bool,
    excluded: Option<Grid>,
}

/// Renders the page of a study: no script, no external requests. `is_linked` if the reports of its runs lie
/// in `runs/` beside it.
pub fn page(study: &Conclusions, is_linked: bool) -> Result<String, ReportError> {
    let metrics = study.metrics.iter().enumerate().map(|(at, metric)| {
        let id = format!("m{at}");
        let svg = bars::draw(&id, metric);
        let is_at_the_top = |sentence: &&String| at == 0 || study.found.contains(sentence);
        let sentences = unbroken(metric.sentences.iter().filter(|sentence| !is_at_the_top(sentence)));
        let (title, lede) = (tables::title(metric), without_breaks(&bounds(metric)));
        StudyFigure { class: "bars", svg, id, title, table: tables::metric(metric), lede, sentences }
    });
    let drawn = study.scaling.iter().zip(growths(study)).enumerate();
    let drawn = drawn.map(|(at, (scaling, (title, table)))| {
        let id = format!("g{at}");
        let (svg, lede) = (growth::draw(&id, scaling), without_breaks(GROWTH));
        StudyFigure { class: "growth", svg, id, title, table, lede, sentences: Vec::new() }
    });
    let beside = together::groups(study).into_iter().enumerate().map(|(at, group)| {
        let id = format!("t{at}");
        let (svg, title, table) = (group.draw(&id), group.title(), group.table());
        let lede = without_breaks(together::LEDE);
        StudyFigure { class: "growth", svg, id, title, table, lede, sentences: Vec::new() }
    });
    let by_percentile = study.percentiles.iter().enumerate().map(|(at, of)| {
        let id = format!("p{at}");
        let (svg, title, table) =
            (percentiles::draw(&id, of), percentiles::title(of), percentiles::table(of));
        let lede = without_breaks(&percentiles::lede(of));
        StudyFigure { class: "by-percentile", svg, id, title, table, lede, sentences: Vec::new() }
    });
    let others = study.metrics.iter().skip(1).flat_map(|metric| &metric.sentences);
    let others: Vec<&String> = others.filter(|sentence| !study.found.contains(sentence)).collect();
    let page = Page {
        headline: unbroken(study.sentences.iter().filter(|sentence| !others.contains(sentence))),
        warnings: unbroken(&study.warnings),
        figures: drawn.chain(beside).chain(metrics).chain(by_percentile).collect(),
        crossings: crossings(study),
        runs_title: runs_title(study),
        runs: runs(study),
        every_run: every_run(study),
        is_linked,
        excluded: excluded(study),
        study,
    };
    page.render().map_err(|why| ReportError::Render { run: study.id.clone(), why })
}

/// Joins sentences, without a line break between a number and its percent sign.
fn unbroken<'a>(sentences: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    sentences.into_iter().map(|sentence| without_breaks(sentence)).collect()
}

fn without_breaks(text: &str) -> String {
    text.replace(" %", "\u{a0}%")
}
