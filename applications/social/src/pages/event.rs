//! The page of an event, and attendance.

use crate::cache::Subject;
use crate::html::{Frame, escaped, put};
use crate::site::Site;
use crate::statics::PATH;
use crate::store::{Changed, Row, Statement, StoreError, values};

use super::{Page, PageError, people, tags};

/// The event with its picture, attendees, tags and comments.
pub(crate) async fn event(site: &Site, visitor: Option<i64>, id: i64) -> Page {
    let sql = "SELECT title, events.summary, description, events.phone, events.street, events.city, events.zip, \
               events.country, day, events.latitude, events.longitude, events.files, creator, first_name, last_name \
               FROM events JOIN people ON people.id = creator WHERE events.id = ?";
    let of = Subject::Event(id);
    let rows = site.rows(of, (sql, &values![id])).await?;
    let row = rows.first().ok_or(PageError::Missing)?;
    let sql = "SELECT people.id, first_name, last_name FROM attendees JOIN people ON people.id = person \
               WHERE event = ? ORDER BY person";
    let coming = site.rows(of, (sql, &values![id])).await?;
    let sql = "SELECT name, uses FROM event_tags JOIN tags ON tags.id = tag WHERE event = ? ORDER BY tag";
    let its_tags = site.store.read(sql, &values![id]).await?;
    let sql = "SELECT rating, body, author, first_name, last_name FROM comments JOIN people ON people.id = author \
               WHERE event = ? ORDER BY comments.id";
    let comments = site.rows(of, (sql, &values![id])).await?;
    let mut content = about(row);
    let is_coming = coming.iter().any(|person| Some(person.int(0)) == visitor);
    match visitor {
        Some(_) if is_coming => content.push_str("<p>You attend this event.</p>\n"),
        Some(_) => put!(
            content,
            "<form method=\"post\" action=\"/events/{id}/attend\"><button>Attend</button></form>\n"
        ),
        None => content.push_str("<p><a href=\"/login\">Log in</a> to attend.</p>\n"),
    }
    content.push_str("<section><h2>Tags</h2>\n");
    content.push_str(&tags(&its_tags));
    content.push_str("</section>\n");
    content.push_str(&people("Attendees", &coming));
    content.push_str(&comment_list(&comments));
    Ok(Frame { title: row.text(0), visitor, has_map: true }.around(&content))
}

fn about(row: &Row) -> String {
    let text = |column| escaped(row.text(column));
    let (title, files) = (text(0), text(11));
    let mut content = String::new();
    put!(
        content,
        "<article><img class=\"picture\" src=\"/files/{files}.jpg\" alt=\"Picture of {title}\">\n<p><strong>{}</strong></p>\n<p>{}</p>\n\
         <p>Day {}. <a href=\"/files/{files}.pdf\">Document (PDF)</a></p>\n",
        text(1),
        text(2),
        row.int(8)
    );
    put!(content, "<address>{}, {} {}, {}<br>{}</address>\n", text(4), text(6), text(5), text(7), text(3));
    let degrees = |column| row.int(column) as f64 / 1e6;
    put!(
        content,
        "<div class=\"map\" data-latitude=\"{}\" data-longitude=\"{}\"><img src=\"{PATH}marker.svg\" alt=\"Place on the map\"></div>\n",
        degrees(9),
        degrees(10)
    );
    put!(
        content,
        "<p>Posted by <a href=\"/people/{}\">{} {}</a>.</p></article>\n",
        row.int(12),
        text(13),
        text(14)
    );
    content
}

/// Columns: rating, text, and number, first and last name of the author.
fn comment_list(rows: &[Row]) -> String {
    let mut list = format!("<section><h2>Comments ({})</h2>\n", rows.len());
    let sum: i64 = rows.iter().map(|row| row.int(0)).sum();
    if !rows.is_empty() {
        put!(list, "<p>Rated {:.1} of 5 in the mean.</p>\n", sum as f64 / rows.len() as f64);
    }
    for row in rows {
        put!(
            list,
            "<article><p>{} of 5, by <a href=\"/people/{}\">{} {}</a></p><p>{}</p></article>\n",
            row.int(0),
            row.int(2),
            escaped(row.text(3)),
            escaped(row.text(4)),
            escaped(row.text(1))
        );
    }
    list.push_str("</section>\n");
    list
}

/// Adds the visitor to the attendees of an event. Returns whether that is new.
pub(crate) async fn attend(site: &Site, visitor: Option<i64>, id: i64) -> Result<bool, PageError> {
    let person = visitor.ok_or(PageError::Login)?;
    let sql = "INSERT INTO attendees (event, person, added) SELECT events.id, people.id, 1 FROM events, people \
               WHERE events.id = ? AND people.id = ? \
               AND NOT EXISTS (SELECT 1 FROM attendees WHERE event = ? AND person = ?)";
    match site.store.change(vec![Statement::new(sql, &values![id, person, id, person])]).await {
        Ok(Changed { rows: 1, .. }) => {
            site.changed(&[Subject::Event(id)]).await;
            return Ok(true);
        }
        // Another request of the visitor was faster.
        Ok(_) | Err(StoreError::Taken) => {}
        Err(why) => return Err(why.into()),
    }
    let sql = "SELECT event FROM attendees WHERE event = ? AND person = ?";
    let there = site.store.read(sql, &values![id, person]).await?;
    if there.is_empty() { Err(PageError::Missing) } else { Ok(false) }
}
