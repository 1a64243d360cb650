//! The frame of pages, and texts in HTML.

use std::borrow::Cow;

use crate::statics::{PATH, STATICS, STATICS_OF_EVENT};

/// A text with the signs of HTML replaced.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for sign in text.chars() {
        match sign {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            sign => safe.push(sign),
        }
    }
    Cow::Owned(safe)
}

/// Adds text in the form of `format!` to a page. Writing to memory cannot fail.
macro_rules! put {
    ($page:expr, $($words:tt)*) => {{
        use std::fmt::Write as _;
        let _ = write!($page, $($words)*);
    }};
}
pub(crate) use put;

/// A page around its content.
pub(crate) struct Frame<'a> {
    pub(crate) title: &'a str,
    /// The person who is logged in.
    pub(crate) visitor: Option<i64>,
    /// Whether the page has a map.
    pub(crate) has_map: bool,
}

/// Links of the navigation, for visitors who are logged in and for others.
const LINKS: [(&str, &str, bool); 6] = [
    ("/", "Home", false),
    ("/tags", "Tags", false),
    ("/people/new", "Join", false),
    ("/login", "Log in", false),
    ("/events/new", "New event", true),
    ("/logout", "Log out", true),
];

impl Frame<'_> {
    /// The whole page.
    pub(crate) fn around(&self, content: &str) -> String {
        let mut page = String::with_capacity(content.len() + 3_072);
        let title = escaped(self.title);
        put!(
            page,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title} - Social site</title>\n\
             <link rel=\"icon\" href=\"data:,\">\n"
        );
        let more: &[&str] = if self.has_map { &STATICS_OF_EVENT } else { &[] };
        for name in STATICS.iter().chain(more) {
            match name.rsplit_once('.') {
                Some((_, "css")) => put!(page, "<link rel=\"stylesheet\" href=\"{PATH}{name}\">\n"),
                Some((_, "js")) => put!(page, "<script defer src=\"{PATH}{name}\"></script>\n"),
                _ => {}
            }
        }
        page.push_str("</head>\n<body>\n<a class=\"skip\" href=\"#content\">Skip to content</a>\n<header><nav aria-label=\"Site\"><ul>\n");
        let icons = &STATICS[2..];
        for ((path, label, needs_login), icon) in LINKS.iter().zip(icons) {
            // Both forms of the navigation have the same icons, so that all pages have the same static files.
            let link = match (needs_login, self.visitor) {
                (true, None) => format!("<span>{label}</span>"),
                _ => format!("<a href=\"{path}\">{label}</a>"),
            };
            put!(page, "<li><img src=\"{PATH}{icon}\" alt=\"\"> {link}</li>\n");
        }
        put!(
            page,
            "</ul></nav></header>\n<main id=\"content\">\n<h1>{title}</h1>\n{content}</main>\n<footer><ul class=\"icons\" aria-hidden=\"true\">\n"
        );
        for icon in &icons[LINKS.len()..] {
            put!(page, "<li><img src=\"{PATH}{icon}\" alt=\"\"></li>\n");
        }
        page.push_str("</ul></footer>\n</body>\n</html>\n");
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_become_elements() {
        assert_eq!(escaped("<b a='1' b=\"2\">&"), "&lt;b a=&#39;1&#39; b=&quot;2&quot;&gt;&amp;");
        assert!(matches!(escaped("plain"), Cow::Borrowed(_)));
        let page = Frame { title: "<x>", visitor: None, has_map: false }.around("");
        assert!(page.contains("<h1>&lt;x&gt;</h1>"));
    }

    #[test]
    fn a_page_names_each_of_its_static_files_once() {
        for (visitor, has_map, count) in [(None, false, 18), (Some(1), false, 18), (Some(1), true, 20)] {
            let page = Frame { title: "t", visitor, has_map }.around("");
            assert_eq!(page.matches(PATH).count(), count);
        }
    }
}
