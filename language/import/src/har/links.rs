//! Links between requests and earlier answers: ids, tokens, hidden fields.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::record::Entry;
use crate::draft::{Extraction, Text, ValueSource};
use crate::name;

/// Largest answer searched, in bytes.
const MOST_BYTES: usize = 1 << 20;

/// Greatest depth searched; pointers of scenarios are not much longer.
const DEEPEST: usize = 24;

/// Least length at which equal texts are not a coincidence, under any name.
const TELLING: usize = 8;

/// Shortest ids that count without an equal name: shorter ones are often equal by chance.
const SHORT: usize = 4;

/// A value from an earlier answer.
#[derive(Clone, Debug)]
struct LinkSource {
    entry: usize,
    keep: Extraction,
}

/// Values of earlier answers.
#[derive(Default)]
pub(super) struct Links {
    found: BTreeMap<String, LinkSource>,
    /// Used names.
    names: BTreeSet<String>,
    /// Values needed by later requests, by the entry whose answer has them.
    pub(super) used: BTreeMap<usize, Vec<Extraction>>,
    /// The last entry with a value in the present request.
    latest: Option<usize>,
}

impl Links {
    /// Records the values of an answer. For equal values the earliest answer counts.
    pub(super) fn learn(&mut self, at: usize, entry: &Entry, resource: &str) {
        let Some(text) = entry.text.as_ref().filter(|text| text.len() <= MOST_BYTES) else { return };
        if let Ok(document) = serde_json::from_str::<Value>(text) {
            self.learn_json(at, &document, (String::new(), resource.to_owned()));
        } else if entry.media_type.contains("html") {
            for (field, value, pattern) in fields(text) {
                self.add(at, value, &name::value(&field), ValueSource::Regex(pattern));
            }
        }
    }

    fn learn_json(&mut self, at: usize, value: &Value, (pointer, within): (String, String)) {
        match value {
            _ if pointer.matches('/').count() >= DEEPEST => {}
            Value::Object(members) => {
                // A `*` in a pointer stands for every element.
                for (key, value) in members.iter().filter(|(key, _)| *key != "*") {
                    let pointer = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
                    if value.is_object() || value.is_array() {
                        let inside = name::singular(&name::value(key));
                        self.learn_json(at, value, (pointer, inside));
                    } else {
                        self.learn_plain(at, value, (&within, key), pointer);
                    }
                }
            }
            Value::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    self.learn_json(at, item, (format!("{pointer}/{i}"), within.clone()));
                }
            }
            _ => {}
        }
    }

    fn learn_plain(&mut self, at: usize, value: &Value, (within, key): (&str, &str), pointer: String) {
        let key = name::value(key);
        let is_id = key == "id" || key.ends_with("_id") || key.ends_with("token") || key.ends_with("uuid");
        let text = match value {
            Value::String(text) if is_id || text.len() >= TELLING => text.clone(),
            Value::Number(number) if is_id => number.to_string(),
            _ => return,
        };
        let called = if key == "id" && !within.is_empty() { format!("{within}_id") } else { key };
        self.add(at, text, &called, ValueSource::Json(pointer));
    }

    fn add(&mut self, entry: usize, value: String, called: &str, from: ValueSource) {
        if value.is_empty() || self.found.contains_key(&value) {
            return;
        }
        let keep = Extraction { name: called.to_owned(), from };
        self.found.insert(value, LinkSource { entry, keep });
    }

    /// The last entry with a value used since the last call.
    pub(super) fn take_latest(&mut self) -> Option<usize> {
        self.latest.take()
    }

    /// The text, replaced by the value of an earlier answer if it equals one. `called` is its name in the
    /// request.
    pub(super) fn text(&mut self, value: &str, called: &str) -> Text {
        self.name(value, called).map_or_else(|| Text::fixed(value), Text::value)
    }

    /// The name of a value from an earlier answer, which is kept from now on.
    pub(super) fn name(&mut self, value: &str, called: &str) -> Option<String> {
        let found = self.found.get(value)?.clone();
        if value.len() < SHORT && found.keep.name != called {
            return None;
        }
        self.latest = self.latest.max(Some(found.entry));
        let used = self.used.entry(found.entry).or_default();
        if let Some(kept) = used.iter().find(|kept| kept.from == found.keep.from) {
            return Some(kept.name.clone());
        }
        let name = name::unique(&name::free(&found.keep.name), |name| self.names.contains(name));
        self.names.insert(name.clone());
        used.push(Extraction { name: name.clone(), from: found.keep.from });
        Some(name)
    }
}

/// Hidden fields and meta tags of a page: name, value, and an expression that extracts the value.
fn fields(html: &str) -> Vec<(String, String, String)> {
    let mut fields = Vec::new();
    for tag in html.split('<').filter_map(|t| t.split('>').next()) {
        let content = match tag.split_ascii_whitespace().next() {
            Some("input") => "value",
            Some("meta") => "content",
            _ => continue,
        };
        let Some(((at, name), (value_at, value))) = attribute(tag, "name").zip(attribute(tag, content))
        else {
            continue;
        };
        if value.len() < TELLING {
            continue;
        }
        let name_part = format!("name=\"{}\"", literal(name));
        let value_part = format!("{content}=\"([^\"]*)\"");
        let pattern = if at < value_at {
            format!("{name_part}[^>]*{value_part}")
        } else {
            format!("{value_part}[^>]*{name_part}")
        };
        fields.push((name.to_owned(), value.to_owned(), pattern));
    }
    fields
}

/// Position of an attribute in a tag, and its value.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<(usize, &'a str)> {
    let begin = format!(" {name}=\"");
    let at = tag.find(&begin)?;
    let rest = &tag[at + begin.len()..];
    Some((at, &rest[..rest.find('"')?]))
}

/// A text as an expression that matches it.
fn literal(text: &str) -> String {
    let special = |c: char| !c.is_alphanumeric() && c != '_' && c != '-';
    text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_fields_are_found_in_either_order() {
        let html = r#"<p><input type="hidden" name="csrf[t]" value="abcdefghij"><meta content="0123456789" name="tok">
            <input name="q" value="short"><input value="unnamed-value">"#;
        let expected = [
            ("csrf[t]", "abcdefghij", r#"name="csrf\[t\]"[^>]*value="([^"]*)""#),
            ("tok", "0123456789", r#"content="([^"]*)"[^>]*name="tok""#),
        ];
        let expected = expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()));
        assert_eq!(fields(html), expected);
    }
}
