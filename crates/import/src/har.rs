//! A first scenario from a recording of a browser (HAR 1.2): one operation per page, with the exchanges that belonged to
//! it, the values that came out of earlier answers, and the pauses the person made.

mod links;
mod record;

use serde_json::Value;

use crate::draft::{Body, Draft, Exchange, Json, Operation, Piece, Text, Think};
use crate::{Assets, ImportError, name};
use links::Links;
use record::{Entry, PostData, Recording};

/// A request that begins so long after everything of its page has ended was caused by the person, not by the page.
const PAUSE_MS: f64 = 1_000.0;

/// What a scenario holds at the most.
const MOST_OPERATIONS: usize = 256;

/// What an operation holds at the most; a page of more becomes several.
const MOST_EXCHANGES: usize = 64;

/// Users think so long where the recording shows no pause.
const THINK_S: f64 = 1.0;

/// Headers that the connection, the session or the browser makes by itself.
const MADE_BY_ITSELF: [&str; 19] = [
    "host",
    "connection",
    "keep-alive",
    "content-length",
    "transfer-encoding",
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
    "te",
];

/// An entry with its times in milliseconds.
struct Timed<'a> {
    entry: &'a Entry,
    from: f64,
    to: f64,
    origin: &'a str,
    /// Path and query.
    target: &'a str,
}

/// Reads a recording.
pub(crate) fn draft(text: &str, assets: Assets) -> Result<Draft, ImportError> {
    let recording: Recording = serde_json::from_str(text).map_err(ImportError::NotHar)?;
    let mut entries = timed(&recording)?;
    entries.sort_by(|a, b| a.from.total_cmp(&b.from));
    let origin = main_origin(&entries).ok_or(ImportError::NoRequests)?.to_owned();
    let all = entries.len();
    entries.retain(|e| e.origin == origin);
    let elsewhere = all - entries.len();
    let all = entries.len();
    entries.retain(|e| assets == Assets::Keep || !is_asset(e));
    let left_out = all - entries.len();
    if entries.is_empty() {
        return Err(ImportError::NoRequests);
    }
    let groups = grouped(&entries);
    let groups: Vec<Vec<&Timed<'_>>> =
        groups.iter().flat_map(|group| group.chunks(MOST_EXCHANGES)).map(<[_]>::to_vec).collect();
    let mut draft = Draft {
        about: "What a person did in a browser, recorded.".to_owned(),
        remarks: Vec::new(),
        url: origin,
        values: Vec::new(),
        operations: Vec::new(),
        think: think(&groups),
    };
    operations(&recording, &groups, &mut draft);
    say_what_to_do((elsewhere, left_out), &mut draft);
    Ok(draft)
}

fn timed(recording: &Recording) -> Result<Vec<Timed<'_>>, ImportError> {
    let one = |entry: &'_ Entry| -> Result<f64, ImportError> {
        let at: Result<jiff::Timestamp, _> = entry.started_date_time.parse();
        at.map(|at| at.as_microsecond() as f64 / 1e3)
            .map_err(|_| ImportError::NotATime(entry.started_date_time.clone()))
    };
    let entries = recording.log.entries.iter();
    let http =
        entries.filter(|e| e.request.url.starts_with("http://") || e.request.url.starts_with("https://"));
    http.map(|entry| {
        let from = one(entry)?;
        let (origin, target) = split(&entry.request.url);
        Ok(Timed { entry, from, to: from + entry.time.max(0.0), origin, target })
    })
    .collect()
}

/// Origin, and path with query; without the fragment.
pub(crate) fn split(url: &str) -> (&str, &str) {
    let url = url.split('#').next().unwrap_or(url);
    let host = url.find("://").map_or(0, |at| at + 3);
    match url[host..].find(['/', '?']) {
        Some(at) => url.split_at(host + at),
        None => (url, "/"),
    }
}

/// The origin of most requests; of equals the first.
fn main_origin<'a>(entries: &[Timed<'a>]) -> Option<&'a str> {
    let count = |origin: &str| entries.iter().filter(|e| e.origin == origin).count();
    let mut best: Option<(&str, usize)> = None;
    for entry in entries {
        let n = count(entry.origin);
        if best.is_none_or(|(_, most)| n > most) {
            best = Some((entry.origin, n));
        }
    }
    best.map(|(origin, _)| origin)
}

/// Pictures, styles, fonts and scripts: what a cache in front of a service gives.
fn is_asset(entry: &Timed<'_>) -> bool {
    const ENDINGS: [&str; 14] = [
        "css", "js", "mjs", "map", "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "woff", "woff2", "ttf",
    ];
    let media = entry.entry.response.media_type();
    let path = entry.target.split('?').next().unwrap_or("");
    let ending =
        path.rsplit('/').next().and_then(|file| file.rsplit_once('.')).map(|(_, e)| e.to_ascii_lowercase());
    media.starts_with("image/")
        || media.starts_with("font/")
        || matches!(
            media,
            "text/css" | "text/javascript" | "application/javascript" | "application/x-javascript"
        )
        || ending.is_some_and(|e| ENDINGS.contains(&e.as_str()))
}

/// What belongs together: requests of one page without a pause between them.
fn grouped<'e, 'a>(entries: &'e [Timed<'a>]) -> Vec<Vec<&'e Timed<'a>>> {
    let mut groups: Vec<Vec<&Timed<'_>>> = Vec::new();
    for entry in entries {
        let joins = groups.last().is_some_and(|group| {
            let end = group.iter().map(|e| e.to).fold(f64::MIN, f64::max);
            group[0].entry.pageref == entry.entry.pageref && entry.from - end < PAUSE_MS
        });
        match groups.last_mut() {
            Some(group) if joins => group.push(entry),
            _ => groups.push(vec![entry]),
        }
    }
    groups
}

/// The pauses between operations.
fn think(groups: &[Vec<&Timed<'_>>]) -> Think {
    let end = |group: &[&Timed<'_>]| group.iter().map(|e| e.to).fold(f64::MIN, f64::max);
    let pause = |pair: &[Vec<&Timed<'_>>]| (pair[1][0].from - end(&pair[0])).max(0.0);
    // To a hundredth of a second: nobody thinks more precisely.
    let mut pauses: Vec<f64> = groups.windows(2).map(|pair| (pause(pair) / 10.0).round() / 100.0).collect();
    pauses.sort_by(f64::total_cmp);
    if pauses.is_empty() { Think::Guess(THINK_S) } else { Think::Recorded(pauses) }
}

fn operations(recording: &Recording, groups: &[Vec<&Timed<'_>>], draft: &mut Draft) {
    let mut links = Links::default();
    let mut at = 0;
    let mut places: Vec<(usize, usize)> = Vec::new();
    for group in groups.iter().take(MOST_OPERATIONS) {
        let title = recording
            .log
            .pages
            .iter()
            .find(|p| p.id == group[0].entry.pageref)
            .map_or("", |p| p.title.trim());
        let mut exchanges = Vec::new();
        for (i, timed) in group.iter().enumerate() {
            let mut exchange = exchange(timed, &mut links);
            let uses_this_group = places.iter().enumerate().any(|(n, place)| {
                let kept = links.used.get(&n).into_iter().flatten();
                place.0 == draft.operations.len()
                    && kept.into_iter().any(|k| names(&exchange).any(|name| name == k.name))
            });
            // The first one is the page; what it causes runs side by side where the browser did so.
            exchange.beside = i > 1 && timed.from < group[i - 1].to && !uses_this_group;
            let path = timed.target.split('?').next().unwrap_or("");
            links.learn(at, timed.entry, &resource(path));
            places.push((draft.operations.len(), i));
            at += 1;
            exchanges.push(exchange);
        }
        let first = &group[0];
        let called =
            format!("{} {}", first.entry.request.method.to_ascii_lowercase(), named_by(first.target));
        let operation_name =
            name::unique(&name::operation(&called), |name| draft.operations.iter().any(|o| o.name == name));
        let about = if title.is_empty() || title.starts_with("http") {
            format!("{} {}", first.entry.request.method, first.target)
        } else {
            title.to_owned()
        };
        draft.operations.push(Operation { name: operation_name, about, exchanges });
    }
    for (n, (operation, exchange)) in places.into_iter().enumerate() {
        if let Some(keeps) = links.used.remove(&n) {
            draft.operations[operation].exchanges[exchange].keep = keeps;
        }
    }
    if groups.len() > MOST_OPERATIONS {
        draft.remarks.push(format!("Operations after the first {MOST_OPERATIONS} are left out."));
    }
}

/// Every name a request uses.
fn names(exchange: &Exchange) -> impl Iterator<Item = &str> {
    let pairs = exchange.query.iter().chain(&exchange.headers).flat_map(|(_, text)| text.names());
    exchange.path.names().chain(pairs)
}

/// What the last part of a path that is not an id names.
fn resource(path: &str) -> String {
    let mut parts =
        path.split('/').filter(|part| !part.is_empty() && !part.chars().any(|c| c.is_ascii_digit()));
    parts.next_back().map_or_else(String::new, |part| name::singular(&name::value(part)))
}

/// The parts of a path that name something.
fn named_by(target: &str) -> String {
    let path = target.split('?').next().unwrap_or("");
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !part.is_empty() && !part.chars().any(|c| c.is_ascii_digit()))
        .collect();
    if parts.is_empty() { "home".to_owned() } else { parts.join(" ") }
}

fn exchange(timed: &Timed<'_>, links: &mut Links) -> Exchange {
    let request = &timed.entry.request;
    let (path, query) = timed.target.split_once('?').unwrap_or((timed.target, ""));
    let mut pieces = Vec::new();
    let mut before = String::new();
    for (i, part) in path.split('/').enumerate() {
        if i > 0 {
            pieces.push(Piece::Fixed("/".to_owned()));
        }
        let called = std::mem::replace(&mut before, format!("{}_id", name::singular(&name::value(part))));
        match links.name(&decoded(part), &called) {
            Some(name) => pieces.push(Piece::Value(name)),
            None => pieces.push(Piece::Fixed(part.to_owned())),
        }
    }
    let mut remarks = Vec::new();
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let query = pairs.map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(name), links.text(&decoded(value), &name::value(name)))
    });
    let query = query.collect();
    let headers =
        request.headers.iter().filter_map(|h| header(&h.name, &h.value, links, &mut remarks)).collect();
    let body = request.post_data.as_ref().and_then(|data| body(data, links));
    if request.post_data.as_ref().is_some_and(|data| data.text.to_ascii_lowercase().contains("password")) {
        remarks.push(
            "the password is the recorded one: put accounts into a file and name it under [data]".to_owned(),
        );
    }
    let status = u16::try_from(timed.entry.response.status).ok().filter(|s| (100..600).contains(s));
    Exchange {
        method: request.method.to_ascii_uppercase(),
        path: Text(pieces),
        query,
        headers,
        body,
        keep: Vec::new(),
        // A browser that had it already is told so; a user that begins anew is given it.
        statuses: vec![status.filter(|s| *s != 304).unwrap_or(200)],
        beside: false,
        remarks,
    }
}

/// A header worth sending. What looks like a secret is not copied out of the recording.
fn header(name: &str, value: &str, links: &mut Links, remarks: &mut Vec<String>) -> Option<(String, Text)> {
    let name = name.to_ascii_lowercase();
    let skipped = name.starts_with(':') || name.starts_with("sec-") || name.starts_with("proxy-");
    if skipped || name == "content-type" || MADE_BY_ITSELF.contains(&name.as_str()) {
        return None;
    }
    let called = name::value(&name);
    if let Some(kept) = links.name(value, &called) {
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

fn body(data: &PostData, links: &mut Links) -> Option<Body> {
    if data.mime_type.contains("x-www-form-urlencoded") {
        let from_text = || {
            data.text.split('&').filter(|p| !p.is_empty()).map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                (decoded(name), decoded(value))
            })
        };
        let pairs: Vec<(String, String)> = if data.params.is_empty() {
            from_text().collect()
        } else {
            // Browsers disagree on whether these are decoded; the text, where there is one, is not in doubt.
            let listed = data.params.iter().map(|p| (p.name.clone(), p.value.clone()));
            if data.text.is_empty() { listed.collect() } else { from_text().collect() }
        };
        return Some(Body::Form(
            pairs
                .into_iter()
                .map(|(name, value)| {
                    let text = links.text(&value, &name::value(&name));
                    (name, text)
                })
                .collect(),
        ));
    }
    if let Ok(document) = serde_json::from_str::<Value>(&data.text) {
        return Some(Body::Json(json(&document, ("", ""), links)));
    }
    (!data.text.is_empty()).then(|| Body::Text(Text::fixed(data.text.clone())))
}

/// A document with earlier answers' values in their places. `within` is the object around, `key` the member.
fn json(value: &Value, (within, key): (&str, &str), links: &mut Links) -> Json {
    let called = if key == "id" { format!("{within}_id") } else { name::value(key) };
    match value {
        Value::String(text) => Json::Text(links.text(text, &called)),
        Value::Number(number) => {
            links.name(&number.to_string(), &called).map_or_else(|| Json::Plain(value.clone()), Json::Bare)
        }
        Value::Array(items) => {
            Json::List(items.iter().map(|item| json(item, (within, key), links)).collect())
        }
        Value::Object(members) => {
            let inside = name::singular(&name::value(key));
            Json::Object(members.iter().map(|(k, v)| (k.clone(), json(v, (&inside, k), links))).collect())
        }
        plain => Json::Plain(plain.clone()),
    }
}

/// Without percent signs and plus signs, as a form writes them.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let pair = (byte == b'%').then(|| Some((hex(ahead.next()?)?, hex(ahead.next()?)?))).flatten();
        match (byte, pair) {
            (_, Some((high, low))) => {
                bytes.push(high << 4 | low);
                rest = ahead;
            }
            (b'+', _) => bytes.push(b' '),
            _ => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|d| u8::try_from(d).ok())
}

fn say_what_to_do((elsewhere, left_out): (usize, usize), draft: &mut Draft) {
    draft.remarks.push(
        "Edit: names of operations, what follows what, and values that differ from user to user (search words, \
         accounts)."
            .to_owned(),
    );
    let requests = |n: usize| if n == 1 { "1 request".to_owned() } else { format!("{n} requests") };
    if elsewhere > 0 {
        draft
            .remarks
            .push(format!("Left out: {} to other origins. A scenario has one target.", requests(elsewhere)));
    }
    if left_out > 0 {
        draft.remarks.push(format!(
            "Left out: {} for pictures, styles, fonts and scripts. `--assets` takes them along.",
            requests(left_out)
        ));
    }
}
