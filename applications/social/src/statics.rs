//! The static files of pages: style, script and sixteen icons, and three more of an event.

use std::fmt::Write as _;

use bytes::Bytes;

/// Path of the static files.
pub(crate) const PATH: &str = "/static/";

/// Static files of every page, by name.
pub const STATICS: [&str; 18] = [
    "site.css",
    "site.js",
    "icon-01.svg",
    "icon-02.svg",
    "icon-03.svg",
    "icon-04.svg",
    "icon-05.svg",
    "icon-06.svg",
    "icon-07.svg",
    "icon-08.svg",
    "icon-09.svg",
    "icon-10.svg",
    "icon-11.svg",
    "icon-12.svg",
    "icon-13.svg",
    "icon-14.svg",
    "icon-15.svg",
    "icon-16.svg",
];

/// Further static files of the page of an event.
pub const STATICS_OF_EVENT: [&str; 3] = ["map.css", "map.js", "marker.svg"];

/// Corners of an icon.
const CORNERS: u32 = 96;

/// A static file.
#[derive(Clone, Debug)]
pub(crate) struct StaticFile {
    pub(crate) name: &'static str,
    pub(crate) media_type: &'static str,
    pub(crate) body: Bytes,
}

/// All static files.
pub(crate) fn all() -> Vec<StaticFile> {
    STATICS.into_iter().chain(STATICS_OF_EVENT).zip(0..).map(|(name, number)| file(name, number)).collect()
}

fn file(name: &'static str, number: u32) -> StaticFile {
    let body: Bytes = match name {
        "site.css" => include_str!("../ui/site.css").into(),
        "site.js" => include_str!("../ui/site.js").into(),
        "map.css" => include_str!("../ui/map.css").into(),
        "map.js" => include_str!("../ui/map.js").into(),
        "marker.svg" => include_str!("../ui/marker.svg").into(),
        _ => icon(number).into(),
    };
    let media_type = match name.rsplit_once('.') {
        Some((_, "css")) => "text/css; charset=utf-8",
        Some((_, "js")) => "text/javascript; charset=utf-8",
        _ => "image/svg+xml",
    };
    StaticFile { name, media_type, body }
}

/// A star whose number of points follows from its number.
fn icon(number: u32) -> String {
    let mut points = String::new();
    for corner in 0..CORNERS {
        let turn = f64::from(corner) / f64::from(CORNERS) * std::f64::consts::TAU;
        let radius = 32.0 + 14.0 * (turn * f64::from(number + 1)).cos();
        // Writing to memory cannot fail.
        let _ = write!(points, "{:.2},{:.2} ", 50.0 + radius * turn.cos(), 50.0 + radius * turn.sin());
    }
    let hue = number * 360 / 18;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 100 100\"><polygon fill=\"hsl({hue} 60% 40%)\" points=\"{}\"/></svg>\n",
        points.trim_end()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_eighteen_static_files_and_events_twenty_one() {
        let all = all();
        assert_eq!((STATICS.len(), all.len()), (18, 21));
        assert!(all.iter().all(|file| file.body.len() > 100), "{all:?}");
        assert_ne!(all[2].body, all[3].body);
    }
}
