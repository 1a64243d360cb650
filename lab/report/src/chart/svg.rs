//! The text of an SVG element, built piece by piece.

use std::fmt::Write as _;

use crate::escape::xml;

/// Anchor point of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Anchor {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

/// An SVG element being drawn. Each has a title and a description, for screen readers.
#[derive(Debug)]
pub(crate) struct Svg {
    text: String,
}

impl Svg {
    /// A drawing of this size in pixels, scaled with the page. `id` must be unique on the page.
    pub(crate) fn new(id: &str, size: (f64, f64), title: &str, about: &str) -> Self {
        let (width, height) = size;
        let (title, about) = (xml(title), xml(about));
        let mut text = String::new();
        write!(
            text,
            "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">\
             <title id=\"{id}-t\">{title}</title><desc id=\"{id}-d\">{about}</desc>"
        )
        .expect("writing to a string does not fail");
        Svg { text }
    }

    /// A straight line.
    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.put(format_args!(
            "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
            from.0, from.1, to.0, to.1
        ));
    }

    /// Horizontal lines of a grid from `left` to `right`: each with its height, and its words to the left.
    pub(crate) fn grid(&mut self, (left, right): (f64, f64), ticks: impl IntoIterator<Item = (f64, String)>) {
        for (at, words) in ticks {
            self.line("grid", (left, at), (right, at));
            self.text("tick", (left - 8.0, at + 4.0), Anchor::End, &words);
        }
    }

    /// A rectangle from its upper left corner.
    pub(crate) fn rect(&mut self, class: &str, corner: (f64, f64), size: (f64, f64)) {
        self.put(format_args!(
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            corner.0,
            corner.1,
            size.0.max(0.0),
            size.1.max(0.0)
        ));
    }

    /// A short text.
    pub(crate) fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, words: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let words = xml(words);
        self.put(format_args!(
            "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{words}</text>",
            at.0, at.1
        ));
    }

    /// A circle.
    pub(crate) fn circle(&mut self, class: &str, at: (f64, f64), radius: f64) {
        self.put(format_args!(
            "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\"/>",
            at.0, at.1
        ));
    }

    /// An open line through `points`, broken where a point is missing.
    pub(crate) fn path(&mut self, class: &str, points: impl IntoIterator<Item = Option<(f64, f64)>>) {
        let mut d = String::new();
        let mut pen_down = false;
        for point in points {
            if let Some((x, y)) = point {
                write!(d, "{}{x:.1} {y:.1}", if pen_down { "L" } else { "M" })
                    .expect("writing to a string does not fail");
            }
            pen_down = point.is_some();
        }
        if !d.is_empty() {
            self.put(format_args!("<path class=\"{class}\" d=\"{d}\"/>"));
        }
    }

    /// Many rectangles of one class as one shape, each by its upper left corner and its size: a fraction of
    /// the text of that many elements.
    pub(crate) fn tiles(&mut self, class: &str, tiles: impl IntoIterator<Item = ((f64, f64), (f64, f64))>) {
        let mut d = String::new();
        for ((x, y), (width, height)) in tiles {
            write!(d, "M{x:.1} {y:.1}h{width:.1}v{height:.1}h-{width:.1}z")
                .expect("writing to a string does not fail");
        }
        if !d.is_empty() {
            self.put(format_args!("<path class=\"{class}\" d=\"{d}\"/>"));
        }
    }

    /// A closed shape through `points`.
    pub(crate) fn polygon(&mut self, class: &str, points: &[(f64, f64)]) {
        let mut list = String::new();
        for (x, y) in points {
            write!(list, "{x:.1},{y:.1} ").expect("writing to a string does not fail");
        }
        self.put(format_args!("<polygon class=\"{class}\" points=\"{}\"/>", list.trim_end()));
    }

    /// Begins a group that shows `words` under the pointer; ended by [`Self::end_group`].
    pub(crate) fn begin_group(&mut self, words: &str) {
        let words = xml(words);
        self.put(format_args!("<g><title>{words}</title>"));
    }

    /// Ends the group.
    pub(crate) fn end_group(&mut self) {
        self.text.push_str("</g>");
    }

    /// The finished element.
    pub(crate) fn finish(mut self) -> String {
        self.text.push_str("</svg>");
        self.text
    }

    fn put(&mut self, piece: std::fmt::Arguments<'_>) {
        self.text.write_fmt(piece).expect("writing to a string does not fail");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_outside_cannot_become_markup() {
        let mut svg = Svg::new("x", (10.0, 10.0), "<script>", "\"'&");
        svg.text("t", (1.0, 2.0), Anchor::End, "</svg>");
        let text = svg.finish();
        assert!(!text.contains("<script>") && text.matches("</svg>").count() == 1, "{text}");
    }

    #[test]
    fn a_missing_point_breaks_the_line() {
        let mut svg = Svg::new("x", (10.0, 10.0), "t", "d");
        svg.path("p", [Some((0.0, 0.0)), Some((1.0, 1.0)), None, Some((2.0, 2.0))]);
        assert!(svg.finish().contains("d=\"M0.0 0.0L1.0 1.0M2.0 2.0\""));
    }
    #[test]
    fn tiles_are_one_shape_and_none_is_nothing() {
        let mut svg = Svg::new("x", (10.0, 10.0), "t", "d");
        svg.tiles("heat", [((0.0, 1.0), (2.5, 3.0)), ((4.0, 4.0), (1.0, 1.0))]);
        svg.tiles("none", []);
        let text = svg.finish();
        assert!(
            text.contains("<path class=\"heat\" d=\"M0.0 1.0h2.5v3.0h-2.5zM4.0 4.0h1.0v1.0h-1.0z\"/>"),
            "{text}"
        );
        assert!(!text.contains("none"));
    }
}
