//! The search by tag.

use crate::cache::Subject;
use crate::html::{Frame, escaped, put};
use crate::site::Site;
use crate::store::values;

use super::home::cloud;
use super::{LISTED, Page, events_with_pictures, paging, tags};

/// The asked tag.
#[derive(Clone, Debug, Default, serde::Deserialize)]
pub(crate) struct Search {
    #[serde(default)]
    pub(crate) tag: String,
    #[serde(default)]
    pub(crate) page: i64,
}

/// The newest events with a tag; without a tag, the tags to choose from.
pub(crate) async fn search(site: &Site, visitor: Option<i64>, asked: &Search) -> Page {
    let tag = escaped(&asked.tag);
    let mut content = String::new();
    put!(
        content,
        "<form action=\"/tags\" role=\"search\"><label>Tag <input name=\"tag\" value=\"{tag}\" maxlength=\"40\" required></label>\
         <button>Search</button></form>\n"
    );
    if asked.tag.is_empty() {
        content.push_str(&tags(&cloud(site).await?));
        return Ok(Frame { title: "Tags", visitor, has_map: false }.around(&content));
    }
    let page = asked.page.clamp(0, 1_000);
    let sql = "SELECT events.id, title, day, files FROM tags JOIN event_tags ON event_tags.tag = tags.id \
               JOIN events ON events.id = event_tags.event WHERE tags.name = ? ORDER BY event_tags.event DESC LIMIT ? OFFSET ?";
    let rows = site
        .rows(Subject::Tag(&asked.tag), (sql, &values![asked.tag.as_str(), LISTED, LISTED * page]))
        .await?;
    content.push_str(&events_with_pictures(&rows));
    content.push_str(&paging(&format!("/tags?tag={tag}&amp;page="), page, rows.len()));
    let title = format!("Events with the tag {}", asked.tag);
    Ok(Frame { title: &title, visitor, has_map: false }.around(&content))
}
