//! The scenario as written, with its lines, and its refusals.

use std::cell::RefCell;
use std::fmt::Display;

use barograph_model::{Refusal, Refusals};
use toml::de::{DeTable, DeValue};

use crate::resolved::{self, Key, ResolvedValues};

/// A value as written, with the line of its key.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) line: usize,
    pub(crate) plain: RawValue,
}

/// A value as written. Tables keep the order of the file.
#[derive(Clone, Debug)]
pub(crate) enum RawValue {
    Text(String),
    Integer(i64),
    Number(f64),
    Flag(bool),
    /// A date, or a number out of range: no key takes it.
    Other(String),
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
}

impl RawValue {
    /// Its kind, in the words of a refusal.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            RawValue::Text(_) => "a text",
            RawValue::Integer(_) | RawValue::Number(_) => "a number",
            RawValue::Flag(_) => "true or false",
            RawValue::Other(_) => "something else",
            RawValue::List(_) => "a list",
            RawValue::Table(_) => "a table",
        }
    }

    /// The entries of a table; empty for anything else.
    pub(crate) fn entries(&self) -> &[(String, Node)] {
        if let RawValue::Table(entries) = self { entries } else { &[] }
    }

    /// The entry of a table with this key.
    pub(crate) fn entry(&self, key: &str) -> Option<&RawValue> {
        self.entries().iter().find(|(name, _)| name == key).map(|(_, node)| &node.plain)
    }
}

/// Position of a key.
#[derive(Clone, Debug)]
pub(crate) struct KeyPosition {
    pub(crate) key: String,
    pub(crate) line: usize,
}

impl KeyPosition {
    /// A place inside this one.
    pub(crate) fn inner(&self, key: impl Display, line: usize) -> KeyPosition {
        KeyPosition { key: format!("{}.{key}", self.key), line }
    }

    /// An element of this list.
    pub(crate) fn element(&self, index: usize, line: usize) -> KeyPosition {
        KeyPosition { key: format!("{}[{index}]", self.key), line }
    }
}

/// A taken value and its position.
#[derive(Clone, Debug)]
pub(crate) struct ReadValue<T> {
    pub(crate) value: T,
    pub(crate) at: KeyPosition,
}

/// The file being read: its refusals, and its keys with every default filled in.
pub(crate) struct SettingsReader {
    name: String,
    refusals: RefCell<Vec<Refusal>>,
    kept: RefCell<ResolvedValues>,
}

impl SettingsReader {
    /// Parses the text. Fails if it is not TOML.
    pub(crate) fn parse(name: &str, text: &str) -> Result<(Self, RawValue), Refusals> {
        let lines = Lines::of(text);
        let table = DeTable::parse(text).map_err(|e| {
            Refusals(vec![Refusal {
                place: format!("{name}:{}", lines.of_byte(e.span().map_or(0, |s| s.start))),
                key: String::new(),
                value: e.message().to_owned(),
                allowed: "a TOML document".into(),
                remedy: "correct the line".into(),
            }])
        })?;
        let given =
            SettingsReader { name: name.into(), refusals: RefCell::default(), kept: RefCell::default() };
        Ok((given, lines.table(table.get_ref())))
    }

    /// Refuses the value at `at`.
    pub(crate) fn refuse(&self, at: &KeyPosition, value: impl Display, allowed: &str, remedy: &str) {
        self.refusals.borrow_mut().push(Refusal {
            place: format!("{}:{}", self.name, at.line),
            key: at.key.clone(),
            value: shortened(&value.to_string()),
            allowed: allowed.into(),
            remedy: remedy.into(),
        });
    }

    /// Refuses an unknown name, and proposes the nearest known one.
    pub(crate) fn refuse_name<'n>(
        &self,
        at: &KeyPosition,
        name: &str,
        what: &str,
        known: impl Iterator<Item = &'n str>,
    ) {
        let known: Vec<&str> = known.collect();
        let remedy = nearest(name, &known).unwrap_or_else(|| "name one of them".to_owned());
        let list = if known.is_empty() { "there is none".to_owned() } else { known.join(", ") };
        self.refuse(at, format!("\"{name}\""), &format!("{what}: {list}"), &remedy);
    }

    /// Keeps a value for the resolved text.
    pub(crate) fn keep(&self, path: Vec<Key>, plain: RawValue) {
        self.kept.borrow_mut().push((path, plain));
    }

    /// Every refusal, in the order of the file.
    pub(crate) fn refusals(&self) -> Vec<Refusal> {
        let mut refusals = self.refusals.take();
        let line = |r: &Refusal| r.place.rsplit(':').next().and_then(|n| n.parse::<usize>().ok());
        refusals.sort_by_key(line);
        refusals
    }

    /// The text with every default filled in.
    pub(crate) fn resolved(&self) -> String {
        resolved::print(&self.kept.borrow())
    }
}

/// A long value, shortened to its beginning.
fn shortened(value: &str) -> String {
    const MOST: usize = 200;
    if value.chars().count() <= MOST {
        return value.to_owned();
    }
    format!("{} ...", value.chars().take(MOST).collect::<String>())
}

/// The known name nearest to an unknown one.
pub(crate) fn nearest(name: &str, known: &[&str]) -> Option<String> {
    let near = known.iter().map(|k| (strsim::damerau_levenshtein(k, name), *k)).min()?;
    // With a third of the letters wrong it is another word.
    (near.0 <= name.chars().count().div_ceil(3)).then(|| format!("did you mean `{}`?", near.1))
}

/// Positions at which lines begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Lines(std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect())
    }

    fn of_byte(&self, at: usize) -> usize {
        self.0.partition_point(|start| *start <= at)
    }

    fn table(&self, table: &DeTable<'_>) -> RawValue {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let node = |(key, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| Node {
            line: self.of_byte(key.span().start),
            plain: self.plain(value.get_ref()),
        };
        RawValue::Table(entries.into_iter().map(|e| (e.0.get_ref().to_string(), node(e))).collect())
    }

    fn plain(&self, value: &DeValue<'_>) -> RawValue {
        match value {
            DeValue::String(s) => RawValue::Text(s.to_string()),
            DeValue::Integer(n) => {
                let number = i64::from_str_radix(n.as_str(), n.radix());
                number.map_or_else(|_| RawValue::Other(n.to_string()), RawValue::Integer)
            }
            DeValue::Float(x) => {
                let number = x.as_str().parse().ok().filter(|x: &f64| x.is_finite());
                number.map_or_else(|| RawValue::Other(x.to_string()), RawValue::Number)
            }
            DeValue::Boolean(b) => RawValue::Flag(*b),
            DeValue::Datetime(d) => RawValue::Other(d.to_string()),
            DeValue::Array(items) => {
                let node = |item: &toml::Spanned<DeValue<'_>>| Node {
                    line: self.of_byte(item.span().start),
                    plain: self.plain(item.get_ref()),
                };
                RawValue::List(items.iter().map(node).collect())
            }
            DeValue::Table(table) => self.table(table),
        }
    }
}
