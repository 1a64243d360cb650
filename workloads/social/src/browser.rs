//! The browser of a user: its connection, its cookie and its cache.

use std::collections::HashSet;

use barograph_data::mix;
use barograph_engine::OpContext;
use barograph_http::{Answer, Connections, Draft, Method};
use barograph_model::words::in_one_line;
use barograph_model::{CounterId, Outcome};

use crate::measures::{POSTED, RECEIVED, STATIC_KNOWN, STATIC_LOADED};
use crate::page::References;
use crate::prepared::PreparedLoad;

/// Part of the sessions that begin with an empty cache.
const EMPTY: f64 = 0.4;

/// Characters of a reason at the most.
const LONGEST: usize = 120;

/// A failed operation: its outcome and its reason.
pub(crate) type Failed = (Outcome, String);

/// What a browser keeps in a session.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    cookie: Option<String>,
    /// Whether static files of earlier sessions are there, which are asked for with conditions.
    has_statics: bool,
    /// Hashes of the paths of files loaded in this session.
    loaded: HashSet<u64>,
}

impl Cache {
    /// The cache at the start of a session.
    pub(crate) fn new(context: &mut OpContext) -> Self {
        let has_statics = !rand::RngExt::random_bool(&mut context.rng, EMPTY);
        Cache { cookie: None, has_statics, loaded: HashSet::new() }
    }

    /// Whether a file is asked for: each once in a session.
    fn lacks(&mut self, path: &str) -> bool {
        self.loaded.insert(path.bytes().fold(7, |sum, byte| mix(sum ^ u64::from(byte))))
    }
}

/// The counters of the pictures of a page: how many were loaded, and their bytes.
#[derive(Clone, Copy, Default)]
pub(crate) struct PictureCounters {
    pub(crate) loaded: Option<CounterId>,
    pub(crate) bytes: Option<CounterId>,
}

/// A browser.
pub(crate) struct Browser<'u> {
    pub(crate) load: &'u PreparedLoad,
    pub(crate) connections: &'u Connections,
    pub(crate) cache: &'u mut Cache,
}

impl Browser<'_> {
    /// Asks for a page.
    pub(crate) async fn get(&self, path: &str, context: &mut OpContext) -> Result<Answer, Failed> {
        self.send(self.draft(Method::GET, path), context).await
    }

    /// Posts a body.
    pub(crate) async fn post(
        &self,
        path: &str,
        (media_type, body): (&str, &[u8]),
        context: &mut OpContext,
    ) -> Result<Answer, Failed> {
        let mut draft = self.draft(Method::POST, path);
        draft.header("content-type").extend_from_slice(media_type.as_bytes());
        draft.body().extend_from_slice(body);
        context.add(POSTED, body.len() as u64);
        self.send(draft, context).await
    }

    /// Loads the files that a page names, as far as the cache lacks them.
    pub(crate) async fn load(
        &mut self,
        found: &References<'_>,
        counters: PictureCounters,
        context: &mut OpContext,
    ) -> Result<(), Failed> {
        for path in &found.statics {
            if self.cache.lacks(path) {
                self.load_static(path, context).await?;
            }
        }
        for path in &found.pictures {
            if self.cache.lacks(path) {
                let mut draft = self.draft(Method::GET, path);
                draft.counts_body(true);
                let answer = self.send(draft, context).await?;
                expect(&answer, 200)?;
                let count = |counter: Option<CounterId>, amount: u64, context: &mut OpContext| {
                    if let Some(counter) = counter {
                        context.add(counter, amount);
                    }
                };
                count(counters.loaded, 1, context);
                count(counters.bytes, answer.body_length() as u64, context);
            }
        }
        Ok(())
    }

    async fn load_static(&self, path: &str, context: &mut OpContext) -> Result<(), Failed> {
        let mut draft = self.draft(Method::GET, path);
        draft.counts_body(true);
        if let Some(tag) = self.load.tags.get(path).filter(|_| self.cache.has_statics) {
            draft.header("if-none-match").extend_from_slice(tag);
        }
        let answer = self.send(draft, context).await?;
        let counter = if answer.status == 304 { STATIC_KNOWN } else { STATIC_LOADED };
        context.add(counter, 1);
        if answer.status == 304 { Ok(()) } else { expect(&answer, 200) }
    }

    fn draft(&self, method: Method<'_>, path: &str) -> Draft {
        let mut draft = self.connections.draft(method);
        draft.path().extend_from_slice(path.as_bytes());
        if let Some(cookie) = &self.cache.cookie {
            draft.header("cookie").extend_from_slice(cookie.as_bytes());
        }
        draft
    }

    async fn send(&self, draft: Draft, context: &mut OpContext) -> Result<Answer, Failed> {
        context.sent();
        let answer = self.connections.send_draft(draft).await;
        let answer = answer.map_err(|fault| (fault.outcome(), in_one_line(&fault)))?;
        context.add(RECEIVED, answer.wire_bytes() as u64);
        Ok(answer)
    }

    /// Keeps the cookie that a login has set.
    pub(crate) fn keep_cookie(&mut self, answer: &Answer) -> Result<(), Failed> {
        let set = answer.header("set-cookie").and_then(|value| std::str::from_utf8(value).ok());
        let cookie = set.and_then(|value| value.split(';').next());
        let missing = || (Outcome::WrongAnswer, "the answer to a login sets no cookie".to_owned());
        self.cache.cookie = Some(cookie.ok_or_else(missing)?.to_owned());
        Ok(())
    }
}

/// Refuses an answer with another status.
pub(crate) fn expect(answer: &Answer, status: u16) -> Result<(), Failed> {
    if answer.status == status {
        return Ok(());
    }
    let text = String::from_utf8_lossy(answer.body());
    let said = text.split("role=\"alert\">").nth(1).unwrap_or(&text);
    let said: String = said.lines().next().unwrap_or_default().chars().take(LONGEST).collect();
    let outcome = if answer.status >= 400 { Outcome::Refused } else { Outcome::WrongAnswer };
    Err((outcome, format!("status {}: {said}", answer.status)))
}
