//! A first scenario from an OpenAPI document: one operation per call, in an order in which each finds the ids
//! it needs in earlier answers.

mod body;
mod bounds;
mod calls;
mod document;
mod example;
mod order;
mod parameter;
mod schema;
mod security;
mod server;
mod swagger;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::draft::{
    Draft, Exchange, Extraction, GeneratedValue, Json, Operation, Piece, Text, ThinkTime, ValueSource,
};
use crate::{ImportError, name, percent};
use calls::{Call, Parameter, ParameterLocation};
pub(crate) use document::read;
use example::Maker;
use order::{Order, Step};
use parameter::{InQuery, ParameterValue};
use schema::Schemas;
use security::Credential;

/// Most operations of a scenario.
const MOST_OPERATIONS: usize = 256;

/// Default think time between two operations, in seconds.
const THINK_S: f64 = 1.0;

/// Converts a document. `url` replaces the host in it.
pub(crate) fn draft(document: &Value, url: Option<&str>) -> Result<Draft, ImportError> {
    let schemas = Schemas { document };
    let (mut calls, left_out) = calls::calls(schemas);
    if calls.is_empty() {
        return Err(ImportError::NoCalls);
    }
    let mut remarks: Vec<String> = left_out.into_iter().collect();
    if let Some(first) = calls.get(MOST_OPERATIONS) {
        remarks.push(format!(
            "The document has {} calls; a scenario holds {MOST_OPERATIONS}, the rest is left out from {} {} on.",
            calls.len(),
            first.method.to_ascii_uppercase(),
            first.path
        ));
        calls.truncate(MOST_OPERATIONS);
    }
    let servers = server::servers(document, &calls, url);
    remarks.extend(servers.remarks);
    let Order { steps, givers } = order::order(schemas, &calls);
    let mut writing = Writing {
        schemas,
        shared: shared(&calls),
        givers: &givers,
        used: BTreeSet::new(),
        draft: Draft {
            about: about(document),
            remarks,
            url: servers.url,
            values: Vec::new(),
            operations: Vec::new(),
            think: ThinkTime::Guess(THINK_S),
        },
    };
    for step in &steps {
        let operation = writing.operation(step, &servers.calls[step.at]);
        writing.draft.operations.push(operation);
    }
    let mut draft = writing.draft;
    for name in writing.used {
        if let Some((at, from)) = givers.get(&name) {
            draft.operations[*at].exchanges[0].keep.push(Extraction { name, from: from.clone() });
        }
    }
    say_what_to_do(&steps, &mut draft);
    Ok(draft)
}

/// Number of leading parts common to all paths.
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

fn say_what_to_do(steps: &[Step<'_>], draft: &mut Draft) {
    draft.remarks.push(
        "Edit: the URL of the target, bodies and values that were made from schemas (marked below), what follows \
         what, and how long users think."
            .to_owned(),
    );
    if steps.iter().any(|step| !matches!(step.call.method, "get" | "head")) {
        draft.remarks.push("Some operations change data. Take out those that must not happen.".to_owned());
    }
    if draft.values.iter().any(|(_, made)| matches!(made, GeneratedValue::Secret(_))) {
        draft.remarks.push("Some calls need a credential that no answer gives: put it in below.".to_owned());
    }
}

/// A scenario being written.
struct Writing<'a> {
    schemas: Schemas<'a>,
    /// Number of leading parts common to all paths.
    shared: usize,
    /// Values in answers.
    givers: &'a BTreeMap<String, (usize, ValueSource)>,
    /// Those in use.
    used: BTreeSet<String>,
    draft: Draft,
}

impl<'a> Writing<'a> {
    /// The operation of one call. `base` is the prefix of its path; `elsewhere` its origin, if it differs.
    fn operation(&mut self, step: &Step<'a>, (base, elsewhere): &(String, Option<String>)) -> Operation {
        let call = step.call;
        let used = RefCell::default();
        let given = |known_as: &str| used_name(step, known_as, &used);
        let thing = schema::resource(call.path);
        let mut maker = Maker::new(self.schemas, &given, (&thing, call.method == "post"));
        let mut exchange = Exchange {
            method: call.method.to_ascii_uppercase(),
            statuses: call.statuses.clone(),
            ..Exchange::default()
        };
        if let Some(origin) = elsewhere {
            exchange
                .remarks
                .push(format!("the document has this call at {origin}; a scenario has one target"));
        }
        exchange.path = self.path((base, step), &mut maker, &mut exchange.remarks);
        self.parameters(step, &mut maker, &mut exchange);
        self.credentials(step, &mut exchange);
        if let Some(content) = &call.content {
            let made = body::body(self.schemas, content, &mut maker);
            exchange.remarks.extend(made.remarks);
            let content_type = made.content_type.map(|it| ("content-type".to_owned(), Text::fixed(it)));
            exchange.headers.extend(content_type);
            exchange.body = Some(made.body);
        }
        self.used.append(&mut used.take());
        let about = match call.about.trim() {
            "" => format!("{} {}", exchange.method, call.path),
            about => about.to_owned(),
        };
        Operation { name: self.name(call), about, exchanges: vec![exchange] }
    }

    fn name(&self, call: &Call<'_>) -> String {
        let by_path = || format!("{} {}", call.method, short(call.path, self.shared));
        let id = call.id.filter(|id| !name::words(id).is_empty());
        let taken = |name: &str| self.draft.operations.iter().any(|operation| operation.name == name);
        name::unique(&name::operation(&id.map_or_else(by_path, str::to_owned)), taken)
    }

    /// The path with values for its parameters.
    fn path(
        &mut self,
        (base, step): (&str, &Step<'a>),
        maker: &mut Maker<'a, '_>,
        remarks: &mut Vec<String>,
    ) -> Text {
        let call = step.call;
        let mut text = Text::default();
        text.push(base);
        let (path, fragment) = call.path.split_once('#').unwrap_or((call.path, ""));
        if !fragment.is_empty() {
            remarks.push(format!("`#{fragment}` of the path `{}` is never sent", call.path));
        }
        text.push(if path.starts_with('/') { "" } else { "/" });
        let mut rest = path;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').unwrap_or((after, ""));
            text.push(&percent::in_line(before));
            match call.parameters.iter().find(|p| p.name == name && p.place == ParameterLocation::Path) {
                Some(parameter) => {
                    let value = self.value(parameter, maker);
                    text.append(parameter::in_path(parameter, &value));
                }
                None => {
                    remarks.push(format!(
                        "`{{{name}}}` of the path `{}` is no parameter of the document",
                        call.path
                    ));
                    text.push("1");
                }
            }
            rest = after;
        }
        text.push(&percent::in_line(rest));
        text
    }

    /// Query, headers and cookies.
    fn parameters(&mut self, step: &Step<'a>, maker: &mut Maker<'a, '_>, exchange: &mut Exchange) {
        let mut cookies = Vec::new();
        for parameter in step.call.parameters.iter().filter(|p| p.place != ParameterLocation::Path) {
            let value = self.value(parameter, maker);
            match parameter.place {
                ParameterLocation::Query => match parameter::in_query(parameter, &value) {
                    InQuery::Pairs(pairs) => exchange.query.extend(pairs),
                    InQuery::Written(text) => {
                        let has_query = exchange
                            .path
                            .0
                            .iter()
                            .any(|piece| matches!(piece, Piece::Fixed(fixed) if fixed.contains('?')));
                        exchange.path.push(if has_query { "&" } else { "?" });
                        exchange.path.append(text);
                    }
                },
                ParameterLocation::Cookie => cookies.push(parameter::in_header(parameter, &value)),
                _ => {
                    let value = parameter::in_header(parameter, &value);
                    exchange.headers.push((parameter.name.to_ascii_lowercase(), value));
                }
            }
        }
        cookies.into_iter().for_each(|cookie| add_cookie(exchange, cookie));
        if !step.call.unwritten.is_empty() {
            let names = step.call.unwritten.join(", ");
            exchange.remarks.push(format!("no header parameters in OpenAPI, or the driver's own: {names}"));
        }
    }

    fn credentials(&mut self, step: &Step<'a>, exchange: &mut Exchange) {
        for scheme in &step.call.schemes {
            let (credential, value) = security::credential(self.schemas, scheme, step.token.as_deref());
            if value.is_none() {
                self.used.extend(step.token.clone());
            }
            let name = value.map(|(name, made)| (name.clone(), self.declare(&name, made)));
            let renamed = |text: Text| match &name {
                Some((old, new)) => text.renamed(old, new),
                None => text,
            };
            match credential {
                Credential::Header(name, text) => {
                    exchange.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
                    exchange.headers.push((name, renamed(text)));
                }
                Credential::Query(name, text) => {
                    exchange.query.retain(|(known, _)| *known != name);
                    exchange.query.push((name, renamed(text)));
                }
                Credential::Cookie(text) => add_cookie(exchange, renamed(text)),
                Credential::Not(why) => exchange.remarks.push(why),
            }
        }
    }

    /// The value of a parameter, before its style is applied.
    fn value(&mut self, parameter: &Parameter<'a>, maker: &mut Maker<'a, '_>) -> Json {
        match parameter::worth(self.schemas, parameter, maker) {
            ParameterValue::Known(name) => Json::Bare(name),
            ParameterValue::Made(made) => Json::Bare(self.declare(&parameter.known_as, made)),
            ParameterValue::Fixed(json) => json,
        }
    }

    /// The name of a generated value; equal generators share it.
    fn declare(&mut self, name: &str, made: GeneratedValue) -> String {
        let name = name::free(name);
        let values = &mut self.draft.values;
        let givers = self.givers;
        let is_other = |name: &str| {
            givers.contains_key(name) || values.iter().any(|(known, other)| known == name && *other != made)
        };
        let name = name::unique(&name, is_other);
        if !values.iter().any(|(known, _)| *known == name) {
            values.push((name.clone(), made));
        }
        name
    }
}

/// The name of a value from an earlier answer, marked as used.
fn used_name(step: &Step<'_>, known_as: &str, used: &RefCell<BTreeSet<String>>) -> Option<String> {
    let name = step.known.get(known_as)?;
    used.borrow_mut().insert(name.clone());
    Some(name.clone())
}

/// Adds a cookie: all cookies of a request are in one header.
fn add_cookie(exchange: &mut Exchange, cookie: Text) {
    match exchange.headers.iter_mut().find(|(name, _)| name == "cookie") {
        Some((_, cookies)) => {
            cookies.push("; ");
            cookies.append(cookie);
        }
        None => exchange.headers.push(("cookie".to_owned(), cookie)),
    }
}

/// A path as a name, without the first `shared` parts common to all paths.
fn short(path: &str, shared: usize) -> String {
    let parts = path.split('/').filter(|part| !part.is_empty()).skip(shared);
    let said: Vec<String> = parts
        .map(|part| part.strip_prefix('{').map_or_else(|| part.to_owned(), |p| format!("by {p}")))
        .collect();
    if said.is_empty() { "start".to_owned() } else { said.join(" ") }
}
