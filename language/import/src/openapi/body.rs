//! Bodies of requests, in the document's media type.

use serde_json::Value;

use super::calls::Content;
use super::example::Maker;
use super::parameter::json_or_text;
use super::schema::{Schemas, Shape};
use crate::draft::{Body, FormPart, Json, Text};
use crate::json;
use crate::media::{self, MediaKind};

/// A body, its content type if it is not the default, and remarks for the user.
pub(super) struct BodyDraft {
    pub(super) body: Body,
    pub(super) content_type: Option<String>,
    pub(super) remarks: Vec<String>,
}

/// The example of the document, or one made from the schema.
pub(super) fn body<'a>(schemas: Schemas<'a>, content: &Content<'a>, maker: &mut Maker<'a, '_>) -> BodyDraft {
    let shape = schemas.shape(content.schema);
    let media_type = media::one_of_range(content.media_type);
    let example = maker.example(content.schema, content.example);
    let is_proposed = content.example.is_some() || shape.said().is_some();
    let mut remarks = Vec::new();
    if !is_proposed {
        remarks.push("made from the schema: put real values in".to_owned());
    }
    let (body, usual) = match (media::kind(media_type), example) {
        (MediaKind::Json, example) => (Body::Json(in_text(example, &shape)), "application/json"),
        (MediaKind::Form, Json::Object(members)) => {
            let fields = members.into_iter().flat_map(|(name, value)| field(name, value)).collect();
            (Body::Form(fields), "application/x-www-form-urlencoded")
        }
        (MediaKind::Multipart, Json::Object(members)) => {
            let parts = members.into_iter().flat_map(|(name, value)| {
                let schema = shape.properties().into_iter().find(|(known, _)| *known == name);
                parts(&name, &value, (schema.map(|(_, all)| schemas.shape_of(&all)), content.encoding))
            });
            let parts: Vec<(String, FormPart)> = parts.collect();
            if parts.iter().any(|(_, part)| part.filename.is_some()) {
                let stand_in = "files are stand-ins: write { file = \"FILE\" } in place of their text";
                remarks.push(stand_in.to_owned());
            }
            (Body::Multipart(parts), media_type)
        }
        (kind, example) => {
            if kind == MediaKind::Binary {
                let stand_in = format!("a stand-in for {media_type}: write file = \"FILE\" in place of it");
                remarks.push(stand_in);
            } else if media_type.starts_with("multipart/") {
                remarks.push(format!("{media_type} is not carried over: write the whole body"));
            }
            (Body::Text(as_text(media_type, example, &shape)), "text/plain; charset=utf-8")
        }
    };
    let content_type = (media_type != usual).then(|| crate::header::on_one_line(media_type));
    let content_type = content_type.filter(|_| !matches!(body, Body::Multipart(_)));
    BodyDraft { body, content_type, remarks }
}

/// Parses an example written as JSON text.
fn in_text(example: Json, shape: &Shape<'_>) -> Json {
    let Json::Text(text) = &example else { return example };
    let inner = || {
        json::read(match text.0.as_slice() {
            [crate::draft::Piece::Fixed(fixed)] => fixed.trim(),
            _ => "",
        })
    };
    let is_text = shape.kind() == Some("string");
    let inner = if is_text { None } else { inner() };
    inner.filter(|inner| matches!(inner, Json::Object(_) | Json::List(_))).unwrap_or(example)
}

/// A field of a form; a list gives its name several values.
fn field(name: String, value: Json) -> Vec<(String, Text)> {
    match value {
        Json::List(items) => items.iter().map(|item| (name.clone(), json_or_text(item))).collect(),
        value => vec![(name, json_or_text(&value))],
    }
}

/// A part of a multipart form; a list gives its name several parts.
fn parts(
    name: &str,
    value: &Json,
    (shape, encoding): (Option<Shape<'_>>, &Value),
) -> Vec<(String, FormPart)> {
    let named = encoding.get(name).and_then(|encoding| encoding.get("contentType")).and_then(Value::as_str);
    let named = named.map(|types| types.split(',').next().unwrap_or(types).trim().to_owned());
    let says = |key: &str| shape.as_ref().and_then(|shape| shape.get(key)).and_then(Value::as_str);
    let item = |key: &str| shape.as_ref()?.get("items")?.get(key)?.as_str();
    let is_bytes = |format: Option<&str>| matches!(format, Some("binary"));
    let is_file = is_bytes(says("format")) || is_bytes(item("format")) || says("contentMediaType").is_some();
    let part = |value: &Json| {
        let media_type = match value {
            _ if named.is_some() => named.clone(),
            _ if is_file => Some(says("contentMediaType").unwrap_or("application/octet-stream").to_owned()),
            Json::Object(_) | Json::List(_) => Some("application/json".to_owned()),
            _ => None,
        };
        FormPart { text: json_or_text(value), filename: is_file.then(|| name.to_owned()), media_type }
    };
    match value {
        Json::List(items) => items.iter().map(|item| (name.to_owned(), part(item))).collect(),
        value => vec![(name.to_owned(), part(value))],
    }
}

/// A body that is neither JSON nor a form.
fn as_text(media_type: &str, example: Json, shape: &Shape<'_>) -> Text {
    let is_xml = media_type.contains("xml");
    let is_lines = media_type.contains("json");
    match example {
        Json::Object(_) | Json::List(_) if is_xml => {
            let named = shape.get("xml").and_then(|xml| xml.get("name")).and_then(Value::as_str);
            let mut text = Text::default();
            element(named.or(shape.called).unwrap_or("root"), &example, &mut text);
            text
        }
        Json::List(items) if is_lines => items.iter().fold(Text::default(), |mut text, item| {
            text.append(json::text(item));
            text.push("\n");
            text
        }),
        Json::Object(members) if members.is_empty() => Text::fixed("text"),
        other => {
            let mut text = json_or_text(&other);
            text.push(if is_lines { "\n" } else { "" });
            text
        }
    }
}

/// An element of XML with elements for its members.
fn element(name: &str, value: &Json, out: &mut Text) {
    match value {
        Json::List(items) => items.iter().for_each(|item| element(name, item, out)),
        value => {
            out.push(&format!("<{name}>"));
            match value {
                Json::Object(members) => members.iter().for_each(|(name, value)| element(name, value, out)),
                plain => {
                    for piece in json_or_text(plain).0 {
                        match piece {
                            crate::draft::Piece::Fixed(text) => {
                                out.push(&text.replace('&', "&amp;").replace('<', "&lt;"));
                            }
                            known => out.0.push(known),
                        }
                    }
                }
            }
            out.push(&format!("</{name}>"));
        }
    }
}
