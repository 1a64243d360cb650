//! A first scenario from an OpenAPI document: one operation per call, in an order in which each finds the ids it needs
//! in earlier answers.

mod calls;
mod order;
mod schema;

use serde_json::Value;

use crate::draft::{Body, Draft, Exchange, Json, Keep, Made, Operation, Piece, Text, Think};
use crate::{ImportError, name};
use calls::{Call, Parameter, Place};
use schema::{Given, Schemas};

/// What a scenario holds at the most.
const MOST_OPERATIONS: usize = 256;

/// Users think so long between two operations, as long as nobody says otherwise.
const THINK_S: f64 = 1.0;

/// Reads a document. `url` replaces the server it names.
pub(crate) fn draft(document: &Value, url: Option<&str>) -> Result<Draft, ImportError> {
    let schemas = Schemas { document };
    let mut calls = calls::calls(schemas);
    if calls.is_empty() {
        return Err(ImportError::NoCalls);
    }
    let mut remarks = Vec::new();
    if calls.len() > MOST_OPERATIONS {
        remarks.push(format!(
            "The document has {} calls; a scenario holds {MOST_OPERATIONS}, the rest is left out.",
            calls.len()
        ));
        calls.truncate(MOST_OPERATIONS);
    }
    let ordered = order::order(schemas, &calls);
    let shared = shared(&calls);
    let mut draft = Draft {
        about: about(document),
        remarks,
        url: url.map_or_else(|| server(document), str::to_owned),
        values: Vec::new(),
        operations: Vec::new(),
        think: Think::Guess(THINK_S),
    };
    for step in &ordered {
        let operation = operation(schemas, step, shared, &mut draft);
        draft.operations.push(operation);
    }
    say_what_to_do(&ordered, &mut draft);
    Ok(draft)
}

/// How many parts all paths begin with alike.
fn shared(calls: &[Call<'_>]) -> usize {
    let parts = |path: &'_ str| {
        path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let first = calls.first().map(|call| parts(call.path)).unwrap_or_default();
    let alike = |call: &Call<'_>| {
        first.iter().zip(parts(call.path)).take_while(|(a, b)| *a == b && !b.starts_with('{')).count()
    };
    calls.iter().map(alike).min().unwrap_or(0)
}

fn about(document: &Value) -> String {
    let title = document.pointer("/info/title").and_then(Value::as_str).unwrap_or("a service");
    format!("Every call of {title} once, in an order that gives each the ids it needs.")
}

/// The first server that is a whole URL.
fn server(document: &Value) -> String {
    let servers = document.get("servers").and_then(Value::as_array).into_iter().flatten();
    let mut urls = servers.filter_map(|s| s.get("url")?.as_str());
    urls.find(|url| url.starts_with("http"))
        .unwrap_or("http://127.0.0.1:8080")
        .trim_end_matches('/')
        .to_owned()
}

fn say_what_to_do(ordered: &[order::Step<'_>], draft: &mut Draft) {
    draft.remarks.push(
        "Edit: the URL of the target, bodies and values that were made from schemas (marked below), what follows \
         what, and how long users think."
            .to_owned(),
    );
    if ordered.iter().any(|step| !matches!(step.call.method, "get" | "head")) {
        draft.remarks.push("Some operations change data. Take out those that must not happen.".to_owned());
    }
    if ordered.iter().any(|step| step.call.scheme.is_some() && step.token.is_none()) {
        draft.remarks.push(
            "Some calls need a credential that no answer gives: put it into the headers of [target]."
                .to_owned(),
        );
    }
}

/// The operation of one call; values that no answer gives are added to the draft.
fn operation(schemas: Schemas<'_>, step: &order::Step<'_>, shared: usize, draft: &mut Draft) -> Operation {
    let call = step.call;
    let path_name = || format!("{} {}", call.method, short(call.path, shared));
    let called = call.id.map_or_else(path_name, str::to_owned);
    let taken = |name: &str| draft.operations.iter().any(|o| o.name == name);
    let operation_name = name::unique(&name::operation(&called), taken);
    let given = |known_as: &str| step.known.get(known_as).cloned();
    let mut remarks = Vec::new();
    let (mut query, mut headers) = (Vec::new(), Vec::new());
    for parameter in &call.parameters {
        let value = match parameter.place {
            Place::Path => continue,
            _ => parameter_text(schemas, parameter, &given, &mut draft.values),
        };
        match parameter.place {
            Place::Query => query.push((parameter.name.to_owned(), value)),
            _ => headers.push((parameter.name.to_ascii_lowercase(), value)),
        }
    }
    headers.extend(step.token.clone().and_then(|name| credential(schemas, call, &name)));
    let path = path(schemas, call, &given, &mut draft.values);
    let body = body(schemas, call, &given);
    if body.is_some() {
        remarks.push("made from the schema: put real values in".to_owned());
    }
    let exchange = Exchange {
        method: call.method.to_ascii_uppercase(),
        path,
        query,
        headers,
        body,
        keep: step.keeps.iter().map(|(name, from)| Keep { name: name.clone(), from: from.clone() }).collect(),
        statuses: call.statuses.clone(),
        beside: false,
        remarks,
    };
    let about = if call.about.is_empty() {
        format!("{} {}", exchange.method, call.path)
    } else {
        call.about.to_owned()
    };
    Operation { name: operation_name, about, exchanges: vec![exchange] }
}

/// A path as a name, without the first `shared` parts that all paths have.
fn short(path: &str, shared: usize) -> String {
    let parts = path.split('/').filter(|part| !part.is_empty()).skip(shared);
    let said: Vec<String> = parts
        .map(|part| part.strip_prefix('{').map_or_else(|| part.to_owned(), |p| format!("by {p}")))
        .collect();
    if said.is_empty() { "start".to_owned() } else { said.join(" ") }
}

/// The path with values in place of its parameters.
fn path(schemas: Schemas<'_>, call: &Call<'_>, given: Given<'_>, values: &mut Vec<(String, Made)>) -> Text {
    let mut pieces = Vec::new();
    let mut rest = call.path;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        pieces.push(Piece::Fixed(before.to_owned()));
        match call.parameters.iter().find(|p| p.name == name && p.place == Place::Path) {
            Some(parameter) => pieces.extend(parameter_text(schemas, parameter, given, values).0),
            None => pieces.push(Piece::Fixed("1".to_owned())),
        }
        rest = after;
    }
    pieces.push(Piece::Fixed(rest.to_owned()));
    pieces.retain(|piece| *piece != Piece::Fixed(String::new()));
    Text(pieces)
}

/// What stands for a parameter: a value of an earlier answer, what the schema proposes, or a value that is made.
fn parameter_text(
    schemas: Schemas<'_>,
    parameter: &Parameter<'_>,
    given: Given<'_>,
    values: &mut Vec<(String, Made)>,
) -> Text {
    if let Some(name) = given(&parameter.known_as) {
        return Text::value(name);
    }
    let (schema, _) = schemas.resolve(parameter.schema);
    let choices: Vec<String> = strings(schema.get("enum"));
    let whole = |key: &str| schema.get(key).and_then(Value::as_i64);
    let made = match (schema::kind(schema), schema::said(schema)) {
        _ if choices.len() > 1 => Made::Choice(choices),
        (_, Some(said)) => return Text::fixed(plain(said)),
        (Some("integer" | "number"), None) => {
            let min = whole("minimum").unwrap_or(1);
            Made::Integer { min, max: whole("maximum").unwrap_or_else(|| min.saturating_add(99)) }
        }
        (_, None) if schema.get("format").and_then(Value::as_str) == Some("uuid") => Made::Uuid,
        _ => return Text::fixed(parameter.name),
    };
    let name = parameter.known_as.clone();
    if !values.iter().any(|(taken, _)| *taken == name) {
        values.push((name.clone(), made));
    }
    Text::value(name)
}

fn strings(list: Option<&Value>) -> Vec<String> {
    list.and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn body(schemas: Schemas<'_>, call: &Call<'_>, given: Given<'_>) -> Option<Body> {
    let content = call.content.as_ref()?;
    let example = schemas.example(content.schema, given);
    match (content.media_type, example) {
        (media, Json::Object(members)) if media.contains("form") => {
            let field = |(name, value): (String, Json)| match value {
                Json::Text(text) => Some((name, text)),
                Json::Bare(value) => Some((name, Text::value(value))),
                Json::Plain(plain) => Some((name, Text::fixed(plain.to_string()))),
                Json::List(_) | Json::Object(_) => None,
            };
            Some(Body::Form(members.into_iter().filter_map(field).collect()))
        }
        (media, example) if media.contains("json") => Some(Body::Json(example)),
        (_, Json::Text(text)) => Some(Body::Text(text)),
        _ => Some(Body::Text(Text::fixed("text"))),
    }
}

/// The header that carries the token, as the scheme says.
fn credential(schemas: Schemas<'_>, call: &Call<'_>, token: &str) -> Option<(String, Text)> {
    let scheme = schemas.document.get("components")?.get("securitySchemes")?.get(call.scheme?)?;
    let text = |key: &str| scheme.get(key).and_then(Value::as_str);
    match (text("type")?, text("in")) {
        ("apiKey", Some("header")) => Some((text("name")?.to_owned(), Text::value(token))),
        ("http", _) if text("scheme").is_some_and(|s| s.eq_ignore_ascii_case("bearer")) => {
            Some(bearer(token))
        }
        ("oauth2" | "openIdConnect", _) => Some(bearer(token)),
        _ => None,
    }
}

fn bearer(token: &str) -> (String, Text) {
    let pieces = vec![Piece::Fixed("Bearer ".to_owned()), Piece::Value(token.to_owned())];
    ("authorization".to_owned(), Text(pieces))
}
