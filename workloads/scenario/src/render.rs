//! Rendering of requests straight into the outgoing bytes.

use std::cell::RefCell;
use std::ops::Range;

use barograph_http::{Answer, Connections, Draft, Fault, Method, PreparedRequest, Target};
use barograph_model::Nanos;
use barograph_scenario::{Body, Request, Segment, Source};
use futures::future::Either;

use crate::cookies::Jar;
use crate::memory::UserValues;
use crate::redirect::RedirectRequest;

/// A request ready to be sent.
pub(crate) enum Wire<'p> {
    /// A constant request.
    Prepared(&'p PreparedRequest),
    /// A request rendered for this exchange.
    Draft(Draft),
}

impl<'p> Wire<'p> {
    /// Sends it and waits for the whole answer.
    pub(crate) fn send(
        self,
        connections: &'p Connections,
    ) -> impl Future<Output = Result<Answer, Fault>> + use<'p> {
        match self {
            Wire::Prepared(prepared) => Either::Left(connections.send_prepared(prepared)),
            Wire::Draft(draft) => Either::Right(connections.send_draft(draft)),
        }
    }
}

/// Inputs of rendering.
pub(crate) struct RequestContext<'a> {
    pub(crate) connections: &'a Connections,
    pub(crate) target: &'a Target,
    pub(crate) base: &'a str,
    pub(crate) sight: UserValues<'a>,
    /// The user's cookies.
    pub(crate) jar: Option<&'a Jar>,
    pub(crate) clock: fn() -> Nanos,
    /// Buffer for the line of cookies.
    pub(crate) scratch: &'a RefCell<Vec<u8>>,
}

impl RequestContext<'_> {
    /// Renders a request. `Err` names the missing value.
    pub(crate) fn write(
        &self,
        method: Method<'_>,
        request: &Request,
        offers: &[Box<str>],
    ) -> Result<Draft, Source> {
        let mut draft = self.connections.draft(method);
        let path = draft.path();
        let from = path.len();
        self.path(request, path)?;
        let mut cookies = self.scratch.take();
        cookies.clear();
        if let Some(jar) = self.jar {
            jar.write(&path[from..], self.clock, &mut cookies);
        }
        let written = self.headers(&mut draft, request, &cookies);
        self.scratch.replace(cookies);
        written?;
        if !offers.is_empty() {
            let value = draft.header("sec-websocket-protocol");
            for (i, offer) in offers.iter().enumerate() {
                value.extend_from_slice(if i == 0 { b"" } else { b", " });
                value.extend_from_slice(offer.as_bytes());
            }
        }
        self.body(&mut draft, request)?;
        Ok(draft)
    }

    /// Renders the request that follows a redirect, without the user's cookies. `Err` names the missing
    /// value.
    pub(crate) fn redirected(&self, hop: &RedirectRequest, request: &Request) -> Result<Draft, Source> {
        let mut draft = self.connections.draft(hop.method);
        draft.path().extend_from_slice(hop.path.as_bytes());
        for header in request.headers.iter().filter(|header| hop.sends(&header.name)) {
            header.value.render(&self.sight, draft.header(&header.name))?;
        }
        if hop.with_body {
            self.body(&mut draft, request)?;
        }
        Ok(draft)
    }

    /// Appends path and query.
    pub(crate) fn path(&self, request: &Request, path: &mut Vec<u8>) -> Result<(), Source> {
        let from = path.len();
        path.extend_from_slice(self.base.as_bytes());
        let value = path.len();
        request.target.render(&self.sight, path)?;
        if matches!(request.target.segments(), [Segment::Value(..), ..]) {
            self.follow(request, path, from..value);
        }
        Ok(())
    }

    fn body(&self, draft: &mut Draft, request: &Request) -> Result<(), Source> {
        match &request.body {
            None => {}
            Some(Body::File(bytes)) => draft.body().extend_from_slice(bytes),
            Some(Body::Template(template)) => template.render(&self.sight, draft.body())?,
        }
        Ok(())
    }

    /// Converts a link from an answer: a fragment is dropped, and a URL of the target's own origin becomes
    /// its path and query.
    fn follow(&self, request: &Request, path: &mut Vec<u8>, base: Range<usize>) {
        if let Some(fragment) = memchr::memchr(b'#', &path[base.end..]) {
            path.truncate(base.end + fragment);
        }
        let target = self.target;
        let named = request.headers.iter().find(|header| *header.name == *"host");
        let hosts = [Some(target.authority().as_bytes()), named.and_then(|host| host.value.fixed())];
        let Some(rest) = hosts.into_iter().flatten().find_map(|host| {
            behind_origin(&path[base.end..], host, if target.is_tls() { Scheme::HTTPS } else { Scheme::HTTP })
        }) else {
            // Behind the base, the URL of another origin would look like a path.
            if !matches!(path.get(base.end), Some(b'/' | b'?')) {
                path.drain(base);
            }
            return;
        };
        path.drain(base.start..path.len() - rest);
        if path.get(base.start) != Some(&b'/') {
            path.insert(base.start, b'/');
        }
    }

    /// Appends the headers; kept cookies follow those of the scenario.
    fn headers(&self, draft: &mut Draft, request: &Request, mut cookies: &[u8]) -> Result<(), Source> {
        for header in &request.headers {
            let value = draft.header(&header.name);
            header.value.render(&self.sight, value)?;
            if *header.name == *"cookie" && !cookies.is_empty() {
                value.extend_from_slice(b"; ");
                value.extend_from_slice(std::mem::take(&mut cookies));
            }
        }
        if !cookies.is_empty() {
            draft.header("cookie").extend_from_slice(cookies);
        }
        Ok(())
    }
}

/// A scheme with its prefix in URLs, and the default port of its authority.
#[derive(Clone, Copy)]
struct Scheme {
    begin: &'static [u8],
    usual_port: &'static [u8],
}

impl Scheme {
    const HTTP: Scheme = Scheme { begin: b"http:", usual_port: b":80" };
    const HTTPS: Scheme = Scheme { begin: b"https:", usual_port: b":443" };
}

/// The length after scheme, host and port, if they match; the scheme may be missing.
fn behind_origin(url: &[u8], host: &[u8], scheme: Scheme) -> Option<usize> {
    let begins = url.get(..scheme.begin.len()).is_some_and(|b| b.eq_ignore_ascii_case(scheme.begin));
    let rest = if begins { &url[scheme.begin.len()..] } else { url };
    let rest = rest.strip_prefix(b"//")?;
    let end = rest.iter().position(|b| matches!(b, b'/' | b'?')).unwrap_or(rest.len());
    let plain =
        |authority: &'_ [u8]| authority.strip_suffix(scheme.usual_port).map_or(authority.len(), <[u8]>::len);
    let (found, host) = (&rest[..plain(&rest[..end])], &host[..plain(host)]);
    found.eq_ignore_ascii_case(host).then(|| rest.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_the_own_origin_is_told_from_others() {
        for (url, host, rest) in [
            ("http://h:8080/a?b", "h:8080", Some("/a?b")),
            ("HTTP://H:8080/a", "h:8080", Some("/a")),
            ("http://h:80/a", "h", Some("/a")),
            ("http://h/a", "h:80", Some("/a")),
            ("http://h?b", "h", Some("?b")),
            ("http://h", "h", Some("")),
            ("http://[::1]:8080/", "[::1]:8080", Some("/")),
            ("//h/a", "h", Some("/a")),
            ("https://h/a", "h", None),
            ("http://h:81/a", "h", None),
            ("http://other/h/a", "h", None),
            ("http://h.other/a", "h", None),
            ("http:/a", "h", None),
            ("/a", "h", None),
            ("a", "h", None),
            ("", "h", None),
        ] {
            let found = behind_origin(url.as_bytes(), host.as_bytes(), Scheme::HTTP);
            assert_eq!(found.map(|rest| &url[url.len() - rest..]), rest, "{url}");
        }
        assert_eq!(behind_origin(b"https://h:443/a", b"h", Scheme::HTTPS), Some(2));
        assert_eq!(behind_origin(b"http://h/a", b"h", Scheme::HTTPS), None);
    }
}
