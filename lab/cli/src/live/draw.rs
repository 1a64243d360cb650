//! Drawing of the live screen: throughput, times, outcomes, and the driver.

use std::fmt::Write;

use barograph_model::{LoadUnit, OfferedLoad, Outcome};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Paragraph, Sparkline};

use super::moment::{ScreenContent, bars};
use crate::words::{count, figure, percent, time};

/// Colour of figures.
const ACCENT: Color = Color::Cyan;
/// Colour of failures and warnings.
const BAD: Color = Color::Red;

/// Share of its core from which the busiest worker is shown as a warning; a run is not valid from slightly
/// above.
const BUSY: f64 = 0.85;

/// Height of the box of times: six lines and its frame.
const TIMES_HEIGHT: u16 = 8;

/// Width of the boxes on the left.
const LEFT: u16 = 40;

/// Draws everything that fits.
pub(crate) fn draw(frame: &mut Frame<'_>, moment: &ScreenContent) {
    let [head, curve, times, ends, lines, foot] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Min(4),
        Constraint::Length(TIMES_HEIGHT),
        Constraint::Length(7),
        Constraint::Max(3),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(headline(moment, head.width)), head);
    throughput(frame, moment, curve);
    let halves = || Layout::horizontal([Constraint::Length(LEFT), Constraint::Min(0)]);
    let [left, right] = halves().areas(times);
    frame.render_widget(Paragraph::new(quantiles(moment)).block(titled(" times ")), left);
    histogram(frame, moment, right);
    let [left, right] = halves().areas(ends);
    frame.render_widget(Paragraph::new(endings(moment, 5)).block(titled(" how operations ended ")), left);
    frame.render_widget(Paragraph::new(driver(moment)).block(titled(" load and driver ")), right);
    let said = moment.lines.iter().rev().take(usize::from(lines.height)).rev();
    let said: Vec<Line<'_>> = said.map(|line| Line::styled(format!(" {line}"), dim())).collect();
    frame.render_widget(Paragraph::new(said), lines);
    frame.render_widget(Paragraph::new(keys(moment)), foot);
}

fn titled(title: &str) -> Block<'_> {
    Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(dim())
        .title(Span::styled(title, Style::new().add_modifier(Modifier::BOLD).remove_modifier(Modifier::DIM)))
}

fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

fn strong() -> Style {
    Style::new().fg(ACCENT).add_modifier(Modifier::BOLD)
}

/// A name and its figure.
fn pair<'a>(name: &str, figure: String, style: Style) -> Line<'a> {
    Line::from(vec![Span::styled(format!(" {name:<18}"), dim()), Span::styled(figure, style)])
}

/// Name and phase of the run, and longest remaining time.
fn headline(moment: &ScreenContent, width: u16) -> Vec<Line<'static>> {
    let level = match moment.unit {
        unit @ (LoadUnit::Users | LoadUnit::PerSecond) => {
            let load = OfferedLoad { unit, level: moment.level };
            format!("{} {}", load.level, load.noun())
        }
        LoadUnit::Scale | LoadUnit::Tiles => format!("{} %", moment.level),
    };
    let mut clock = minutes(moment.elapsed.0);
    if let Some(left) = moment.remaining {
        let _ = write!(clock, "  at most {} left", minutes(left.0));
    }
    let room = usize::from(width).saturating_sub(level.len() + clock.len() + 5);
    let mut title: String = moment.title.chars().take(room).collect();
    if moment.title.chars().count() > room {
        title.pop();
        title.push('…');
    }
    let first = Line::from(vec![
        Span::styled(format!(" {title:<room$}"), Style::new().add_modifier(Modifier::BOLD)),
        Span::styled(format!("  {level}"), strong()),
        Span::raw(format!("  {clock}")),
    ]);
    let phase = if moment.stopping { "stopping" } else { moment.phase.name() };
    let second = Line::from(vec![
        Span::styled(format!(" {phase}"), Style::new().fg(ACCENT)),
        Span::styled(format!("  {}", moment.about), dim()),
    ]);
    vec![first, second]
}

fn minutes(nanos: u64) -> String {
    let s = nanos / 1_000_000_000;
    format!("{}:{:02}", s / 60, s % 60)
}

/// Current operations per second, their mean, and their curve.
fn throughput(frame: &mut Frame<'_>, moment: &ScreenContent, area: Rect) {
    let now = moment.rates.back().copied().unwrap_or(0.0);
    let title = Line::from(vec![
        Span::styled(" throughput ", Style::new().add_modifier(Modifier::BOLD)),
        Span::styled(format!("{} /s now", figure(now)), strong()),
        Span::raw(format!("  {} /s in this phase", figure(moment.sum.rate()))),
        Span::styled(
            format!("  most {} /s ", figure(moment.rates.iter().copied().fold(0.0, f64::max))),
            dim(),
        ),
    ]);
    // The frame is dim, its title is not.
    let block = titled("").title(title.style(Style::new().remove_modifier(Modifier::DIM)));
    let inside = block.inner(area);
    let wide = columns(moment, inside.width);
    let shown = usize::from(inside.width) / wide;
    let points = moment.rates.iter().rev().take(shown).rev();
    let points: Vec<u64> = points.flat_map(|rate| std::iter::repeat_n(rate.round() as u64, wide)).collect();
    frame.render_widget(block, area);
    frame.render_widget(Sparkline::default().data(&points).style(Style::new().fg(ACCENT)), inside);
}

/// Columns per interval of the curve: a short load fills the width, too, and a long one scrolls.
fn columns(moment: &ScreenContent, width: u16) -> usize {
    const MOST: usize = 8;
    let left = moment.remaining.map_or(0.0, |left| left.as_secs_f64());
    let elapsed = moment.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
    let whole = moment.rates.len().max(1) as f64 * (1.0 + left / elapsed);
    ((f64::from(width) / whole) as usize).clamp(1, MOST)
}

/// Quantiles of response time, with those of service time beside them.
fn quantiles(moment: &ScreenContent) -> Vec<Line<'static>> {
    let sum = &moment.sum;
    let mut lines = vec![Line::styled(format!(" {:<8}{:>12}{:>12}", "", "response", "service"), dim())];
    for (name, quantile) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)] {
        let of = |histogram: &barograph_stats::Histogram| match histogram.is_empty() {
            true => "–".to_owned(),
            false => time(histogram.value_at_quantile(quantile) as f64 / 1e3),
        };
        lines.push(Line::from(vec![
            Span::styled(format!(" {name:<8}"), dim()),
            Span::styled(format!("{:>12}", of(&sum.response)), strong()),
            Span::raw(format!("{:>12}", of(&sum.service))),
        ]));
    }
    lines
}

/// Response times as bars, from the shortest to the longest.
fn histogram(frame: &mut Frame<'_>, moment: &ScreenContent, area: Rect) {
    let block = titled(" response times ");
    let inside = block.inner(area);
    frame.render_widget(block, area);
    let bars = bars(&moment.sum.response, usize::from(inside.height));
    let most = bars.iter().map(|b| b.count).max().unwrap_or(0).max(1) as f64;
    let all = moment.sum.response.len().max(1) as f64;
    // Room for the time before a bar and its share behind it.
    let room = f64::from(inside.width.saturating_sub(21));
    let line = |bar: &super::moment::Bar| {
        let length = (bar.count as f64 / most * room).round() as usize;
        // A small count differs from zero.
        let drawn = if length == 0 && bar.count > 0 { "▏".to_owned() } else { "█".repeat(length) };
        Line::from(vec![
            Span::styled(format!("{:>9} ", time(bar.from.as_secs_f64() * 1e3)), dim()),
            Span::styled(drawn, Style::new().fg(ACCENT)),
            Span::raw(format!(" {}", percent(bar.count as f64 / all))),
        ])
    };
    frame.render_widget(Paragraph::new(bars.iter().map(line).collect::<Vec<_>>()), inside);
}

/// Outcomes of operations: good ones first, then every kind of failure that occurred, the most frequent
/// first.
fn endings(moment: &ScreenContent, rows: usize) -> Vec<Line<'static>> {
    let all = moment.sum.ended().max(1) as f64;
    let mut ends: Vec<(Outcome, u64)> = Outcome::ALL
        .iter()
        .filter(|o| !matches!(o, Outcome::Good | Outcome::Cancelled))
        .map(|o| (*o, moment.sum.outcomes[o.index()]))
        .filter(|(_, n)| *n > 0)
        .collect();
    ends.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let good = moment.sum.outcomes[Outcome::Good.index()];
    let mut lines = vec![pair("good", count(good), strong())];
    for (outcome, n) in ends {
        let style = if outcome.is_failure() { Style::new().fg(BAD) } else { Style::new() };
        lines.push(pair(outcome.name(), format!("{}  {}", count(n), percent(n as f64 / all)), style));
    }
    lines.truncate(rows);
    lines
}

/// Figures of the driver.
fn driver(moment: &ScreenContent) -> Vec<Line<'static>> {
    let now = &moment.now;
    let sum = &moment.sum;
    let busy = if now.busiest_worker > BUSY { Style::new().fg(BAD) } else { Style::new() };
    let lost = if sum.dropped > 0 { Style::new().fg(BAD) } else { Style::new() };
    let users = format!("{}, {} in flight", count(now.users.into()), figure(now.in_flight));
    let mut lines = vec![
        pair("users", users, Style::new()),
        pair("start lag p99", now.lag_p99_ms.map_or_else(|| "–".to_owned(), time), Style::new()),
        pair("busiest worker", format!("{} of its core", percent(now.busiest_worker)), busy),
        pair("all workers", format!("{} cores", figure(now.worker_cores)), Style::new()),
    ];
    if moment.unit == LoadUnit::PerSecond {
        lines.push(pair("late / dropped", format!("{} / {}", count(sum.late), count(sum.dropped)), lost));
    } else if sum.skipped > 0 {
        lines.push(pair("beats skipped", count(sum.skipped), Style::new()));
    }
    lines
}

/// Available keys.
fn keys(moment: &ScreenContent) -> Line<'static> {
    let what = match moment.unit {
        LoadUnit::Users => "users",
        LoadUnit::PerSecond => "starts/s",
        LoadUnit::Scale | LoadUnit::Tiles => "scale",
    };
    let key = |key: &'static str| Span::styled(key, Style::new().add_modifier(Modifier::BOLD));
    Line::from(vec![
        key(" q"),
        Span::styled(" stop and conclude", dim()),
        key("   +"),
        Span::styled(" / ", dim()),
        key("-"),
        Span::styled(format!(" a tenth more / fewer {what}"), dim()),
    ])
}

#[cfg(test)]
mod tests {
    use barograph_model::{Nanos, Phase};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::moment::tests::second;
    use super::*;

    fn moment() -> ScreenContent {
        let mut moment = ScreenContent::new("GET http://127.0.0.1:8080/".to_owned(), LoadUnit::Users);
        moment.begin(Phase::Hold, "50 users, measured");
        for (n, rate) in [2_000, 4_000, 6_000, 8_000].into_iter().enumerate() {
            moment.add(&second(n as u64, rate, &[1, 2, 2, 3, 40]), 50.into());
        }
        moment.remaining = Some(Nanos::from_secs(7));
        moment.say("trial 1 (fixed): 50 users passed");
        moment
    }

    fn text(moment: &ScreenContent, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, moment)).unwrap();
        terminal
            .backend()
            .to_string()
            .lines()
            .map(|l| format!("{}\n", l.trim_matches('"').trim_end()))
            .collect()
    }

    #[test]
    fn the_screen_shows_load_times_ends_and_driver() {
        let expected = "\
\x20GET http://127.0.0.1:8080/                    50 users  0:04  at most 0:07 left
 hold  50 users, measured
╭─ throughput 8,000 /s now  5,000 /s in this phase  most 8,000 /s ─────────────╮
│              ▄▄▄▄▄▄▄███████                                                  │
│▄▄▄▄▄▄▄█████████████████████                                                  │
╰──────────────────────────────────────────────────────────────────────────────╯
╭ times ───────────────────────────────╮╭ response times ──────────────────────╮
│             response     service     ││  1.00 ms ██████ 20.0 %               │
│ p50          2.00 ms     1.00 ms     ││  1.85 ms █████████████████ 60.0 %    │
│ p90          40.0 ms     20.0 ms     ││  3.42 ms  0 %                        │
│ p99          40.0 ms     20.0 ms     ││  6.33 ms  0 %                        │
│ p99.9        40.0 ms     20.0 ms     ││  11.7 ms  0 %                        │
│ max          40.0 ms     20.0 ms     ││  21.6 ms ██████ 20.0 %               │
╰──────────────────────────────────────╯╰──────────────────────────────────────╯
╭ how operations ended ────────────────╮╭ load and driver ─────────────────────╮
│ good              19,800             ││ users             50, 12.5 in flight │
│ refused           200  1.00 %        ││ start lag p99     120 µs             │
│                                      ││ busiest worker    40.0 % of its core │
│                                      ││ all workers       0.600 cores        │
│                                      ││                                      │
╰──────────────────────────────────────╯╰──────────────────────────────────────╯
 trial 1 (fixed): 50 users passed

 q stop and conclude   + / - a tenth more / fewer users
";
        assert_eq!(text(&moment(), 80, 24), expected);
    }

    #[test]
    fn any_size_of_terminal_is_drawn() {
        let moment = moment();
        for (width, height) in [(1, 1), (10, 3), (40, 10), (80, 24), (300, 100)] {
            text(&moment, width, height);
        }
        text(&ScreenContent::new(String::new(), LoadUnit::PerSecond), 80, 24);
    }

    #[test]
    fn failures_dropped_arrivals_and_a_full_worker_are_red() {
        let mut moment = moment();
        moment.unit = LoadUnit::PerSecond;
        moment.now.busiest_worker = 0.99;
        moment.sum.dropped = 3;
        let red = |lines: &[Line<'_>]| {
            let spans = lines.iter().flat_map(|l| &l.spans).filter(|s| s.style.fg == Some(BAD));
            spans.map(|s| s.content.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(red(&endings(&moment, 5)), ["200  1.00 %"]);
        assert_eq!(red(&driver(&moment)), ["99.0 % of its core", "0 / 3"]);
    }
}
