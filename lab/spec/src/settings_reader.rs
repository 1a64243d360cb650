//! The plan as typed, key by key, with positions; and typed access to its values that collects every refusal.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::RangeInclusive;

use barograph_model::{Level, Nanos};
use toml::Value;
use toml::de::{DeTable, DeValue};

use crate::cores::{self, Cores};
use crate::deploy::LIMITS;
use crate::{Refusal, Refusals};

mod elements;

/// Position of an override.
const SET: &str = "--set";

#[derive(Clone)]
struct GivenValue {
    value: Value,
    /// Number of tables, if the value is a list of tables only.
    tables: Option<usize>,
    place: String,
}

/// Source of a value.
#[derive(Clone, Copy)]
enum Source<'t> {
    /// The plan's text.
    Text(&'t str),
    /// An override, or a value set by a study, with its position.
    At(&'t str),
}

impl Source<'_> {
    fn place(self, name: &str, at: usize) -> String {
        match self {
            Source::Text(text) => format!("{name}:{}", line_of(text, at)),
            Source::At(place) => place.to_owned(),
        }
    }
}

/// The keys of a plan as given, and their resolved values.
pub struct SettingsReader {
    name: String,
    found: BTreeMap<String, GivenValue>,
    known: BTreeMap<String, KnownKey>,
    /// Keys that do not belong to a plan like this one.
    foreign: BTreeSet<String>,
    /// Condition of the keys being read.
    only_with: Option<String>,
    resolved: BTreeMap<String, Value>,
    places: BTreeMap<String, String>,
    /// Position of each table; that of an element of a list, read as a plan of its own, is under the empty key.
    headers: BTreeMap<String, String>,
    refusals: Vec<Refusal>,
}

/// A known key.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownKey {
    /// Allowed values.
    pub allowed: String,
    /// The default as TOML; empty without a default.
    pub default: String,
}

impl KnownKey {
    fn new(allowed: String, default: impl Into<Value>) -> Self {
        KnownKey { allowed, default: default.into().to_string() }
    }
}

impl SettingsReader {
    /// Parses the text and the overrides. Fails if one of them is not TOML.
    pub fn parse(name: &str, text: &str, sets: &[String]) -> Result<Self, Refusals> {
        let mut given = SettingsReader::empty(name);
        let table = DeTable::parse(text).map_err(|e| {
            let line = line_of(text, e.span().map_or(0, |s| s.start));
            Refusals(vec![Refusal {
                place: format!("{name}:{line}"),
                key: String::new(),
                value: e.message().to_owned(),
                allowed: "a TOML document".into(),
                remedy: "correct the line; `barograph check` reads a plan without running it".into(),
            }])
        })?;
        given.flatten(Source::Text(text), "", table.get_ref());
        for set in sets {
            given.set(set)?;
        }
        Ok(given)
    }

    fn flatten(&mut self, source: Source<'_>, prefix: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let path = match prefix {
                "" => key.get_ref().to_string(),
                prefix => format!("{prefix}.{}", key.get_ref()),
            };
            let place = source.place(&self.name, key.span().start);
            self.insert(source, path, value.get_ref(), place);
        }
    }

    /// Inserts a table key by key, and a list of tables as `path[0]`, `path[1]` ... with its length under its
    /// own name.
    fn insert(&mut self, source: Source<'_>, path: String, value: &DeValue<'_>, place: String) {
        match value {
            DeValue::Table(inner) => {
                self.flatten(source, &path, inner);
                self.headers.insert(path, place);
            }
            DeValue::Array(items) => {
                let inner = items.iter().filter_map(|item| Some((item.span(), item.get_ref().as_table()?)));
                let tables = inner.clone().count();
                for (at, (span, table)) in inner.enumerate() {
                    let element = format!("{path}[{at}]");
                    self.flatten(source, &element, table);
                    self.headers.insert(element, source.place(&self.name, span.start));
                }
                let tables = (tables == items.len()).then_some(tables);
                self.found.insert(path, GivenValue { value: plain(value), tables, place });
            }
            value => {
                self.found.insert(path, GivenValue { value: plain(value), tables: None, place });
            }
        }
    }

    /// Whether a key was given.
    pub(crate) fn stands(&self, key: &str) -> bool {
        self.found.contains_key(key)
    }

    fn empty(name: &str) -> Self {
        SettingsReader {
            name: name.into(),
            found: BTreeMap::new(),
            known: BTreeMap::new(),
            foreign: BTreeSet::new(),
            only_with: None,
            resolved: BTreeMap::new(),
            places: BTreeMap::new(),
            headers: BTreeMap::new(),
            refusals: Vec::new(),
        }
    }

    /// Takes an override of the form `key=value`.
    pub fn set(&mut self, set: &str) -> Result<(), Refusals> {
        let Some((key, text)) = set.split_once('=') else {
            return Err(Refusals(vec![Refusal {
                place: SET.into(),
                key: set.into(),
                value: String::new(),
                allowed: "key=value, as in load.users=1000".into(),
                remedy: "write the key, an equals sign and the value without spaces".into(),
            }]));
        };
        self.set_at(key.trim(), text.trim(), SET);
        Ok(())
    }

    /// Sets `key` to the value of `text` as TOML, with a position outside of the plan.
    pub fn set_at(&mut self, key: &str, text: &str, place: &str) {
        let below = |other: &str| other.strip_prefix(key).is_some_and(|rest| rest.starts_with('['));
        self.found.retain(|other, _| !below(other));
        let line = format!("v = {text}");
        match DeTable::parse(&line).ok().as_ref().and_then(|t| t.get_ref().get("v")) {
            Some(value) => self.insert(Source::At(place), key.to_owned(), value.get_ref(), place.to_owned()),
            // A bare word is a text, so that the shell needs no quotes.
            None => {
                let found =
                    GivenValue { value: Value::String(text.into()), tables: None, place: place.into() };
                self.found.insert(key.into(), found);
            }
        }
    }

    /// Takes everything below `prefix`, as keys without it, with values and positions. Elements of a list are
    /// part of the list.
    pub fn below(&mut self, prefix: &str) -> Vec<(String, Value, String)> {
        let begin = format!("{prefix}.");
        let keys: Vec<String> = self.found.keys().filter(|key| key.starts_with(&begin)).cloned().collect();
        let mut taken = Vec::new();
        for key in &keys {
            let rest = key[begin.len()..].to_owned();
            let list = rest.split_once('[').map(|(list, _)| format!("{begin}{list}"));
            let is_part = list.is_some_and(|list| keys.contains(&list));
            if let Some(found) = self.found.remove(key).filter(|_| !is_part) {
                taken.push((rest, found.value, found.place));
            }
        }
        taken
    }

    /// Ignores `key` and everything below it: the key it depends on was refused.
    pub fn leave(&mut self, key: &str) {
        let below = |other: &str| other.strip_prefix(key).is_some_and(|rest| rest.starts_with(['[', '.']));
        self.found.retain(|other, _| other != key && !below(other));
    }

    /// Refuses `key`, and everything below it, unless it belongs to a plan like this one. Otherwise it is
    /// left out of the resolved plan.
    pub fn only_with(&mut self, key: &str, belongs: bool, condition: &str) {
        if !belongs {
            let (allowed, remedy) = without(key, condition);
            self.foreign(key, &allowed, &remedy);
        }
    }

    /// Refuses `key`, and everything below it, and leaves it out of the resolved plan.
    pub(crate) fn foreign(&mut self, key: &str, allowed: &str, remedy: &str) {
        self.foreign.insert(key.to_owned());
        let below = format!("{key}[");
        self.found.retain(|other, _| !other.starts_with(&below));
        self.refuse_given(key, allowed, remedy);
    }

    /// Reads keys that belong to plans with `condition`, and not to this one: they are known, are not in the
    /// resolved plan, and are refused unless they have their default. Keys that were read before stay
    /// unchanged.
    pub(crate) fn elsewhere(&mut self, condition: &str, read: impl FnOnce(&mut SettingsReader)) {
        self.only_with = Some(condition.to_owned());
        read(self);
        self.only_with = None;
    }

    /// Takes a key that does not belong here. The resolved plan of an earlier version names it with its
    /// default; and settings of data without a fill have no effect, so that another workload can be set over
    /// a plan with data.
    fn take_foreign(&mut self, key: &str, known: KnownKey, condition: &str) {
        if self.known.contains_key(key) {
            return;
        }
        let is_asked = |found: &GivenValue| found.value.to_string() != known.default;
        if self.found.get(key).is_some_and(is_asked) && !key.starts_with("data.") {
            let (allowed, remedy) = without(key, condition);
            self.refuse_given(key, &allowed, &remedy);
        }
        self.found.remove(key);
        self.known.insert(key.to_owned(), known);
    }

    fn take<T>(
        &mut self,
        key: &str,
        known: KnownKey,
        read: impl FnOnce(&GivenValue) -> Option<T>,
    ) -> Option<Option<T>> {
        if let Some(condition) = self.only_with.clone() {
            self.take_foreign(key, known, &condition);
            return Some(None);
        }
        let (allowed, has_default) = (known.allowed.clone(), !known.default.is_empty());
        self.known.insert(key.into(), known);
        let Some(found) = self.found.remove(key) else { return Some(None) };
        match read(&found) {
            Some(value) => {
                self.places.insert(key.into(), found.place);
                Some(Some(value))
            }
            None => {
                let or = if has_default { ", or leave it out for the default" } else { "" };
                self.refusals.push(Refusal {
                    place: found.place,
                    key: key.into(),
                    value: found.value.to_string(),
                    allowed,
                    remedy: format!("give `{key}` such a value{or}"),
                });
                None
            }
        }
    }

    /// Puts a value into the resolved plan, unless its key does not belong there.
    pub fn keep(&mut self, key: &str, value: impl Into<Value>) {
        if !self.foreign.contains(key) && self.only_with.is_none() {
            self.resolved.insert(key.into(), value.into());
        }
    }

    /// A whole number.
    pub fn number(&mut self, key: &str, range: RangeInclusive<u64>, default: u64) -> Option<u64> {
        let known = KnownKey::new(whole(&range), default as i64);
        let value = self.take(key, known, |found| as_number(found, &range))?.unwrap_or(default);
        self.keep(key, value as i64);
        Some(value)
    }

    /// A rate above zero.
    pub(crate) fn rate(&mut self, key: &str, most: u32, default: u32) -> Option<Level> {
        let range = Level::LEAST..=most.into();
        let known = KnownKey::new(rates(&range), i64::from(default));
        let value = self.take(key, known, |found| as_level(found, &range))?.unwrap_or(default.into());
        self.keep(key, level_value(value));
        Some(value)
    }

    /// A rate below a list, without a default and not kept under a name of its own.
    pub(crate) fn required_rate(&mut self, key: &str, most: u32) -> Option<Level> {
        let range = Level::ZERO..=most.into();
        let known = KnownKey { allowed: rates(&range), default: String::new() };
        let taken = self.take(key, known, |found| as_level(found, &range))?;
        if taken.is_none() {
            self.refuse(key, "nothing", &rates(&range), "give it a value");
        }
        taken
    }

    /// A whole number below a list, without a default and not kept under a name of its own.
    pub fn required_number(&mut self, key: &str, range: RangeInclusive<u64>) -> Option<u64> {
        let known = KnownKey { allowed: whole(&range), default: String::new() };
        let taken = self.take(key, known, |found| as_number(found, &range))?;
        if taken.is_none() {
            self.refuse(key, "nothing", &whole(&range), "give it a value");
        }
        taken
    }

    /// A number with a fraction.
    pub fn fraction(&mut self, key: &str, range: RangeInclusive<f64>, default: f64) -> Option<f64> {
        let known = KnownKey::new(format!("a number from {} to {}", range.start(), range.end()), default);
        let value = self.take(key, known, |found| as_fraction(found, &range))?.unwrap_or(default);
        self.keep(key, value);
        Some(value)
    }

    /// A time in seconds, with a fraction.
    pub fn time(&mut self, key: &str, range: RangeInclusive<f64>, default: f64) -> Option<Nanos> {
        let known = KnownKey::new(format!("seconds from {} to {}", range.start(), range.end()), default);
        let value = self.take(key, known, |found| as_fraction(found, &range))?.unwrap_or(default);
        match value.fract() {
            0.0 => self.keep(key, value as i64),
            _ => self.keep(key, value),
        }
        Some(Nanos::from_secs_f64(value))
    }

    /// A word below a list, without a default; all are allowed if `words` is empty.
    pub fn listed_word(&mut self, key: &str, words: &[&str]) -> Option<String> {
        let allowed =
            if words.is_empty() { "a text".to_owned() } else { format!("one of {}", words.join(", ")) };
        let known = KnownKey { allowed: allowed.clone(), default: String::new() };
        let read =
            |found: &GivenValue| as_text(found).filter(|s| words.is_empty() || words.contains(&s.as_str()));
        let taken = self.take(key, known, read)?;
        if taken.is_none() {
            self.refuse(key, "nothing", &allowed, "give it a value");
        }
        taken
    }

    /// A whole number below a list, 0 by default.
    pub fn listed_number(&mut self, key: &str, range: RangeInclusive<u64>) -> Option<u64> {
        let known = KnownKey { allowed: whole(&range), default: String::new() };
        Some(self.take(key, known, |found| as_number(found, &range))?.unwrap_or(0))
    }

    /// A number with a fraction below a list, 0 by default.
    pub fn listed_fraction(&mut self, key: &str, range: RangeInclusive<f64>) -> Option<f64> {
        let allowed = format!("a number from {} to {}", range.start(), range.end());
        let known = KnownKey { allowed, default: String::new() };
        Some(self.take(key, known, |found| as_fraction(found, &range))?.unwrap_or(0.0))
    }

    /// A time in seconds below a list, with a fraction; not kept under a name of its own.
    pub fn seconds(&mut self, key: &str, most: u64, default: Nanos) -> Option<Nanos> {
        let range = 0.0..=most as f64;
        let known = KnownKey::new(format!("seconds from 0 to {most}"), default.as_secs_f64());
        let taken = self.take(key, known, |found| as_fraction(found, &range))?;
        Some(taken.map_or(default, Nanos::from_secs_f64))
    }

    /// One word out of several; all are allowed if `words` is empty.
    pub fn word(&mut self, key: &str, words: &[&str], default: &str) -> Option<String> {
        let allowed =
            if words.is_empty() { "a text".to_owned() } else { format!("one of {}", words.join(", ")) };
        let read =
            |found: &GivenValue| as_text(found).filter(|s| words.is_empty() || words.contains(&s.as_str()));
        let taken = self.take(key, KnownKey::new(allowed, default), read)?;
        let value = taken.unwrap_or_else(|| default.to_owned());
        self.keep(key, value.clone());
        Some(value)
    }

    /// One of several words with a meaning for this program.
    pub fn choice(
        &mut self,
        key: &str,
        words: &[&'static str],
        default: &'static str,
    ) -> Option<&'static str> {
        let word = self.word(key, words, default)?;
        words.iter().copied().find(|known| *known == word)
    }

    /// Yes or no.
    pub fn flag(&mut self, key: &str, default: bool) -> Option<bool> {
        let known = KnownKey::new("true or false".to_owned(), default);
        let value = self.take(key, known, |found| found.value.as_bool())?.unwrap_or(default);
        self.keep(key, value);
        Some(value)
    }

    /// A set of cores, by default all; kept in its canonical form. A single number needs no quotes.
    pub fn cores(&mut self, key: &str) -> Option<Cores> {
        let read = |found: &GivenValue| match &found.value {
            Value::Integer(core) => Cores::read(&core.to_string()),
            other => Cores::read(other.as_str()?),
        };
        let taken = self.take(key, KnownKey::new(cores::ALLOWED.to_owned(), ""), read)?;
        let value = taken.unwrap_or_default();
        self.keep(key, value.to_string());
        Some(value)
    }

    /// A name; not kept.
    pub(crate) fn label(&mut self, key: &str, allowed: &str) -> Option<Option<String>> {
        let known = KnownKey { allowed: allowed.to_owned(), default: String::new() };
        self.take(key, known, |found| as_text(found).filter(|s| !s.trim().is_empty()))
    }

    /// A text that may be absent.
    pub fn optional_word(&mut self, key: &str, allowed: &str) -> Option<Option<String>> {
        let taken = self.label(key, allowed)?;
        if let Some(value) = &taken {
            self.keep(key, value.clone());
        }
        Some(taken)
    }

    /// Number of tables of a list; 0 if it is absent. Their keys are `key[0].name` and so on.
    pub fn tables(&mut self, key: &str, most: usize, allowed: &str) -> Option<usize> {
        let known = KnownKey { allowed: allowed.to_owned(), default: String::new() };
        let taken = self.take(key, known, |found| found.tables.filter(|n| (1..=most).contains(n)))?;
        Some(taken.unwrap_or(0))
    }

    /// Refuses a value that was already taken, because it conflicts with another.
    pub fn refuse(&mut self, key: &str, value: impl std::fmt::Display, allowed: &str, remedy: &str) {
        if self.only_with.is_some() {
            return;
        }
        let place = self.place_near(key);
        self.refusals.push(Refusal {
            place,
            key: key.into(),
            value: value.to_string(),
            allowed: allowed.into(),
            remedy: remedy.into(),
        });
    }

    /// The value of a key that was given and differs from the default.
    #[must_use]
    pub fn asked(&self, key: &str) -> Option<String> {
        let value = self.places.get(key).and_then(|_| self.resolved.get(key))?.to_string();
        (self.known.get(key)?.default != value).then_some(value)
    }

    /// Refuses `key` if it differs from the default, because it has no effect in this plan.
    pub fn refuse_asked(&mut self, key: &str, allowed: &str, remedy: &str) {
        if let Some(value) = self.asked(key) {
            self.refuse(key, value, allowed, remedy);
        }
    }

    /// Refuses the limits of a tier without parts.
    pub fn refuse_limits(&mut self, tier: &str, allowed: &str, remedy: &str) {
        for what in LIMITS {
            self.refuse_asked(&format!("deploy.{tier}_{what}"), allowed, remedy);
        }
    }

    /// Every key taken so far.
    #[must_use]
    pub fn known(&self) -> &BTreeMap<String, KnownKey> {
        &self.known
    }

    /// The position of each given key.
    pub fn places(&self) -> BTreeMap<String, String> {
        self.places.clone()
    }

    /// The plan with every default filled in, as TOML text that reads back to the same plan.
    pub fn resolved(&self) -> String {
        let mut text = String::new();
        let top = self.resolved.iter().filter(|(key, _)| !key.contains('.'));
        for (key, value) in top {
            writeln!(text, "{key} = {value}").expect("writing to memory cannot fail");
        }
        let mut section = "";
        for (key, value) in &self.resolved {
            let Some((table, name)) = key.split_once('.') else { continue };
            if table != section {
                writeln!(text, "\n[{table}]").expect("writing to memory cannot fail");
                section = table;
            }
            writeln!(text, "{name} = {value}").expect("writing to memory cannot fail");
        }
        text
    }

    /// All refusals, including unknown keys.
    pub fn finish(mut self) -> Vec<Refusal> {
        for (key, found) in std::mem::take(&mut self.found) {
            let below = format!("{key}.");
            if let Some(inner) = self.known.keys().find(|known| known.starts_with(&below)) {
                let value = found.value.to_string();
                let allowed = format!("a table, with keys as `{inner}`");
                let remedy = "set the keys in it".to_owned();
                self.refusals.push(Refusal { place: found.place, key, value, allowed, remedy });
                continue;
            }
            let near = self.known.keys().map(|k| (strsim::damerau_levenshtein(k, &key), k)).min();
            let remedy = match near {
                Some((distance, known)) if distance <= 4 => format!("did you mean `{known}`?"),
                _ => "remove the key; `barograph list keys` shows all of them".to_owned(),
            };
            self.refusals.push(Refusal {
                place: found.place,
                key,
                value: found.value.to_string(),
                allowed: "only known keys".into(),
                remedy,
            });
        }
        self.refusals
    }
}

/// What is allowed of a key that belongs to plans with `condition` only, and the remedy.
fn without(key: &str, condition: &str) -> (String, String) {
    (format!("only with {condition}"), format!("leave `{key}` out, or set {condition}"))
}

fn whole(range: &RangeInclusive<u64>) -> String {
    format!("a whole number from {} to {}", range.start(), range.end())
}

fn rates(range: &RangeInclusive<Level>) -> String {
    let (least, most) = (f64::from(*range.start()), f64::from(*range.end()));
    format!("a number from {least} to {most} with three decimals at most")
}

/// A whole level as a whole number.
pub(crate) fn level_value(level: Level) -> Value {
    if level.is_whole() { i64::from(level.whole()).into() } else { f64::from(level).into() }
}

fn as_level(found: &GivenValue, range: &RangeInclusive<Level>) -> Option<Level> {
    let number = found.value.as_float().or(found.value.as_integer().map(|n| n as f64))?;
    Level::new(number).filter(|level| range.contains(level))
}

fn as_number(found: &GivenValue, range: &RangeInclusive<u64>) -> Option<u64> {
    found.value.as_integer().and_then(|n| u64::try_from(n).ok()).filter(|n| range.contains(n))
}

fn as_fraction(found: &GivenValue, range: &RangeInclusive<f64>) -> Option<f64> {
    let number = found.value.as_float().or(found.value.as_integer().map(|n| n as f64));
    number.filter(|x| range.contains(x))
}

fn as_text(found: &GivenValue) -> Option<String> {
    found.value.as_str().map(str::to_owned)
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at.min(text.len())].matches('\n').count() + 1
}

/// A value without positions. Tables are taken key by key, so here they occur in refusals only.
fn plain(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(s) => Value::String(s.to_string()),
        DeValue::Integer(n) => {
            i64::from_str_radix(n.as_str(), n.radix()).map_or(Value::String(n.to_string()), Value::Integer)
        }
        DeValue::Float(x) => x.as_str().parse().map_or(Value::String(x.to_string()), Value::Float),
        DeValue::Boolean(b) => Value::Boolean(*b),
        DeValue::Datetime(d) => Value::Datetime(*d),
        DeValue::Array(items) => Value::Array(items.iter().map(|i| plain(i.get_ref())).collect()),
        DeValue::Table(inner) => {
            Value::Table(inner.iter().map(|(k, v)| (k.get_ref().to_string(), plain(v.get_ref()))).collect())
        }
    }
}
