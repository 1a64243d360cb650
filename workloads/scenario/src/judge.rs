//! Checks of an answer, or of a message of a stream.

use std::cell::RefCell;

use barograph_model::Outcome;
use barograph_scenario::{
    BodyCheck, Exchange, ExpectedValue, HeaderCheck, HeaderTest, Pointer, Template, say, without_mark,
};

use crate::exchange_result::ExchangeResult;
use crate::memory::UserValues;
use crate::program::Program;

/// Reason why an exchange is not good; empty for a wait that ran out.
#[derive(Debug, PartialEq)]
pub(crate) struct ExchangeFailure {
    pub(crate) outcome: Outcome,
    pub(crate) why: String,
}

impl ExchangeFailure {
    pub(crate) fn wrong(why: impl Into<String>) -> Self {
        ExchangeFailure { outcome: Outcome::WrongAnswer, why: why.into() }
    }
}

/// Context of a judgement beside the answer.
pub(crate) struct JudgeContext<'a> {
    pub(crate) program: &'a Program,
    pub(crate) sight: UserValues<'a>,
    /// Buffer for rendered texts.
    pub(crate) scratch: &'a RefCell<Vec<u8>>,
}

impl JudgeContext<'_> {
    /// Judges an answer.
    pub(crate) fn judge(
        &self,
        exchange: &Exchange,
        seen: &ExchangeResult<'_>,
    ) -> Result<(), ExchangeFailure> {
        let check = &exchange.check;
        if let Some(status) = seen.judged_status() {
            if exchange.wait.as_ref().is_some_and(|wait| wait.expired.contains(&status)) {
                return Err(ExchangeFailure { outcome: Outcome::Expired, why: String::new() });
            }
            if !check.allows(status) {
                let proxy = if status == 407 { ": the proxy asks for a user and a password" } else { "" };
                return Err(ExchangeFailure {
                    outcome: Outcome::Refused,
                    why: format!("status {status}{proxy}"),
                });
            }
        }
        for header in &check.headers {
            self.header(header, seen)?;
        }
        if let Some(size) = &check.size
            && !size.contains(&(seen.body_length() as u64))
        {
            let (least, most) = (size.start(), size.end());
            return Err(ExchangeFailure::wrong(format!("the body has not between {least} and {most} bytes")));
        }
        if check.body.is_empty() {
            return Ok(());
        }
        let text = seen.text()?;
        check.body.iter().try_for_each(|body| self.body(body, text))
    }

    fn header(&self, check: &HeaderCheck, seen: &ExchangeResult<'_>) -> Result<(), ExchangeFailure> {
        let name = &check.name;
        let value = seen.header(name);
        let holds = match (&check.test, value) {
            (HeaderTest::Present(wanted), value) => value.is_some() == *wanted,
            (_, None) => return Err(ExchangeFailure::wrong(format!("the header `{name}` is missing"))),
            (HeaderTest::Matches(pattern), Some(value)) => pattern.regex().is_match(value),
            (HeaderTest::Equals(template), Some(value)) => self.with(template, |wanted| value == wanted)?,
        };
        let why = || match check.test {
            HeaderTest::Present(true) => format!("the header `{name}` is missing"),
            HeaderTest::Present(false) => format!("the header `{name}` is there"),
            _ => format!("the header `{name}` has another value"),
        };
        holds.then_some(()).ok_or_else(|| ExchangeFailure::wrong(why()))
    }

    fn body(&self, check: &BodyCheck, body: &[u8]) -> Result<(), ExchangeFailure> {
        let contains = |text: &[u8]| memchr::memmem::find(body, text).is_some();
        match check {
            BodyCheck::Contains(template) => or(self.with(template, contains)?, || {
                format!("the body does not contain `{}`", shown(template))
            }),
            BodyCheck::ContainsNot(template) => {
                or(!self.with(template, contains)?, || format!("the body contains `{}`", shown(template)))
            }
            BodyCheck::Matches(pattern) => or(pattern.regex().is_match(body), || {
                format!("the body does not match `{}`", pattern.regex().as_str())
            }),
            BodyCheck::Json { pointer, expected } => self.json(pointer, expected, body),
            BodyCheck::Schema(schema) => match serde_json::from_slice(without_mark(body)) {
                Ok(document) => or(schema.fits(&document), || "the body does not fit its schema".to_owned()),
                Err(_) => Err(ExchangeFailure::wrong("the body is not JSON")),
            },
        }
    }

    fn json(&self, pointer: &Pointer, expected: &ExpectedValue, body: &[u8]) -> Result<(), ExchangeFailure> {
        let place = || said(pointer);
        let found = pointer.first(body);
        if let ExpectedValue::Exists(wanted) = expected {
            return or(found.is_some() == *wanted, || match wanted {
                true => format!("the body has no JSON at {}", place()),
                false => format!("the body has something at {}", place()),
            });
        }
        let Some(json) = found else {
            return Err(ExchangeFailure::wrong(format!("the body has no JSON at {}", place())));
        };
        let holds = match expected {
            ExpectedValue::Exists(_) => true,
            ExpectedValue::Bool(wanted) => json == if *wanted { &b"true"[..] } else { b"false" },
            ExpectedValue::Number(wanted) => {
                let number = std::str::from_utf8(json).ok().and_then(|text| text.parse::<f64>().ok());
                number == Some(*wanted)
            }
            ExpectedValue::Text(template) => self.with(template, |wanted| says(json, wanted))?,
        };
        or(holds, || format!("the JSON at {} is another", place()))
    }

    /// Calls `use_it` with the text of a template.
    fn with<T>(&self, template: &Template, use_it: impl FnOnce(&[u8]) -> T) -> Result<T, ExchangeFailure> {
        if let Some(fixed) = template.fixed() {
            return Ok(use_it(fixed));
        }
        let mut text = self.scratch.take();
        text.clear();
        let rendered = template.render(&self.sight, &mut text);
        let end = rendered.map(|()| use_it(&text));
        self.scratch.replace(text);
        end.map_err(|source| {
            ExchangeFailure::wrong(format!("a check cannot be made: {}", self.program.is_absent(source)))
        })
    }
}

fn or(holds: bool, why: impl FnOnce() -> String) -> Result<(), ExchangeFailure> {
    holds.then_some(()).ok_or_else(|| ExchangeFailure::wrong(why()))
}

/// Whether the JSON text has this value.
fn says(json: &[u8], wanted: &[u8]) -> bool {
    match json {
        [b'"', inside @ .., b'"'] if memchr::memchr(b'\\', inside).is_none() => inside == wanted,
        [b'"', ..] => {
            let mut text = String::new();
            say(json, &mut text).is_some() && text.as_bytes() == wanted
        }
        b"null" => false,
        other => other == wanted,
    }
}

/// A template in the form for reasons: equal for all users.
fn shown(template: &Template) -> String {
    use barograph_scenario::Segment;
    let piece = |segment: &Segment| match segment {
        Segment::Literal(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Segment::Value(..) => "{...}".to_owned(),
    };
    template.segments().iter().map(piece).collect()
}

/// A pointer as it is written.
pub(crate) fn said(pointer: &Pointer) -> String {
    format!("`{pointer}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_texts_say_what_they_mean() {
        for (json, wanted, holds) in [
            (r#""abc""#, "abc", true),
            (r#""a\u0062c""#, "abc", true),
            (r#""a\\c""#, "a\\c", true),
            ("12", "12", true),
            ("12.0", "12", false),
            ("null", "null", false),
            ("true", "true", true),
            (r#""\x""#, "x", false),
        ] {
            assert_eq!(says(json.as_bytes(), wanted.as_bytes()), holds, "{json}");
        }
    }
}
