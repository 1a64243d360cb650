//! Schemas of an OpenAPI document: references, what an answer holds, an example of what a request needs.

use serde_json::Value;

use crate::draft::{Json, Text};
use crate::name;

/// How deep answers and examples are looked into: schemas may contain themselves.
const DEPTH: usize = 5;

/// Knows the name of the value that something is known as, where an earlier answer gave it.
pub(super) type Given<'g> = &'g dyn Fn(&str) -> Option<String>;

/// The document, for its references.
#[derive(Clone, Copy)]
pub(super) struct Schemas<'a> {
    pub(super) document: &'a Value,
}

/// A value that an answer holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) pointer: String,
    /// What other places of the document call it.
    pub(super) known_as: String,
    /// It names the very thing it stands in, and does not only mention it.
    pub(super) is_own: bool,
}

impl<'a> Schemas<'a> {
    /// What a reference leads to, with the last word of the last reference.
    pub(super) fn resolve(self, schema: &'a Value) -> (&'a Value, Option<&'a str>) {
        let (mut at, mut called) = (schema, None);
        for _ in 0..DEPTH {
            // "This or null" is this.
            let choices = ["oneOf", "anyOf", "allOf"].iter().find_map(|key| at.get(*key)?.as_array());
            let only = choices.and_then(|all| all.iter().find(|one| kind(one) != Some("null")));
            let reference = at.get("$ref").and_then(Value::as_str);
            at = match (reference, only) {
                (Some(reference), _) => {
                    called = reference.rsplit('/').next();
                    let found = reference.strip_prefix('#').and_then(|p| self.document.pointer(p));
                    found.unwrap_or(&Value::Null)
                }
                (None, Some(only)) => only,
                (None, None) => break,
            };
        }
        (at, called)
    }

    /// Every text and number of an answer, of lists the first.
    pub(super) fn leaves(self, schema: &'a Value, path: &str) -> Vec<Leaf> {
        let mut found = Vec::new();
        self.look(schema, (String::new(), &resource(path)), DEPTH, &mut found);
        found
    }

    fn look(self, schema: &'a Value, (at, within): (String, &str), depth: usize, found: &mut Vec<Leaf>) {
        let (schema, called) = self.resolve(schema);
        if depth == 0 {
            return;
        }
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            let within = called.filter(|c| !c.contains('_')).map_or_else(|| within.to_owned(), name::value);
            for (property, schema) in properties {
                let at = format!("{at}/{}", property.replace('~', "~0").replace('/', "~1"));
                let (inner, called) = self.resolve(schema);
                if is_plain(inner) {
                    let is_own = name::value(property) == "id";
                    found.push(Leaf { pointer: at, known_as: known_as(property, called, &within), is_own });
                } else {
                    let inside = name::singular(&name::value(property));
                    // A list named for its purpose says less of what it holds than what is around it.
                    let says_little =
                        matches!(inside.as_str(), "item" | "result" | "data" | "content" | "entry");
                    let inside = if says_little && !within.is_empty() { within.clone() } else { inside };
                    self.look(schema, (at, &inside), depth - 1, found);
                }
            }
        } else if let Some(items) = schema.get("items") {
            self.look(items, (format!("{at}/0"), within), depth - 1, found);
        }
    }

    /// A document that fits the schema, with named values where `given` knows one.
    pub(super) fn example(self, schema: &'a Value, given: Given<'_>) -> Json {
        self.example_of(schema, ("", given), DEPTH)
    }

    fn example_of(self, schema: &'a Value, (property, given): (&str, Given<'_>), depth: usize) -> Json {
        let (schema, called) = self.resolve(schema);
        if is_plain(schema)
            && let Some(name) = given(&known_as(property, called, ""))
        {
            return if kind(schema) == Some("string") {
                Json::Text(Text::value(name))
            } else {
                Json::Bare(name)
            };
        }
        if let Some(value) = said(schema) {
            return json(value);
        }
        match kind(schema) {
            Some("integer" | "number") => {
                Json::Plain(schema.get("minimum").cloned().unwrap_or_else(|| Value::from(1)))
            }
            Some("boolean") => Json::Plain(Value::Bool(true)),
            Some("array") => {
                let one = schema.get("items").filter(|_| depth > 0);
                Json::List(
                    one.map(|items| self.example_of(items, (property, given), depth - 1))
                        .into_iter()
                        .collect(),
                )
            }
            Some("string") => Json::Text(Text::fixed(sample(schema, property))),
            _ => Json::Object(self.members(schema, given, depth)),
        }
    }

    /// The required members; all of them where none is.
    fn members(self, schema: &'a Value, given: Given<'_>, depth: usize) -> Vec<(String, Json)> {
        let Some(properties) = schema.get("properties").and_then(Value::as_object).filter(|_| depth > 0)
        else {
            return Vec::new();
        };
        let required = schema.get("required").and_then(Value::as_array);
        let is_needed = |name: &str| required.is_none_or(|r| r.iter().any(|n| n == name));
        let needed = properties.iter().filter(|(name, _)| is_needed(name));
        needed.map(|(name, s)| (name.clone(), self.example_of(s, (name, given), depth - 1))).collect()
    }
}

/// The type; of a list of types the first that is not null.
pub(super) fn kind(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::String(kind) => Some(kind),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        _ => None,
    }
}

fn is_plain(schema: &Value) -> bool {
    matches!(kind(schema), Some("string" | "integer" | "number"))
}

/// A value that the schema itself proposes.
pub(super) fn said(schema: &Value) -> Option<&Value> {
    let first = |key: &str| schema.get(key).and_then(Value::as_array).and_then(|all| all.first());
    schema
        .get("example")
        .or_else(|| schema.get("const"))
        .or_else(|| schema.get("default"))
        .or_else(|| first("examples"))
        .or_else(|| first("enum"))
}

/// A text that fits the format, as far as it is one of the usual.
fn sample(schema: &Value, property: &str) -> String {
    let text = match schema.get("format").and_then(Value::as_str) {
        Some("date-time") => "2026-01-31T12:00:00Z",
        Some("date") => "2026-01-31",
        Some("email") => "somebody@example.com",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        Some("uri") => "http://example.com/",
        _ if property.is_empty() => "text",
        _ => property,
    };
    text.to_owned()
}

/// A document without named values.
pub(super) fn json(value: &Value) -> Json {
    match value {
        Value::String(text) => Json::Text(Text::fixed(text.clone())),
        Value::Array(items) => Json::List(items.iter().map(json).collect()),
        Value::Object(members) => Json::Object(members.iter().map(|(k, v)| (k.clone(), json(v))).collect()),
        plain => Json::Plain(plain.clone()),
    }
}

/// What a value is known as all over a document: its own name, and where that is only `id`, the name of the thing it
/// names.
pub(super) fn known_as(own: &str, called: Option<&str>, within: &str) -> String {
    let own = name::value(own);
    match called.map(name::value) {
        _ if own != "id" && own != "v_" => own,
        Some(called) if called.ends_with("_id") => called,
        _ if within.is_empty() => own,
        _ => format!("{within}_id"),
    }
}

/// What the last fixed part of a path names, in the singular.
pub(super) fn resource(path: &str) -> String {
    let mut parts = path.split('/').filter(|part| !part.is_empty() && !part.starts_with('{'));
    parts.next_back().map_or_else(String::new, |part| name::singular(&name::value(part)))
}
