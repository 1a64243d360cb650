//! Redirects: further requests until an answer that is not a redirect.

use std::rc::Rc;

use barograph_http::{Answer, Connections, Method};
use barograph_model::Outcome;
use barograph_model::secret::is_secret_header;
use barograph_scenario::Request;

use crate::judge::ExchangeFailure;
use crate::running_operation::RunningOperation;

/// A request that follows a redirect.
pub(crate) struct RedirectRequest {
    pub(crate) method: Method<'static>,
    /// Path and query.
    pub(crate) path: String,
    pub(crate) with_body: bool,
    /// Whether it goes to the origin of the first request.
    to_own: bool,
}

impl RedirectRequest {
    /// Whether it may send a header: credentials and a host header are for the origin of the first request
    /// alone.
    pub(crate) fn sends(&self, header: &str) -> bool {
        let is_private = header == "host" || is_secret_header(header);
        let is_of_body = header.starts_with("content-");
        (self.to_own || !is_private) && (self.with_body || !is_of_body)
    }

    /// Changes the method to GET if the status requires it.
    fn turn(&mut self, status: u16) {
        let turns = match status {
            301 | 302 => self.method == Method::POST,
            303 => self.method != Method::HEAD,
            _ => false,
        };
        if turns {
            self.method = Method::GET;
            self.with_body = false;
        }
    }
}

/// Whether a status redirects to another URL.
pub(crate) fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

impl<'u> RunningOperation<'u> {
    /// Follows the chain of redirects that begins with `answer`; returns its last answer.
    pub(crate) async fn follow(
        &mut self,
        request: &Request,
        (method, first): (Method<'static>, &Connections),
        mut answer: Answer,
    ) -> Result<Answer, Outcome> {
        let most = self.program().scenario.target.redirects;
        let path = self.with_ink(first, |ink| {
            let mut path = Vec::new();
            ink.path(request, &mut path).map(|()| String::from_utf8_lossy(&path).into_owned())
        })?;
        let mut hop = RedirectRequest { method, path, with_body: request.body.is_some(), to_own: true };
        let mut other: Option<Rc<Connections>> = None;
        let mut followed = 0;
        while is_redirect(answer.status)
            && let Some(header) = answer.header("location")
        {
            if followed == most {
                return Err(self.note(ExchangeFailure::wrong(format!("more than {most} redirects")), &[]));
            }
            followed += 1;
            hop.turn(answer.status);
            other = self
                .leave(&mut hop, header, (first, other.as_deref()))
                .await
                .map_err(|why| self.note(why, &[]))?;
            let connections = other.as_deref().unwrap_or(first);
            let draft = self.with_ink(connections, |ink| ink.redirected(&hop, request))?;
            self.sent();
            answer = connections.send_draft(draft).await.map_err(|fault| self.broken(&fault))?;
        }
        Ok(answer)
    }

    /// Points the hop at the URL in the header, relative to `from`, and returns the connections to it; `None`
    /// for those to the `first` origin.
    async fn leave(
        &self,
        hop: &mut RedirectRequest,
        header: &[u8],
        (first, from): (&Connections, Option<&Connections>),
    ) -> Result<Option<Rc<Connections>>, ExchangeFailure> {
        let own = first.target();
        let text = String::from_utf8_lossy(header);
        let location = from.map_or(own, Connections::target).location(&hop.path, &text);
        let location =
            location.map_err(|why| ExchangeFailure::wrong(format!("redirected to `{text}`: {why}")))?;
        hop.path = location.path;
        hop.to_own = location.origin == own.origin();
        if hop.to_own {
            return Ok(None);
        }
        let connections = self.user.connections_to(&location.origin).await;
        let lost = |why| ExchangeFailure {
            outcome: Outcome::Broken,
            why: format!("redirected to {}: {why}", location.origin),
        };
        connections.map(Some).map_err(lost)
    }
}
