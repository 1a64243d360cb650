//! Example values for requests, made from schemas, with the ids from earlier answers.

use serde_json::Value;

use super::schema::{DEPTH, Schemas, Shape, known_as};
use crate::draft::{Json, Text};
use crate::{json, name};

/// Most values in an example.
const MOST_VALUES: usize = 500;

/// Longest text made to satisfy a schema.
const LONGEST: usize = 1_000;

/// Lookup of the name of a value from an earlier answer, by its key.
pub(super) type NameLookup<'g> = &'g dyn Fn(&str) -> Option<String>;

/// Makes examples for one call.
pub(super) struct Maker<'a, 'g> {
    schemas: Schemas<'a>,
    given: NameLookup<'g>,
    /// Whether the call creates a resource, whose own id is unknown to it.
    creates: bool,
    /// The resource named by the path.
    thing: &'g str,
    left: usize,
}

impl<'a, 'g> Maker<'a, 'g> {
    pub(super) fn new(
        schemas: Schemas<'a>,
        given: NameLookup<'g>,
        (thing, creates): (&'g str, bool),
    ) -> Self {
        Maker { schemas, given, creates, thing, left: MOST_VALUES }
    }

    /// The name of a value from an earlier answer, by its key.
    pub(super) fn given(&self, known_as: &str) -> Option<String> {
        (self.given)(known_as)
    }

    /// The given example, or one that fits the schema.
    pub(super) fn example(&mut self, schema: &'a Value, given: Option<&Value>) -> Json {
        match given {
            Some(example) => self.linked(json::of_value(example), ("", self.thing)),
            None => self.made(&[schema], ("", self.thing), DEPTH),
        }
    }

    fn made(&mut self, schemas: &[&'a Value], (property, within): (&str, &str), depth: usize) -> Json {
        self.left = self.left.saturating_sub(1);
        let shape = self.schemas.shape_of(schemas);
        if shape.is_plain()
            && let Some(name) = self.known(&known_as(property, shape.called, within), property)
        {
            return if shape.kind() == Some("string") {
                Json::Text(Text::value(name))
            } else {
                Json::Bare(name)
            };
        }
        if let Some(value) = shape.said() {
            return self.linked(json::of_value(value), (property, within));
        }
        match shape.kind() {
            Some("integer" | "number") => Json::Plain(number(&shape)),
            Some("boolean") => Json::Plain("true".to_owned()),
            Some("string") => Json::Text(Text::fixed(sample(&shape, property))),
            Some("array") => {
                let items = shape.all("items");
                let is_looked_at = depth > 0 && !items.is_empty();
                let item = is_looked_at.then(|| self.made(&items, (property, within), depth - 1));
                Json::List(item.into_iter().collect())
            }
            _ => Json::Object(self.members(&shape, (property, within), depth)),
        }
    }

    /// The required members, or all if none is required.
    fn members(
        &mut self,
        shape: &Shape<'a>,
        (property, within): (&str, &str),
        depth: usize,
    ) -> Vec<(String, Json)> {
        let Some(depth) = depth.checked_sub(1) else { return Vec::new() };
        let required = shape.required().filter(|required| !required.is_empty());
        let inside = shape.called.filter(|called| !called.contains('_')).map_or_else(
            || if property.is_empty() { within.to_owned() } else { name::singular(&name::value(property)) },
            name::value,
        );
        let mut members = Vec::new();
        for (name, schemas) in shape.properties() {
            let is_required = required.as_ref().is_some_and(|required| required.contains(&name));
            let is_own_id = self.creates && property.is_empty() && name == "id";
            let is_needed = is_required || required.is_none() && !is_own_id && self.left > 0;
            if is_needed && !self.schemas.shape_of(&schemas).is("readOnly") {
                members.push((name.to_owned(), self.made(&schemas, (name, &inside), depth)));
            }
        }
        members
    }

    /// The example with ids from earlier answers.
    fn linked(&self, example: Json, (property, within): (&str, &str)) -> Json {
        let known = || self.known(&known_as(property, None, within), property);
        match example {
            Json::Text(text) => Json::Text(known().map_or(text, Text::value)),
            Json::Plain(plain) if plain.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
                known().map_or(Json::Plain(plain), Json::Bare)
            }
            Json::List(items) => {
                Json::List(items.into_iter().map(|item| self.linked(item, (property, within))).collect())
            }
            Json::Object(members) => {
                let inside = name::singular(&name::value(property));
                let inside = if property.is_empty() { within } else { &inside };
                let member = |(name, value): (String, Json)| {
                    let value = self.linked(value, (&name, inside));
                    (name, value)
                };
                Json::Object(members.into_iter().map(member).collect())
            }
            other => other,
        }
    }

    fn known(&self, known_as: &str, property: &str) -> Option<String> {
        let is_own = self.creates && name::value(property) == "id";
        if property.is_empty() || is_own { None } else { self.given(known_as) }
    }
}

/// A number within the bounds.
fn number(shape: &Shape<'_>) -> String {
    let bounds = super::bounds::of(shape);
    match (bounds.whole(), shape.kind()) {
        (Some((min, _)), _) => min.to_string(),
        (None, Some("integer")) => "1".to_owned(),
        (None, _) => Value::from(bounds.numbers().0).to_string(),
    }
}

/// A text of the format, if it is a usual one, within the bounds of length.
pub(super) fn sample(shape: &Shape<'_>, property: &str) -> String {
    let text = match shape.get("format").and_then(Value::as_str) {
        Some("date-time") => "2026-01-31T12:00:00Z",
        Some("date") => "2026-01-31",
        Some("time") => "12:00:00Z",
        Some("duration") => "PT1H",
        Some("email" | "idn-email") => "somebody@example.com",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        Some("uri" | "url" | "iri") => "http://example.com/",
        Some("hostname") => "example.com",
        Some("ipv4") => "192.0.2.1",
        Some("ipv6") => "2001:db8::1",
        Some("byte") => "dGV4dA==",
        _ if property.is_empty() => "text",
        _ => property,
    };
    let length = |key: &str| shape.get(key).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    let missing = length("minLength").unwrap_or(0).min(LONGEST).saturating_sub(text.chars().count());
    let longest = length("maxLength").unwrap_or(usize::MAX);
    text.chars().chain(std::iter::repeat_n('x', missing)).take(longest).collect()
}
