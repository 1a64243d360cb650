//! URLs in `location` headers, which may be relative to the URL of the request.

use crate::target::Target;
use crate::url::Url;

/// A URL in two parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Scheme, host and port, as in `https://h:8443`.
    pub origin: String,
    /// Path and query.
    pub path: String,
}

impl Target {
    /// Scheme, host and port, as in `https://h:8443`.
    #[must_use]
    pub fn origin(&self) -> String {
        let scheme = if self.is_tls() { "https" } else { "http" };
        format!("{scheme}://{}", self.authority().to_ascii_lowercase())
    }

    /// The URL in the `location` header of an answer to a request for `path`; a fragment is left out.
    ///
    /// # Errors
    /// If it is not an HTTP URL; the text gives the reason.
    pub fn location(&self, path: &str, header: &str) -> Result<Location, String> {
        let header = header.split('#').next().unwrap_or_default();
        let absolute = match header.split_once("://") {
            Some((scheme, _)) if scheme.bytes().all(|b| b.is_ascii_alphabetic()) => header.to_owned(),
            _ if header.starts_with("//") => {
                let scheme = if self.is_tls() { "https" } else { "http" };
                format!("{scheme}:{header}")
            }
            _ => format!("{}{}", self.origin(), relative(path, header)),
        };
        let url = Url::parse(&absolute)?;
        let (path, query) = url.path.split_at(url.path.find('?').unwrap_or(url.path.len()));
        let path = format!("{}{query}", without_dots(path));
        let scheme = if url.tls { "https" } else { "http" };
        Ok(Location { origin: format!("{scheme}://{}", url.authority().to_ascii_lowercase()), path })
    }
}

/// Path and query of a reference without a host.
fn relative(path: &str, reference: &str) -> String {
    let plain = path.split('?').next().unwrap_or_default();
    match reference.as_bytes().first() {
        None => path.to_owned(),
        Some(b'/') => reference.to_owned(),
        Some(b'?') => format!("{plain}{reference}"),
        Some(_) => {
            let folder = plain.rfind('/').map_or("/", |slash| &plain[..=slash]);
            format!("{folder}{reference}")
        }
    }
}

/// Resolves the segments `.` and `..` of a path.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            ".." => {
                kept.pop();
            }
            "." => {}
            _ => {
                kept.push(segment);
                continue;
            }
        }
        if is_last {
            kept.push("");
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;

    fn from(url: &str, path: &str, header: &str) -> Result<String, String> {
        let target = Target::parse(url, &Options::default()).unwrap();
        target.location(path, header).map(|Location { origin, path }| format!("{origin} {path}"))
    }

    #[test]
    fn references_are_resolved_against_the_url_of_the_request() {
        for (header, expected) in [
            ("/x?y=1", "http://h:81 /x?y=1"),
            ("x", "http://h:81 /a/x"),
            ("./x/", "http://h:81 /a/x/"),
            ("../x", "http://h:81 /x"),
            ("../../..", "http://h:81 /"),
            (".", "http://h:81 /a/"),
            ("?z", "http://h:81 /a/b?z"),
            ("", "http://h:81 /a/b?q=/1"),
            ("#top", "http://h:81 /a/b?q=/1"),
            ("//other/x", "http://other /x"),
            ("HTTPS://Other:443/./x#top", "https://other /x"),
            ("http://h:81", "http://h:81 /"),
            ("/go?to=http://other/../x", "http://h:81 /go?to=http://other/../x"),
        ] {
            assert_eq!(from("http://H:81", "/a/b?q=/1", header).as_deref(), Ok(expected), "{header}");
        }
    }

    #[test]
    fn what_is_no_url_says_why() {
        for (header, why) in [
            ("ftp://h/", "the scheme is `ftp`, and only http and https are spoken"),
            ("http://", "there is no host"),
            ("/a b", "the path has ` ` in it: write it as %20"),
        ] {
            assert_eq!(from("http://h", "/", header).unwrap_err(), why, "{header}");
        }
    }
}
