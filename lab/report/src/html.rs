//! The page: assembles the sections computed elsewhere in the template.

use askama::Template;
use barograph_record::{Run, UnitRecord};

use crate::actions::{Actions, actions};
use crate::answer::{Answer, answer};
use crate::chart::Dash;
use crate::operations::OpLine;
use crate::{
    ReportError, counters, curve, elasticity, facts, guests, heat, loads, operations, pass_probability,
    percentile_chart, power, search, series, services, tiles, timelines, topology, words,
};

/// A plain table of text cells. Its first column names the rows; the others hold figures, right-aligned so
/// that their digits are below each other, unless they are declared as words.
pub(crate) struct Grid {
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    /// Heads of the columns that hold words.
    words: &'static [&'static str],
}

impl Grid {
    pub(crate) fn new(head: &[&str], rows: Vec<Vec<String>>) -> Self {
        Grid { head: head.iter().map(|h| (*h).to_owned()).collect(), rows, words: &[] }
    }

    /// Declares the columns with these heads as words.
    pub(crate) fn with_words(self, words: &'static [&'static str]) -> Self {
        Grid { words, ..self }
    }

    /// Whether the column at this index holds words.
    pub(crate) fn is_words(&self, at: &usize) -> bool {
        self.head.get(*at).is_some_and(|head| self.words.contains(&head.as_str()))
    }
}

/// Legend of a line or an area of a figure.
pub(crate) struct Key {
    pub(crate) name: String,
    /// A piece of it, as SVG on 26 by 8 pixels.
    pub(crate) sample: String,
}

impl Key {
    pub(crate) fn line(name: &str, class: &str, dash: Dash) -> Self {
        let sample = format!("<path class=\"series {class}{}\" d=\"M1 4H25\"/>", dash.class());
        Key { name: name.to_owned(), sample }
    }

    pub(crate) fn area(name: &str, class: &str) -> Self {
        let sample = format!("<rect class=\"{class}\" x=\"1\" width=\"24\" height=\"8\"/>");
        Key { name: name.to_owned(), sample }
    }
}

/// A figure with its legend and the table beside it.
pub(crate) struct Figure {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) about: String,
    pub(crate) svg: String,
    pub(crate) keys: Vec<Key>,
    pub(crate) table: Grid,
}

/// The deciding window.
struct DecidingSection {
    title: String,
    lines: Vec<OpLine>,
    absent: Vec<String>,
    has_mix: bool,
    /// Head of the column of judged quantiles.
    judged: String,
    has_p90: bool,
    rules: Option<Grid>,
    measures: Option<Grid>,
    expected: Option<Grid>,
    checks: Grid,
    all_checks_hold: bool,
    length: String,
}

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    run: &'a Run,
    subtitle: String,
    unit: &'static str,
    is_open: bool,
    answer: Answer,
    curve: Option<curve::Curve>,
    has_ramp_dots: bool,
    deciding: Option<DecidingSection>,
    /// Figures of the deciding window.
    closer: Vec<Figure>,
    figures: Vec<Figure>,
    merged: String,
    trials: Grid,
    /// The loads of a run of several, with links to their pages.
    loads: Option<Grid>,
    /// Rates of copies of one load, and their totals.
    copies: Option<Grid>,
    pages: Vec<(String, String)>,
    tiles: Option<tiles::TilesSection>,
    certainty: Option<Grid>,
    /// Posterior of the search, by load.
    passing: Option<Figure>,
    phases: Grid,
    notes: Vec<(String, String)>,
    fill: Option<(Vec<(String, String)>, Grid)>,
    tiers: Option<Grid>,
    deployed: Option<topology::DeploymentSection>,
    actions: Option<Actions>,
    elasticity: Option<elasticity::ElasticSection>,
    power: Option<power::PowerSection>,
    counters: Vec<counters::CounterLine>,
    services: Vec<services::PartSection>,
    guests: Option<Grid>,
    damage: Vec<String>,
    disclosure: Vec<(String, Vec<(String, String)>)>,
}

/// Renders the report of `run` as one HTML file that opens offline: no script, no external requests.
pub fn render_html(run: &Run) -> Result<String, ReportError> {
    let measured = series::measure(run);
    let page = Page {
        subtitle: subtitle(run),
        unit: run.unit().name(),
        is_open: run.unit() == UnitRecord::StartsPerSecond,
        answer: answer(run),
        curve: curve::draw(run, &measured),
        has_ramp_dots: !measured.ramp.is_empty(),
        deciding: deciding(run),
        closer: [
            percentile_chart::figure(run, measured.deciding.as_ref()),
            heat::figure(measured.deciding.as_ref()),
        ]
        .into_iter()
        .flatten()
        .collect(),
        figures: timelines::figures(run, &measured),
        merged: merged(&measured),
        trials: facts::trials(run),
        loads: loads::table(run),
        copies: loads::copies(run),
        tiles: tiles::section(run),
        pages: run
            .load_names()
            .iter()
            .map(|name| (name.clone(), format!("loads/{name}/report.html")))
            .collect(),
        certainty: search::certainty(run),
        passing: pass_probability::figure(run),
        phases: facts::phases(run),
        notes: run.notes().map(|(at, text)| (words::clock(at), text.to_owned())).collect(),
        fill: facts::fill(run),
        tiers: facts::tiers(run),
        deployed: topology::deployed(run),
        actions: actions(run),
        elasticity: elasticity::section(run, &measured),
        power: power::section(run),
        counters: counters::lines(run),
        services: services::parts(run),
        guests: guests::table(run),
        damage: damage(run, &measured),
        disclosure: facts::disclosure(run),
        run,
    };
    page.render().map_err(|why| ReportError::Render { run: run.header.id.clone(), why })
}

fn subtitle(run: &Run) -> String {
    let mut parts: Vec<String> = run.load.iter().map(|load| format!("load {load}")).collect();
    if let Some(expected) = run.expected() {
        parts.push(format!("workload {}", expected.workload));
        parts.push(format!("profile {}", expected.profile));
        parts.extend(expected.target.as_ref().map(|url| format!("target {url}")));
    }
    if let Some(fill) = run.fill().filter(|fill| !fill.size.is_empty()) {
        parts.push(format!("size {}", fill.size));
    }
    parts.push(run.header.started_at.replace('T', " ").replace('Z', " UTC"));
    parts.join(" · ")
}

fn merged(measured: &series::RunSeries) -> String {
    if measured.merged <= 1 {
        return String::new();
    }
    format!(
        "Each point stands for {} intervals: counts are added, histograms merged, and of start lag the largest 99 % \
         quantile is shown.",
        measured.merged
    )
}

/// Unreadable parts of the record. A long list is cut.
fn damage(run: &Run, measured: &series::RunSeries) -> Vec<String> {
    const SHOWN: usize = 20;
    let all: Vec<&String> = run.damage.iter().chain(&measured.damage).collect();
    let mut list: Vec<String> = all.iter().take(SHOWN).map(|d| (*d).clone()).collect();
    if all.len() > SHOWN {
        list.push(format!("and {} more", all.len() - SHOWN));
    }
    list
}

fn deciding(run: &Run) -> Option<DecidingSection> {
    let trial = run.deciding_trial()?;
    let (lines, absent) = operations::lines(run, &trial.window);
    let judged = operations::judged_head(&trial.window, run.expected());
    Some(DecidingSection {
        title: format!("trial {}, {}", trial.n, words::offered(trial.offered())),
        lines,
        absent,
        has_mix: operations::has_mix(&trial.window),
        has_p90: operations::has_p90(&judged),
        judged,
        rules: facts::further_rules(&trial.window),
        measures: facts::measures(&trial.window),
        expected: facts::expected(run, &trial.window),
        checks: facts::checks(&trial.window),
        all_checks_hold: trial.window.checks.iter().all(|c| c.ok),
        length: words::duration(trial.window.seconds()),
    })
}
