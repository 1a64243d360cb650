//! Reads a request: method, path, query, headers.

use crate::name;
use crate::operation::{Header, Request};
use crate::read::ScenarioReader;
use crate::read::bodies::BODIES;
use crate::read::names::Scope;
use crate::section::Section;
use crate::settings_reader::{KeyPosition, RawValue, ReadValue};
use crate::template::{Builder, Escape, Escaping, Template};

/// Headers of the connection or of the body's framing: the driver writes them.
const OURS: [&str; 9] = [
    "connection",
    "content-length",
    "keep-alive",
    "transfer-encoding",
    "upgrade",
    "te",
    "sec-websocket-key",
    "sec-websocket-version",
    "sec-websocket-protocol",
];

impl ScenarioReader<'_> {
    /// A whole request. The default method is GET, or POST with a body.
    pub(crate) fn request(&mut self, section: &mut Section<'_>, scope: &mut Scope) -> Request {
        let has_body = BODIES.iter().any(|key| section.has(key));
        let is_multipart = section.has("multipart");
        if is_multipart && section.has_entry("headers", "content-type") {
            let allowed = "no content type beside `multipart`, which brings one with its boundary";
            self.given.refuse(&section.at_key("headers"), "content-type", allowed, "remove it");
        }
        let method = section.text_or("method", if has_body { "POST" } else { "GET" });
        if !is_token(&method) {
            let at = section.at_key("method");
            self.given.refuse(&at, format!("\"{method}\""), "a method, as in \"GET\"", "correct it");
        }
        let mut request = self.head(section, scope, name::leak(&method));
        let body = self.body(section, scope);
        if is_multipart {
            request.headers.retain(|h| &*h.name != "content-type");
        }
        if let Some((content_type, body)) = body {
            if !request.headers.iter().any(|h| &*h.name == "content-type") {
                let value = Template::literal(content_type.as_bytes());
                request.headers.push(Header { name: "content-type".into(), value });
            }
            request.body = Some(body);
        }
        request
    }

    /// A request without a body.
    pub(crate) fn head(
        &mut self,
        section: &mut Section<'_>,
        scope: &mut Scope,
        method: &'static str,
    ) -> Request {
        let target = self.path(section, scope);
        let own = section.section("headers");
        let mut headers = self.request_headers(own, scope);
        let inherited: Vec<Header> =
            self.headers.iter().filter(|h| !headers.iter().any(|own| own.name == h.name)).cloned().collect();
        inherited.iter().for_each(|header| self.draws_of(&header.value, scope));
        headers.splice(0..0, inherited);
        Request { method, origin: 0, target, headers, body: None }
    }

    /// Path and query in one.
    fn path(&mut self, section: &mut Section<'_>, scope: &mut Scope) -> Template {
        let path = section.text("path");
        let path = self.required(section, "path", path);
        let mut builder = Builder::default();
        let mut has_query = false;
        if let Some(path) = path {
            let plain = path.value.bytes().all(|b| b.is_ascii_graphic() && b != b'#');
            if !path.value.starts_with('/') && !path.value.starts_with('{') || !plain {
                let allowed = "a path that begins with `/`, without spaces, `#` and letters beyond ASCII";
                self.given.refuse(
                    &path.at,
                    format!("\"{}\"", path.value),
                    allowed,
                    "percent-encode them as in %20",
                );
            }
            // A value before the question mark is part of the path, behind it of the query.
            let (front, query) =
                path.value.split_once('?').map_or((path.value.as_str(), None), |(f, q)| (f, Some(q)));
            let part = |text: &str| ReadValue { value: text.to_owned(), at: path.at.clone() };
            self.append(&mut builder, &part(front), Escaping::values(Escape::Path), scope);
            if let Some(query) = query {
                builder.push(b"?");
                self.append(&mut builder, &part(query), Escaping::values(Escape::Query), scope);
                has_query = true;
            }
        }
        if let Some(mut query) = section.section("query") {
            self.pairs(&mut builder, &mut query, (if has_query { "&" } else { "?" }, scope));
        }
        builder.finish()
    }

    /// Names and values of a query or a form.
    pub(crate) fn pairs(
        &self,
        builder: &mut Builder,
        section: &mut Section<'_>,
        (first, scope): (&'static str, &mut Scope),
    ) {
        let mut separator = first;
        for (name, got) in section.rest() {
            let mut encoded = Vec::new();
            Escape::Query.write(&name, &mut encoded);
            for value in self.scalars(&got) {
                builder.push(separator.as_bytes());
                builder.push(&encoded);
                builder.push(b"=");
                self.append(builder, &value, Escaping::whole(Escape::Query), scope);
                separator = "&";
            }
        }
    }

    /// The texts of one value or of a list of values; a name may occur several times.
    fn scalars(&self, got: &ReadValue<RawValue>) -> Vec<ReadValue<String>> {
        let text = |plain: &RawValue, at: KeyPosition| match plain {
            RawValue::Text(text) => Some(ReadValue { value: text.clone(), at }),
            RawValue::Integer(_) | RawValue::Number(_) | RawValue::Flag(_) => {
                Some(ReadValue { value: crate::resolved::inline(plain), at })
            }
            other => {
                let found = crate::resolved::inline(other);
                self.given.refuse(
                    &at,
                    found,
                    "a text, a number, true, false, or a list of them",
                    "write it so",
                );
                None
            }
        };
        match &got.value {
            RawValue::List(items) => items
                .iter()
                .enumerate()
                .filter_map(|(i, node)| text(&node.plain, got.at.element(i, node.line)))
                .collect(),
            plain => text(plain, got.at.clone()).into_iter().collect(),
        }
    }

    /// The headers of a table.
    pub(crate) fn request_headers(&self, section: Option<Section<'_>>, scope: &mut Scope) -> Vec<Header> {
        let mut headers = Vec::new();
        for (name, got) in section.map(|mut s| s.rest()).unwrap_or_default() {
            let name = name.to_ascii_lowercase();
            if !is_token(&name) || OURS.contains(&name.as_str()) {
                let allowed = "a header that is not the connection's own";
                self.given.refuse(&got.at, format!("\"{name}\""), allowed, "remove it; the driver writes it");
                continue;
            }
            for value in self.scalars(&got) {
                if value.value.chars().any(char::is_control) {
                    self.given.refuse(
                        &value.at,
                        format!("{:?}", value.value),
                        "a text of one line",
                        "join its lines",
                    );
                }
                let value = self.template(&value, Escape::Header, scope);
                headers.push(Header { name: name.as_str().into(), value });
            }
        }
        headers
    }
}

/// Whether a text is a token, as methods and names of headers are.
pub(crate) fn is_token(text: &str) -> bool {
    let sign = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(sign)
}
