//! JSON documents as written: members in order, numbers digit by digit.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, from_str};

use crate::draft::{Json, Piece, Text};

/// Deepest document parsed.
const DEEPEST: usize = 64;

/// Deepest document written as a TOML value, whose parsers limit the depth too.
const DEEPEST_IN_TOML: usize = 24;

/// Parses a document; `None` if it is malformed or too deep.
pub(crate) fn read(text: &str) -> Option<Json> {
    from_str::<&RawValue>(text).ok().and_then(|whole| document(whole.get(), DEEPEST))
}

fn document(text: &str, depth: usize) -> Option<Json> {
    let depth = depth.checked_sub(1)?;
    Some(match text.as_bytes().first()? {
        b'"' => Json::Text(Text::fixed(from_str::<String>(text).ok()?)),
        b'[' => {
            let items: Vec<&RawValue> = from_str(text).ok()?;
            Json::List(items.into_iter().map(|item| document(item.get(), depth)).collect::<Option<_>>()?)
        }
        b'{' => {
            let Members(members) = from_str(text).ok()?;
            let member = |(name, value): (String, &RawValue)| Some((name, document(value.get(), depth)?));
            Json::Object(members.into_iter().map(member).collect::<Option<_>>()?)
        }
        _ => Json::Plain(text.to_owned()),
    })
}

/// Members of an object, including repeated names.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Each)
    }
}

/// A parsed document.
pub(crate) fn of_value(value: &Value) -> Json {
    match value {
        Value::String(text) => Json::Text(Text::fixed(text.clone())),
        Value::Array(items) => Json::List(items.iter().map(of_value).collect()),
        Value::Object(members) => {
            Json::Object(members.iter().map(|(k, v)| (k.clone(), of_value(v))).collect())
        }
        plain => Json::Plain(plain.to_string()),
    }
}

/// Whether a document survives in TOML unchanged. TOML has no null and no repeated names, and writes numbers
/// in its own way.
pub(crate) fn fits_toml(document: &Json) -> bool {
    matches!(document, Json::Object(_) | Json::List(_)) && fits(document, DEEPEST_IN_TOML)
}

fn fits(document: &Json, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    match document {
        Json::Plain(plain) => is_same_in_toml(plain),
        Json::Text(_) | Json::Bare(_) => true,
        Json::List(items) => items.iter().all(|item| fits(item, depth)),
        Json::Object(members) => {
            let mut names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
            names.sort_unstable();
            names.windows(2).all(|pair| pair[0] != pair[1])
                && members.iter().all(|(_, value)| fits(value, depth))
        }
    }
}

fn is_same_in_toml(plain: &str) -> bool {
    if let Ok(whole) = plain.parse::<i64>() {
        return whole.to_string() == plain;
    }
    match plain.parse::<f64>().map(|number| Value::from(number).to_string()) {
        Ok(written) => written == plain,
        Err(_) => plain == "true" || plain == "false",
    }
}

/// The document as compact JSON, with the values in their places.
pub(crate) fn text(document: &Json) -> Text {
    let mut out = Text::default();
    write(document, &mut out);
    out
}

fn write(document: &Json, out: &mut Text) {
    match document {
        Json::Plain(plain) => out.push(plain),
        Json::Bare(name) => out.0.push(Piece::Value(name.clone())),
        Json::Text(text) => {
            out.push("\"");
            for piece in &text.0 {
                match piece {
                    Piece::Fixed(fixed) => {
                        let quoted = Value::from(fixed.as_str()).to_string();
                        out.push(&quoted[1..quoted.len() - 1]);
                    }
                    Piece::Value(name) => out.0.push(Piece::Value(name.clone())),
                }
            }
            out.push("\"");
        }
        Json::List(items) => {
            out.push("[");
            for (i, item) in items.iter().enumerate() {
                out.push(if i > 0 { "," } else { "" });
                write(item, out);
            }
            out.push("]");
        }
        Json::Object(members) => {
            out.push("{");
            for (i, (name, value)) in members.iter().enumerate() {
                out.push(if i > 0 { "," } else { "" });
                out.push(&Value::from(name.as_str()).to_string());
                out.push(":");
                write(value, out);
            }
            out.push("}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_keep_their_numbers_and_names() {
        for (document, in_toml) in [
            (r#"{"n":18446744073709551615}"#, false),
            (r#"{"price":1.10}"#, false),
            (r#"{"e":1e2}"#, false),
            (r#"{"a":-0}"#, false),
            (r#"{"a":null}"#, false),
            (r#"{"a":1,"a":2}"#, false),
            (r#"[1,-2,1.5,true,"x",{}]"#, true),
            (r#"{"a":[{"b c":"\"\n"}]}"#, true),
            ("7", false),
        ] {
            let read = read(document).unwrap();
            assert_eq!(text(&read), Text::fixed(document), "{document}");
            assert_eq!(fits_toml(&read), in_toml, "{document}");
        }
        assert_eq!(super::read("{\"a\":}"), None);
        assert_eq!(super::read("{} {}"), None);
        assert_eq!(super::read(&"[".repeat(100_000)), None);
        let deep = format!("{}{}", "[".repeat(40), "]".repeat(40));
        assert!(!fits_toml(&super::read(&deep).unwrap()));
    }
}
