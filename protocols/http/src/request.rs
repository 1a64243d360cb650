//! Requests: in parts, as outgoing bytes, and prepared.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use barograph_net::{Buffers, Policy};

use crate::draft::Draft;
use crate::fault::Fault;
use crate::proxy::Proxy;
use crate::target::Target;

/// Initial size of a request's buffer. It is held while the answer is awaited, by thousands of long polls at
/// once.
const REQUEST_CAPACITY: usize = 256;

/// The field for a JSON body.
pub const JSON: (&str, &str) = ("content-type", "application/json");

/// A request's verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method<'a>(&'a str);

impl<'a> Method<'a> {
    /// GET
    pub const GET: Method<'static> = Method("GET");
    /// HEAD
    pub const HEAD: Method<'static> = Method("HEAD");
    /// POST
    pub const POST: Method<'static> = Method("POST");
    /// PUT
    pub const PUT: Method<'static> = Method("PUT");
    /// DELETE
    pub const DELETE: Method<'static> = Method("DELETE");
    /// OPTIONS
    pub const OPTIONS: Method<'static> = Method("OPTIONS");
    /// PATCH
    pub const PATCH: Method<'static> = Method("PATCH");

    /// Any other verb, if it is a token of HTTP. CONNECT is refused: it makes a tunnel, no answer.
    #[must_use]
    pub fn new(name: &'a str) -> Option<Self> {
        (is_token(name) && name != "CONNECT").then_some(Method(name))
    }

    /// The verb as sent.
    #[must_use]
    pub const fn name(self) -> &'a str {
        self.0
    }

    /// Whether repeating the request changes nothing more, in the view of browsers.
    pub(crate) fn is_safe(self) -> bool {
        matches!(self.0, "GET" | "HEAD" | "OPTIONS")
    }
}

pub(crate) fn is_token(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty() && name.bytes().all(allowed)
}

/// One request in parts.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The verb.
    pub method: Method<'a>,
    /// Path and query, rendered straight into the outgoing bytes.
    pub path: fmt::Arguments<'a>,
    /// Fields, name and value. `host` is added if missing, framing fields are always added.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body.
    pub body: Option<&'a [u8]>,
}

/// Properties of a request that its bytes do not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestTraits {
    /// Whether the answer has no body regardless of its head.
    pub(crate) bodiless: bool,
    /// Whether the bytes of the answer's body are counted and not kept.
    pub(crate) counts_body: bool,
    /// Whether it may be sent once more if a kept connection turns out to be closed.
    pub(crate) safe: bool,
}

/// Common beginning of all requests to a target.
pub(crate) struct RequestTemplate {
    pub(crate) authority: String,
    /// Text before the path: scheme, host and port for a proxy.
    pub(crate) origin: String,
    /// The header line for a proxy, with its end; mostly empty.
    pub(crate) for_proxy: String,
    /// Whether to tell the peer that the connection is used once.
    pub(crate) once: bool,
    pub(crate) buffers: Buffers,
}

impl RequestTemplate {
    pub(crate) fn new(target: &Target) -> Rc<Self> {
        let proxy = target.options().proxy.as_ref().filter(|_| !target.is_tls());
        Rc::new(RequestTemplate {
            authority: target.authority().to_owned(),
            origin: proxy.map(|_| target.origin()).unwrap_or_default(),
            for_proxy: proxy.map(Proxy::authorization).unwrap_or_default(),
            once: target.options().policy == Policy::New,
            buffers: Buffers::new(REQUEST_CAPACITY),
        })
    }
}

/// A request as bytes. Its buffer is reused when it is dropped.
pub(crate) struct RenderedRequest {
    pub(crate) bytes: Vec<u8>,
    /// Its position in the bytes.
    pub(crate) start: usize,
    pub(crate) blank: Rc<RequestTemplate>,
    pub(crate) asked: RequestTraits,
}

impl AsRef<[u8]> for RenderedRequest {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

impl Drop for RenderedRequest {
    fn drop(&mut self) {
        self.blank.buffers.give_back(std::mem::take(&mut self.bytes));
    }
}

/// A constant request, rendered once and sent unchanged. Cheap to clone, and workers may share it.
#[derive(Clone, Debug)]
pub struct PreparedRequest {
    bytes: Arc<[u8]>,
    pub(crate) asked: RequestTraits,
}

impl PreparedRequest {
    /// Renders a request to this target.
    ///
    /// # Errors
    /// If the request is invalid: see [`Fault::Request`].
    pub fn new(target: &Target, request: &Request<'_>) -> Result<Self, Fault> {
        PreparedRequest::of(Draft::filled(&RequestTemplate::new(target), request))
    }

    /// Counts the bytes of the answer's body instead of keeping them: see [`Draft::counts_body`].
    #[must_use]
    pub fn counting_body(mut self, counts: bool) -> Self {
        self.asked.counts_body = counts;
        self
    }

    /// Finishes a draft.
    ///
    /// # Errors
    /// If the request is invalid: see [`Fault::Request`].
    pub fn of(draft: Draft) -> Result<Self, Fault> {
        let rendered = draft.finish()?;
        Ok(PreparedRequest { bytes: rendered.as_ref().into(), asked: rendered.asked })
    }
}

impl AsRef<[u8]> for PreparedRequest {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
