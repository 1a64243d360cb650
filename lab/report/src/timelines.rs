//! The figures over time: load, response time, CPU, memory, start lag.

use barograph_record::{ProbeRow, ResultRecord, Run, UnitRecord};

use crate::chart::{Band, Dash, Moment, OverTime, Series, TimeAxis, YAxis};
use crate::html::{Figure, Grid, Key};
use crate::series::{RunSeries, Slice};
use crate::{cpu, services, states, words};

/// Most rows of the table beside a figure over time.
const TABLE_ROWS: usize = 30;

/// Subjects of resource samples, with the name, colour and dash they have in every figure.
const SUBJECTS: [(&str, &str, &str, Dash); 3] = [
    ("host", "host, everything on it", "c4", Dash::Dotted),
    ("app", "application", "c1", Dash::Solid),
    ("driver", "driver", "c2", Dash::Dashed),
];

/// Colours and dashes of the sources of power.
const SOURCES: [(&str, Dash); 4] =
    [("c1", Dash::Solid), ("c2", Dash::Dashed), ("c3", Dash::Dotted), ("c4", Dash::Dotted)];

/// Common parts of all figures over time.
pub(crate) struct Stage<'a> {
    run: &'a Run,
    pub(crate) span: (f64, f64),
    windows: Vec<Band>,
    phases: Vec<Band>,
    actions: Vec<Moment>,
}

/// Title and description of a figure.
struct Words<'a> {
    id: &'a str,
    title: &'a str,
    about: &'a str,
}

const MEMORY: Words<'_> =
    Words { id: "memory", title: "Memory", about: "Resident memory; for the host, memory in use." };

const POWER: Words<'_> = Words {
    id: "power",
    title: "Power",
    about: "Watts by source, each named after its scope. A wider scope contains the others.",
};

/// All figures over time of `run`; those without any value are left out.
pub(crate) fn figures(run: &Run, measured: &RunSeries) -> Vec<Figure> {
    let Some(stage) = stage(run, measured) else { return Vec::new() };
    let slices = &measured.slices;
    let mut arrivals = vec![line("started", "c1", Dash::Solid, slices, |s| s.starts_s)];
    let odd = [
        line("late", "c2", Dash::Dashed, slices, |s| s.late_s),
        line("dropped", "c4", Dash::Dotted, slices, |s| s.dropped_s),
        line("skipped", "c3", Dash::Dotted, slices, |s| s.skipped_s),
    ];
    // Lines that are always zero are left out.
    arrivals.extend(odd.into_iter().filter(|series| series.points.iter().any(|(_, y)| *y > 0.0)));
    let started = run.unit() == UnitRecord::StartsPerSecond || arrivals.len() > 1;
    let mut figures = vec![
        stage.figure(
            &Words { id: "users", title: "Users", about: "Users active. Shaded: measured windows." },
            YAxis::Figures,
            &[line("users", "c1", Dash::Solid, slices, |s| f64::from(s.users))],
        ),
        stage.figure(
            &Words {
                id: "throughput",
                title: "Operations per second",
                about: "Operations that ended, and failed ones among them.",
            },
            YAxis::Figures,
            &[
                line("ended", "c1", Dash::Solid, slices, |s| s.ops_s),
                line("failed", "c2", Dash::Dashed, slices, |s| s.failed_s),
            ],
        ),
        stage.figure(
            &Words {
                id: "response",
                title: "Response time",
                about: "Median and 99 % quantile over all operations judged by time, from whole histograms; \
                        logarithmic scale.",
            },
            YAxis::LogTime,
            &[
                line("p50", "c1", Dash::Solid, slices, |s| s.p50_ms.unwrap_or(f64::NAN)),
                line("p99", "c2", Dash::Dashed, slices, |s| s.p99_ms.unwrap_or(f64::NAN)),
            ],
        ),
        stage.figure(
            &Words {
                id: "lag",
                title: "Start lag of the driver",
                about: "How late operations began against their intended start; it is part of the response time. \
                        Logarithmic scale.",
            },
            YAxis::LogTime,
            &[
                line("p50", "c1", Dash::Solid, slices, |s| s.lag_p50_ms),
                line("p99", "c2", Dash::Dashed, slices, |s| s.lag_p99_ms),
            ],
        ),
    ];
    if started {
        let words = Words {
            id: "arrivals",
            title: "Starts per second",
            about: "Operations started; arrivals that waited for a free user (late) or never started (dropped), and \
                    beats left out (skipped), where there were any.",
        };
        figures.insert(1, stage.figure(&words, YAxis::Figures, &arrivals));
    }
    figures.push(stage.figure(
        &Words { id: "cpu", title: "CPU", about: "Cores in use, user mode and kernel together." },
        YAxis::Figures,
        &stage.subjects(ProbeRow::cores),
    ));
    figures.extend(cpu::figures(run, stage.course()).into_iter().map(Some));
    figures.extend(states::figures(run, stage.course(), services::window(run)).into_iter().map(Some));
    figures.push(stage.figure(&POWER, YAxis::Figures, &stage.power()));
    figures.push(stage.figure(&MEMORY, YAxis::Bytes, &stage.subjects(|p| p.rss_bytes.map(|b| b as f64))));
    figures.into_iter().flatten().collect()
}

fn line(name: &str, class: &'static str, dash: Dash, slices: &[Slice], of: fn(&Slice) -> f64) -> Series {
    let points = slices.iter().map(|s| (f64::midpoint(s.from_s, s.to_s), of(s))).collect();
    Series { name: name.to_owned(), class, dash, points }
}

/// The common parts of the figures of a run; `None` without intervals.
pub(crate) fn stage<'a>(run: &'a Run, measured: &RunSeries) -> Option<Stage<'a>> {
    let first = measured.slices.first()?.from_s;
    let last = measured.slices.last()?.to_s;
    let windows = run.trials().filter(|t| t.purpose != barograph_record::Purpose::Ramp).map(|t| Band {
        from_s: t.window.from_s,
        to_s: t.window.to_s,
        label: format!("trial {}: {}, {}", t.n, words::offered(t.offered()), t.result.name()),
        class: match t.result {
            ResultRecord::Pass => "pass",
            ResultRecord::Fail => "fail",
            ResultRecord::Invalid => "invalid",
        },
    });
    let start = run.load_start_s().unwrap_or(0.0);
    let phases = run.phases().into_iter().filter_map(|p| {
        let from_s = (p.from_s - start).max(first);
        let to_s = p.to_s.map_or(last, |to| to - start).min(last);
        (from_s < to_s).then_some(Band { from_s, to_s, label: p.phase, class: "" })
    });
    let actions = run.actions().filter(|action| (first..last).contains(&action.at_s)).map(|action| {
        let label = match action.unit.as_str() {
            "" => action.act.clone(),
            unit => format!("{unit}: {}", action.act),
        };
        Moment { at_s: action.at_s, label }
    });
    let (windows, phases, actions) = (windows.collect(), phases.collect(), actions.collect());
    Some(Stage { run, span: (first, last), windows, phases, actions })
}

impl Stage<'_> {
    /// One line per subject that was sampled.
    fn subjects(&self, of: fn(&ProbeRow) -> Option<f64>) -> Vec<Series> {
        let series = SUBJECTS.map(|(subject, name, class, dash)| Series {
            name: name.to_owned(),
            class,
            dash,
            points: self.points(subject, of),
        });
        series.into_iter().filter(|s| !s.points.is_empty()).collect()
    }

    /// One line per source of power, for the first sources.
    fn power(&self) -> Vec<Series> {
        let sources = self.run.power_sources().into_iter().zip(SOURCES);
        let series = sources.map(|(source, (class, dash))| {
            let points = self.points(&barograph_record::power_of(source), |row| row.watts);
            Series { name: source.to_owned(), class, dash, points }
        });
        series.collect()
    }

    /// Values of a subject, by seconds since the start of the load.
    fn points(&self, subject: &str, of: fn(&ProbeRow) -> Option<f64>) -> Vec<(f64, f64)> {
        let start = self.run.load_start_s().unwrap_or(0.0);
        let rows = self.run.probes.iter().filter(|p| p.subject == subject);
        let points = rows.filter_map(|p| Some((p.at_s - start, of(p)?)));
        points.filter(|(s, _)| *s >= self.span.0 && *s <= self.span.1).collect()
    }

    pub(crate) fn course(&self) -> TimeAxis<'_> {
        let Stage { span, windows, phases, actions, .. } = self;
        TimeAxis { span: *span, windows, phases, actions }
    }

    fn figure(&self, say: &Words<'_>, y: YAxis, series: &[Series]) -> Option<Figure> {
        if !series.iter().flat_map(|s| &s.points).any(|p| p.1.is_finite()) {
            return None;
        }
        let chart =
            OverTime { id: say.id, title: say.title, about: say.about, course: self.course(), y, series };
        let keys = series.iter().map(|s| Key::line(&s.name, s.class, s.dash));
        Some(Figure {
            id: say.id.to_owned(),
            title: say.title.to_owned(),
            about: say.about.to_owned(),
            svg: chart.draw(),
            keys: keys.collect(),
            table: table(series, y),
        })
    }
}

/// Values at evenly spaced instants: those of the first series, and for the others the next value after it.
fn table(series: &[Series], y: YAxis) -> Grid {
    let Some(first) = series.first() else { return Grid::new(&["Time"], Vec::new()) };
    let every = first.points.len().div_ceil(TABLE_ROWS).max(1);
    let value = |s: &Series, at: f64| {
        let index = s.points.partition_point(|p| p.0 < at - 1e-9);
        s.points.get(index).map_or_else(|| words::NONE.to_owned(), |p| y.word(p.1))
    };
    let rows = first.points.iter().step_by(every).map(|(at, _)| {
        std::iter::once(words::clock(*at)).chain(series.iter().map(|s| value(s, *at))).collect()
    });
    let head: Vec<&str> = std::iter::once("Time").chain(series.iter().map(|s| s.name.as_str())).collect();
    Grid::new(&head, rows.collect())
}
