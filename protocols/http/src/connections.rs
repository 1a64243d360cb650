//! Connections of one user: requests go over the connections chosen by the policy.

use std::future::Future;
use std::rc::Rc;

use barograph_net::{Counters, Stream};

use crate::answer::Answer;
use crate::client::Client;
use crate::connect::HttpVersion;
use crate::draft::Draft;
use crate::exchange::{ExchangeFailure, ReceiveContext, exchange};
use crate::fault::Fault;
use crate::lane::Lane;
use crate::request::{Method, PreparedRequest, Request, RequestTraits};
use crate::target::Target;

/// The connections of one user.
pub struct Connections {
    pub(crate) client: Rc<Client>,
    pub(crate) user: u32,
    pub(crate) lane: Rc<Lane>,
}

impl Connections {
    pub(crate) fn new(client: &Rc<Client>, user: u32, lane: Rc<Lane>) -> Self {
        Connections { client: Rc::clone(client), user, lane }
    }

    /// Sends a request and waits for the whole answer. If dropped before its end, closes the connection, or
    /// resets the stream if it is one of several on an HTTP/2 connection.
    pub fn send<'s>(
        &'s self,
        request: &Request<'_>,
    ) -> impl Future<Output = Result<Answer, Fault>> + use<'s> {
        self.send_draft(Draft::filled(&self.client.blank, request))
    }

    /// Like [`Self::send`], for a prepared request.
    pub fn send_prepared<'s>(
        &'s self,
        request: &'s PreparedRequest,
    ) -> impl Future<Output = Result<Answer, Fault>> + use<'s> {
        self.ask(request.as_ref(), request.asked)
    }

    /// Begins a request that is written piece by piece.
    #[must_use]
    pub fn draft(&self, method: Method<'_>) -> Draft {
        Draft::new(&self.client.blank, method)
    }

    /// Sends a finished draft and waits for the whole answer, like [`Self::send`].
    pub fn send_draft(&self, draft: Draft) -> impl Future<Output = Result<Answer, Fault>> + use<'_> {
        let rendered = draft.finish();
        // It is borrowed where it is: a second place for it would make every waiting user larger.
        async move {
            if let Ok(rendered) = &rendered {
                return self.ask(rendered.as_ref(), rendered.asked).await;
            }
            Err(rendered.err().expect("it is no request"))
        }
    }

    /// The target.
    #[must_use]
    pub fn target(&self) -> &Target {
        self.client.target()
    }

    /// Counters of all connections of this user's worker so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.client.counters()
    }

    /// Requests of this user's worker that were repeated because a kept connection had been closed before the
    /// first byte of an answer.
    #[must_use]
    pub fn repeated(&self) -> u64 {
        self.client.repeated()
    }

    /// Closes the idle connections.
    pub fn close_idle(&self) {
        self.lane.close_idle();
    }

    /// Sends a request on the usual path. Rare or expensive paths are boxed: they would make every waiting
    /// user larger.
    #[expect(clippy::manual_async_fn, reason = "arguments of an async fn have two places each in its future")]
    fn ask<'s>(
        &'s self,
        wire: &'s [u8],
        asked: RequestTraits,
    ) -> impl Future<Output = Result<Answer, Fault>> + use<'s> {
        async move {
            let _permit = self.lane.pool.acquire().await;
            if self.lane.speaks() != Some(HttpVersion::Http1) {
                return Box::pin(self.ask_otherwise(wire, asked)).await;
            }
            let with = self.receiving(asked);
            let mut kept = self.lane.pool.take();
            loop {
                let is_new = kept.is_none();
                if is_new {
                    kept = Some(self.connect_known().await?);
                }
                let stream = kept.as_mut().expect("it was made if there was none");
                let end = exchange(stream, wire, &with).await;
                let stream = kept.take().expect("it stays until its exchange has ended");
                match end {
                    Err(ExchangeFailure { before_first_byte: true, .. }) if !is_new && asked.safe => {
                        self.client.count_repeated();
                    }
                    end => return self.keep(stream, end),
                }
            }
        }
    }

    fn receiving(&self, asked: RequestTraits) -> ReceiveContext<'_> {
        let body_limit = self.client.target().options().body_limit;
        ReceiveContext { buffers: &self.client.answers, body_limit, asked }
    }

    pub(crate) fn number(&self) -> u32 {
        self.client.dialer.number(self.client.target().options().policy, self.user)
    }

    fn keep(&self, stream: Stream, end: Result<(Answer, bool), ExchangeFailure>) -> Result<Answer, Fault> {
        let (answer, keep) = end.map_err(|u| u.fault)?;
        if keep {
            self.lane.pool.keep(stream);
        }
        Ok(answer)
    }

    /// A connection that must speak HTTP/1.1 like those before.
    async fn connect_known(&self) -> Result<Stream, Fault> {
        match self.client.connect(self.number()).await? {
            (stream, HttpVersion::Http1) => Ok(stream),
            (_, HttpVersion::Http2) => Err(self.changed()),
        }
    }

    pub(crate) fn changed(&self) -> Fault {
        Fault::Changed { to: self.client.dialer.peer(self.user).clone() }
    }

    /// Sends a request over HTTP/2, or over a first connection that shows the version.
    async fn ask_otherwise(&self, wire: &[u8], asked: RequestTraits) -> Result<Answer, Fault> {
        if self.lane.speaks().is_none() {
            let (mut stream, speaks) = self.client.connect(self.number()).await?;
            self.client.speaks.set(Some(speaks));
            self.lane.learn(Some(speaks));
            match (speaks, self.lane.speaks()) {
                (HttpVersion::Http1, Some(HttpVersion::Http1)) => {
                    let end = exchange(&mut stream, wire, &self.receiving(asked)).await;
                    return self.keep(stream, end);
                }
                (HttpVersion::Http2, Some(HttpVersion::Http2)) => self.lane.carriers().adopt(stream).await?,
                _ => return Err(self.changed()),
            }
        }
        self.ask_multiplexed(wire, asked).await
    }
}
