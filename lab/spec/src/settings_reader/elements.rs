//! Elements of a list, whose keys form plans of their own.

use std::collections::{BTreeMap, BTreeSet};

use toml::Value;

use super::{GivenValue, SettingsReader};
use crate::Refusal;

impl SettingsReader {
    /// A text that was given.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.found.get(key)?.value.as_str()
    }

    /// Position of a key that was given.
    pub(crate) fn place_of(&self, key: &str) -> String {
        self.found.get(key).map_or_else(|| self.name.clone(), |found| found.place.clone())
    }

    /// Position of a key; of its table or list, or of the element of a list, if it is missing there.
    pub(super) fn place_near(&self, key: &str) -> String {
        let list = key.split('[').next().unwrap_or(key);
        let table = || self.headers.get(key.rsplit_once('.')?.0);
        let found = self.places.get(key).or_else(|| self.headers.get(key)).or_else(table);
        let found = found.or_else(|| self.places.get(list)).or_else(|| self.headers.get(""));
        found.unwrap_or(&self.name).clone()
    }

    /// The position of each given key and table.
    pub(crate) fn places_of_all(&self) -> BTreeMap<String, String> {
        self.headers.iter().chain(&self.places).map(|(key, place)| (key.clone(), place.clone())).collect()
    }

    /// Refusals of keys that begin like an element of a list and belong to none.
    pub(crate) fn strays(&self, list: &str) -> Vec<Refusal> {
        let count = self.count_of(list);
        let is_stray = |key: &str| {
            let Some(rest) = key.strip_prefix(list).and_then(|rest| rest.strip_prefix('[')) else {
                return false;
            };
            let at = rest.split_once("].").and_then(|(at, _)| at.parse::<usize>().ok());
            at.is_none_or(|at| at >= count)
        };
        let strays = self.found.iter().filter(|(key, _)| is_stray(key));
        let refusal = |(key, found): (&String, &GivenValue)| Refusal {
            place: found.place.clone(),
            key: key.clone(),
            value: found.value.to_string(),
            allowed: format!("keys of the {count} tables of [[{list}]]: {list}[0].KEY and so on"),
            remedy: "count tables from 0, and name a key of one".to_owned(),
        };
        strays.map(refusal).collect()
    }

    /// Refusals of keys that stand in the list of which this is an element, and belong outside.
    pub(crate) fn misplaced(
        &self,
        outside: impl Fn(&str) -> bool,
        (prefix, of): (&str, &SettingsReader),
    ) -> Vec<Refusal> {
        let misplaced = |(key, found): (&String, &GivenValue)| {
            let is_own = of.found.contains_key(&format!("{prefix}.{key}"));
            (outside(key) && is_own).then(|| Refusal {
                place: found.place.clone(),
                key: format!("{prefix}.{key}"),
                value: found.value.to_string(),
                allowed: "outside of [[loads]]: it is that of all loads".to_owned(),
                remedy: format!("move `{key}` above the list"),
            })
        };
        self.found.iter().filter_map(misplaced).collect()
    }

    /// Refuses a key that was given and not taken yet.
    pub(crate) fn refuse_given(&mut self, key: &str, allowed: &str, remedy: &str) {
        if let Some(found) = self.found.remove(key) {
            self.refusals.push(Refusal {
                place: found.place,
                key: key.to_owned(),
                value: found.value.to_string(),
                allowed: allowed.to_owned(),
                remedy: remedy.to_owned(),
            });
        }
    }

    /// The refusal of a key outside of a list, since each element that knows it has its own.
    pub(crate) fn overridden(&self, key: &str, list: &str) -> Option<Refusal> {
        let found = self.found.get(key)?;
        Some(Refusal {
            place: found.place.clone(),
            key: key.to_owned(),
            value: found.value.to_string(),
            allowed: format!("left out, because each load that knows it has its own in [[{list}]]"),
            remedy: format!("set `{list}[0].{key}` of the first load, `{list}[1].{key}` of the second"),
        })
    }

    /// Keys that do not belong to a plan like this one.
    pub(crate) fn foreign_keys(&self) -> &BTreeSet<String> {
        &self.foreign
    }

    /// Number of tables of a list; 0 if it is none.
    pub(crate) fn count_of(&self, list: &str) -> usize {
        self.found.get(list).and_then(|found| found.tables).unwrap_or(0)
    }

    /// Adds a list of one table.
    pub(crate) fn add_list(&mut self, list: &str) {
        let value = GivenValue { value: Value::Array(Vec::new()), tables: Some(1), place: self.name.clone() };
        self.found.insert(list.to_owned(), value);
    }

    /// Repeats the tables of a list until it has them `times` times. Keys that were given for a later table
    /// stay.
    pub(crate) fn copy_tables(&mut self, list: &str, times: usize) {
        let count = self.count_of(list);
        for at in 0..count {
            let keys = self.given_below(&format!("{list}[{at}]"));
            for (copy, (key, found)) in (1..times).flat_map(|copy| keys.iter().map(move |key| (copy, key))) {
                let copied = format!("{list}[{}].{key}", at + copy * count);
                self.found.entry(copied).or_insert_with(|| found.clone());
            }
            let place = self.headers.get(&format!("{list}[{at}]")).cloned();
            for copy in 1..times {
                let copied = format!("{list}[{}]", at + copy * count);
                self.headers.extend(place.clone().map(|place| (copied, place)));
            }
        }
        if let Some(found) = self.found.get_mut(list) {
            found.tables = Some(count * times);
        }
    }

    /// Adds a copy of a table to its list, and returns the name of the copy.
    pub(crate) fn copy_table(&mut self, list: &str, at: usize) -> String {
        let count = self.count_of(list);
        let copy = format!("{list}[{count}]");
        for (key, found) in self.given_below(&format!("{list}[{at}]")) {
            self.found.insert(format!("{copy}.{key}"), found);
        }
        if let Some(place) = self.headers.get(&format!("{list}[{at}]")).cloned() {
            self.headers.insert(copy.clone(), place);
        }
        if let Some(found) = self.found.get_mut(list) {
            found.tables = Some(count + 1);
        }
        copy
    }

    /// The keys below a table, without its name, with their values.
    fn given_below(&self, table: &str) -> Vec<(String, GivenValue)> {
        let begin = format!("{table}.");
        let below = self.found.iter();
        below.filter_map(|(key, found)| Some((key.strip_prefix(&begin)?.to_owned(), found.clone()))).collect()
    }

    /// Names of the tables below a table, of those without a key, too.
    pub(crate) fn tables_below(&self, table: &str) -> BTreeSet<String> {
        let begin = format!("{table}.");
        let below = self.found.keys().chain(self.headers.keys()).filter_map(|key| key.strip_prefix(&begin));
        below.map(|key| key.split('.').next().unwrap_or_default().to_owned()).collect()
    }

    /// Whether a table was given, with keys or without.
    pub(crate) fn has_table(&self, table: &str) -> bool {
        self.headers.contains_key(table)
    }

    /// Name of the text.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The refusals so far.
    pub(crate) fn finish_taken(self) -> Vec<Refusal> {
        self.refusals
    }

    /// Whether there is a list of this name, or another value under it.
    pub(crate) fn has_list(&self, key: &str) -> bool {
        self.found.contains_key(key)
    }

    /// The keys of an element of a list as a plan of its own: those outside that `shared` selects, and the
    /// element's own over them.
    pub(crate) fn element(&self, prefix: &str, shared: impl Fn(&str) -> bool) -> SettingsReader {
        let list = prefix.split('[').next().unwrap_or(prefix);
        let own = format!("{prefix}.");
        let in_list =
            |key: &str| key == list || key.strip_prefix(list).is_some_and(|rest| rest.starts_with('['));
        let outside = self.found.iter().filter(|(key, _)| !in_list(key) && shared(key));
        let mut found: BTreeMap<String, GivenValue> =
            outside.map(|(key, found)| (key.clone(), found.clone())).collect();
        let inside = self.found.iter().filter_map(|(key, found)| Some((key.strip_prefix(&own)?, found)));
        found.extend(inside.map(|(key, found)| (key.to_owned(), found.clone())));
        let mut headers = self.headers.clone();
        let inside = self.headers.iter().filter_map(|(key, place)| Some((key.strip_prefix(&own)?, place)));
        headers.extend(inside.map(|(key, place)| (key.to_owned(), place.clone())));
        headers.extend(self.headers.get(prefix).map(|place| (String::new(), place.clone())));
        SettingsReader { found, headers, ..SettingsReader::empty(&self.name) }
    }

    /// Only the wanted keys.
    pub(crate) fn only(&self, wanted: impl Fn(&str) -> bool) -> SettingsReader {
        let found = self.found.iter().filter(|(key, _)| wanted(key));
        let found = found.map(|(key, found)| (key.clone(), found.clone())).collect();
        SettingsReader { found, ..SettingsReader::empty(&self.name) }
    }

    /// The resolved values, by key.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.resolved.iter().map(|(key, value)| (key.as_str(), value))
    }
}
