//! The page of a study: one file that opens offline.

use askama::Template;
use barograph_record::Conclusions;

use super::tables::{self, about, crossings, excluded, growths, runs};
use super::{bars, growth};
use crate::ReportError;
use crate::html::Grid;

/// A figure with its table.
struct Shown<'a> {
    id: String,
    title: String,
    svg: String,
    table: Grid,
    /// What the answers say of it, where that is not at the top of the page.
    sentences: &'a [String],
}

#[derive(Template)]
#[template(path = "study.html")]
struct Page<'a> {
    study: &'a Conclusions,
    /// What is said at the top: of the first metric, which the study is about, and of limits and growth.
    headline: Vec<&'a String>,
    metrics: Vec<Shown<'a>>,
    growths: Vec<Shown<'a>>,
    crossings: Option<Grid>,
    runs: Grid,
    excluded: Option<Grid>,
}

/// Renders the page of a study: no script, no request to anywhere.
pub fn page(study: &Conclusions) -> Result<String, ReportError> {
    let metrics = study.metrics.iter().enumerate().map(|(at, metric)| {
        let id = format!("m{at}");
        let svg = bars::draw(&id, metric);
        let sentences = if at == 0 { &[][..] } else { &metric.sentences[..] };
        Shown { svg, id, title: about(metric), table: tables::metric(metric), sentences }
    });
    let drawn = study.scaling.iter().zip(growths(study)).enumerate();
    let drawn = drawn.map(|(at, (scaling, (title, table)))| {
        let id = format!("g{at}");
        Shown { svg: growth::draw(&id, scaling), id, title, table, sentences: &[] }
    });
    let others: Vec<&String> = study.metrics.iter().skip(1).flat_map(|metric| &metric.sentences).collect();
    let page = Page {
        headline: study.sentences.iter().filter(|sentence| !others.contains(sentence)).collect(),
        metrics: metrics.collect(),
        growths: drawn.collect(),
        crossings: crossings(study),
        runs: runs(study),
        excluded: excluded(study),
        study,
    };
    page.render().map_err(|why| ReportError::Render { run: study.id.clone(), why })
}
