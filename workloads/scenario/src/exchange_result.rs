//! Result of an exchange, and extraction of values from it.

use std::cell::OnceCell;

use barograph_http::Answer;
use barograph_scenario::{Exchange, Extraction, ExtractionSource, Pointer, say};

use crate::coding;
use crate::cookies;
use crate::judge::ExchangeFailure;
use crate::memory::{FrameKey, Memory};
use crate::slot::Slot;

/// Result of an exchange.
pub(crate) enum ExchangeResult<'a> {
    /// An answer, and its body without content coding once that was asked for; `None` in it where there is no coding.
    Answer(Answer, OnceCell<Option<Vec<u8>>>),
    /// The head of a stream of events.
    Head(&'a Answer),
    /// The head of an answer that opens a WebSocket: its status is the protocol's.
    Upgrade(&'a Answer),
    /// A message of a stream.
    Message(Vec<u8>),
    /// No contents.
    Nothing,
}

impl ExchangeResult<'_> {
    pub(crate) fn of(answer: Answer) -> Self {
        ExchangeResult::Answer(answer, OnceCell::new())
    }

    pub(crate) fn status(&self) -> Option<u16> {
        self.answer().map(|answer| answer.status)
    }

    /// The status for checks.
    pub(crate) fn judged_status(&self) -> Option<u16> {
        self.status().filter(|_| !matches!(self, ExchangeResult::Upgrade(_)))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&[u8]> {
        self.answer()?.header(name)
    }

    /// The body without its content coding, for checks and extractions.
    pub(crate) fn text(&self) -> Result<&[u8], ExchangeFailure> {
        if let ExchangeResult::Answer(answer, plain) = self
            && plain.get().is_none()
        {
            let decoded = coding::decoded(answer)?;
            plain.get_or_init(|| decoded);
        }
        Ok(self.shown())
    }

    /// The body as far as it was decoded, for people.
    pub(crate) fn shown(&self) -> &[u8] {
        match self {
            ExchangeResult::Answer(_, plain) => {
                plain.get().and_then(Option::as_deref).unwrap_or_else(|| self.body())
            }
            _ => self.body(),
        }
    }

    /// Bytes of the body as it came.
    pub(crate) fn body_length(&self) -> usize {
        match self {
            ExchangeResult::Answer(answer, _) => answer.body_length(),
            _ => self.body().len(),
        }
    }

    /// The body as it came; its beginning where it is not read.
    pub(crate) fn body(&self) -> &[u8] {
        match self {
            ExchangeResult::Answer(answer, _) => answer.body(),
            ExchangeResult::Message(message) => message,
            ExchangeResult::Head(_) | ExchangeResult::Upgrade(_) | ExchangeResult::Nothing => &[],
        }
    }

    /// The values of all `set-cookie` headers.
    pub(crate) fn set_cookies(&self) -> impl Iterator<Item = &[u8]> {
        let headers = self.answer().map(Answer::headers).into_iter().flatten();
        headers.filter(|(name, _)| name.eq_ignore_ascii_case(b"set-cookie")).map(|(_, value)| value)
    }

    fn answer(&self) -> Option<&Answer> {
        match self {
            ExchangeResult::Answer(answer, _) => Some(answer),
            ExchangeResult::Head(answer) | ExchangeResult::Upgrade(answer) => Some(answer),
            ExchangeResult::Message(_) | ExchangeResult::Nothing => None,
        }
    }

    /// Stores the extracted values in their places.
    pub(crate) fn keep(
        &self,
        exchange: &Exchange,
        memory: &mut Memory,
        at: FrameKey,
        operation: &mut [Slot],
    ) -> Result<(), ExchangeFailure> {
        let of_body = |extract: &Extraction| {
            !matches!(extract.from, ExtractionSource::Header(_) | ExtractionSource::Cookie(_))
        };
        let body = if exchange.extract.iter().any(of_body) { self.text()? } else { &[] };
        for extract in &exchange.extract {
            let slot = memory.slot(extract.place, at, operation);
            if self.extract(extract, body, slot).is_some() {
                continue;
            }
            slot.clear();
            match &extract.default {
                Some(default) => slot.set_text(default),
                None if extract.required => {
                    return Err(ExchangeFailure::wrong(format!("`{}` is not in the answer", extract.name)));
                }
                None => {}
            }
        }
        Ok(())
    }

    fn extract(&self, extract: &Extraction, body: &[u8], slot: &mut Slot) -> Option<()> {
        match (&extract.from, extract.list) {
            (ExtractionSource::Json(pointer), None) => say(pointer.first(body)?, slot.begin_text()),
            (ExtractionSource::Json(pointer), Some(most)) => keep_list(slot, json_list(pointer, body, most)),
            (ExtractionSource::Regex { pattern, group: 0 }, None) => {
                keep_text(slot, pattern.regex().find(body)?.as_bytes())
            }
            (ExtractionSource::Regex { pattern, group }, None) => {
                keep_text(slot, pattern.regex().captures(body)?.get(*group)?.as_bytes())
            }
            (ExtractionSource::Regex { pattern, group }, Some(most)) => {
                let found = pattern.regex().captures_iter(body);
                let texts = found.filter_map(|c| std::str::from_utf8(c.get(*group)?.as_bytes()).ok());
                keep_list(slot, texts.take(most as usize).map(Box::from).collect())
            }
            (ExtractionSource::Header(name), None) => keep_text(slot, self.header(name)?),
            (ExtractionSource::Header(name), Some(most)) => {
                let headers = self.answer()?.headers();
                let named = headers.filter(|(other, _)| other.eq_ignore_ascii_case(name.as_bytes()));
                let texts = named.filter_map(|(_, value)| std::str::from_utf8(value).ok());
                keep_list(slot, texts.take(most as usize).map(Box::from).collect())
            }
            (ExtractionSource::Cookie(name), _) => {
                let mut pairs = self.set_cookies().filter_map(cookies::pair);
                keep_text(slot, pairs.find(|(other, _)| *other == name.as_bytes())?.1)
            }
            (ExtractionSource::Body, _) => keep_text(slot, body),
        }
    }
}

/// Keeps bytes that are a text.
fn keep_text(slot: &mut Slot, bytes: &[u8]) -> Option<()> {
    slot.set_text(std::str::from_utf8(bytes).ok()?);
    Some(())
}

/// Keeps a list, if there is anything in it.
fn keep_list(slot: &mut Slot, items: Vec<Box<str>>) -> Option<()> {
    let found = !items.is_empty();
    slot.set_list(items);
    found.then_some(())
}

fn json_list(pointer: &Pointer, body: &[u8], most: u32) -> Vec<Box<str>> {
    let mut items = Vec::new();
    let mut text = String::new();
    pointer.visit(body, &mut |json| {
        text.clear();
        if say(json, &mut text).is_some() {
            items.push(text.as_str().into());
        }
        items.len() < most as usize
    });
    items
}
