//! The calls an OpenAPI document describes.

use serde_json::Value;

use super::schema::{Schemas, known_as, resource};

const METHODS: [&str; 6] = ["get", "head", "post", "put", "patch", "delete"];

/// Where a parameter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Path,
    Query,
    Header,
}

/// Something a call needs to know.
pub(super) struct Parameter<'a> {
    pub(super) name: &'a str,
    pub(super) place: Place,
    pub(super) schema: &'a Value,
    pub(super) known_as: String,
}

/// A body and how it is written.
pub(super) struct Content<'a> {
    pub(super) media_type: &'a str,
    pub(super) schema: &'a Value,
}

/// One call.
pub(super) struct Call<'a> {
    pub(super) method: &'static str,
    pub(super) path: &'a str,
    /// The name the document gives it, if it does.
    pub(super) id: Option<&'a str>,
    pub(super) about: &'a str,
    /// Required ones only.
    pub(super) parameters: Vec<Parameter<'a>>,
    pub(super) content: Option<Content<'a>>,
    /// Those of success.
    pub(super) statuses: Vec<u16>,
    /// What a good answer holds, where it is JSON.
    pub(super) answer: Option<&'a Value>,
    /// Name of the security scheme it needs.
    pub(super) scheme: Option<&'a str>,
}

/// All calls, in the document's order.
pub(super) fn calls(schemas: Schemas<'_>) -> Vec<Call<'_>> {
    let document = schemas.document;
    let paths = document.get("paths").and_then(Value::as_object).into_iter().flatten();
    let mut calls = Vec::new();
    for (path, item) in paths {
        for method in METHODS {
            if let Some(operation) = item.get(method) {
                calls.push(call(schemas, (method, path), item, operation));
            }
        }
    }
    calls
}

fn call<'a>(
    schemas: Schemas<'a>,
    (method, path): (&'static str, &'a str),
    item: &'a Value,
    operation: &'a Value,
) -> Call<'a> {
    let text = |key: &str| operation.get(key).and_then(Value::as_str);
    let about = text("summary").or_else(|| text("description")).unwrap_or("");
    let answers = operation.get("responses").and_then(Value::as_object);
    let good = || answers.into_iter().flatten().filter(|(status, _)| status.starts_with('2'));
    let answer = good().find_map(|(_, answer)| content(schemas, answer, |media| media.contains("json")));
    Call {
        method,
        path,
        id: text("operationId"),
        about: about.lines().next().unwrap_or(""),
        parameters: parameters(schemas, path, item, operation),
        content: operation.get("requestBody").and_then(|body| content(schemas, body, |_| true)),
        statuses: good().filter_map(|(status, _)| status.parse().ok()).collect(),
        answer: answer.map(|content| content.schema),
        scheme: scheme(schemas, operation),
    }
}

/// Those that must be given; a path's own go with every call on it.
fn parameters<'a>(
    schemas: Schemas<'a>,
    path: &'a str,
    item: &'a Value,
    operation: &'a Value,
) -> Vec<Parameter<'a>> {
    let listed = [operation, item].into_iter().filter_map(|at| at.get("parameters")?.as_array()).flatten();
    let mut found: Vec<Parameter<'a>> = Vec::new();
    for parameter in listed {
        let (parameter, _) = schemas.resolve(parameter);
        let text = |key: &str| parameter.get(key).and_then(Value::as_str);
        let place = match text("in") {
            Some("path") => Place::Path,
            Some("query") => Place::Query,
            Some("header") => Place::Header,
            _ => continue,
        };
        let required = parameter.get("required") == Some(&Value::Bool(true));
        let Some(name) = text("name").filter(|name| !found.iter().any(|p| p.name == *name)) else { continue };
        if !required && place != Place::Path {
            continue;
        }
        // Older documents write the schema into the parameter itself.
        let schema = parameter.get("schema").unwrap_or(parameter);
        let before = path.split(&format!("{{{name}}}")).next().unwrap_or("");
        let (_, called) = schemas.resolve(schema);
        let known_as = known_as(name, called, &resource(before));
        found.push(Parameter { name, place, schema, known_as });
    }
    found
}

/// The schema of the first content whose media type fits.
fn content<'a>(schemas: Schemas<'a>, at: &'a Value, fits: fn(&str) -> bool) -> Option<Content<'a>> {
    let all = schemas.resolve(at).0.get("content")?.as_object()?;
    let fitting = || all.iter().filter(|(media, _)| fits(media));
    // Of several, JSON says most.
    let (media_type, content) =
        fitting().find(|(media, _)| media.contains("json")).or_else(|| fitting().next())?;
    Some(Content { media_type, schema: content.get("schema")? })
}

/// The first scheme of the first requirement; an empty requirement means that none is needed.
fn scheme<'a>(schemas: Schemas<'a>, operation: &'a Value) -> Option<&'a str> {
    let requirements = operation.get("security").or_else(|| schemas.document.get("security"))?.as_array()?;
    requirements.first()?.as_object()?.keys().next().map(String::as_str)
}
