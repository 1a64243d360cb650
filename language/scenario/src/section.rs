//! Typed access to the keys of a table: every refusal is collected, every value is kept for the resolved
//! text.

use std::ops::RangeInclusive;

use barograph_model::{Nanos, Share};

use crate::qos;
use crate::resolved::{self, Key};
use crate::settings_reader::{KeyPosition, Node, RawValue, ReadValue, SettingsReader, nearest};

/// A table whose keys are taken one by one.
pub(crate) struct Section<'g> {
    pub(crate) given: &'g SettingsReader,
    pub(crate) at: KeyPosition,
    path: Vec<Key>,
    left: Vec<(String, Node)>,
    /// Keys that were present when taken, with their lines.
    taken: Vec<(&'static str, usize)>,
    known: Vec<&'static str>,
}

impl<'g> Section<'g> {
    /// The whole file.
    pub(crate) fn root(given: &'g SettingsReader, plain: RawValue) -> Self {
        let RawValue::Table(left) = plain else { unreachable!("a TOML document is a table") };
        let at = KeyPosition { key: String::new(), line: 1 };
        Section { given, at, path: Vec::new(), left, taken: Vec::new(), known: Vec::new() }
    }

    /// A table inside a value that has been kept as written: values taken here are not kept again.
    pub(crate) fn inside(given: &'g SettingsReader, table: &ReadValue<RawValue>) -> Self {
        let left = table.value.entries().to_vec();
        Section { given, at: table.at.clone(), path: Vec::new(), left, taken: Vec::new(), known: Vec::new() }
    }

    fn at(&self, key: &str, line: usize) -> KeyPosition {
        let key = resolved::quoted_key(key);
        if self.at.key.is_empty() { KeyPosition { key, line } } else { self.at.inner(key, line) }
    }

    fn path(&self, key: &str) -> Vec<Key> {
        let mut path = self.path.clone();
        path.push(Key::Name(key.to_owned()));
        path
    }

    fn keep(&self, key: &str, plain: RawValue) {
        if self.path.is_empty() && !self.at.key.is_empty() {
            return;
        }
        self.given.keep(self.path(key), plain);
    }

    /// Takes the value of a key, as written and not yet kept.
    fn take(&mut self, key: &'static str) -> Option<ReadValue<RawValue>> {
        self.known.push(key);
        let index = self.left.iter().position(|(name, _)| name == key)?;
        let (name, node) = self.left.remove(index);
        self.taken.push((key, node.line));
        Some(ReadValue { at: self.at(&name, node.line), value: node.plain })
    }

    /// Takes a value of any kind, kept as written.
    pub(crate) fn any(&mut self, key: &'static str) -> Option<ReadValue<RawValue>> {
        let got = self.take(key)?;
        self.keep(key, got.value.clone());
        Some(got)
    }

    /// Takes a value that `read` accepts, kept as written; refuses any other.
    fn typed<T>(
        &mut self,
        key: &'static str,
        allowed: &str,
        read: impl FnOnce(&RawValue) -> Option<T>,
    ) -> Option<ReadValue<T>> {
        let got = self.take(key)?;
        let Some(value) = read(&got.value) else {
            let found = resolved::inline(&got.value);
            self.given.refuse(&got.at, found, allowed, &format!("give `{key}` such a value"));
            return None;
        };
        self.keep(key, got.value);
        Some(ReadValue { value, at: got.at })
    }

    /// A text.
    pub(crate) fn text(&mut self, key: &'static str) -> Option<ReadValue<String>> {
        self.typed(
            key,
            "a text in quotes",
            |p| if let RawValue::Text(t) = p { Some(t.clone()) } else { None },
        )
    }

    /// A text with a default.
    pub(crate) fn text_or(&mut self, key: &'static str, default: &str) -> String {
        if let Some(got) = self.text(key) {
            return got.value;
        }
        self.keep(key, RawValue::Text(default.to_owned()));
        default.to_owned()
    }

    /// One text, or a list of them.
    pub(crate) fn texts(&mut self, key: &'static str) -> Vec<ReadValue<String>> {
        let read = |p: &RawValue| match p {
            RawValue::Text(text) => Some(vec![(text.clone(), None)]),
            RawValue::List(items) => {
                let text = |n: &Node| match &n.plain {
                    RawValue::Text(text) => Some((text.clone(), Some(n.line))),
                    _ => None,
                };
                items.iter().map(text).collect()
            }
            _ => None,
        };
        let Some(got) = self.typed(key, "a text in quotes, or a list of texts", read) else {
            return Vec::new();
        };
        let place = |(i, (value, line)): (usize, (String, Option<usize>))| ReadValue {
            value,
            at: line.map_or(got.at.clone(), |line| got.at.element(i, line)),
        };
        got.value.into_iter().enumerate().map(place).collect()
    }

    /// One word out of several.
    pub(crate) fn word<T: Copy + PartialEq>(
        &mut self,
        key: &'static str,
        words: &[(&str, T)],
        default: T,
    ) -> T {
        if let Some(value) = self.word_if(key, words) {
            return value;
        }
        if let Some((word, _)) = words.iter().find(|w| w.1 == default) {
            self.keep(key, RawValue::Text((*word).to_owned()));
        }
        default
    }

    /// One word out of several, if given.
    pub(crate) fn word_if<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        let got = self.text(key)?;
        let found = words.iter().find(|w| w.0 == got.value).map(|w| w.1);
        if found.is_none() {
            self.given.refuse_name(&got.at, &got.value, "one of", words.iter().map(|w| w.0));
        }
        found
    }

    /// True or false.
    pub(crate) fn flag(&mut self, key: &'static str, default: bool) -> bool {
        let read = |p: &RawValue| if let RawValue::Flag(flag) = p { Some(*flag) } else { None };
        let Some(got) = self.typed(key, "true or false, without quotes", read) else {
            self.keep(key, RawValue::Flag(default));
            return default;
        };
        got.value
    }

    /// A whole number, if given.
    pub(crate) fn integer(
        &mut self,
        key: &'static str,
        range: RangeInclusive<i64>,
    ) -> Option<ReadValue<i64>> {
        let allowed = format!("a whole number from {} to {}", range.start(), range.end());
        let read = |p: &RawValue| match p {
            RawValue::Integer(n) => Some(*n).filter(|n| range.contains(n)),
            _ => None,
        };
        self.typed(key, &allowed, read)
    }

    /// A whole number with a default.
    pub(crate) fn integer_or(&mut self, key: &'static str, range: RangeInclusive<i64>, default: i64) -> i64 {
        let got = self.integer(key, range);
        got.map(|g| g.value).unwrap_or_else(|| {
            self.keep(key, RawValue::Integer(default));
            default
        })
    }

    /// A number with a fraction, with a default.
    pub(crate) fn number_or(&mut self, key: &'static str, range: RangeInclusive<f64>, default: f64) -> f64 {
        let allowed = format!("a number from {} to {}", range.start(), range.end());
        let read = |p: &RawValue| as_number(p).filter(|x| range.contains(x));
        let got = self.typed(key, &allowed, read);
        got.map(|g| g.value).unwrap_or_else(|| {
            self.keep(key, RawValue::Number(default));
            default
        })
    }

    /// A share, if given.
    pub(crate) fn share(&mut self, key: &'static str) -> Option<ReadValue<Share>> {
        self.typed(key, qos::SHARE, as_share)
    }

    /// A share with the default `text`.
    pub(crate) fn share_or(&mut self, key: &'static str, text: &'static str) -> Share {
        let got = self.share(key);
        got.map(|g| g.value).unwrap_or_else(|| {
            self.keep(key, RawValue::Text(text.to_owned()));
            qos::share(text).expect("defaults are written in the source")
        })
    }

    /// A span of time, if given.
    pub(crate) fn span(&mut self, key: &'static str) -> Option<ReadValue<Nanos>> {
        self.typed(key, qos::SPAN, |p| if let RawValue::Text(text) = p { qos::span(text) } else { None })
    }

    /// A span of time with the default `text`.
    pub(crate) fn span_or(&mut self, key: &'static str, text: &'static str) -> Nanos {
        let got = self.span(key);
        got.map(|g| g.value).unwrap_or_else(|| {
            self.keep(key, RawValue::Text(text.to_owned()));
            qos::span(text).expect("defaults are written in the source")
        })
    }

    /// A table, if given.
    pub(crate) fn section(&mut self, key: &'static str) -> Option<Section<'g>> {
        let got = self.take(key)?;
        self.open(got, self.path(key))
    }

    /// A table, empty by default.
    pub(crate) fn section_or_empty(&mut self, key: &'static str) -> Section<'g> {
        self.section(key).unwrap_or_else(|| {
            let value = RawValue::Table(Vec::new());
            let got = ReadValue { value, at: self.at(key, self.at.line) };
            self.open(got, self.path(key)).expect("an empty table is a table")
        })
    }

    /// The remaining keys, as written.
    pub(crate) fn left(&self) -> &[(String, Node)] {
        &self.left
    }

    /// A table whose keys are names, in the order of the file.
    pub(crate) fn named(&mut self, key: &'static str) -> Vec<(String, Section<'g>)> {
        let Some(section) = self.section(key) else { return Vec::new() };
        section.all_named()
    }

    /// The tables of a table whose keys are names.
    pub(crate) fn all_named(self) -> Vec<(String, Section<'g>)> {
        let mut found = Vec::new();
        for (name, node) in &self.left {
            let got = ReadValue { at: self.at(name, node.line), value: node.plain.clone() };
            found.extend(self.open(got, self.path(name)).map(|section| (name.clone(), section)));
        }
        found
    }

    /// A list of tables.
    pub(crate) fn list(&mut self, key: &'static str) -> Vec<Section<'g>> {
        let Some(got) = self.take(key) else { return Vec::new() };
        let RawValue::List(items) = got.value else {
            let found = got.value.kind();
            self.given.refuse(&got.at, found, "a list of tables", &format!("write `[[{}]]`", got.at.key));
            return Vec::new();
        };
        let mut found = Vec::new();
        for (i, node) in items.into_iter().enumerate() {
            let mut path = self.path(key);
            path.push(Key::Element(i));
            found.extend(self.open(ReadValue { at: got.at.element(i, node.line), value: node.plain }, path));
        }
        found
    }

    fn open(&self, got: ReadValue<RawValue>, path: Vec<Key>) -> Option<Section<'g>> {
        let RawValue::Table(left) = got.value else {
            let found = resolved::inline(&got.value);
            self.given.refuse(&got.at, found, "a table", &format!("write `[{}]`, or braces", got.at.key));
            return None;
        };
        Some(Section { given: self.given, at: got.at, path, left, taken: Vec::new(), known: Vec::new() })
    }

    /// Whether the key exists and is not taken yet.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.left.iter().any(|(name, _)| name == key)
    }

    /// Whether the key existed when it was taken.
    pub(crate) fn was_given(&self, key: &str) -> bool {
        self.taken.iter().any(|taken| taken.0 == key)
    }

    /// The position of a key, or of its absence.
    pub(crate) fn at_key(&self, key: &str) -> KeyPosition {
        let taken = self.taken.iter().find(|taken| taken.0 == key).map(|taken| taken.1);
        let left = self.left.iter().find(|(name, _)| name == key).map(|(_, node)| node.line);
        self.at(key, taken.or(left).unwrap_or(self.at.line))
    }

    /// Whether the key exists, is not taken yet, and is a table.
    pub(crate) fn has_table(&self, key: &str) -> bool {
        self.left.iter().any(|(name, node)| name == key && matches!(node.plain, RawValue::Table(_)))
    }

    /// Whether the key exists, is not taken yet, and is a table with this entry, ignoring case.
    pub(crate) fn has_entry(&self, key: &str, entry: &str) -> bool {
        let table = self.left.iter().find(|(name, _)| name == key).map(|(_, node)| node.plain.entries());
        table.unwrap_or_default().iter().any(|(name, _)| name.eq_ignore_ascii_case(entry))
    }

    /// Takes all remaining keys with their values, kept as written.
    pub(crate) fn rest(&mut self) -> Vec<(String, ReadValue<RawValue>)> {
        let mut found = Vec::new();
        for (name, node) in std::mem::take(&mut self.left) {
            self.keep(&name, node.plain.clone());
            found.push((name.clone(), ReadValue { at: self.at(&name, node.line), value: node.plain }));
        }
        found
    }

    /// Refuses all remaining keys.
    pub(crate) fn finish(self) {
        for (name, node) in &self.left {
            let at = self.at(name, node.line);
            let remedy = nearest(name, &self.known).unwrap_or_else(|| "remove the key".to_owned());
            let allowed = format!("the keys {}", self.known.join(", "));
            self.given.refuse(&at, resolved::inline(&node.plain), &allowed, &remedy);
        }
    }
}

/// A number, whole or not.
pub(crate) fn as_number(plain: &RawValue) -> Option<f64> {
    match plain {
        RawValue::Integer(n) => Some(*n as f64),
        RawValue::Number(x) => Some(*x),
        _ => None,
    }
}

/// A share, as a number or as a text.
pub(crate) fn as_share(plain: &RawValue) -> Option<Share> {
    match plain {
        RawValue::Text(text) => qos::share(text),
        other => Share::new(as_number(other)?).ok(),
    }
}
