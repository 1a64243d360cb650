//! Values of parameters, generated or taken from the document, in its style.

use serde_json::Value;

use super::bounds;
use super::calls::{Parameter, ParameterLocation};
use super::example::{Maker, sample};
use super::schema::{Schemas, Shape};
use crate::draft::{GeneratedValue, Json, Text};
use crate::{json, percent};

/// Value of a parameter, before its style is applied.
pub(super) enum ParameterValue {
    /// An existing value.
    Known(String),
    /// A value generated for each operation.
    Made(GeneratedValue),
    /// A constant.
    Fixed(Json),
}

/// Chooses the value of a parameter: from an earlier answer, an example of the document, the schema's
/// default, or a generator.
pub(super) fn worth<'a>(
    schemas: Schemas<'a>,
    parameter: &Parameter<'a>,
    maker: &mut Maker<'a, '_>,
) -> ParameterValue {
    let shape = schemas.shape(parameter.schema);
    if (shape.kind().is_none() || shape.is_plain())
        && let Some(name) = maker.given(&parameter.known_as)
    {
        return ParameterValue::Known(name);
    }
    if parameter.example.is_some() {
        return ParameterValue::Fixed(maker.example(parameter.schema, parameter.example));
    }
    let choices = shape.choices();
    match shape.kind() {
        Some("array" | "object") => ParameterValue::Fixed(maker.example(parameter.schema, None)),
        _ if choices.len() > 1 => ParameterValue::Made(GeneratedValue::Choice(choices)),
        kind => match shape.said() {
            Some(said) => ParameterValue::Fixed(json::of_value(said)),
            None => plain(&shape, kind, parameter.name),
        },
    }
}

fn plain(shape: &Shape<'_>, kind: Option<&str>, name: &str) -> ParameterValue {
    let format = shape.get("format").and_then(Value::as_str);
    match kind {
        Some("integer" | "number") => {
            let bounds = bounds::of(shape);
            let (least, most) = bounds.numbers();
            match bounds.whole() {
                Some((min, max)) if min == max => ParameterValue::Fixed(Json::Plain(min.to_string())),
                Some((min, max)) => ParameterValue::Made(GeneratedValue::Integer { min, max }),
                None if least < most && kind == Some("number") => {
                    ParameterValue::Made(GeneratedValue::Number { min: least, max: most })
                }
                None => ParameterValue::Fixed(Json::Plain(Value::from(least).to_string())),
            }
        }
        Some("boolean") => ParameterValue::Fixed(Json::Plain("true".to_owned())),
        _ if format == Some("uuid") => ParameterValue::Made(GeneratedValue::Uuid),
        _ => ParameterValue::Fixed(Json::Text(Text::fixed(sample(shape, name)))),
    }
}

/// A query parameter in its style: names with values, or literal text of the path.
pub(super) enum InQuery {
    Pairs(Vec<(String, Text)>),
    /// A list whose commas are not encoded.
    Written(Text),
}

/// A query parameter in its style.
pub(super) fn in_query(parameter: &Parameter<'_>, value: &Json) -> InQuery {
    let name = parameter.name;
    let separator = match parameter.style {
        "spaceDelimited" => " ",
        "pipeDelimited" => "|",
        _ => ",",
    };
    match value {
        _ if parameter.is_json => InQuery::Pairs(vec![(name.to_owned(), json_or_text(value))]),
        Json::List(items) if parameter.explode => {
            InQuery::Pairs(items.iter().map(|item| (name.to_owned(), json_or_text(item))).collect())
        }
        Json::Object(members) if parameter.style == "deepObject" => InQuery::Pairs(
            members.iter().flat_map(|(key, value)| deep(format!("{name}[{key}]"), value)).collect(),
        ),
        Json::Object(members) if parameter.explode => {
            InQuery::Pairs(members.iter().map(|(key, value)| (key.clone(), json_or_text(value))).collect())
        }
        Json::List(_) | Json::Object(_) if separator == "," => {
            let mut text = Text::fixed(format!("{}=", percent::value(name)));
            text.append(joined(value, ("=", ",", false), percent::value));
            InQuery::Written(text)
        }
        Json::List(_) | Json::Object(_) => {
            let text = joined(value, (separator, separator, false), str::to_owned);
            InQuery::Pairs(vec![(name.to_owned(), text)])
        }
        plain => InQuery::Pairs(vec![(name.to_owned(), json_or_text(plain))]),
    }
}

/// Names of nested members, with brackets.
fn deep(name: String, value: &Json) -> Vec<(String, Text)> {
    match value {
        Json::Object(members) => {
            members.iter().flat_map(|(key, value)| deep(format!("{name}[{key}]"), value)).collect()
        }
        Json::List(items) => items.iter().map(|item| (name.clone(), json_or_text(item))).collect(),
        plain => vec![(name, json_or_text(plain))],
    }
}

/// A path parameter in its style.
pub(super) fn in_path(parameter: &Parameter<'_>, value: &Json) -> Text {
    let name = percent::segment(parameter.name);
    let explode = parameter.explode;
    let mut text = Text::default();
    match (parameter.style, value) {
        ("label", _) => {
            text.push(".");
            text.append(joined(value, ("=", if explode { "." } else { "," }, explode), percent::segment));
        }
        ("matrix", Json::List(items)) if explode => {
            for item in items {
                text.push(&format!(";{name}="));
                text.append(encoded(json_or_text(item), percent::segment));
            }
        }
        ("matrix", Json::Object(_)) if explode => {
            text.push(";");
            text.append(joined(value, ("=", ";", true), percent::segment));
        }
        ("matrix", _) => {
            text.push(&format!(";{name}="));
            text.append(joined(value, ("=", ",", false), percent::segment));
        }
        _ => text.append(joined(value, ("=", ",", explode), percent::segment)),
    }
    // An empty part of a path leads elsewhere.
    if text.0.is_empty() { Text::fixed(name) } else { text }
}

/// A parameter of a header or a cookie.
pub(super) fn in_header(parameter: &Parameter<'_>, value: &Json) -> Text {
    let text = match value {
        _ if parameter.is_json => json_or_text(value),
        _ => joined(value, ("=", ",", parameter.explode), str::to_owned),
    };
    let text = encoded(text, crate::header::on_one_line);
    match parameter.place {
        ParameterLocation::Cookie => {
            let mut pair = Text::fixed(format!("{}=", parameter.name));
            pair.append(text);
            pair
        }
        _ => text,
    }
}

/// Joins items with separators; members as `key=value` if exploded, else one after the other.
fn joined(
    value: &Json,
    (equals, separator, explode): (&str, &str, bool),
    encode: fn(&str) -> String,
) -> Text {
    let mut text = Text::default();
    let mut add = |part: Text, before: &str| {
        if !text.0.is_empty() {
            text.push(before);
        }
        text.append(encoded(part, encode));
    };
    match value {
        Json::List(items) => items.iter().for_each(|item| add(json_or_text(item), separator)),
        Json::Object(members) => {
            for (key, value) in members {
                add(Text::fixed(key.clone()), separator);
                add(json_or_text(value), if explode { equals } else { separator });
            }
        }
        plain => add(json_or_text(plain), separator),
    }
    text
}

fn encoded(text: Text, encode: fn(&str) -> String) -> Text {
    let mut out = Text::default();
    for piece in text.0 {
        match piece {
            crate::draft::Piece::Fixed(fixed) => out.push(&encode(&fixed)),
            value => out.0.push(value),
        }
    }
    out
}

/// A text unchanged, anything else as JSON.
pub(super) fn json_or_text(value: &Json) -> Text {
    match value {
        Json::Text(text) => text.clone(),
        other => json::text(other),
    }
}
