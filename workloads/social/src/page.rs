//! Pages as the browser sees them: the files that they name, and their links.

use memchr::memmem;

/// Beginning of the value of an attribute that is a path.
const PATH: &[u8] = b"=\"/";

/// References of a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct References<'p> {
    /// Paths of static files.
    pub(crate) statics: Vec<&'p str>,
    /// Paths of pictures.
    pub(crate) pictures: Vec<&'p str>,
    /// Numbers of linked events.
    pub(crate) events: Vec<u64>,
    /// Numbers of linked people.
    pub(crate) people: Vec<u64>,
    /// Whether the visitor may attend the event of the page.
    pub(crate) can_attend: bool,
}

impl<'p> References<'p> {
    /// Reads a page.
    pub(crate) fn of(page: &'p [u8]) -> Self {
        let mut found = References::default();
        for at in memmem::find_iter(page, PATH) {
            let value = &page[at + PATH.len() - 1..];
            let end = memchr::memchr(b'"', value).unwrap_or(value.len());
            if let Ok(path) = std::str::from_utf8(&value[..end]) {
                found.take(path);
            }
        }
        found
    }

    fn take(&mut self, path: &'p str) {
        if path.starts_with("/static/") {
            self.statics.push(path);
        } else if path.starts_with("/files/") {
            if path.ends_with(".jpg") {
                self.pictures.push(path);
            }
        } else if let Some(rest) = path.strip_prefix("/events/") {
            self.events.extend(rest.parse::<u64>().ok());
            self.can_attend |= rest.ends_with("/attend");
        } else if let Some(rest) = path.strip_prefix("/people/") {
            self.people.extend(rest.parse::<u64>().ok());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_found_by_their_kinds() {
        let page = b"<link href=\"/static/site.css\"><img src=\"/files/e1-small.jpg\"><a href=\"/files/e1.pdf\">\
                     <a href=\"/events/12\"><a href=\"/events/new\"><a href=\"/people/7\"><a href=\"/people/new\">\
                     <form action=\"/events/12/attend\"><a href=\"#x\"><p>=\"/static/cut";
        let found = References::of(page);
        assert_eq!(found.statics, ["/static/site.css", "/static/cut"]);
        assert_eq!(found.pictures, ["/files/e1-small.jpg"]);
        assert_eq!((found.events, found.people, found.can_attend), (vec![12], vec![7], true));
        assert_eq!(References::of(b"=\"/\xff\""), References::default());
    }
}
