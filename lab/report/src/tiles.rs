//! The tiles of a run: their score, every load against its limits, and the load that broke first.

use barograph_record::{OperationRatioRecord, Run, ScoreRecord, TilesRecord, Trial};

use crate::answer::gave_way;
use crate::chart::{Anchor, Svg};
use crate::curve::worst;
use crate::html::{Figure, Grid, Key};
use crate::words;

/// Width of the names of the loads, in pixels.
const NAMES: f64 = 160.0;
/// Width of the whole drawing, in pixels.
const WIDTH: f64 = 1140.0;
/// Width of a column with room for a whole head, in pixels.
const ROOM_OF_HEAD: f64 = 80.0;
/// Largest width of a cell, in pixels.
const CELL: f64 = 150.0;
/// Height of a row, in pixels.
const ROW: f64 = 34.0;

/// Classes of cells by the part of the limit that is used, each with its upper end.
const SHADES: [(&str, f64, &str); 4] = [
    ("heat h1", 0.25, "up to 25 % of the limit"),
    ("heat h2", 0.5, "up to 50 %"),
    ("heat h3", 0.8, "up to 80 %"),
    ("heat h4", 1.0, "up to the limit"),
];

/// Class of a cell whose load broke a rule.
const BROKEN: (&str, &str) = ("over", "a rule is broken");

/// The section about tiles.
pub(crate) struct TilesSection {
    /// `The tiles` or `The instances`.
    pub(crate) title: String,
    /// The score in a sentence, or the reason for its absence; `None` for instances, which have none.
    pub(crate) score: Option<String>,
    /// Reference, class and windows.
    pub(crate) facts: Vec<(&'static str, String)>,
    /// Title and points about the load that broke first.
    pub(crate) broke: Option<(String, Vec<String>)>,
    pub(crate) figure: Option<Figure>,
    /// Rates against the reference.
    pub(crate) ratios: Option<Grid>,
    /// Rates of operations on the infrastructure against the reference.
    pub(crate) operations: Option<Grid>,
}

/// The section; `None` without tiles.
pub(crate) fn section(run: &Run) -> Option<TilesSection> {
    let tiles = run.tiles()?;
    let score = run.verdict().and_then(|verdict| verdict.score.as_deref());
    let windows = windows(run);
    Some(TilesSection {
        title: format!("The {}s", noun(tiles)),
        score: score.map(ScoreRecord::sentence).or_else(|| no_score(run, tiles)),
        facts: facts(tiles, score).into_iter().chain(alignment(&windows)).collect(),
        broke: broke(run, tiles, &windows),
        figure: figure(tiles, &windows),
        ratios: ratios(tiles, score, &windows),
        operations: score.and_then(|score| operations(&score.operations)),
    })
}

/// Title and lines of the section for a terminal; `None` without tiles.
pub(crate) fn terminal(run: &Run) -> Option<(&'static str, Vec<String>)> {
    let title = if noun(run.tiles()?) == "instance" { "Instances" } else { "Tiles" };
    let section = section(run)?;
    let facts = section.facts.into_iter().map(|(name, value)| format!("{name}: {value}"));
    let broke = section.broke.into_iter().map(|(title, points)| format!("{title}: {}", points.join("; ")));
    Some((title, section.score.into_iter().chain(facts).chain(broke).collect()))
}

/// The trials of each window, one for each load.
fn windows(run: &Run) -> Vec<Vec<&Trial>> {
    let each: Vec<Vec<&Trial>> = run.loads.iter().map(|load| load.trials().collect()).collect();
    let count = each.iter().map(Vec::len).min().unwrap_or(0);
    (0..count).map(|at| each.iter().map(|trials| trials[at]).collect()).collect()
}

/// `tile`, or `instance` for copies of a single load.
fn noun(tiles: &TilesRecord) -> &'static str {
    let mut members = tiles.loads.iter().map(|load| &load.member);
    let first = members.next();
    if members.all(|member| Some(member) == first) { "instance" } else { "tile" }
}

fn no_score(run: &Run, tiles: &TilesRecord) -> Option<String> {
    let has_reference = !tiles.reference.is_empty() || tiles.loads.iter().any(|load| load.rate.is_some());
    let passed = run.verdict().is_some_and(|verdict| verdict.passed);
    let loads_pass = run.loads.iter().all(|load| load.verdict().is_some_and(|verdict| verdict.passed));
    let why = match (has_reference, passed) {
        (false, _) if noun(tiles) == "instance" => return None,
        (false, _) => "the plan names no reference",
        (true, false) if loads_pass => "an action did not keep its limit",
        (true, false) => "not every load kept its rules",
        (true, true) => "the measurement is not valid",
    };
    Some(format!("No score: {why}."))
}

fn facts(tiles: &TilesRecord, score: Option<&ScoreRecord>) -> Vec<(&'static str, String)> {
    let members = tiles.loads.iter().filter(|load| load.tile == 1).count();
    let mut facts = match noun(tiles) {
        "instance" => vec![("instances", tiles.count().to_string())],
        _ => vec![("tiles", format!("{} of {members} loads", tiles.count()))],
    };
    if !tiles.reference.is_empty() {
        facts.push(("reference", tiles.reference.clone()));
    }
    if let Some(score) = score {
        facts.push(("class", class(score)));
        let each =
            score.windows.iter().map(|window| format!("{:.2} in trial {}", window.score, window.trial));
        facts.push((
            "windows",
            format!("{}; trial {} is scored", each.collect::<Vec<_>>().join(", "), score.trial),
        ));
    }
    facts
}

/// The class of a score.
fn class(score: &ScoreRecord) -> String {
    if score.parts().is_none() {
        return "applications only, without operations on the infrastructure".to_owned();
    }
    let each = score.operations.iter().map(|of| format!("{} {:.1} per hour", of.act, of.per_hour));
    format!(
        "80 % applications, 20 % operations on the infrastructure ({})",
        each.collect::<Vec<_>>().join(", ")
    )
}

/// The largest difference between the begins, and between the ends, of the windows of two loads.
fn alignment(windows: &[Vec<&Trial>]) -> Option<(&'static str, String)> {
    let spread = |of: fn(&Trial) -> f64| {
        let each = windows.iter().map(|window| {
            let at = window.iter().map(|trial| of(trial));
            at.clone().fold(f64::MIN, f64::max) - at.fold(f64::MAX, f64::min)
        });
        each.fold(0.0, f64::max)
    };
    let widest = spread(|trial| trial.window.from_s).max(spread(|trial| trial.window.to_s));
    let text = format!("those of all loads begin and end within {}", words::time(widest * 1e3));
    (windows.first()?.len() > 1).then_some(("alignment of windows", text))
}

/// The loads that broke a rule at the lowest load, each with what gave way.
fn broke(run: &Run, tiles: &TilesRecord, windows: &[Vec<&Trial>]) -> Option<(String, Vec<String>)> {
    let failed = windows.iter().filter(|window| window.iter().any(|trial| !trial.window.passed));
    let first = failed.min_by(|a, b| tiles.tiles_in(a).total_cmp(&tiles.tiles_in(b)))?;
    let each = run.loads.iter().zip(first).filter(|(_, trial)| !trial.window.passed);
    let point = |(load, trial): (&Run, &&Trial)| {
        format!("{}: {}", load.load.as_deref().unwrap_or(""), gave_way(load, trial).join("; "))
    };
    Some((
        format!("Broke first, at {}", counted(tiles.tiles_in(first), noun(tiles))),
        each.map(point).collect(),
    ))
}

/// `2.5 tiles`.
fn counted(count: f64, noun: &str) -> String {
    let count = (count * 100.0).round() / 100.0;
    format!("{count} {noun}{}", if count == 1.0 { "" } else { "s" })
}

/// A cell of the figure: the load of a tile, or of a level.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cell {
    /// Part of a limit that was used, by the operation nearest to its own; `None` without limits.
    share: Option<f64>,
    /// Whether a rule was broken.
    broken: bool,
}

impl Cell {
    fn of(trial: &Trial) -> Self {
        Cell { share: worst(trial).map(|(_, share)| share), broken: !trial.window.passed }
    }

    fn with(self, other: Cell) -> Self {
        let share = [self.share, other.share].into_iter().flatten().reduce(f64::max);
        Cell { share, broken: self.broken || other.broken }
    }

    fn class(self) -> &'static str {
        let share = self.share.unwrap_or(0.0);
        let shade = SHADES.iter().find(|(_, to, _)| share <= *to && !self.broken);
        shade.map_or(BROKEN.0, |(class, ..)| class)
    }

    fn words(self) -> String {
        let broken = if self.broken { " ✕" } else { "" };
        match self.share {
            Some(share) => format!("{:.0} %{broken}", share * 100.0),
            None => format!("no limit{broken}"),
        }
    }
}

/// Rows of the figure: the loads of a tile, by name; columns with their heads.
struct Cells {
    members: Vec<String>,
    heads: Vec<String>,
    /// By row and column; `None` without load.
    cells: Vec<Vec<Option<Cell>>>,
}

/// Columns are the levels of a search or a path, or the tiles of a fixed load.
fn cells(tiles: &TilesRecord, windows: &[Vec<&Trial>]) -> Cells {
    let mut members: Vec<String> = Vec::new();
    for load in &tiles.loads {
        if !members.contains(&load.member) {
            members.push(load.member.clone());
        }
    }
    let mut levels: Vec<f64> = windows.iter().map(|window| tiles.tiles_in(window)).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let by_level = levels.len() > 1;
    let cell = |member: &String, column: usize| {
        let of_window = |window: &Vec<&Trial>| !by_level || tiles.tiles_in(window) == levels[column];
        let loads = windows
            .iter()
            .filter(|window| of_window(window))
            .flat_map(|window| tiles.loads.iter().zip(window));
        let own = loads.filter(|(load, trial)| {
            load.member == *member && trial.level > 0 && (by_level || load.tile as usize == column + 1)
        });
        own.map(|(_, trial)| Cell::of(trial)).reduce(Cell::with)
    };
    let heads: Vec<String> = match by_level {
        true => levels.iter().map(|level| counted(*level, noun(tiles))).collect(),
        false => (1..=tiles.count()).map(|tile| format!("{} {tile}", noun(tiles))).collect(),
    };
    let row = |member| (0..heads.len()).map(|column| cell(member, column)).collect();
    let cells = members.iter().map(row).collect();
    Cells { members, heads, cells }
}

fn figure(tiles: &TilesRecord, windows: &[Vec<&Trial>]) -> Option<Figure> {
    if windows.is_empty() {
        return None;
    }
    let found = cells(tiles, windows);
    let title = "Every load against its limits".to_owned();
    let each = if noun(tiles) == "instance" { "each instance" } else { "each load of a tile" };
    let about = format!(
        "For {each} the operation that came nearest to its limit, the worst over all windows of the column."
    );
    let keys = SHADES.iter().map(|(class, _, name)| Key::area(name, class));
    let words = |cell: &Option<Cell>| cell.map_or_else(|| words::NONE.to_owned(), Cell::words);
    let rows = found.members.iter().zip(&found.cells);
    let rows =
        rows.map(|(member, cells)| std::iter::once(member.clone()).chain(cells.iter().map(words)).collect());
    let head: Vec<&str> = std::iter::once("load").chain(found.heads.iter().map(String::as_str)).collect();
    Some(Figure {
        id: "tiles".to_owned(),
        keys: keys.chain([Key::area(BROKEN.1, BROKEN.0)]).collect(),
        svg: draw(&found, (&title, &about)),
        table: Grid::new(&head, rows.collect()),
        title,
        about,
    })
}

/// The head of a column, or its number alone where the column is narrow.
fn fitting(head: &str, width: f64) -> &str {
    let mut numbers = head.split(' ').filter(|word| word.starts_with(|first: char| first.is_ascii_digit()));
    if width < ROOM_OF_HEAD { numbers.next().unwrap_or(head) } else { head }
}

fn draw(found: &Cells, say: (&str, &str)) -> String {
    let height = ROW * (found.members.len() + 1) as f64;
    let width = ((WIDTH - NAMES) / found.heads.len().max(1) as f64).min(CELL);
    let mut svg = Svg::new("tiles", (WIDTH, height), say.0, say.1);
    for (at, head) in found.heads.iter().enumerate() {
        svg.text(
            "tick",
            (NAMES + width * (at as f64 + 0.5), ROW - 12.0),
            Anchor::Middle,
            fitting(head, width),
        );
    }
    for (row, (member, cells)) in found.members.iter().zip(&found.cells).enumerate() {
        let top = ROW * (row as f64 + 1.0);
        svg.text("area-name", (NAMES - 12.0, top + ROW / 2.0 + 4.0), Anchor::End, member);
        for (column, cell) in cells.iter().enumerate() {
            let left = NAMES + width * column as f64;
            if let Some(cell) = cell {
                svg.rect(cell.class(), (left + 1.0, top + 1.0), (width - 2.0, ROW - 2.0));
            }
            let words = cell.map_or_else(|| words::NONE.to_owned(), Cell::words);
            svg.text("area-name", (left + width / 2.0, top + ROW / 2.0 + 4.0), Anchor::Middle, &words);
        }
    }
    svg.finish()
}

/// Rates against the reference in the scored window, or else in the last one.
fn ratios(tiles: &TilesRecord, score: Option<&ScoreRecord>, windows: &[Vec<&Trial>]) -> Option<Grid> {
    let terms = match score {
        Some(score) => score.terms.clone(),
        None => tiles.ratios(windows.last()?),
    };
    let row = |term: &barograph_record::RatioRecord| {
        vec![
            term.load.clone(),
            term.tile.to_string(),
            term.of.clone(),
            words::figure(term.rate),
            words::figure(term.reference),
            words::fixed(term.ratio, 3),
        ]
    };
    let rows: Vec<Vec<String>> = terms.iter().map(row).collect();
    let head = ["load", "tile", "rate", "measured", "reference", "ratio"];
    (!rows.is_empty()).then(|| Grid::new(&head, rows).with_words(&["rate"]))
}

/// Rates of operations in the windows that count; `None` without operations.
fn operations(rates: &[OperationRatioRecord]) -> Option<Grid> {
    let row = |of: &OperationRatioRecord| {
        vec![
            of.act.clone(),
            of.done.to_string(),
            of.failed.to_string(),
            words::figure(of.per_hour),
            words::figure(of.reference),
            words::fixed(of.ratio, 3),
        ]
    };
    let rows: Vec<Vec<String>> = rates.iter().map(row).collect();
    let head = ["operation", "done", "failed", "per hour", "reference", "ratio"];
    (!rows.is_empty()).then(|| Grid::new(&head, rows))
}

#[cfg(test)]
mod tests {
    use barograph_record::TileLoadRecord;

    use super::*;

    #[test]
    fn a_cell_is_as_dark_as_its_limit_is_used() {
        let cell = |share: Option<f64>, broken: bool| Cell { share, broken };
        for (share, broken, class, words) in [
            (Some(0.1), false, "heat h1", "10 %"),
            (Some(0.5), false, "heat h2", "50 %"),
            (Some(1.0), false, "heat h4", "100 %"),
            (Some(1.43), true, "over", "143 % ✕"),
            (Some(0.2), true, "over", "20 % ✕"),
            (None, false, "heat h1", "no limit"),
        ] {
            assert_eq!((cell(share, broken).class(), cell(share, broken).words().as_str()), (class, words));
        }
        assert_eq!(cell(None, true).with(cell(Some(0.3), false)), cell(Some(0.3), true));
    }

    #[test]
    fn tiles_are_told_with_two_decimals() {
        let words = [1.0, 2.0, 2.504].map(|count| counted(count, "tile"));
        assert_eq!(words, ["1 tile", "2 tiles", "2.5 tiles"]);
    }

    #[test]
    fn the_class_names_the_rates_of_operations() {
        let mut score = ScoreRecord::default();
        assert_eq!(class(&score), "applications only, without operations on the infrastructure");
        assert!(operations(&score.operations).is_none());
        score.applications = Some(1.0);
        score.operations = vec![OperationRatioRecord {
            act: "move".to_owned(),
            done: 3,
            per_hour: 72.0,
            reference: 36.0,
            ratio: 2.0,
            ..OperationRatioRecord::default()
        }];
        assert_eq!(
            class(&score),
            "80 % applications, 20 % operations on the infrastructure (move 72.0 per hour)"
        );
        assert_eq!(
            operations(&score.operations).unwrap().rows,
            [["move", "3", "0", "72.0", "36.0", "2.000"]]
        );
    }

    #[test]
    fn copies_of_one_load_are_instances_without_a_score() {
        let load = |tile, member: &str| TileLoadRecord {
            load: format!("{member}-{tile}"),
            member: member.to_owned(),
            tile,
            ..TileLoadRecord::default()
        };
        let mut tiles = TilesRecord { loads: vec![load(1, "kv"), load(2, "kv")], ..TilesRecord::default() };
        assert_eq!((noun(&tiles), facts(&tiles, None)), ("instance", vec![("instances", "2".to_owned())]));
        assert_eq!(cells(&tiles, &[]).heads, ["instance 1", "instance 2"]);
        for (head, width, shown) in
            [("instance 16", 50.0, "16"), ("12 tiles", 50.0, "12"), ("tile 3", 90.0, "tile 3")]
        {
            assert_eq!(fitting(head, width), shown);
        }
        tiles.loads.extend([load(1, "sql"), load(2, "sql")]);
        assert_eq!((noun(&tiles), facts(&tiles, None)), ("tile", vec![("tiles", "2 of 2 loads".to_owned())]));
    }
}
