//! A chart over time of stacked areas, named at their right end.

use super::time_axis::{BOTTOM, HEIGHT, LEFT, TOP, WIDTH, WindowMarks};
use super::{Anchor, Scale, Svg, TimeAxis, YAxis, spread};

/// Room for the names of the layers.
const RIGHT: f64 = WIDTH - 116.0;

/// Pixels from the middle of one name to that of the next.
const LINE: f64 = 13.0;

/// One layer: a value at every instant of the chart, 0 or more.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    pub(crate) name: String,
    /// The CSS class of its area.
    pub(crate) class: &'static str,
    pub(crate) values: Vec<f64>,
}

/// A chart of layers, the first at the bottom.
#[derive(Debug)]
pub(crate) struct StackedChart<'a> {
    pub(crate) id: &'a str,
    pub(crate) title: &'a str,
    pub(crate) about: &'a str,
    pub(crate) course: TimeAxis<'a>,
    /// Instants of the values, seconds.
    pub(crate) times: &'a [f64],
    pub(crate) layers: &'a [Layer],
    /// The upper end of the scale; if the layers exceed it, their highest sum.
    pub(crate) top: f64,
}

impl StackedChart<'_> {
    /// Draws the chart.
    pub(crate) fn draw(&self) -> String {
        let mut svg = Svg::new(self.id, (WIDTH, HEIGHT), self.title, self.about);
        let x = self.course.scale(RIGHT);
        let edges = self.edges();
        let highest = edges.last().into_iter().flatten().copied().fold(0.0, f64::max);
        let y = Scale::linear((0.0, highest.max(self.top)), (BOTTOM, TOP));
        let ticked = |tick| Some((y.at(tick)?, YAxis::Figures.tick(tick)));
        svg.grid((LEFT, RIGHT), y.ticks(5).into_iter().filter_map(ticked));
        self.course.draw_windows(&mut svg, &x, WindowMarks::Strips);
        self.course.draw_phases(&mut svg, &x);
        let place = |(at, value): (&f64, &f64)| Some((x.at(*at)?, y.at(*value)?));
        for (layer, pair) in self.layers.iter().zip(edges.windows(2)) {
            let above = self.times.iter().zip(&pair[1]).map(place);
            let below = self.times.iter().zip(&pair[0]).rev().map(place);
            let around: Vec<(f64, f64)> = above.chain(below).flatten().collect();
            svg.begin_group(&layer.name);
            svg.polygon(&format!("area {}", layer.class), &around);
            svg.end_group();
        }
        self.course.draw_actions(&mut svg, &x);
        self.course.draw_axis(&mut svg, &x, RIGHT);
        self.name_layers(&mut svg, &x, &y, &edges);
        svg.finish()
    }

    /// The lines between the layers, from the bottom of the first to the top of the last.
    fn edges(&self) -> Vec<Vec<f64>> {
        let mut edges = vec![vec![0.0; self.times.len()]];
        for layer in self.layers {
            let below = &edges[edges.len() - 1];
            let above = below.iter().zip(&layer.values).map(|(below, value)| below + value).collect();
            edges.push(above);
        }
        edges
    }

    fn name_layers(&self, svg: &mut Svg, x: &Scale, y: &Scale, edges: &[Vec<f64>]) {
        let Some(end) = self.times.last().and_then(|at| x.at(*at)) else { return };
        let middle = |pair: &[Vec<f64>]| {
            let ends = pair[0].last().zip(pair[1].last());
            ends.and_then(|(below, above)| y.at(f64::midpoint(*below, *above))).unwrap_or(BOTTOM)
        };
        // From the top down, so that names of empty layers come in the order of the layers.
        let middles: Vec<f64> = edges.windows(2).rev().map(middle).collect();
        let places = spread(&middles, LINE, (TOP + LINE / 2.0, BOTTOM - LINE / 2.0));
        for ((layer, middle), place) in self.layers.iter().rev().zip(middles).zip(places) {
            svg.line("leader", (end, middle), (RIGHT + 9.0, place));
            svg.text("area-name", (RIGHT + 12.0, place + 4.0), Anchor::Start, &layer.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(times: &[f64], layers: &[Layer], top: f64) -> String {
        let course = TimeAxis { span: (0.0, 120.0), windows: &[], phases: &[], actions: &[] };
        let (title, about) = ("CPU of the host", "What the cores did.");
        StackedChart { id: "use", title, about, course, times, layers, top }.draw()
    }

    fn layer(name: &str, values: &[f64]) -> Layer {
        Layer { name: name.to_owned(), class: "u1", values: values.to_vec() }
    }

    #[test]
    fn layers_lie_on_each_other_and_are_named() {
        let text = chart(&[0.0, 120.0], &[layer("user", &[0.5, 1.0]), layer("idle", &[1.5, 1.0])], 2.0);
        // 186 pixels are two cores: the first layer ends half of that below the top.
        assert!(text.contains("points=\"62.0,177.5 444.0,131.0 444.0,224.0 62.0,224.0\""), "{text}");
        assert!(text.contains("points=\"62.0,38.0 444.0,38.0 444.0,131.0 62.0,177.5\""), "{text}");
        for name in ["user", "idle"] {
            assert!(
                text.contains(&format!(">{name}</text>"))
                    && text.contains(&format!("<g><title>{name}</title>"))
            );
        }
    }

    #[test]
    fn nothing_is_still_a_whole_chart() {
        for text in [chart(&[], &[], 0.0), chart(&[1.0], &[layer("user", &[0.0])], f64::NAN)] {
            assert!(text.ends_with("</svg>") && !text.contains("NaN") && !text.contains("inf"), "{text}");
        }
    }
}
