//! Requests written straight into the outgoing bytes.

use std::cell::RefCell;

use barograph_http::{Connections, Draft, Method, Prepared};
use barograph_model::Nanos;
use barograph_scenario::{Body, Request, Source};

use crate::cookies::Jar;
use crate::memory::Sight;

/// A request ready to be sent.
pub(crate) enum Wire<'p> {
    /// One that is always the same.
    Prepared(&'p Prepared),
    /// One written for this time.
    Draft(Draft),
}

/// What a request is written from.
pub(crate) struct Ink<'a> {
    pub(crate) connections: &'a Connections,
    pub(crate) base: &'a str,
    pub(crate) sight: Sight<'a>,
    /// Where cookies are kept.
    pub(crate) jar: Option<&'a Jar>,
    pub(crate) clock: fn() -> Nanos,
    /// Room for the line of cookies.
    pub(crate) scratch: &'a RefCell<Vec<u8>>,
}

impl Ink<'_> {
    /// Writes a request. `Err` names the value that is absent.
    pub(crate) fn write(
        &self,
        method: Method<'_>,
        request: &Request,
        offers: &[Box<str>],
    ) -> Result<Draft, Source> {
        let mut draft = self.connections.draft(method);
        let path = draft.path();
        let from = path.len();
        path.extend_from_slice(self.base.as_bytes());
        request.target.render(&self.sight, path)?;
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
        match &request.body {
            None => {}
            Some(Body::File(bytes)) => draft.body().extend_from_slice(bytes),
            Some(Body::Template(template)) => template.render(&self.sight, draft.body())?,
        }
        Ok(draft)
    }

    /// Kept cookies go behind those that the scenario sends itself.
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
