//! HAR 1.2 recordings, as far as used. Tools omit much or write null, so nearly everything is optional.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use crate::ImportError;
use crate::address::{Address, address};
use crate::media;

/// Most WebSockets of a scenario.
const MOST_SOCKETS: usize = 256;

/// Names and values.
pub(super) type Pairs = Vec<(String, String)>;

pub(super) struct Recording {
    /// Titles of pages by name.
    pub(super) pages: BTreeMap<String, String>,
    /// Entries in the order of their starts.
    pub(super) entries: Vec<Entry>,
    pub(super) left_out: SkippedEntries,
}

/// Skipped entries, by the reason.
#[derive(Default)]
pub(super) struct SkippedEntries(BTreeMap<&'static str, Vec<String>>);

/// One request and its answer.
pub(super) struct Entry {
    pub(super) page: String,
    /// Milliseconds since 1970.
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) method: String,
    /// Whether it opens a WebSocket.
    pub(super) is_socket: bool,
    pub(super) address: Address,
    pub(super) headers: Pairs,
    pub(super) post: Option<PostData>,
    pub(super) status: i64,
    /// Media type of the answer, without parameters.
    pub(super) media_type: String,
    /// The answer, if it is recorded and is a text.
    pub(super) text: Option<String>,
}

/// The body of a request.
pub(super) struct PostData {
    pub(super) media_type: String,
    pub(super) text: String,
    pub(super) is_base64: bool,
    pub(super) params: Vec<Param>,
}

pub(super) struct Param {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) filename: Option<String>,
    pub(super) media_type: Option<String>,
}

impl SkippedEntries {
    pub(super) fn add(&mut self, why: &'static str, what: String) {
        self.0.entry(why).or_default().push(what);
    }

    /// A remark for each reason.
    pub(super) fn remarks(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(why, all)| format!("Left out, {why}: {}.", crate::named(all)))
    }
}

/// Reads a recording.
pub(super) fn read(text: &str) -> Result<Recording, ImportError> {
    let document: Value = serde_json::from_str(text)
        .or_else(|why| serde_json::from_str(&without_lone_surrogates(text)).map_err(|_| why))
        .map_err(ImportError::NotHar)?;
    let log = document.get("log").unwrap_or(&document);
    let listed = log.get("entries").and_then(Value::as_array).ok_or(ImportError::NoEntries)?;
    let pages = log.get("pages").and_then(Value::as_array).into_iter().flatten();
    let pages = pages.map(|page| (text_of(page, "id"), text_of(page, "title"))).collect();
    let mut recording = Recording { pages, entries: Vec::new(), left_out: SkippedEntries::default() };
    // Some tools record requests only.
    let has_answers = listed.iter().any(|entry| status(entry).is_some_and(|status| status >= 100));
    let (mut before, mut sockets) = (0.0, 0);
    for (at, value) in listed.iter().enumerate() {
        let entry = entry(value, (&mut before, has_answers));
        sockets += usize::from(entry.as_ref().is_ok_and(|entry| entry.is_socket));
        match entry {
            Ok(entry) if !entry.is_socket || sockets <= MOST_SOCKETS => recording.entries.push(entry),
            Ok(_) => recording.left_out.add("WebSockets beyond the most of a scenario", named(value, at)),
            Err(why) => recording.left_out.add(why, named(value, at)),
        }
    }
    recording.entries.sort_by(|a, b| a.from.total_cmp(&b.from));
    Ok(recording)
}

/// The name of an entry in a remark.
fn named(entry: &Value, at: usize) -> String {
    const LONGEST: usize = 100;
    let request = entry.get("request").unwrap_or(&Value::Null);
    let what = format!("{} {}", text_of(request, "method"), text_of(request, "url"));
    let what: String = what.trim().chars().take(LONGEST).collect();
    format!("entries[{at}] {what}").trim_end().to_owned()
}

/// Reason to skip a request whose method is no text, or no token.
const NO_METHOD: &str = "with a method that is none";

/// A user's request, or the reason why it is left out.
fn entry(value: &Value, (before, has_answers): (&mut f64, bool)) -> Result<Entry, &'static str> {
    let request = value.get("request").filter(|r| r.is_object()).ok_or("without a request")?;
    let response = value.get("response").unwrap_or(&Value::Null);
    let url = request.get("url").and_then(Value::as_str).ok_or("without `request.url`")?;
    let method = request.get("method").map_or(Some("GET"), Value::as_str).ok_or(NO_METHOD)?;
    let method = method.trim().to_ascii_uppercase();
    let headers = pairs(request.get("headers"));
    let status = status(value);
    let is_socket = is_socket((value, url), &headers, status);
    why_not((value, &method), &headers, (status, has_answers, is_socket))?;
    // Their handshakes are requests over HTTP.
    let url = if url.starts_with("ws") { url.replacen("ws", "http", 1) } else { url.to_owned() };
    let address = address(&url).ok_or("to what is no address over HTTP")?;
    let started = milliseconds(&text_of(value, "startedDateTime"));
    let from = started.unwrap_or(*before);
    *before = from;
    let content = response.get("content").unwrap_or(&Value::Null);
    Ok(Entry {
        page: text_of(value, "pageref"),
        from,
        to: from + value.get("time").and_then(Value::as_f64).unwrap_or(0.0).max(0.0),
        method,
        is_socket,
        address,
        headers,
        post: request.get("postData").filter(|data| data.is_object()).map(post_data),
        status: status.unwrap_or(0),
        media_type: media::essence(&text_of(content, "mimeType")),
        text: content_text(content),
    })
}

fn is_socket((entry, url): (&Value, &str), headers: &Pairs, status: Option<i64>) -> bool {
    let is_handshake = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-key"));
    let kind = text_of(entry, "_resourceType");
    let is_named =
        kind.eq_ignore_ascii_case("websocket") || url.starts_with("ws:") || url.starts_with("wss:");
    is_handshake || is_named || status == Some(101)
}

/// Reason to skip a request that no user sends.
fn why_not(
    (entry, method): (&Value, &str),
    headers: &Pairs,
    (status, has_answers, is_socket): (Option<i64>, bool, bool),
) -> Result<(), &'static str> {
    let has = |name: &str| headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    let kind = text_of(entry, "_resourceType");
    let has_failed = !text_of(entry, "_error").is_empty() || has_answers;
    if is_socket && status.is_some_and(|status| status >= 200) {
        return Err("handshakes of WebSockets that were refused");
    }
    if method == "CONNECT" {
        return Err("requests to a proxy");
    }
    if kind == "preflight" || method == "OPTIONS" && has("access-control-request-method") {
        return Err("preflights, which browsers send by themselves");
    }
    if !crate::header::is_token(method) {
        return Err(NO_METHOD);
    }
    if status.is_some_and(|status| status < 100) && has_failed {
        return Err("without an answer, as blocked or cancelled requests are");
    }
    Ok(())
}

fn status(entry: &Value) -> Option<i64> {
    let status = entry.get("response")?.get("status")?;
    status.as_i64().or_else(|| status.as_f64().map(|s| s as i64)).or_else(|| status.as_str()?.parse().ok())
}

/// A text, or the notation of a number or a boolean; empty if absent.
fn text_of(at: &Value, key: &str) -> String {
    match at.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(plain @ (Value::Number(_) | Value::Bool(_))) => plain.to_string(),
        _ => String::new(),
    }
}

fn some_text(at: &Value, key: &str) -> Option<String> {
    Some(text_of(at, key)).filter(|text| !text.is_empty())
}

/// A list of names and values, or a table of them.
fn pairs(list: Option<&Value>) -> Pairs {
    match list {
        Some(Value::Array(items)) => {
            items.iter().map(|pair| (text_of(pair, "name"), text_of(pair, "value"))).collect()
        }
        Some(table @ Value::Object(members)) => {
            members.keys().map(|name| (name.clone(), text_of(table, name))).collect()
        }
        _ => Vec::new(),
    }
}

fn post_data(data: &Value) -> PostData {
    let param = |param: &Value| Param {
        name: text_of(param, "name"),
        value: text_of(param, "value"),
        filename: some_text(param, "fileName"),
        media_type: some_text(param, "contentType"),
    };
    let params = data.get("params").and_then(Value::as_array).into_iter().flatten();
    PostData {
        media_type: text_of(data, "mimeType"),
        text: text_of(data, "text"),
        is_base64: ["encoding", "_encoding"].iter().any(|key| text_of(data, key) == "base64"),
        params: params.map(param).collect(),
    }
}

fn content_text(content: &Value) -> Option<String> {
    let text = some_text(content, "text")?;
    match text_of(content, "encoding").as_str() {
        "" => Some(text),
        "base64" => String::from_utf8(BASE64_STANDARD.decode(text.trim()).ok()?).ok(),
        _ => None,
    }
}

/// Parses a time of RFC 3339; one without a zone counts as UTC.
fn milliseconds(text: &str) -> Option<f64> {
    let zoned: Option<jiff::Timestamp> = text.trim().parse().ok();
    let plain = || text.trim().parse::<jiff::civil::DateTime>().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok();
    let at = zoned.or_else(|| plain().map(|zoned| zoned.timestamp()))?;
    Some(at.as_microsecond() as f64 / 1e3)
}

/// Replaces lone surrogates, which some browsers write.
fn without_lone_surrogates(text: &str) -> String {
    let unit = |at: &str| {
        let hex = at.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(hex, 16).ok()
    };
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let is_pair = matches!(unit(escape), Some(0xD800..=0xDBFF))
            && matches!(escape.get(6..).and_then(unit), Some(0xDC00..=0xDFFF));
        let length = match unit(escape) {
            Some(_) if is_pair => 12,
            Some(_) => 6,
            None => 1 + escape[1..].chars().next().map_or(0, char::len_utf8),
        };
        let is_lone = !is_pair && matches!(unit(escape), Some(0xD800..=0xDFFF));
        out.push_str(if is_lone { "\\ufffd" } else { &escape[..length] });
        rest = &escape[length..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_zone_or_are_utc() {
        for text in [
            "2026-01-01T10:00:00.000Z",
            "2026-01-01T11:00:00+01:00",
            "2026-01-01T11:00:00.0+0100",
            "2026-01-01T10:00:00",
        ] {
            assert_eq!(milliseconds(text), Some(1_767_261_600_000.0), "{text}");
        }
        assert_eq!(milliseconds("yesterday"), None);
    }

    #[test]
    fn halves_of_characters_are_replaced() {
        let text = r#""a\\\ud83d\ude00\ud83dx\ude00\\ud83d\n""#;
        assert_eq!(without_lone_surrogates(text), r#""a\\\ud83d\ude00\ufffdx\ufffd\\ud83d\n""#);
    }
}
