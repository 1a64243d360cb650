//! A scenario of one operation, made from a command line.

use barograph_model::Refusals;

use crate::resolved::inline;
use crate::settings_reader::RawValue;
use crate::{Scenario, read};

/// One request, repeated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Minimal<'a> {
    /// The URL with path and query.
    pub url: &'a str,
    /// The method; by default GET, or POST with a body.
    pub method: Option<&'a str>,
    /// Names and values.
    pub headers: &'a [(String, String)],
    /// The body.
    pub body: Option<&'a str>,
    /// A limit such as `p99 < 250 ms`.
    pub qos: Option<&'a str>,
}

/// Makes a scenario of one operation, named after its method.
///
/// # Errors
/// All refusals, as for a file; the file is called `http`.
pub fn minimal(what: &Minimal<'_>) -> Result<Scenario, Refusals> {
    let (base, path) = split(what.url);
    let text = |text: &str| inline(&RawValue::Text(text.to_owned()));
    let verbatim = |s: &str| text(&s.replace('{', "{{").replace('}', "}}"));
    let method = what.method.unwrap_or(if what.body.is_some() { "POST" } else { "GET" });
    let name = operation_name(method);
    let mut toml = format!("[target]\nurl = {}\n\n[operations.{name}]\n", text(base));
    if let Some(qos) = what.qos {
        toml.push_str(&format!("qos = {}\n", text(qos)));
    }
    toml.push_str(&format!(
        "[[operations.{name}.exchanges]]\nmethod = {}\npath = {}\n",
        text(method),
        verbatim(&path)
    ));
    if let Some(body) = what.body {
        toml.push_str(&format!("body = {}\n", verbatim(body)));
    }
    if !what.headers.is_empty() {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in what.headers {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        toml.push_str(&format!("[operations.{name}.exchanges.headers]\n"));
        for name in names {
            let values = what.headers.iter().filter(|h| h.0 == name).map(|h| verbatim(&h.1));
            toml.push_str(&format!("{} = [{}]\n", text(name), values.collect::<Vec<_>>().join(", ")));
        }
    }
    read("http", &toml, &|_| Err(std::io::Error::other("a command line names no files")))
}

/// Splits a URL into scheme and host, and the rest with a slash before it; a fragment is dropped.
fn split(url: &str) -> (&str, String) {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..].find(['/', '?', '#']).map_or(url.len(), |at| host + at);
    let (base, path) = url.split_at(end);
    let path = path.split('#').next().unwrap_or_default();
    (base, if path.starts_with('/') { path.to_owned() } else { format!("/{path}") })
}

fn operation_name(method: &str) -> String {
    let mut letters = method.chars().filter(char::is_ascii_alphanumeric);
    let first = letters.next().filter(char::is_ascii_alphabetic).unwrap_or('R').to_ascii_uppercase();
    std::iter::once(first).chain(letters.map(|c| c.to_ascii_lowercase())).collect()
}
