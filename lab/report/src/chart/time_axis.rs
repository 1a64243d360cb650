//! Common parts of every chart over time: its size, the clock along the bottom, the measured windows, and the
//! phases named along the top.

use super::{Anchor, Scale, Svg};
use crate::words;

/// Width of the drawing, in pixels.
pub(super) const WIDTH: f64 = 560.0;
/// Height of the drawing, in pixels.
pub(super) const HEIGHT: f64 = 250.0;
/// Left end of the plot, in pixels.
pub(super) const LEFT: f64 = 62.0;
/// Upper end of the plot, in pixels.
pub(super) const TOP: f64 = 38.0;
/// Lower end of the plot, in pixels.
pub(super) const BOTTOM: f64 = HEIGHT - 26.0;

/// A stretch of time with a name.
#[derive(Clone, Debug)]
pub(crate) struct Band {
    pub(crate) from_s: f64,
    pub(crate) to_s: f64,
    pub(crate) label: String,
    pub(crate) class: &'static str,
}

/// A moment with a name: the begin of an action.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) at_s: f64,
    pub(crate) label: String,
}

/// The time range of a chart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeAxis<'a> {
    /// First and last second shown.
    pub(crate) span: (f64, f64),
    /// Measured windows.
    pub(crate) windows: &'a [Band],
    /// Phases, named along the top.
    pub(crate) phases: &'a [Band],
    /// Actions, each a line through the chart.
    pub(crate) actions: &'a [Moment],
}

/// Style of measured windows.
#[derive(Clone, Copy, Debug)]
pub(super) enum WindowMarks {
    /// As shades below the lines of a chart.
    Shades,
    /// As strips above a chart that fills its whole paper.
    Strips,
}

impl TimeAxis<'_> {
    /// Maps seconds to pixels, up to `right`.
    pub(super) fn scale(&self, right: f64) -> Scale {
        Scale::linear(self.span, (LEFT, right))
    }

    pub(super) fn draw_axis(&self, svg: &mut Svg, x: &Scale, right: f64) {
        svg.line("axis", (LEFT, BOTTOM), (right, BOTTOM));
        for tick in x.clock_ticks(7) {
            if let Some(at) = x.at(tick) {
                svg.line("axis", (at, BOTTOM), (at, BOTTOM + 4.0));
                svg.text("tick", (at, BOTTOM + 18.0), Anchor::Middle, &words::clock(tick));
            }
        }
    }

    pub(super) fn draw_windows(&self, svg: &mut Svg, x: &Scale, marks: WindowMarks) {
        for band in self.windows {
            let (Some(from), Some(to)) = (x.at(band.from_s), x.at(band.to_s)) else { continue };
            let edge = format!("window-edge {}", band.class);
            svg.begin_group(&band.label);
            match marks {
                WindowMarks::Shades => {
                    svg.rect(&format!("window {}", band.class), (from, TOP), (to - from, BOTTOM - TOP));
                    svg.rect(&edge, (from, BOTTOM - 3.0), (to - from, 3.0));
                }
                WindowMarks::Strips => svg.rect(&edge, (from, TOP - 6.0), (to - from, 3.0)),
            }
            svg.end_group();
        }
    }

    /// Lines of the actions, with a head that the pointer finds.
    pub(super) fn draw_actions(&self, svg: &mut Svg, x: &Scale) {
        for Moment { at_s, label } in self.actions {
            let Some(at) = x.at(*at_s) else { continue };
            svg.begin_group(label);
            svg.line("action", (at, TOP - 6.0), (at, BOTTOM));
            svg.polygon("action-head", &[(at - 4.0, TOP - 9.0), (at + 4.0, TOP - 9.0), (at, TOP - 2.0)]);
            svg.end_group();
        }
    }

    pub(super) fn draw_phases(&self, svg: &mut Svg, x: &Scale) {
        for band in self.phases {
            let (Some(from), Some(to)) = (x.at(band.from_s), x.at(band.to_s)) else { continue };
            if to - from < 1.0 {
                continue;
            }
            svg.begin_group(&band.label);
            svg.rect("phase", (from + 0.5, TOP - 24.0), (to - from - 1.0, 15.0));
            // About six pixels a letter: a name that does not fit appears only under the pointer.
            if (band.label.chars().count() as f64) * 6.0 + 4.0 < to - from {
                svg.text("phase-name", (f64::midpoint(from, to), TOP - 13.0), Anchor::Middle, &band.label);
            }
            svg.end_group();
        }
    }
}
