//! What the user typed, key by key, with its place; and the typed taking of values that collects every refusal.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::RangeInclusive;

use toml::Value;
use toml::de::{DeTable, DeValue};

use crate::{Refusal, Refused};

struct Found {
    value: Value,
    place: String,
}

/// The keys of a plan as given, and what was made of them.
pub struct Given {
    name: String,
    found: BTreeMap<String, Found>,
    known: Vec<String>,
    resolved: BTreeMap<String, Value>,
    places: BTreeMap<String, String>,
    refusals: Vec<Refusal>,
}

impl Given {
    /// Reads the text and the overrides. Fails when one of them is not TOML.
    pub fn parse(name: &str, text: &str, sets: &[String]) -> Result<Self, Refused> {
        let mut given = Given {
            name: name.into(),
            found: BTreeMap::new(),
            known: Vec::new(),
            resolved: BTreeMap::new(),
            places: BTreeMap::new(),
            refusals: Vec::new(),
        };
        let table = DeTable::parse(text).map_err(|e| {
            let line = line_of(text, e.span().map_or(0, |s| s.start));
            Refused(vec![Refusal {
                place: format!("{name}:{line}"),
                key: String::new(),
                value: e.message().to_owned(),
                allowed: "a TOML document".into(),
                remedy: "correct the line; `barograph check` reads a plan without running it".into(),
            }])
        })?;
        given.flatten(text, "", table.get_ref());
        for set in sets {
            given.set(set)?;
        }
        Ok(given)
    }

    fn flatten(&mut self, text: &str, prefix: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let path = if prefix.is_empty() {
                key.get_ref().to_string()
            } else {
                format!("{prefix}.{}", key.get_ref())
            };
            if let DeValue::Table(inner) = value.get_ref() {
                self.flatten(text, &path, inner);
            } else {
                let place = format!("{}:{}", self.name, line_of(text, key.span().start));
                let value = plain(value.get_ref());
                self.found.insert(path, Found { value, place });
            }
        }
    }

    fn set(&mut self, set: &str) -> Result<(), Refused> {
        let Some((key, text)) = set.split_once('=') else {
            return Err(Refused(vec![Refusal {
                place: "--set".into(),
                key: set.into(),
                value: String::new(),
                allowed: "key=value, as in load.users=1000".into(),
                remedy: "write the key, an equals sign and the value without spaces".into(),
            }]));
        };
        let text = text.trim();
        // A bare word is a string, so that nobody has to fight the shell for quotes.
        let value = toml::from_str::<toml::Table>(&format!("v = {text}"))
            .ok()
            .and_then(|mut t| t.remove("v"))
            .unwrap_or_else(|| Value::String(text.into()));
        self.found.insert(key.trim().into(), Found { value, place: "--set".into() });
        Ok(())
    }

    fn take<T>(
        &mut self,
        key: &str,
        allowed: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<Option<T>> {
        self.known.push(key.into());
        let Some(found) = self.found.remove(key) else { return Some(None) };
        match read(&found.value) {
            Some(value) => {
                self.places.insert(key.into(), found.place);
                Some(Some(value))
            }
            None => {
                self.refusals.push(Refusal {
                    place: found.place,
                    key: key.into(),
                    value: found.value.to_string(),
                    allowed: allowed.into(),
                    remedy: format!("give `{key}` a value in that range, or leave it out for the default"),
                });
                None
            }
        }
    }

    fn keep(&mut self, key: &str, value: impl Into<Value>) {
        self.resolved.insert(key.into(), value.into());
    }

    /// A whole number.
    pub fn number(&mut self, key: &str, range: RangeInclusive<u64>, default: u64) -> Option<u64> {
        let allowed = format!("a whole number from {} to {}", range.start(), range.end());
        let read =
            |v: &Value| v.as_integer().and_then(|n| u64::try_from(n).ok()).filter(|n| range.contains(n));
        let value = self.take(key, &allowed, read)?.unwrap_or(default);
        self.keep(key, value as i64);
        Some(value)
    }

    /// A number with a fraction.
    pub fn fraction(&mut self, key: &str, range: RangeInclusive<f64>, default: f64) -> Option<f64> {
        let allowed = format!("a number from {} to {}", range.start(), range.end());
        let read =
            |v: &Value| v.as_float().or(v.as_integer().map(|n| n as f64)).filter(|x| range.contains(x));
        let value = self.take(key, &allowed, read)?.unwrap_or(default);
        self.keep(key, value);
        Some(value)
    }

    /// One word out of several; all are allowed when `words` is empty.
    pub fn word(&mut self, key: &str, words: &[&str], default: &str) -> Option<String> {
        let allowed =
            if words.is_empty() { "a text".to_owned() } else { format!("one of {}", words.join(", ")) };
        let read =
            |v: &Value| v.as_str().filter(|s| words.is_empty() || words.contains(s)).map(str::to_owned);
        let value = self.take(key, &allowed, read)?.unwrap_or_else(|| default.to_owned());
        self.keep(key, value.clone());
        Some(value)
    }

    /// Refuses a value that was taken already, because it does not go with another.
    pub fn refuse(&mut self, key: &str, value: impl std::fmt::Display, allowed: &str, remedy: &str) {
        self.refusals.push(Refusal {
            place: self.places.get(key).unwrap_or(&self.name).clone(),
            key: key.into(),
            value: value.to_string(),
            allowed: allowed.into(),
            remedy: remedy.into(),
        });
    }

    /// Where each key that was given stands.
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

    /// Every refusal, keys nobody asked for included.
    pub fn finish(mut self) -> Vec<Refusal> {
        for (key, found) in std::mem::take(&mut self.found) {
            let near = self.known.iter().map(|k| (strsim::damerau_levenshtein(k, &key), k)).min();
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

fn line_of(text: &str, at: usize) -> usize {
    text[..at.min(text.len())].matches('\n').count() + 1
}

/// A value without its places. Arrays and dates are not used by any key, so their text is enough for a refusal.
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
        DeValue::Table(_) => Value::String("(table)".into()),
    }
}
