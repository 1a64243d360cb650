//! The calls an OpenAPI document describes.

use serde_json::Value;

use super::schema::{ANY, Schemas, known_as, resource};
use crate::draft::ValueSource;
use crate::media;

/// Keys of operations in a path.
const METHODS: [&str; 8] = ["get", "head", "post", "put", "patch", "delete", "options", "trace"];

/// Header parameters ignored by OpenAPI, since the body, the answer and the security schemes describe them;
/// and those that the client sets itself.
const IGNORED: [&str; 5] = ["accept", "content-type", "authorization", "host", "cookie"];

/// Location of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParameterLocation {
    Path,
    Query,
    Header,
    Cookie,
}

/// A parameter of a call.
pub(super) struct Parameter<'a> {
    pub(super) name: &'a str,
    pub(super) place: ParameterLocation,
    pub(super) schema: &'a Value,
    pub(super) example: Option<&'a Value>,
    /// Whether it is written as JSON.
    pub(super) is_json: bool,
    pub(super) style: &'a str,
    pub(super) explode: bool,
    pub(super) known_as: String,
}

/// A body with its media type and encoding.
pub(super) struct Content<'a> {
    pub(super) media_type: &'a str,
    pub(super) schema: &'a Value,
    pub(super) example: Option<&'a Value>,
    /// Media types of parts.
    pub(super) encoding: &'a Value,
}

/// A parameter of another call, given by an answer.
pub(super) struct Link<'a> {
    /// The other call's `operationId`.
    pub(super) to: &'a str,
    pub(super) parameter: &'a str,
    pub(super) from: ValueSource,
}

/// One call.
pub(super) struct Call<'a> {
    pub(super) method: &'static str,
    pub(super) path: &'a str,
    /// The document's name for it, if any.
    pub(super) id: Option<&'a str>,
    pub(super) about: &'a str,
    /// Required parameters.
    pub(super) parameters: Vec<Parameter<'a>>,
    /// Required header parameters that cannot be written.
    pub(super) unwritten: Vec<&'a str>,
    pub(super) content: Option<Content<'a>>,
    /// Statuses of success.
    pub(super) statuses: Vec<u16>,
    /// Schema of a good answer in JSON.
    pub(super) answer: Option<&'a Value>,
    pub(super) links: Vec<Link<'a>>,
    /// Names of the required security schemes.
    pub(super) schemes: Vec<&'a str>,
    /// Its own servers, if any.
    pub(super) servers: Option<&'a Value>,
}

/// All calls, in the document's order, and a remark on those left out.
pub(super) fn calls(schemas: Schemas<'_>) -> (Vec<Call<'_>>, Option<String>) {
    let mut calls = calls_of(schemas, "paths");
    if calls.is_empty() {
        let calls: Vec<Call<'_>> =
            ["webhooks", "x-webhooks"].iter().flat_map(|key| calls_of(schemas, key)).collect();
        let said =
            "The document has no paths: calls that the service makes (webhooks) are those of the users.";
        return (calls, Some(said.to_owned()));
    }
    let is_users = |call: &Call<'_>| !matches!(call.method, "options" | "trace");
    let mut said = None;
    if calls.iter().any(is_users) && !calls.iter().all(is_users) {
        let named = calls.iter().filter(|call| !is_users(call));
        let named = named.map(|call| format!("{} {}", call.method.to_ascii_uppercase(), call.path));
        said = Some(format!("Left out, no calls of users: {}.", crate::named(&named.collect::<Vec<_>>())));
        calls.retain(is_users);
    }
    (calls, said)
}

fn calls_of<'a>(schemas: Schemas<'a>, key: &str) -> Vec<Call<'a>> {
    let paths = schemas.document.get(key).and_then(Value::as_object).into_iter().flatten();
    let mut calls = Vec::new();
    for (path, item) in paths {
        let item = schemas.resolve(item);
        for method in METHODS {
            if let Some(operation) = item.get(method).filter(|operation| operation.is_object()) {
                calls.push(call(schemas, (method, path), (item, operation)));
            }
        }
    }
    calls
}

fn call<'a>(
    schemas: Schemas<'a>,
    (method, path): (&'static str, &'a str),
    (item, operation): (&'a Value, &'a Value),
) -> Call<'a> {
    let text = |key: &str| operation.get(key).and_then(Value::as_str);
    let about = text("summary").or_else(|| text("description")).unwrap_or("");
    let good = good_answers(operation);
    let contents = good.iter().filter_map(|(_, answer)| content(schemas, answer));
    let answer =
        contents.into_iter().find(|content| media::kind(content.media_type) == media::MediaKind::Json);
    // A class such as 2XX is expected unless a status is named.
    let statuses = good.iter().map(|(status, _)| status.parse().ok().filter(|s| (100..600).contains(s)));
    let parameters = parameters(schemas, path, (item, operation));
    let is_unwritten = |p: &Parameter<'_>| p.place == ParameterLocation::Header && is_unwritten(p.name);
    Call {
        method,
        path,
        id: text("operationId"),
        about: about.lines().next().unwrap_or(""),
        unwritten: parameters.iter().filter(|p| is_unwritten(p)).map(|p| p.name).collect(),
        parameters: parameters.into_iter().filter(|p| !is_unwritten(p)).collect(),
        content: operation.get("requestBody").and_then(|body| content(schemas, body)),
        statuses: statuses.collect::<Option<_>>().unwrap_or_default(),
        answer: answer.map(|content| content.schema),
        links: good.iter().flat_map(|(_, answer)| links(schemas, answer)).collect(),
        schemes: schemes(schemas, operation),
        servers: [operation, item].into_iter().find_map(|at| at.get("servers")).filter(|s| !is_empty(s)),
    }
}

fn is_empty(list: &Value) -> bool {
    list.as_array().is_none_or(Vec::is_empty)
}

/// Answers of success, or of redirection if there are none.
fn good_answers(operation: &Value) -> Vec<(&str, &Value)> {
    let answers = operation.get("responses").and_then(Value::as_object);
    let of = |class: char| {
        let answers = answers.into_iter().flatten().filter(move |(status, _)| status.starts_with(class));
        answers.map(|(status, answer)| (status.as_str(), answer)).collect::<Vec<_>>()
    };
    let good = of('2');
    if good.is_empty() { of('3') } else { good }
}

fn is_unwritten(header: &str) -> bool {
    IGNORED.iter().any(|ignored| header.eq_ignore_ascii_case(ignored)) || !crate::header::is_written(header)
}

/// Required parameters, including those of the path.
fn parameters<'a>(
    schemas: Schemas<'a>,
    path: &'a str,
    (item, operation): (&'a Value, &'a Value),
) -> Vec<Parameter<'a>> {
    let listed = [operation, item].into_iter().filter_map(|at| at.get("parameters")?.as_array()).flatten();
    let mut found: Vec<(&str, ParameterLocation)> = Vec::new();
    let mut needed = Vec::new();
    for parameter in listed {
        let parameter = schemas.resolve(parameter);
        let text = |key: &str| parameter.get(key).and_then(Value::as_str);
        let place = match text("in") {
            Some("path") => ParameterLocation::Path,
            Some("query") => ParameterLocation::Query,
            Some("header") => ParameterLocation::Header,
            Some("cookie") => ParameterLocation::Cookie,
            _ => continue,
        };
        let Some(name) = text("name").filter(|name| !found.contains(&(*name, place))) else { continue };
        found.push((name, place));
        if parameter.get("required") == Some(&Value::Bool(true)) || place == ParameterLocation::Path {
            needed.push(self::parameter(schemas, path, (parameter, name, place)));
        }
    }
    needed
}

fn parameter<'a>(
    schemas: Schemas<'a>,
    path: &str,
    (parameter, name, place): (&'a Value, &'a str, ParameterLocation),
) -> Parameter<'a> {
    let content = content(schemas, parameter);
    // Older documents put the schema's keys into the parameter itself.
    let schema = parameter.get("schema").or(content.as_ref().map(|c| c.schema)).unwrap_or(parameter);
    let usual =
        if matches!(place, ParameterLocation::Query | ParameterLocation::Cookie) { "form" } else { "simple" };
    let style = parameter.get("style").and_then(Value::as_str).unwrap_or(usual);
    let before = path.split(&format!("{{{name}}}")).next().unwrap_or("");
    Parameter {
        name,
        place,
        schema,
        example: example(schemas, parameter).or(content.as_ref().and_then(|c| c.example)),
        is_json: content.is_some(),
        style,
        explode: parameter.get("explode").and_then(Value::as_bool).unwrap_or(style == "form"),
        known_as: known_as(name, schemas.shape(schema).called, &resource(before)),
    }
}

/// The most expressive content: JSON before forms, forms before other texts, texts before bytes.
fn content<'a>(schemas: Schemas<'a>, at: &'a Value) -> Option<Content<'a>> {
    let all = schemas.resolve(at).get("content")?.as_object()?;
    let (media_type, content) = all.iter().min_by_key(|(media_type, _)| media::kind(media_type))?;
    let content = schemas.resolve(content);
    Some(Content {
        media_type,
        schema: content.get("schema").unwrap_or(&ANY),
        example: example(schemas, content),
        encoding: content.get("encoding").unwrap_or(&ANY),
    })
}

/// The example of a parameter or a content, beside its schema.
fn example<'a>(schemas: Schemas<'a>, at: &'a Value) -> Option<&'a Value> {
    let named = at.get("examples").and_then(Value::as_object).into_iter().flatten();
    let mut named = named.filter_map(|(_, example)| schemas.resolve(example).get("value"));
    at.get("example").or_else(|| named.next())
}

fn links<'a>(schemas: Schemas<'a>, answer: &'a Value) -> Vec<Link<'a>> {
    let links = schemas.resolve(answer).get("links").and_then(Value::as_object).into_iter().flatten();
    let mut found = Vec::new();
    for (_, link) in links {
        let link = schemas.resolve(link);
        let Some(to) = link.get("operationId").and_then(Value::as_str) else { continue };
        for (parameter, expression) in link.get("parameters").and_then(Value::as_object).into_iter().flatten()
        {
            let from = expression.as_str().and_then(runtime_expression);
            // A name may have its location as a prefix, as in `path.id`.
            let parameter = parameter.rsplit('.').next().unwrap_or(parameter);
            found.extend(from.map(|from| Link { to, parameter, from }));
        }
    }
    found
}

/// Parses `$response.body#/id` or `$response.header.location`.
fn runtime_expression(text: &str) -> Option<ValueSource> {
    let rest = text.trim_matches(['{', '}']).strip_prefix("$response.")?;
    if let Some(pointer) = rest.strip_prefix("body#") {
        return (pointer.starts_with('/') && !pointer.contains('*'))
            .then(|| ValueSource::Json(pointer.to_owned()));
    }
    rest.strip_prefix("header.").map(|name| ValueSource::Header(name.to_ascii_lowercase()))
}

/// The schemes of the first requirement; none if any requirement is empty.
fn schemes<'a>(schemas: Schemas<'a>, operation: &'a Value) -> Vec<&'a str> {
    let listed = operation.get("security").or_else(|| schemas.document.get("security"));
    let requirements = listed.and_then(Value::as_array).into_iter().flatten();
    let requirements: Vec<_> = requirements.filter_map(Value::as_object).collect();
    if requirements.iter().any(|requirement| requirement.is_empty()) {
        return Vec::new();
    }
    requirements.first().map(|first| first.keys().map(String::as_str).collect()).unwrap_or_default()
}
