//! Words of a service, which a topology sets, and their allowed values.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{Placement, ServiceError};

/// Kind of a word's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WordKind {
    /// One line of text.
    Text,
    /// An integer, 1 or more.
    Number,
    /// `HOST:PORT`.
    Address,
    /// Any number of `HOST:PORT` or `NAME=HOST:PORT`, separated by blanks.
    Addresses,
    /// Hosts without ports, separated by blanks.
    Hosts,
    /// `NAME=VALUE`, separated by blanks: further settings of the product.
    Settings,
    /// An absolute path.
    Path,
    /// One of several values.
    Choice,
}

impl WordKind {
    /// Whether a template can repeat a block for each item of its value.
    pub(crate) fn is_list(self) -> bool {
        matches!(self, WordKind::Addresses | WordKind::Hosts | WordKind::Settings)
    }
}

/// A word of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word.
    pub name: String,
    /// Description of the word.
    pub what: String,
    /// Kind of its value.
    pub kind: WordKind,
    /// The values of a [`WordKind::Choice`].
    pub choice: Vec<String>,
    /// Whether the service requires it.
    pub needed: bool,
    /// Default value.
    pub default: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawWord {
    what: String,
    kind: WordKind,
    #[serde(default)]
    choice: Vec<String>,
    #[serde(default)]
    needed: bool,
    default: Option<String>,
}

/// An item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    /// Text before the `=`, or else `s1`, `s2` and so on.
    pub(crate) name: String,
    pub(crate) value: String,
}

/// Splits a list into items.
pub(crate) fn items(value: &str) -> Vec<Item> {
    let piece = |(index, piece): (usize, &str)| match piece.split_once('=') {
        Some((name, value)) => Item { name: name.to_owned(), value: value.to_owned() },
        None => Item { name: format!("s{}", index + 1), value: piece.to_owned() },
    };
    value.split_whitespace().enumerate().map(piece).collect()
}

/// Returns the part of `HOST:PORT` before the port.
pub(crate) fn host_of(value: &str) -> &str {
    value.rsplit_once(':').map_or(value, |(host, _)| host)
}

/// Returns the port of `HOST:PORT`.
pub(crate) fn port_of(value: &str) -> &str {
    value.rsplit_once(':').map_or("", |(_, port)| port)
}

impl Word {
    pub(crate) fn checked(name: &str, raw: RawWord) -> Result<Self, String> {
        let RawWord { what, kind, choice, needed, default } = raw;
        if choice.is_empty() != (kind != WordKind::Choice) {
            return Err(format!("word `{name}` needs `choice` just when its kind is choice"));
        }
        if needed && default.is_some() {
            return Err(format!("word `{name}` is needed and has a default"));
        }
        let word = Word { name: name.to_owned(), what, kind, choice, needed, default };
        match word.default.as_deref().map(|value| word.fits(value)) {
            Some(Err(wanted)) => Err(format!("the default of word `{name}` is not {wanted}")),
            _ => Ok(word),
        }
    }

    /// Checks a value; an error describes the allowed values.
    fn fits(&self, value: &str) -> Result<(), String> {
        let wanted = |ok: bool, what: &str| if ok { Ok(()) } else { Err(what.to_owned()) };
        let plain = |text: &str| !text.chars().any(|c| c.is_control() || "\"'\\".contains(c));
        if !plain(&value.replace('\n', " ")) {
            return Err("text without control characters, quotes and backslashes".to_owned());
        }
        match self.kind {
            WordKind::Text => wanted(!value.contains('\n'), "one line"),
            WordKind::Number => wanted(value.parse::<u64>().is_ok(), "a whole number"),
            WordKind::Address => wanted(is_address(value), "HOST:PORT"),
            WordKind::Addresses => {
                wanted(items(value).iter().all(|item| is_address(&item.value)), "a list of HOST:PORT")
            }
            WordKind::Hosts => {
                wanted(items(value).iter().all(|item| is_host(&item.value)), "a list of hosts")
            }
            WordKind::Settings => {
                let setting = |piece: &str| piece.split_once('=').is_some_and(|(name, _)| is_name(name));
                wanted(value.split_whitespace().all(setting), "a list of NAME=VALUE")
            }
            WordKind::Path => wanted(value.starts_with('/') && !value.contains('\n'), "an absolute path"),
            WordKind::Choice => wanted(self.choice.iter().any(|c| c == value), &self.choice.join(" or ")),
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
}

fn is_host(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_.-:[]/".contains(c))
}

fn is_address(text: &str) -> bool {
    text.rsplit_once(':')
        .is_some_and(|(host, port)| is_host(host) && port.parse::<u16>().is_ok_and(|port| port != 0))
}

/// Returns the values of all words for one instance, defaults included. No value is empty.
pub(crate) fn values(
    service: &str,
    words: &[Word],
    place: &Placement<'_>,
) -> Result<BTreeMap<String, String>, ServiceError> {
    let mut values = BTreeMap::new();
    for (name, value) in place.values {
        let Some(word) = words.iter().find(|word| word.name == *name) else {
            let known: Vec<String> = words.iter().map(|word| format!("`{}`", word.name)).collect();
            let known = if known.is_empty() { "no words".to_owned() } else { known.join(", ") };
            return Err(ServiceError::UnknownValue {
                service: service.to_owned(),
                word: name.clone(),
                known,
            });
        };
        let value = value.trim();
        if value.is_empty() {
            continue;
        }
        word.fits(value).map_err(|wanted| ServiceError::BadValue {
            service: service.to_owned(),
            word: name.clone(),
            value: value.to_owned(),
            wanted,
        })?;
        values.insert(name.clone(), value.to_owned());
    }
    for word in words.iter().filter(|word| !place.values.contains_key(&word.name)) {
        if let Some(default) = &word.default {
            values.insert(word.name.clone(), default.clone());
        }
    }
    match words.iter().find(|word| word.needed && !values.contains_key(&word.name)) {
        Some(word) => Err(no_value(service, word)),
        None => Ok(values),
    }
}

/// Error for a required word that the topology did not give.
pub(crate) fn no_value(service: &str, word: &Word) -> ServiceError {
    ServiceError::NoValue { service: service.to_owned(), word: word.name.clone(), what: word.what.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(kind: WordKind, choice: &[&str]) -> Word {
        let choice = choice.iter().map(|&c| c.to_owned()).collect();
        Word { name: "w".to_owned(), what: "a word".to_owned(), kind, choice, needed: false, default: None }
    }

    #[test]
    fn values_are_of_their_kind() {
        let good = [
            (WordKind::Text, "any text; with {braces}"),
            (WordKind::Number, "12"),
            (WordKind::Address, "10.0.0.1:80"),
            (WordKind::Address, "[::1]:80"),
            (WordKind::Addresses, "a=h:1 h:2\nh:3"),
            (WordKind::Hosts, "10.0.0.1 10.0.0.2"),
            (WordKind::Settings, "work_mem=4MB jit=off"),
            (WordKind::Path, "/a b/c"),
            (WordKind::Choice, "on"),
        ];
        for (kind, value) in good {
            let choice: &[&str] = if kind == WordKind::Choice { &["on", "off"] } else { &[] };
            assert_eq!(word(kind, choice).fits(value), Ok(()), "{kind:?} {value}");
        }
        let bad = [
            (WordKind::Text, "two\nlines"),
            (WordKind::Text, "a \" quote"),
            (WordKind::Text, "a \u{7} bell"),
            (WordKind::Number, "-1"),
            (WordKind::Number, "1.5"),
            (WordKind::Address, "10.0.0.1"),
            (WordKind::Address, ":80"),
            (WordKind::Address, "h:0"),
            (WordKind::Address, "h;:80"),
            (WordKind::Addresses, "h:1 h"),
            (WordKind::Hosts, "a;b"),
            (WordKind::Settings, "jit"),
            (WordKind::Settings, "a;b=1"),
            (WordKind::Path, "a/b"),
            (WordKind::Choice, "perhaps"),
        ];
        for (kind, value) in bad {
            let choice: &[&str] = if kind == WordKind::Choice { &["on", "off"] } else { &[] };
            assert!(word(kind, choice).fits(value).is_err(), "{kind:?} {value}");
        }
    }

    #[test]
    fn a_list_has_named_pieces() {
        let of = |value: &str| items(value).into_iter().map(|i| (i.name, i.value)).collect::<Vec<_>>();
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(of(" a-1=h:1\n h:2 "), [pair("a-1", "h:1"), pair("s2", "h:2")]);
        assert!(of("").is_empty());
        assert_eq!((host_of("[::1]:80"), port_of("[::1]:80")), ("[::1]", "80"));
        assert_eq!((host_of("h"), port_of("h")), ("h", ""));
    }
}
