//! Names of values: their declarations, lifetimes and uses.

use std::collections::BTreeMap;

use crate::draw::{DrawId, DrawScope};
use crate::expression::Condition;
use crate::json::Pointer;
use crate::settings_reader::{KeyPosition, RawValue, ReadValue, SettingsReader};
use crate::template::{Builder, Escape, Escaping, Segment, Template};
use crate::value::{BuiltIn, Life, SlotIndex, Slots, Source};
use crate::{name, read::ScenarioReader};

/// Most names of values. A user has a slot for each, and there are many users.
const MOST_NAMES: usize = 4_096;

/// A name and its meaning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NameEntry {
    pub(crate) source: Source,
    /// The frequency of its draw.
    pub(crate) per: DrawScope,
    pub(crate) list: bool,
    pub(crate) draw: Option<DrawId>,
}

/// All names.
#[derive(Default)]
pub(crate) struct Names {
    named: BTreeMap<&'static str, NameEntry>,
    pub(crate) slots: Slots,
    /// Draws needed before each draw, in order, itself last.
    pub(crate) needs: Vec<Vec<DrawId>>,
}

/// Scope of a use: the required lifetime of values, and the draws made.
pub(crate) struct Scope {
    pub(crate) least: DrawScope,
    pub(crate) draws: Vec<DrawId>,
}

impl Scope {
    pub(crate) fn new(least: DrawScope) -> Self {
        Scope { least, draws: Vec::new() }
    }
}

/// The array for a value drawn that often.
pub(crate) fn life_of(per: DrawScope) -> Life {
    match per {
        DrawScope::Exchange | DrawScope::Operation => Life::Operation,
        DrawScope::Activity => Life::Activity,
        DrawScope::Session => Life::Session,
        DrawScope::User => Life::User,
    }
}

fn per_of(life: Life) -> DrawScope {
    match life {
        Life::Operation => DrawScope::Operation,
        Life::Activity => DrawScope::Activity,
        Life::Session => DrawScope::Session,
        Life::User => DrawScope::User,
    }
}

/// The names of the tables in the table `key` of the file.
pub(crate) fn keys_of(root: &RawValue, key: &str) -> Vec<String> {
    let mut names: Vec<String> = root
        .entry(key)
        .map(RawValue::entries)
        .unwrap_or_default()
        .iter()
        .map(|(name, _)| name.clone())
        .collect();
    // The main behaviour is number 0, at any place in the file.
    names.sort_by_key(|name| key == "behaviours" && name != "main");
    names
}

impl Names {
    /// Declares the built-in names, and those of extractions and repetitions: they may be used anywhere.
    pub(crate) fn found_in(&mut self, given: &SettingsReader, root: &RawValue) {
        for (name, built_in) in BuiltIn::NAMES {
            let per = match built_in {
                BuiltIn::User => DrawScope::User,
                BuiltIn::Status => DrawScope::Exchange,
                BuiltIn::Argument | BuiltIn::Outcome | BuiltIn::Activities => DrawScope::Activity,
            };
            self.named
                .insert(name, NameEntry { source: Source::BuiltIn(built_in), per, list: false, draw: None });
        }
        for (operation, node) in root.entry("operations").map(RawValue::entries).unwrap_or_default() {
            let Some(RawValue::List(exchanges)) = node.plain.entry("exchanges") else { continue };
            for (i, exchange) in exchanges.iter().enumerate() {
                let at = KeyPosition {
                    key: format!("operations.{operation}.exchanges[{i}]"),
                    line: exchange.line,
                };
                self.found_in_exchange(given, &at, &exchange.plain);
            }
        }
    }

    fn found_in_exchange(&mut self, given: &SettingsReader, at: &KeyPosition, exchange: &RawValue) {
        for (name, node) in exchange.entry("extract").map(RawValue::entries).unwrap_or_default() {
            let at = at.inner(format!("extract.{name}"), node.line);
            let life = extracted_life(&node.plain);
            let list = extracts_list(&node.plain);
            let seen = self.named.get(name.as_str());
            let Some(seen) = seen.filter(|s| s.draw.is_none() && matches!(s.source, Source::Slot(_))) else {
                self.declare_value(given, &at, name, (per_of(life), list));
                continue;
            };
            if (seen.per, seen.list) != (per_of(life), list) {
                let allowed = "the same `keep`, and one value or a list, wherever the name is extracted";
                given.refuse(&at, "", allowed, "make them alike, or use another name");
            }
        }
        let item = exchange.entry("for_each").and_then(|f| f.entry("as"));
        if let Some(RawValue::Text(item)) = item {
            let known = self
                .named
                .get(item.as_str())
                .is_some_and(|n| n.per == DrawScope::Exchange && n.draw.is_none());
            if !known {
                let at = at.inner("for_each.as", at.line);
                self.declare_value(given, &at, item, (DrawScope::Exchange, false));
            }
        }
    }

    fn declare_value(
        &mut self,
        given: &SettingsReader,
        at: &KeyPosition,
        name: &str,
        (per, list): (DrawScope, bool),
    ) {
        let source = Source::Slot(self.slots.add(life_of(per)));
        self.declare(given, at, name, NameEntry { source, per, list, draw: None });
    }

    /// Declares a name; refuses names that are taken or cannot be written in a text.
    pub(crate) fn declare(&mut self, given: &SettingsReader, at: &KeyPosition, name: &str, named: NameEntry) {
        if !is_name(name) {
            let allowed = "a name of letters, digits and `_` that begins with a lower-case letter; a column may have `-`";
            given.refuse(at, format!("\"{name}\""), allowed, "choose another name");
        } else if let Some((taken, _)) = self.named.get_key_value(name) {
            given.refuse(at, format!("\"{taken}\""), "a name that nothing else has", "choose another name");
        } else if self.named.len() >= MOST_NAMES {
            given.refuse(
                at,
                format!("\"{name}\""),
                &format!("at most {MOST_NAMES} names"),
                "use fewer names",
            );
        } else {
            self.named.insert(name::leak(name), named);
        }
    }

    /// The place of a name from an extraction or a repetition.
    pub(crate) fn place(&self, name: &str) -> Option<(&'static str, SlotIndex)> {
        let (name, named) = self.named.get_key_value(name)?;
        match named.source {
            Source::Slot(place) if named.draw.is_none() => Some((name, place)),
            _ => None,
        }
    }

    /// Every name with its source.
    pub(crate) fn sources(&self) -> BTreeMap<&'static str, Source> {
        self.named.iter().map(|(name, named)| (*name, named.source)).collect()
    }
}

/// Whether a name is valid: lower-case first, so that no value is taken for an operation, and not a word of
/// conditions.
fn is_name(name: &str) -> bool {
    const WORDS: [&str; 7] = ["and", "or", "not", "true", "false", "has", "len"];
    let (base, column) = name.split_once('.').map_or((name, None), |(base, column)| (base, Some(column)));
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let first = base.starts_with(|c: char| c.is_ascii_lowercase());
    first && base.chars().all(inside) && !WORDS.contains(&base) && column.is_none_or(is_column)
}

/// Whether a column of this name can be named in a text.
pub(crate) fn is_column(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}

/// Lifetime of an extracted value.
fn extracted_life(extract: &RawValue) -> Life {
    let word = if let Some(RawValue::Text(word)) = extract.entry("keep") { word.as_str() } else { "session" };
    Life::WORDS.iter().find(|w| w.0 == word).map_or(Life::Session, |w| w.1)
}

/// Whether an extraction gives a list.
pub(crate) fn extracts_list(extract: &RawValue) -> bool {
    match (extract.entry("json"), extract.entry("all")) {
        (Some(RawValue::Text(pointer)), _) => Pointer::parse(pointer).is_ok_and(|p| p.is_list()),
        (_, Some(RawValue::Flag(all))) => *all,
        _ => false,
    }
}

impl ScenarioReader<'_> {
    /// The source of a name within `scope`; refuses names that do not exist or do not live long enough.
    pub(crate) fn find(&self, at: &KeyPosition, name: &str, scope: &mut Scope) -> Option<NameEntry> {
        let Some(named) = self.names.named.get(name) else {
            let names = || self.names.named.keys().copied();
            let of_file =
                name.split_once('.').and_then(|(file, _)| self.data.iter().find(|d| d.name == file));
            match of_file {
                Some(data) => {
                    let columns: Vec<String> = data.columns.iter().map(|c| format!("`{c}`")).collect();
                    let allowed =
                        format!("a column of `{}`, whose head has {}", data.name, columns.join(", "));
                    let below =
                        |known: &&str| known.split_once('.').is_some_and(|(file, _)| file == data.name);
                    self.given.refuse_name(at, name, &allowed, names().filter(below));
                }
                None => self.given.refuse_name(at, name, "the name of a value", names()),
            }
            return None;
        };
        if named.per < scope.least {
            let word = |per: DrawScope| DrawScope::WORDS.iter().find(|w| w.1 == per).map_or("", |w| w.0);
            let allowed = format!(
                "a value that stays for the {}; this one stays for the {}",
                word(scope.least),
                word(named.per)
            );
            self.given.refuse(
                at,
                format!("\"{name}\""),
                &allowed,
                "let the value live longer (`per`, `keep`)",
            );
        }
        if let Some(draw) = named.draw {
            // While generators are still being read, the needs of a draw are not known and are added later.
            let needs = self.names.needs.get(usize::from(draw.0)).filter(|n| !n.is_empty());
            for draw in needs.map_or(&[draw][..], |n| n) {
                if !scope.draws.contains(draw) {
                    scope.draws.push(*draw);
                }
            }
        }
        Some(*named)
    }

    /// Adds the draws of a template that was read elsewhere.
    pub(crate) fn draws_of(&self, template: &Template, scope: &mut Scope) {
        for segment in template.segments() {
            let Segment::Value(source, _) = segment else { continue };
            let draw = self.names.named.values().find(|n| n.source == *source).and_then(|n| n.draw);
            for draw in draw.and_then(|d| self.names.needs.get(usize::from(d.0))).into_iter().flatten() {
                if !scope.draws.contains(draw) {
                    scope.draws.push(*draw);
                }
            }
        }
    }

    /// Appends a text with placeholders.
    pub(crate) fn append(
        &self,
        builder: &mut Builder,
        text: &ReadValue<String>,
        how: Escaping,
        scope: &mut Scope,
    ) {
        let mut find = |name: &str| {
            let named = self.find(&text.at, name, scope)?;
            if named.list {
                let remedy =
                    "pick an item (`kind = \"pick\"` under [values]) or repeat the exchange (`for_each`)";
                self.given.refuse(&text.at, format!("\"{name}\""), "one value, not a list", remedy);
            }
            Some(named.source)
        };
        if let Err(why) = builder.text(&text.value, how, &mut find) {
            self.given.refuse(&text.at, format!("\"{}\"", text.value), "a text with names in braces", &why);
        }
    }

    /// A text with placeholders, whose values are escaped in this way.
    pub(crate) fn template(&self, text: &ReadValue<String>, values: Escape, scope: &mut Scope) -> Template {
        let mut builder = Builder::default();
        self.append(&mut builder, text, Escaping::values(values), scope);
        builder.finish()
    }

    /// A condition, as true, false or an expression.
    pub(crate) fn condition(&self, got: &ReadValue<RawValue>, scope: &mut Scope) -> Option<Condition> {
        let text = match &got.value {
            RawValue::Flag(flag) => return Some(Condition::Always(*flag)),
            RawValue::Text(text) => text,
            other => {
                let found = crate::resolved::inline(other);
                self.given.refuse(
                    &got.at,
                    found,
                    "true, false, or a condition in quotes",
                    "write it as a text",
                );
                return None;
            }
        };
        let condition = Condition::parse(text, &mut |name| self.find(&got.at, name, scope).map(|n| n.source));
        match condition {
            Ok(condition) => Some(condition),
            Err(why) => {
                let allowed = "comparisons (== != < <= > >=) of names, numbers and texts, has(name), len(name), and, or, not";
                self.given.refuse(&got.at, format!("\"{text}\""), allowed, &why);
                None
            }
        }
    }
}
