//! The page of a person.

use crate::html::{Frame, escaped, put};
use crate::site::Site;
use crate::store::values;

use super::{LISTED, Page, PageError, people};

/// A person with picture, latest events, requests of friends, and friends.
pub(crate) async fn person(site: &Site, visitor: Option<i64>, id: i64) -> Page {
    let sql =
        "SELECT first_name, last_name, email, phone, city, country, summary, files FROM people WHERE id = ?";
    let rows = site.store.read(sql, &values![id]).await?;
    let row = rows.first().ok_or(PageError::Missing)?;
    let sql = "SELECT id, title, day FROM events WHERE creator = ? ORDER BY id DESC LIMIT ?";
    let posted = site.store.read(sql, &values![id, LISTED]).await?;
    let sql = "SELECT people.id, first_name, last_name FROM friends JOIN people ON people.id = person \
               WHERE friend = ? AND accepted = 0 ORDER BY person";
    let asking = site.store.read(sql, &values![id]).await?;
    let sql = "SELECT people.id, first_name, last_name FROM friends JOIN people ON people.id = friend \
               WHERE person = ? AND accepted = ? ORDER BY friend";
    let asked = site.store.read(sql, &values![id, 0_i64]).await?;
    let friends = site.store.read(sql, &values![id, 1_i64]).await?;
    let text = |column| escaped(row.text(column));
    let name = format!("{} {}", row.text(0), row.text(1));
    let mut content = String::new();
    put!(
        content,
        "<article><img class=\"picture\" src=\"/files/{}.jpg\" alt=\"Picture of {}\">\n<p>{}, {}. {}. {}</p>\n<p>{}</p></article>\n",
        text(7),
        escaped(&name),
        text(4),
        text(5),
        text(2),
        text(3),
        text(6)
    );
    put!(content, "<section><h2>Latest events ({})</h2>\n<ul>\n", posted.len());
    for event in &posted {
        let (id, title, day) = (event.int(0), escaped(event.text(1)), event.int(2));
        put!(content, "<li><a href=\"/events/{id}\">{title}</a>, day {day}</li>\n");
    }
    content.push_str("</ul></section>\n");
    content.push_str(&people("Requests from", &asking));
    content.push_str(&people("Requests to", &asked));
    content.push_str(&people("Friends", &friends));
    Ok(Frame { title: &name, visitor, has_map: false }.around(&content))
}
