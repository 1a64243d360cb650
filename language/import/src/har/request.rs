//! Requests of a recording: path, query, headers and body, with the values from earlier answers.

use super::links::Links;
use super::record::{Entry, Pairs, Param, PostData};
use crate::draft::{Body, Exchange, FormPart, Json, Piece, Socket, Text};
use crate::media::{self, MediaKind};
use crate::percent::{decoded, decoded_query};
use crate::{header, json, name};

/// Longest body written into a scenario, in bytes.
const MOST_BODY: usize = 1 << 18;

/// Headers added by the connection, the session or the browser itself.
const MADE_BY_ITSELF: [&str; 14] = [
    "host",
    "cookie",
    "accept-encoding",
    "accept-language",
    "user-agent",
    "referer",
    "origin",
    "upgrade-insecure-requests",
    "pragma",
    "cache-control",
    "if-none-match",
    "if-modified-since",
    "dnt",
    "priority",
];

/// The handshake of a WebSocket, closed at the end of the session.
pub(super) fn socket(entry: &Entry, links: &mut Links, stream: String) -> Exchange {
    let offered =
        entry.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-protocol"));
    let protocols = offered.flat_map(|(_, value)| value.split(',').map(|one| one.trim().to_owned()));
    let protocols = protocols.filter(|one| header::is_token(one)).collect();
    let mut socket = exchange(entry, links);
    socket.socket = Some(Socket { stream, protocols });
    socket.body = None;
    socket.statuses.clear();
    socket.remarks.push("messages are not carried over: write them with `websocket`".to_owned());
    socket
}

/// The exchange of one entry.
pub(super) fn exchange(entry: &Entry, links: &mut Links) -> Exchange {
    let mut exchange =
        Exchange { method: entry.method.clone(), path: path(entry, links), ..Exchange::default() };
    query(entry, links, &mut exchange);
    for (name, value) in &entry.headers {
        let written = written_header((name, value), links, &mut exchange.remarks);
        exchange.headers.extend(written);
    }
    add_body(entry, links, &mut exchange);
    let status = u16::try_from(entry.status).ok().filter(|status| (100..600).contains(status));
    // 304 answers a browser's cache; a new user gets the whole answer.
    exchange.statuses = status.map(|status| if status == 304 { 200 } else { status }).into_iter().collect();
    if entry.media_type == "text/event-stream" {
        exchange.remarks.push("the answer is a stream of events, which a scenario reads by `sse`".to_owned());
    }
    exchange
}

fn path(entry: &Entry, links: &mut Links) -> Text {
    let mut text = Text::default();
    let mut before = String::new();
    for (i, part) in entry.address.path.split('/').enumerate() {
        text.push(if i > 0 { "/" } else { "" });
        let called = std::mem::replace(&mut before, format!("{}_id", name::singular(&name::value(part))));
        match links.name(&decoded(part), &called) {
            Some(name) => text.0.push(Piece::Value(name)),
            None => text.push(part),
        }
    }
    text
}

/// Adds the query as names and values, or as written in the path if it has another form.
fn query(entry: &Entry, links: &mut Links, exchange: &mut Exchange) {
    let Some(query) = &entry.address.query else { return };
    match form(query) {
        Some(pairs) => exchange.query = linked(pairs, links),
        None => {
            exchange.path.push("?");
            exchange.path.push(query);
        }
    }
}

/// The pairs of a query or a form; `None` for other forms.
fn form(text: &str) -> Option<Pairs> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        Some((decoded_query(name)?, decoded_query(value)?))
    };
    pairs.map(pair).collect()
}

fn linked(pairs: Pairs, links: &mut Links) -> Vec<(String, Text)> {
    let linked = |(name, value): (String, String)| {
        let text = links.text(&value, &name::value(&name));
        (name, text)
    };
    pairs.into_iter().map(linked).collect()
}

/// A header worth sending. Apparent secrets are not copied from the recording.
fn written_header(
    (name, value): (&str, &str),
    links: &mut Links,
    remarks: &mut Vec<String>,
) -> Option<(String, Text)> {
    let name = name.trim().to_ascii_lowercase();
    let is_browsers =
        name.starts_with("sec-") || name.starts_with("proxy-") || name.starts_with("access-control-");
    if name == "content-type" || is_browsers || MADE_BY_ITSELF.contains(&name.as_str()) {
        return None;
    }
    if !header::is_written(&name) {
        if !name.starts_with(':') && !header::is_token(&name) {
            remarks.push(format!("the recorded header `{name}` has a name that cannot be sent"));
        }
        return None;
    }
    let value = header::on_one_line(value);
    let called = name::value(&name);
    if let Some(kept) = links.name(&value, &called) {
        return Some((name, Text::value(kept)));
    }
    if let Some((scheme, token)) = value.split_once(' ')
        && let Some(kept) = links.name(token, &called)
    {
        return Some((name, Text(vec![Piece::Fixed(format!("{scheme} ")), Piece::Value(kept)])));
    }
    if name == "authorization" || name.contains("token") || name.contains("api-key") || name.contains("csrf")
    {
        remarks.push(format!("the recorded `{name}` was a secret and is not copied: put one in"));
        return Some((name, Text::fixed("put-it-here")));
    }
    Some((name, Text::fixed(value)))
}

/// Adds the body, with the recorded content type.
fn add_body(entry: &Entry, links: &mut Links, exchange: &mut Exchange) {
    let named = |wanted: &str| {
        let mut all = entry.headers.iter().filter(|(name, _)| name.trim().eq_ignore_ascii_case(wanted));
        all.next().map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    };
    let recorded = entry.post.as_ref().map(|data| data.media_type.trim()).filter(|it| !it.is_empty());
    let content_type = named("content-type").or(recorded);
    let has_bytes =
        named("content-length").and_then(|length| length.parse().ok()).is_some_and(|n: u64| n > 0);
    let data = entry.post.as_ref().filter(|data| !data.text.is_empty() || !data.params.is_empty());
    let sent = data.and_then(|data| body(data, content_type.unwrap_or(""), (links, &mut exchange.remarks)));
    let usual = match &sent {
        Some((body, _)) => usual(body),
        None => "",
    };
    if data.is_none() && has_bytes {
        exchange.remarks.push("the recording lacks the body of this request".to_owned());
    }
    if data.is_some_and(|data| data.text.to_ascii_lowercase().contains("password")) {
        exchange.remarks.push(
            "the password is the recorded one: put accounts into a file and name it under [data]".to_owned(),
        );
    }
    let (body, content_type) = match sent {
        Some((body, own)) => (Some(body), own.or(content_type.map(str::to_owned))),
        None => (None, content_type.map(str::to_owned)),
    };
    // The boundary of a composed form is the driver's.
    let is_multipart = matches!(body, Some(Body::Multipart(_)));
    let content_type = content_type.filter(|it| it != usual && !is_multipart);
    let written = content_type.map(|it| ("content-type".to_owned(), Text::fixed(header::on_one_line(&it))));
    exchange.headers.extend(written);
    exchange.body = body;
}

/// The default content type of a body.
fn usual(body: &Body) -> &'static str {
    match body {
        Body::Json(_) => "application/json",
        Body::Form(_) => "application/x-www-form-urlencoded",
        Body::Multipart(_) => "multipart/form-data",
        Body::Text(_) => "text/plain; charset=utf-8",
    }
}

/// A body, with its content type if that differs from the recorded one.
fn body(
    data: &PostData,
    content_type: &str,
    (links, remarks): (&mut Links, &mut Vec<String>),
) -> Option<(Body, Option<String>)> {
    if data.is_base64 || data.text.len() > MOST_BODY {
        let why = if data.is_base64 { "is no text" } else { "is long" };
        remarks.push(format!("the recorded body {why}: put it into a file and name it by `file`"));
        return None;
    }
    let text = data.text.as_str();
    let as_text = || Body::Text(Text::fixed(text));
    Some(match media::kind(content_type) {
        MediaKind::Form => {
            let pairs = if text.is_empty() { Some(listed(&data.params)) } else { form(text) };
            (pairs.map_or_else(as_text, |pairs| Body::Form(linked(pairs, links))), None)
        }
        MediaKind::Multipart if text.is_empty() => {
            (Body::Multipart(parts(&data.params, (links, remarks))), None)
        }
        MediaKind::Multipart if media::parameter(content_type, "boundary").is_none() => {
            let first = text.trim_start().lines().next().unwrap_or("");
            let boundary =
                first.strip_prefix("--").map(|b| format!("multipart/form-data; boundary={}", b.trim_end()));
            (as_text(), boundary)
        }
        MediaKind::Multipart => (as_text(), None),
        _ if text.is_empty() => {
            let is_form = data.params.iter().all(|param| param.filename.is_none());
            let form = Body::Form(linked(listed(&data.params), links));
            if is_form {
                (form, None)
            } else {
                (Body::Multipart(parts(&data.params, (links, remarks))), None)
            }
        }
        _ => match json::read(text) {
            Some(document) => (Body::Json(linked_json(document, ("", ""), links)), None),
            None => (as_text(), None),
        },
    })
}

/// Fields given as a list instead of text. Tools disagree on whether they are decoded.
fn listed(params: &[Param]) -> Pairs {
    let plain = |text: &str| {
        let is_encoded = text.contains('%') && !text.contains(' ');
        decoded_query(text).filter(|_| is_encoded).unwrap_or_else(|| text.to_owned())
    };
    params.iter().map(|param| (plain(&param.name), plain(&param.value))).collect()
}

fn parts(params: &[Param], (links, remarks): (&mut Links, &mut Vec<String>)) -> Vec<(String, FormPart)> {
    let mut part = |param: &Param| {
        if param.filename.is_some() && param.value.is_empty() {
            remarks
                .push(format!("the recording lacks the file `{}`: write {{ file = \"FILE\" }}", param.name));
        }
        let text = links.text(&param.value, &name::value(&param.name));
        let part = FormPart { text, filename: param.filename.clone(), media_type: param.media_type.clone() };
        (param.name.clone(), part)
    };
    params.iter().map(&mut part).collect()
}

/// A document with values of earlier answers. `within` is the name of the surrounding object, `key` the
/// member.
fn linked_json(document: Json, (within, key): (&str, &str), links: &mut Links) -> Json {
    let called = if key == "id" { format!("{within}_id") } else { name::value(key) };
    match document {
        Json::Text(text) => match text.0.as_slice() {
            [Piece::Fixed(fixed)] => Json::Text(links.text(fixed, &called)),
            _ => Json::Text(text),
        },
        Json::Plain(plain) if plain.ends_with(|c: char| c.is_ascii_digit()) => {
            links.name(&plain, &called).map_or(Json::Plain(plain), Json::Bare)
        }
        Json::List(items) => {
            Json::List(items.into_iter().map(|item| linked_json(item, (within, key), links)).collect())
        }
        Json::Object(members) => {
            let inside = name::singular(&name::value(key));
            let member = |(key, value): (String, Json)| {
                let value = linked_json(value, (&inside, &key), links);
                (key, value)
            };
            Json::Object(members.into_iter().map(member).collect())
        }
        other => other,
    }
}
