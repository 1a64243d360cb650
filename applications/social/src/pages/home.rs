//! The home page: the next events of a zone, a calendar and the tag cloud.

use crate::cache::Subject;
use crate::html::{Frame, put};
use crate::site::Site;
use crate::store::{Row, StoreError, values};

use super::{LISTED, Page, events_with_pictures, paging, tags};

/// Days of the calendar.
const CALENDAR: i64 = 28;

/// Where and when a visitor looks for events.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize)]
pub(crate) struct Place {
    #[serde(default)]
    pub(crate) zone: i64,
    #[serde(default)]
    pub(crate) day: i64,
    #[serde(default)]
    pub(crate) page: i64,
}

/// The home page.
pub(crate) async fn home(site: &Site, visitor: Option<i64>, place: Place) -> Page {
    let Place { zone, day, page } = place;
    let page = page.clamp(0, 1_000);
    let sql = "SELECT id, title, day, files FROM events WHERE zone = ? AND day >= ? ORDER BY day, id LIMIT ? OFFSET ?";
    let rows = site.rows(Subject::Zone(zone), (sql, &values![zone, day, LISTED, LISTED * page])).await?;
    let mut content = String::from("<section><h2>Next events</h2>\n");
    content.push_str(&events_with_pictures(&rows));
    content.push_str(&paging(&format!("/?zone={zone}&amp;day={day}&amp;page="), page, rows.len()));
    content.push_str("</section>\n<section><h2>Calendar</h2>\n<ol class=\"calendar\">\n");
    let first = day.clamp(0, 1_000_000) / CALENDAR * CALENDAR;
    for of in first..first + CALENDAR {
        let mark = if of == day { " aria-current=\"date\"" } else { "" };
        put!(content, "<li><a href=\"/?zone={zone}&amp;day={of}\"{mark}>{of}</a></li>\n");
    }
    content.push_str("</ol></section>\n<section><h2>Tags</h2>\n");
    content.push_str(&tags(&cloud(site).await?));
    content.push_str("</section>\n");
    Ok(Frame { title: "Events near you", visitor, has_map: false }.around(&content))
}

/// The tags that most events have.
pub(crate) async fn cloud(site: &Site) -> Result<Vec<Row>, StoreError> {
    let sql = "SELECT name, uses FROM tags ORDER BY uses DESC, id DESC LIMIT 50";
    site.rows(Subject::Tags, (sql, &values![])).await
}
