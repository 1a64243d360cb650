//! Figures as inline SVG: a small drawing kit with scales and charts.
//!
//! Colours are classes, defined in the page's style sheet, so a figure follows light and dark by itself. A
//! colour always has a shape, a dash pattern or a word with the same meaning.

mod over_time;
mod scale;
mod spread;
mod stacked;
mod svg;
mod time_axis;

pub(crate) use over_time::{Dash, OverTime, Series, YAxis};
pub(crate) use scale::Scale;
pub(crate) use spread::spread;
pub(crate) use stacked::{Layer, StackedChart};
pub(crate) use svg::{Anchor, Svg};
pub(crate) use time_axis::{Band, Moment, TimeAxis};
