//! Tables of the page from the readings of all rounds.

use super::output::ToolReport;
use super::sections::{Case, OTHER, RATE, SHAPES, Section};
use super::stall::computed_ms;
use super::stand::{Account, TIERS, Tier};
use super::tools::{Job, OURS, Tool};
use crate::contest::figures::{middle, ratios, with_spread};

/// One run of one driver in one case.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) case: usize,
    pub(super) tool: &'static str,
    pub(super) round: u32,
    pub(super) reading: ToolReport,
    /// Commands executed by stores.
    pub(super) served: u64,
    /// CPU of the driver per command executed by stores, in microseconds.
    pub(super) driver_us: f64,
    /// CPU of the servers, in the order of [`TIERS`].
    pub(super) servers_us: [Option<f64>; 3],
}

impl Run {
    fn of_tier(&self, tier: Tier) -> Option<f64> {
        TIERS.iter().zip(self.servers_us).find(|(t, _)| **t == tier)?.1
    }

    fn chain_us(&self) -> f64 {
        self.servers_us.iter().flatten().sum()
    }
}

/// Column titles of the raw readings.
pub(super) const RAW_TITLES: &str = "section,case,tool,round,commands,commands_per_s,commands_by_store,failed,driver_cpu_us,store_cpu_us,\
     twemproxy_cpu_us,haproxy_cpu_us,p50_ms,p90_ms,p95_ms,p99_ms,max_ms,start_lag_p50_ms,start_lag_p99_ms,\
     own_cpu_us";

/// A reading as a line of comma-separated values.
pub(super) fn raw_line(section: Section, case: &Case, run: &Run) -> String {
    let r = &run.reading;
    let mut line = format!(
        "{},\"{}\",\"{}\",{},{},{:.1},{},{},{:.4}",
        section.name(),
        case.title(),
        run.tool,
        run.round,
        r.commands,
        r.per_s,
        run.served,
        r.failed,
        run.driver_us
    );
    let times = [r.p50_ms, r.p90_ms, r.p95_ms, r.p99_ms, r.max_ms, r.lag_p50_ms, r.lag_p99_ms, r.own_cpu_us];
    for value in run.servers_us.into_iter().chain(times) {
        line.push_str(&value.map_or(",".to_owned(), |v| format!(",{v:.4}")));
    }
    line
}

/// A row: the runs of one driver in one case, and those of the base of its ratios.
struct Row<'a> {
    case: &'a Case,
    tool: &'static str,
    runs: Vec<&'a Run>,
    base: Vec<&'a Run>,
}

impl Row<'_> {
    fn all(&self, figure: impl Fn(&Run) -> f64) -> Vec<f64> {
        self.runs.iter().map(|run| figure(run)).collect()
    }

    fn some(&self, figure: impl Fn(&Run) -> Option<f64>) -> Vec<f64> {
        self.runs.iter().filter_map(|run| figure(run)).collect()
    }

    /// Ratios within rounds of a figure of the driver's CPU to that of the base.
    fn ratios(&self, figure: fn(&Run) -> Option<f64>) -> Vec<f64> {
        let mine: Vec<_> = self.runs.iter().filter_map(|run| Some((run.round, figure(run)?))).collect();
        let base: Vec<_> = self.base.iter().map(|run| (run.round, run.driver_us)).collect();
        ratios(&mine, &base)
    }
}

/// CPU per command of the whole process.
fn whole(run: &Run) -> Option<f64> {
    Some(run.driver_us)
}

/// CPU per command by the driver's own account.
fn own(run: &Run) -> Option<f64> {
    run.reading.own_cpu_us
}

/// A column: its title, and the text for a row.
type Column = (String, fn(&Row<'_>) -> String);

fn columns(section: Section, base: Option<&str>) -> Vec<Column> {
    let column = |title: &str, cell: fn(&Row<'_>) -> String| (title.to_owned(), cell);
    let first = match section {
        Section::Direct | Section::Verify => "connections x pipeline",
        Section::Rate | Section::Stall => "load",
        Section::Proxies => "connections x pipeline, chain",
    };
    let mut all = vec![
        column(first, |row| row.case.name.clone()),
        column("driver", |row| row.tool.to_owned()),
        column("rounds", |row| row.runs.len().to_string()),
    ];
    all.push(match section {
        Section::Rate => column("commands/s", |row| with_spread(&row.all(|r| r.reading.per_s), 1)),
        Section::Stall => column("commands/s", |row| with_spread(&row.all(|r| r.reading.per_s), 0)),
        _ => column("K commands/s", |row| with_spread(&row.all(|r| r.reading.per_s / 1e3), 1)),
    });
    if section == Section::Rate {
        all.push(column("missed by %", |row| middle(&row.all(missed_percent), 3)));
    }
    if section != Section::Stall {
        all.push(column("CPU us/command", |row| with_spread(&row.all(|r| r.driver_us), 2)));
        all.extend(base.map(|base| column(&format!("to {base}"), |row| with_spread(&row.ratios(whole), 2))));
        all.push(column("store CPU us/command", |row| middle(&row.some(|r| r.of_tier(Tier::Store)), 2)));
    }
    if section == Section::Proxies {
        all.push(column("twemproxy", |row| middle(&row.some(|r| r.of_tier(Tier::Twemproxy)), 2)));
        all.push(column("HAProxy", |row| middle(&row.some(|r| r.of_tier(Tier::Haproxy)), 2)));
        all.push(column("stores and proxies", |row| middle(&row.all(Run::chain_us), 2)));
    }
    if section == Section::Rate {
        all.push(column("start lag p50 ms", |row| middle(&row.some(|r| r.reading.lag_p50_ms), 3)));
        all.push(column("start lag p99 ms", |row| middle(&row.some(|r| r.reading.lag_p99_ms), 3)));
    }
    all.push(column("p50 ms", |row| middle(&row.some(|r| r.reading.p50_ms), 3)));
    if section == Section::Stall {
        all.push(column("p90 ms", |row| middle(&row.some(|r| r.reading.p90_ms), 3)));
        all.push(column("p95 ms", |row| middle(&row.some(|r| r.reading.p95_ms), 3)));
    }
    all.push(column("p99 ms", |row| middle(&row.some(|r| r.reading.p99_ms), 3)));
    if section == Section::Stall {
        all.push(column("p99 to computed", |row| middle(&row.some(p99_to_computed), 3)));
        all.push(column("max ms", |row| middle(&row.some(|r| r.reading.max_ms), 1)));
    }
    all.push(column("failed", |row| row.runs.iter().map(|r| r.reading.failed).sum::<u64>().to_string()));
    all
}

/// Deviation from the rate of that section, in percent.
fn missed_percent(run: &Run) -> f64 {
    (run.reading.per_s / f64::from(RATE) - 1.0).abs() * 100.0
}

fn p99_to_computed(run: &Run) -> Option<f64> {
    Some(run.reading.p99_ms? / computed_ms(0.99))
}

/// The base of ratios: the first measured one of the section's bases.
pub(super) fn base(section: Section, runs: &[Run]) -> Option<&'static str> {
    section.bases().iter().copied().find(|name| runs.iter().any(|run| run.tool == *name))
}

/// The tables of a section, each with a heading where there are several.
pub(super) fn tables(section: Section, cases: &[Case], runs: &[Run]) -> String {
    let base = base(section, runs);
    let rows = rows(cases, runs, base);
    let mut groups: Vec<&str> = cases.iter().map(|case| case.group.as_str()).collect();
    groups.dedup();
    let mut tables = Vec::new();
    if section == Section::Direct {
        tables.push(summary(&rows, base));
    }
    for group in groups {
        let mut lines = Vec::new();
        if section == Section::Stall {
            lines.push(computed());
        }
        let columns = columns(section, base);
        let of_group = rows.iter().filter(|row| row.case.group == group);
        lines.extend(of_group.map(|row| columns.iter().map(|(_, cell)| cell(row)).collect::<Vec<_>>()));
        let titles: Vec<&str> = columns.iter().map(|(title, _)| title.as_str()).collect();
        let heading = if group.is_empty() { String::new() } else { format!("### {group}\n\n") };
        tables.push(format!("{heading}{}", markdown(&titles, &lines)));
    }
    tables.join("\n")
}

/// The runs of each driver in each case, grouped by case; the drivers in order of measurement.
fn rows<'a>(cases: &'a [Case], runs: &'a [Run], base: Option<&str>) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        let of = |tool: &str| runs.iter().filter(|r| r.case == at && r.tool == tool).collect::<Vec<_>>();
        let mut seen: Vec<&str> = Vec::new();
        for run in runs.iter().filter(|run| run.case == at) {
            if !seen.contains(&run.tool) {
                seen.push(run.tool);
                let (runs, base) = (of(run.tool), base.map(of).unwrap_or_default());
                rows.push(Row { case, tool: run.tool, runs, base });
            }
        }
    }
    rows
}

/// Required ratio of this driver's CPU to redis-benchmark's, by shape.
const WANTED: [Option<f64>; SHAPES.len()] = [None, Some(0.80), Some(0.70), Some(0.65), Some(0.65)];

/// Ratios of CPU by shape, over all commands and sizes.
fn summary(rows: &[Row<'_>], base: Option<&str>) -> String {
    let Some(base) = base else { return String::new() };
    let shapes = SHAPES.map(|(connections, pipeline)| format!("{connections}x{pipeline}"));
    let title = format!("CPU to {base}");
    let titles: Vec<&str> =
        std::iter::once(title.as_str()).chain(shapes.iter().map(String::as_str)).collect();
    let mut tools: Vec<&str> = Vec::new();
    for row in rows {
        if row.tool != base && !tools.contains(&row.tool) {
            tools.push(row.tool);
        }
    }
    let line = |name: String, tool: &str, figure: fn(&Run) -> Option<f64>| {
        let of = |shape: &String| {
            let rows = rows.iter().filter(|row| row.tool == tool && row.case.job.shape() == *shape);
            with_spread(&rows.flat_map(|row| row.ratios(figure)).collect::<Vec<_>>(), 2)
        };
        std::iter::once(name).chain(shapes.iter().map(of)).collect::<Vec<_>>()
    };
    let mut lines: Vec<_> = tools.iter().map(|tool| line((*tool).to_owned(), tool, whole)).collect();
    if tools.contains(&OURS.name) && base != OTHER {
        lines.push(line(format!("{}, by its own account of the window", OURS.name), OURS.name, own));
        let wanted = WANTED.map(|most| most.map_or("-".to_owned(), |most| format!("{most:.2}")));
        lines.push(std::iter::once(format!("wanted of {}, at most", OURS.name)).chain(wanted).collect());
    }
    format!("### All commands and sizes together\n\n{}", markdown(&titles, &lines))
}

/// The row of the section with stalls that is computed, not measured.
fn computed() -> Vec<String> {
    let of = |quantile: f64| format!("{:.0}", computed_ms(quantile));
    let none = || "-".to_owned();
    let names = ["at equal distances".to_owned(), "computed".to_owned()];
    let times = [of(0.5), of(0.9), of(0.95), of(0.99), "1.000".to_owned(), of(1.0)];
    names.into_iter().chain([none(), none()]).chain(times).chain([none()]).collect()
}

fn markdown(titles: &[&str], lines: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let titles: Vec<String> = titles.iter().map(|title| (*title).to_owned()).collect();
    let rule = format!("|{}\n", "---|".repeat(titles.len()));
    line(&titles) + &rule + &lines.iter().map(|cells| line(cells)).collect::<String>()
}

/// Most commands of a driver outside of its load.
const OTHER_COMMANDS: u64 = 100;

/// Reason to distrust a run; `None` if its count and the store's agree and no key was missing.
pub(super) fn doubt(tool: &Tool, job: &Job, reading: &ToolReport, spent: &Account) -> Option<String> {
    let (counted, served) = (reading.commands + reading.failed, spent.commands);
    // Commands in flight when it stopped counting, and further ones such as CONFIG.
    let in_flight = u64::from(job.connections) * u64::from(job.pipeline);
    let most = counted + 2 * in_flight + counted / 50 + OTHER_COMMANDS;
    if counted > served || (!tool.window && served > most) {
        return Some(format!("it counted {counted} commands, and the store {served}"));
    }
    (spent.misses > 0).then(|| format!("{} of the keys were not there", spent.misses))
}

#[cfg(test)]
mod tests;
