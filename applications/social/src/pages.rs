//! The pages. Each is a function from what was asked to HTML.

mod event;
mod forms;
mod home;
mod person;
mod search;

pub(crate) use event::{attend, event};
pub(crate) use forms::{add_event, add_person, log_in, login_form, new_event, new_person, welcome};
pub(crate) use home::{Place, home};
pub(crate) use person::person;
pub(crate) use search::{Search, search};

use crate::html::{escaped, put};
use crate::store::{Row, StoreError};

/// Events of a list.
pub(crate) const LISTED: i64 = 10;

/// A page that cannot be given.
#[derive(Debug)]
pub(crate) enum PageError {
    /// Nothing is at this address.
    Missing,
    /// The page is for people who are logged in.
    Login,
    /// A form has a fault, in words.
    Form(String),
    /// The geocoder gave no place, in words.
    Geocoder(String),
    Store(StoreError),
}

impl From<StoreError> for PageError {
    fn from(why: StoreError) -> Self {
        PageError::Store(why)
    }
}

/// A page as HTML, or the reason why there is none.
pub(crate) type Page = Result<String, PageError>;

/// A list of events with their thumbnails. Columns: number, title, day, name of the files.
pub(crate) fn events_with_pictures(rows: &[Row]) -> String {
    let mut list = String::from("<ul class=\"events\">\n");
    for row in rows {
        let (id, title, day, files) = (row.int(0), escaped(row.text(1)), row.int(2), escaped(row.text(3)));
        put!(
            list,
            "<li><img src=\"/files/{files}-small.jpg\" alt=\"\" loading=\"lazy\"><div><a href=\"/events/{id}\">{title}</a><br>Day {day}</div></li>\n"
        );
    }
    list.push_str("</ul>\n");
    if rows.is_empty() {
        list = "<p>No events.</p>\n".to_owned();
    }
    list
}

/// A list of people under a heading. Columns: number, first and last name.
pub(crate) fn people(heading: &str, rows: &[Row]) -> String {
    let mut list = format!("<section><h2>{heading} ({})</h2>\n<ul class=\"people\">\n", rows.len());
    for row in rows {
        put!(
            list,
            "<li><a href=\"/people/{}\">{} {}</a></li>\n",
            row.int(0),
            escaped(row.text(1)),
            escaped(row.text(2))
        );
    }
    list.push_str("</ul></section>\n");
    list
}

/// A list of tags. Columns: name and, if it is a cloud, number of uses.
pub(crate) fn tags(rows: &[Row]) -> String {
    let mut list = String::from("<ul class=\"cloud\">\n");
    for row in rows {
        let (name, uses) = (escaped(row.text(0)), row.int(1));
        let size = 80 + 8 * uses.clamp(1, 10_000).ilog2();
        put!(list, "<li><a href=\"/tags?tag={name}\" style=\"font-size:{size}%\">{name}</a></li>\n");
    }
    list.push_str("</ul>\n");
    list
}

/// Links to the pages before and after one. `address` ends where the number of the page begins.
pub(crate) fn paging(address: &str, page: i64, listed: usize) -> String {
    let mut links = String::from("<nav aria-label=\"Pages\"><ul>\n");
    if page > 0 {
        put!(links, "<li><a rel=\"prev\" href=\"{address}{}\">Earlier</a></li>\n", page - 1);
    }
    if listed as i64 == LISTED {
        put!(links, "<li><a rel=\"next\" href=\"{address}{}\">Later</a></li>\n", page + 1);
    }
    links.push_str("</ul></nav>\n");
    links
}
