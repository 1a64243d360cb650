//! Reads `extract` and `check`: extractions from an answer, and checks of it.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::check::{BodyCheck, Check, ExpectedValue, HeaderCheck, HeaderTest};
use crate::json::Pointer;
use crate::operation::{Extraction, ExtractionSource};
use crate::pattern::{Pattern, Schema};
use crate::read::ScenarioReader;
use crate::read::names::{Scope, extracts_list};
use crate::section::{Section, as_number};
use crate::settings_reader::{Node, RawValue, ReadValue};
use crate::template::{Escape, Template};
use crate::value::Life;

/// Longest extracted list.
const MOST_ITEMS: i64 = 10_000;

/// Largest schema in bytes.
const MOST_SCHEMA: usize = 4 << 20;

/// Largest body size in a check: beyond it bodies can only be counted.
const MOST_SIZE: i64 = 1 << 40;

impl ScenarioReader<'_> {
    /// Reads extractions and checks. Messages of a stream have no head: no status, no headers.
    pub(crate) fn answer(
        &mut self,
        section: &mut Section<'_>,
        has_head: bool,
        scope: &mut Scope,
    ) -> (Vec<Extraction>, Check) {
        let named = section.named("extract");
        let extract = named.into_iter().filter_map(|(name, s)| self.extract(&name, s, has_head)).collect();
        // Sections keep at least one key: the default status is kept here.
        let check = match section.section("check") {
            Some(check) => self.check(check, has_head, scope),
            None if has_head => Check { status: vec![200..=299], ..Check::default() },
            None => Check::default(),
        };
        (extract, check)
    }

    fn extract(&mut self, name: &str, mut section: Section<'_>, has_head: bool) -> Option<Extraction> {
        let is_list = section.has_list();
        let found = self.found_where(&mut section, has_head);
        let list = is_list.then(|| section.integer_or("at_most", 1..=MOST_ITEMS, 100) as u32);
        let default = section.text("default");
        let required = section.flag("required", default.is_none());
        // Its lifetime was read when names were declared; here the word itself is checked.
        section.word("keep", &Life::WORDS, Life::Session);
        section.finish();
        // A name that cannot be declared has been refused.
        let (name, place) = self.names.place(name)?;
        Some(Extraction {
            name,
            place,
            from: found?,
            required,
            default: default.map(|d| d.value.into()),
            list,
        })
    }

    fn found_where(&self, section: &mut Section<'_>, has_head: bool) -> Option<ExtractionSource> {
        let ways: &[&str] = if has_head {
            &["json", "regex", "header", "cookie", "body"]
        } else {
            &["json", "regex", "body"]
        };
        let given: Vec<&&str> = ways.iter().filter(|way| section.has(way)).collect();
        if given.len() != 1 {
            let found =
                if given.is_empty() { "none of them".to_owned() } else { format!("{} of them", given.len()) };
            let allowed = format!("one of {}", ways.join(", "));
            self.given.refuse(&section.at, found, &allowed, "say where the value is found, once");
            section.rest();
            return None;
        }
        match *given[0] {
            "json" => section.text("json").and_then(|got| self.pointer(&got)).map(ExtractionSource::Json),
            "regex" => self.group_of(section),
            "header" => section
                .text("header")
                .map(|got| ExtractionSource::Header(got.value.to_ascii_lowercase().into())),
            "cookie" => section.text("cookie").map(|got| ExtractionSource::Cookie(got.value.into())),
            _ => section.flag("body", true).then_some(ExtractionSource::Body),
        }
    }

    fn group_of(&self, section: &mut Section<'_>) -> Option<ExtractionSource> {
        let Some(pattern) = section.text("regex").and_then(|got| self.pattern(&got)) else {
            section.any("group");
            section.any("all");
            return None;
        };
        let groups = pattern.regex().captures_len() as i64;
        let group = section.integer_or("group", 0..=groups - 1, (groups - 1).min(1)) as usize;
        section.flag("all", false);
        Some(ExtractionSource::Regex { pattern, group })
    }

    fn pointer(&self, got: &ReadValue<String>) -> Option<Pointer> {
        let refuse = |why: String| {
            let remedy = "write it as in \"/items/0/id\", or \"/items/*/id\" for every element";
            self.given.refuse(
                &got.at,
                format!("\"{}\"", got.value),
                &format!("a JSON pointer; {why}"),
                remedy,
            );
        };
        Pointer::parse(&got.value).map_err(refuse).ok()
    }

    fn pattern(&self, got: &ReadValue<String>) -> Option<Pattern> {
        let refuse = |why: String| {
            let allowed = "a regular expression without look-around and back references";
            self.given.refuse(&got.at, format!("\"{}\"", got.value), allowed, &format!("correct it: {why}"));
        };
        Pattern::new(&got.value).map_err(refuse).ok()
    }

    fn check(&mut self, mut section: Section<'_>, has_head: bool, scope: &mut Scope) -> Check {
        let mut check = Check::default();
        if has_head {
            check.status = self.statuses(&mut section);
            if let Some(headers) = section.section("headers") {
                check.headers = self.header_checks(headers, scope);
            }
        }
        for text in section.texts("contains") {
            check.body.push(BodyCheck::Contains(self.template(&text, Escape::Raw, scope)));
        }
        for text in section.texts("contains_not") {
            check.body.push(BodyCheck::ContainsNot(self.template(&text, Escape::Raw, scope)));
        }
        for text in section.texts("matches") {
            check.body.extend(self.pattern(&text).map(BodyCheck::Matches));
        }
        let json = section.section("json").map(|mut json| json.rest()).unwrap_or_default();
        for (pointer, expected) in json {
            let text = ReadValue { value: pointer, at: expected.at.clone() };
            check.body.extend(self.json_check(&text, &expected, scope));
        }
        if let Some(file) = section.text("schema") {
            check.body.extend(self.schema(&file).map(|schema| BodyCheck::Schema(Arc::new(schema))));
        }
        if section.has("min_bytes") || section.has("max_bytes") {
            let min = section.integer_or("min_bytes", 0..=MOST_SIZE, 0);
            let max = section.integer_or("max_bytes", min..=MOST_SIZE, MOST_SIZE);
            check.size = Some(min as u64..=max as u64);
        }
        section.finish();
        check
    }

    fn statuses(&self, section: &mut Section<'_>) -> Vec<RangeInclusive<u16>> {
        let usual = vec![200..=299];
        let Some(got) = section.any("status") else { return usual };
        let nodes = match &got.value {
            RawValue::List(items) => items.clone(),
            one => vec![Node { line: got.at.line, plain: one.clone() }],
        };
        let ranges: Option<Vec<_>> = nodes.iter().map(|node| status(&node.plain)).collect();
        ranges.filter(|r| !r.is_empty()).unwrap_or_else(|| {
            let found = crate::resolved::inline(&got.value);
            let allowed = "statuses from 100 to 599 and classes, as in [200, \"3xx\"]";
            self.given.refuse(&got.at, found, allowed, "write it so");
            usual
        })
    }

    fn header_checks(&self, mut section: Section<'_>, scope: &mut Scope) -> Vec<HeaderCheck> {
        let mut checks = Vec::new();
        for (name, got) in section.rest() {
            let test = match &got.value {
                RawValue::Text(text) => {
                    let text = ReadValue { value: text.clone(), at: got.at.clone() };
                    Some(HeaderTest::Equals(self.template(&text, Escape::Raw, scope)))
                }
                RawValue::Table(entries) => match entries.as_slice() {
                    [(key, Node { plain: RawValue::Flag(flag), .. })] if key == "present" => {
                        Some(HeaderTest::Present(*flag))
                    }
                    [(key, Node { plain: RawValue::Text(text), .. })] if key == "matches" => {
                        let text = ReadValue { value: text.clone(), at: got.at.clone() };
                        let Some(pattern) = self.pattern(&text) else { continue };
                        Some(HeaderTest::Matches(pattern))
                    }
                    _ => None,
                },
                _ => None,
            };
            let Some(test) = test else {
                let found = crate::resolved::inline(&got.value);
                let allowed = "the value in quotes, { matches = \"regex\" }, or { present = true }";
                self.given.refuse(&got.at, found, allowed, "write it so");
                continue;
            };
            checks.push(HeaderCheck { name: name.to_ascii_lowercase().into(), test });
        }
        checks
    }

    fn json_check(
        &self,
        pointer: &ReadValue<String>,
        expected: &ReadValue<RawValue>,
        scope: &mut Scope,
    ) -> Option<BodyCheck> {
        let path = self.pointer(pointer)?;
        if path.is_list() {
            self.given.refuse(
                &pointer.at,
                &pointer.value,
                "a pointer to one place, without `*`",
                "name an element",
            );
        }
        let expected = match &expected.value {
            RawValue::Text(text) => {
                let text = ReadValue { value: text.clone(), at: expected.at.clone() };
                let whole: Template = self.template(&text, Escape::Raw, scope);
                ExpectedValue::Text(whole)
            }
            RawValue::Flag(flag) => ExpectedValue::Bool(*flag),
            RawValue::Table(entries) => match entries.as_slice() {
                [(key, Node { plain: RawValue::Flag(flag), .. })] if key == "exists" => {
                    ExpectedValue::Exists(*flag)
                }
                _ => return self.no_expectation(expected),
            },
            other => match as_number(other) {
                Some(number) => ExpectedValue::Number(number),
                None => return self.no_expectation(expected),
            },
        };
        Some(BodyCheck::Json { pointer: path, expected })
    }

    fn no_expectation(&self, got: &ReadValue<RawValue>) -> Option<BodyCheck> {
        let found = crate::resolved::inline(&got.value);
        let allowed = "a text, a number, true, false, or { exists = true }";
        self.given.refuse(&got.at, found, allowed, "write it so");
        None
    }

    fn schema(&mut self, file: &ReadValue<String>) -> Option<Schema> {
        let bytes = self.file(file, MOST_SCHEMA)?;
        let refuse = |why: String| {
            let found = format!("\"{}\"", file.value);
            self.given.refuse(
                &file.at,
                found,
                "a file with a JSON schema",
                &format!("correct the file: {why}"),
            );
        };
        Schema::new(&bytes).map_err(refuse).ok()
    }
}

impl Section<'_> {
    /// Whether an extraction gives a list.
    fn has_list(&self) -> bool {
        extracts_list(&RawValue::Table(self.left().to_vec()))
    }
}

/// A status or a class of them.
fn status(plain: &RawValue) -> Option<RangeInclusive<u16>> {
    match plain {
        RawValue::Integer(n) => statuses(&n.to_string()),
        RawValue::Text(text) => statuses(text),
        _ => None,
    }
}

/// A status from 100 to 599, as in `302`, or a class of them, as in `2xx`.
#[must_use]
pub fn statuses(text: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = match text.strip_suffix("xx") {
        Some(class) => (format!("{class}00"), format!("{class}99")),
        None => (text.to_owned(), text.to_owned()),
    };
    let number = |text: String| (text.len() == 3).then(|| text.parse().ok()).flatten();
    let (first, last) = (number(first)?, number(last)?);
    (100 <= first && last <= 599).then_some(first..=last)
}
