//! A heat map of the deciding window: time to the right, response time upwards by logarithm, darker with more
//! operations. Two kinds of answer appear as two bands, where a quantile would lie between them.

use barograph_stats::Histogram;

use crate::chart::{Anchor, Scale, Svg, YAxis};
use crate::deciding::{Column, ColumnGroup, DecidingWindow, bin_from_ms};
use crate::html::{Figure, Grid, Key};
use crate::words;

/// Width of the drawing, in pixels.
const WIDTH: f64 = 1140.0;
/// Height of the drawing, in pixels.
const HEIGHT: f64 = 380.0;
/// Left end of the plot, in pixels.
const LEFT: f64 = 66.0;
/// Right end of the plot, in pixels.
const RIGHT: f64 = WIDTH - 14.0;
/// Upper end of the plot, in pixels.
const TOP: f64 = 10.0;
/// Lower end of the plot, in pixels.
const BOTTOM: f64 = HEIGHT - 46.0;

/// CSS classes of the shades, from few operations to many.
const SHADES: [&str; 7] = ["heat h1", "heat h2", "heat h3", "heat h4", "heat h5", "heat h6", "heat h7"];

/// Fewest bins shown, so that a few of them do not fill the paper: a decade.
const FEWEST_BINS: usize = 10;

/// Least operations per second of each shade. The shades after the first begin at 1 or 3 of a decade, the
/// darkest at the highest of those that a cell reaches.
struct Shading {
    from: [f64; SHADES.len() - 1],
}

impl Shading {
    fn up_to(highest: f64) -> Self {
        // Halves of a decade: an even number is a power of ten, an odd one three times that.
        let value = |half: i32| if half % 2 == 0 { 1.0 } else { 3.0 } * 10f64.powi(half.div_euclid(2));
        let mut top = (highest.max(f64::MIN_POSITIVE).log10() * 2.0).floor() as i32;
        while value(top + 1) <= highest {
            top += 1;
        }
        while value(top) > highest {
            top -= 1;
        }
        let first = top + 2 - SHADES.len() as i32;
        Shading { from: std::array::from_fn(|shade| value(first + shade as i32)) }
    }

    /// The shade of a cell with `rate` operations per second.
    fn of(&self, rate: f64) -> usize {
        // Rounding is allowed for rates that are a whole number over an odd length of time.
        self.from.partition_point(|from| *from <= rate * (1.0 + 1e-9))
    }

    fn word(&self, shade: usize) -> String {
        match shade {
            0 => format!("fewer than {}/s", words::figure_short(self.from[0])),
            shade => format!("from {}/s", words::figure_short(self.from[shade - 1])),
        }
    }
}

/// Neighbouring cells of one row with the same shade: columns from and to, exclusive.
struct Patch {
    bin: usize,
    columns: (usize, usize),
}

/// The figure and its table; `None` without times of a window.
pub(crate) fn figure(deciding: Option<&DecidingWindow>) -> Option<Figure> {
    let deciding = deciding?;
    let columns = &deciding.columns;
    let used = |(bin, _): &(usize, &u64)| columns.iter().any(|column| column.bins[*bin] > 0);
    let mut bins = columns.first()?.bins.iter().enumerate().filter(used).map(|(bin, _)| bin);
    let low = bins.next()?;
    let high = bins.next_back().unwrap_or(low).max(low + FEWEST_BINS - 1) + 1;
    let rates = columns.iter().flat_map(|c| c.bins.iter().map(|n| *n as f64 / (c.to_s - c.from_s)));
    let shading = Shading::up_to(rates.filter(|rate| rate.is_finite()).fold(0.0, f64::max));
    let cells = patches(columns, (low, high), &shading);
    let width = columns.first().map_or(0.0, |column| column.to_s - column.from_s);
    let about = format!(
        "All operations judged by time together, as the window went on. A cell is {} wide and a tenth of a decade high; its \
         shade says how many operations a second ended with this response time. Two bands are two kinds of answer; a column \
         that reaches up is a moment in which many waited. The table has quantiles.",
        words::duration(width)
    );
    let title = "Response times over the measured window";
    let some = cells.iter().enumerate().filter(|(_, patches)| !patches.is_empty());
    let keys = some.map(|(shade, _)| Key::area(&shading.word(shade), SHADES[shade]));
    Some(Figure {
        id: "heat".to_owned(),
        title: title.to_owned(),
        keys: keys.collect(),
        svg: draw(columns, (low, high), &cells, (title, &about)),
        table: table(&deciding.stretches),
        about,
    })
}

/// The cells with ended operations, by shade, neighbours of one row together.
fn patches(columns: &[Column], (low, high): (usize, usize), shading: &Shading) -> Vec<Vec<Patch>> {
    let mut found: Vec<Vec<Patch>> = SHADES.iter().map(|_| Vec::new()).collect();
    for bin in low..high {
        for (at, column) in columns.iter().enumerate() {
            let Some(n) = column.bins.get(bin).copied().filter(|n| *n > 0) else { continue };
            let patches = &mut found[shading.of(n as f64 / (column.to_s - column.from_s))];
            match patches.last_mut() {
                Some(last) if last.bin == bin && last.columns.1 == at => last.columns.1 = at + 1,
                _ => patches.push(Patch { bin, columns: (at, at + 1) }),
            }
        }
    }
    found
}

fn draw(columns: &[Column], bins: (usize, usize), cells: &[Vec<Patch>], say: (&str, &str)) -> String {
    let mut svg = Svg::new("heat", (WIDTH, HEIGHT), say.0, say.1);
    let (Some(first), Some(last)) = (columns.first(), columns.last()) else { return svg.finish() };
    let x = Scale::linear((first.from_s, last.to_s), (LEFT, RIGHT));
    let y = Scale::log((bin_from_ms(bins.0), bin_from_ms(bins.1)), (BOTTOM, TOP));
    let ticked = |tick| Some((y.at(tick)?, YAxis::LogTime.tick(tick)));
    svg.grid((LEFT, RIGHT), y.ticks(7).into_iter().filter_map(ticked));
    let tile = |patch: &Patch| {
        let (from, to) = (columns.get(patch.columns.0)?.from_s, columns.get(patch.columns.1 - 1)?.to_s);
        let (left, right) = (x.at(from)?, x.at(to)?);
        let (top, bottom) = (y.at(bin_from_ms(patch.bin + 1))?, y.at(bin_from_ms(patch.bin))?);
        Some(((left, top), (right - left, bottom - top)))
    };
    for (patches, class) in cells.iter().zip(SHADES) {
        svg.tiles(class, patches.iter().filter_map(tile));
    }
    svg.line("axis", (LEFT, BOTTOM), (RIGHT, BOTTOM));
    for tick in x.clock_ticks(12) {
        let Some(at) = x.at(tick) else { continue };
        svg.line("axis", (at, BOTTOM), (at, BOTTOM + 4.0));
        svg.text("tick", (at, BOTTOM + 18.0), Anchor::Middle, &words::clock(tick));
    }
    let words = "time since the start of the load";
    svg.text("axis-name", (f64::midpoint(LEFT, RIGHT), HEIGHT - 8.0), Anchor::Middle, words);
    svg.finish()
}

fn table(stretches: &[ColumnGroup]) -> Grid {
    let row = |stretch: &ColumnGroup| {
        let times = stretch.times.as_ref();
        let time = |quantile: f64| {
            let ms = |times: &Histogram| words::time(times.value_at_quantile(quantile) as f64 / 1e3);
            times.map_or_else(|| words::NONE.to_owned(), ms)
        };
        let span = format!("{} to {}", words::clock(stretch.from_s), words::clock(stretch.to_s));
        let mut row = vec![span, words::count(times.map_or(0, Histogram::len))];
        row.extend([0.5, 0.9, 0.99, 0.999, 1.0].map(time));
        row
    };
    let head = ["Time", "Operations", "p50", "p90", "p99", "p99.9", "Max"];
    Grid::new(&head, stretches.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(from_s: f64, counts: &[(usize, u64)]) -> Column {
        let mut bins = vec![0; 81];
        for (bin, n) in counts {
            bins[*bin] = *n;
        }
        Column { from_s, to_s: from_s + 1.0, bins }
    }

    #[test]
    fn shades_begin_at_round_rates_and_the_darkest_is_reached() {
        for (highest, top) in
            [(1.0, 1.0), (2.9, 1.0), (3.0, 3.0), (780.0, 300.0), (1_000.0, 1_000.0), (0.4, 0.3)]
        {
            let shading = Shading::up_to(highest);
            assert!((shading.from[5] - top).abs() < 1e-9 * top, "{highest}: {:?}", shading.from);
            assert_eq!(shading.of(highest), 6, "{highest}");
        }
        let shading = Shading::up_to(780.0);
        assert_eq!(shading.from, [1.0, 3.0, 10.0, 30.0, 100.0, 300.0]);
        assert_eq!([0.5, 1.0, 2.0, 9.0, 99.0, 299.0].map(|rate| shading.of(rate)), [0, 1, 1, 2, 4, 5]);
        assert_eq!(
            (shading.word(0), shading.word(6)),
            ("fewer than 1/s".to_owned(), "from 300/s".to_owned())
        );
        assert_eq!(Shading::up_to(20_000.0).word(6), "from 10,000/s");
    }

    #[test]
    fn neighbours_of_one_shade_are_one_patch_and_rows_are_apart() {
        let columns = [column(0.0, &[(30, 5), (44, 1)]), column(1.0, &[(30, 6)]), column(2.0, &[(31, 5)])];
        let shading = Shading::up_to(6.0);
        let found = patches(&columns, (30, 45), &shading);
        let of = |rate: f64| &found[shading.of(rate)];
        let said: Vec<_> = of(5.0).iter().map(|patch| (patch.bin, patch.columns)).collect();
        assert_eq!(said, [(30, (0, 2)), (31, (2, 3))]);
        assert_eq!(
            of(1.0).iter().map(|patch| (patch.bin, patch.columns)).collect::<Vec<_>>(),
            [(44, (0, 1))]
        );
        let svg = draw(&columns, (30, 45), &found, ("t", "d"));
        // Three columns on 1,060 pixels, fifteen bins on 324.
        assert!(svg.contains("d=\"M66.0 312.4h706.7v21.6h-706.7zM772.7 290.8h353.3v21.6h-353.3z\""), "{svg}");
        assert!(svg.contains(">1 ms</text>") && svg.contains(">0:02</text>"), "{svg}");
    }
}
