//! Reads `[values.NAME]`: generators, and the order of their draws.

use std::sync::Arc;

use crate::draw::{Draw, DrawId, DrawScope, DrawSource, Generator, TimeFormat};
use crate::read::ScenarioReader;
use crate::read::names::{NameEntry, Scope, life_of};
use crate::section::{Section, as_share};
use crate::settings_reader::{RawValue, ReadValue};
use crate::{Escape, Source, name};

/// Longest random text, and most texts to choose from: they are made or kept in memory for each worker.
const MOST_LENGTH: i64 = 65_536;

#[derive(Clone, Copy, PartialEq)]
enum ValueKind {
    Sequence,
    UserId,
    Uuid,
    RandomInt,
    RandomFloat,
    RandomChoice,
    RandomString,
    Zipf,
    Timestamp,
    Template,
    Pick,
    Script,
}

/// Keys of generated values, with their kinds.
const KINDS: [(&str, ValueKind); 12] = [
    ("sequence", ValueKind::Sequence),
    ("user_id", ValueKind::UserId),
    ("uuid", ValueKind::Uuid),
    ("random_int", ValueKind::RandomInt),
    ("random_float", ValueKind::RandomFloat),
    ("random_choice", ValueKind::RandomChoice),
    ("random_string", ValueKind::RandomString),
    ("zipf", ValueKind::Zipf),
    ("timestamp", ValueKind::Timestamp),
    ("template", ValueKind::Template),
    ("pick", ValueKind::Pick),
    ("script", ValueKind::Script),
];

/// Default characters of a random text.
const ALPHANUMERIC: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

impl ScenarioReader<'_> {
    pub(crate) fn values(&mut self, root: &mut Section<'_>) {
        let mut sections = root.named("values");
        let mut declared = Vec::new();
        // All are declared before any is read: they may name each other in any order.
        for (name, section) in &mut sections {
            let per = section.word("per", &DrawScope::WORDS, DrawScope::Operation);
            let place = self.names.slots.add(life_of(per));
            let draw = DrawId(u16::try_from(self.draws.len() + declared.len()).unwrap_or(u16::MAX));
            let named = NameEntry { source: Source::Slot(place), per, list: false, draw: Some(draw) };
            self.names.declare(self.given, &section.at, name, named);
            declared.push((per, place));
        }
        let first = self.draws.len();
        let mut direct = Vec::new();
        for ((name, mut section), (per, place)) in sections.into_iter().zip(declared) {
            let mut scope = Scope::new(per);
            let generator = self.generator(&mut section, &mut scope).unwrap_or(Generator::Uuid);
            direct.push((scope.draws, section.at.clone()));
            section.finish();
            self.draws.push(Draw {
                name: name::leak(&name),
                per,
                place,
                what: DrawSource::Generated(generator),
            });
        }
        self.names.needs.resize(self.draws.len(), Vec::new());
        for i in 0..direct.len() {
            let mut order = Vec::new();
            if !visit(first, i, &direct, (&mut order, &mut Vec::new())) {
                let remedy = "let one of them be made of something else";
                self.given.refuse(&direct[i].1, "", "a value that is not made of itself", remedy);
            }
            self.names.needs[first + i] = order;
        }
    }

    fn generator(&mut self, section: &mut Section<'_>, scope: &mut Scope) -> Option<Generator> {
        let kind = section.word_if("kind", &KINDS);
        let Some(kind) = self.required(section, "kind", kind) else {
            // Without its kind the other keys cannot be checked.
            section.rest();
            return None;
        };
        Some(match kind {
            ValueKind::Sequence => Generator::Sequence {
                start: section.integer_or("start", i64::MIN..=i64::MAX, 1),
                step: section.integer_or("step", i64::MIN..=i64::MAX, 1),
            },
            ValueKind::UserId => Generator::UserId { first: section.integer_or("first", 0..=1 << 62, 0) },
            ValueKind::Uuid => Generator::Uuid,
            ValueKind::RandomInt => self.random_int(section)?,
            ValueKind::RandomFloat => self.random_float(section)?,
            ValueKind::RandomChoice => self.random_choice(section)?,
            ValueKind::RandomString => {
                let length = section.integer_or("length", 1..=MOST_LENGTH, 16) as u32;
                let alphabet: Arc<[char]> = section.text_or("alphabet", ALPHANUMERIC).chars().collect();
                if alphabet.is_empty() {
                    let at = section.at_key("alphabet");
                    self.given.refuse(
                        &at,
                        "\"\"",
                        "at least one character",
                        "remove `alphabet` for letters and digits",
                    );
                }
                Generator::RandomString { length, alphabet }
            }
            ValueKind::Zipf => {
                let keys = section.integer("keys", 1..=1 << 40);
                let exponent = section.number_or("exponent", 0.0..=10.0, 0.99);
                let first = section.integer_or("first", 0..=1 << 40, 0);
                Generator::Zipf { keys: self.required(section, "keys", keys)?.value as u64, exponent, first }
            }
            ValueKind::Timestamp => {
                Generator::Timestamp(section.word("format", &TimeFormat::WORDS, TimeFormat::UnixMillis))
            }
            ValueKind::Template => {
                let text = section.text("text");
                let text = self.required(section, "text", text)?;
                Generator::Template(self.template(&text, Escape::Raw, scope))
            }
            ValueKind::Pick => {
                let from = section.text("from");
                let from = self.required(section, "from", from)?;
                let named = self.find(&from.at, &from.value, scope)?;
                if !named.list {
                    let remedy = "extract with a `*` in `json`, or with `all = true`";
                    self.given.refuse(&from.at, format!("\"{}\"", from.value), "the name of a list", remedy);
                }
                Generator::Item(named.source)
            }
            ValueKind::Script => Generator::Script(self.call(section)?),
        })
    }

    fn random_int(&self, section: &mut Section<'_>) -> Option<Generator> {
        let min = section.integer_or("min", i64::MIN..=i64::MAX, 0);
        let max = section.integer("max", i64::MIN..=i64::MAX);
        let max = self.required(section, "max", max)?;
        if max.value < min {
            self.given.refuse(
                &max.at,
                max.value,
                &format!("at least min = {min}"),
                "raise `max`, or lower `min`",
            );
        }
        Some(Generator::RandomInt { min, max: max.value })
    }

    fn random_float(&self, section: &mut Section<'_>) -> Option<Generator> {
        const LARGEST: f64 = 1e15;
        let min = section.number_or("min", -LARGEST..=LARGEST, 0.0);
        let max = section.number_or("max", -LARGEST..=LARGEST, 1.0);
        let decimals = section.integer_or("decimals", 0..=9, 2) as u32;
        if max < min {
            let at = section.at_key("max");
            self.given.refuse(&at, max, &format!("at least min = {min}"), "raise `max`, or lower `min`");
        }
        Some(Generator::RandomFloat { min, max, decimals })
    }

    fn random_choice(&self, section: &mut Section<'_>) -> Option<Generator> {
        let of = section.any("of");
        let of = self.required(section, "of", of)?;
        let shares = choice(&of).filter(|c| !c.is_empty() && c.len() as i64 <= MOST_LENGTH);
        let Some(shares) = shares else {
            let allowed =
                "a list of texts, or texts with shares that sum to 1, as in { red = 0.2, blue = 0.8 }";
            self.given.refuse(&of.at, crate::resolved::inline(&of.value), allowed, "write it so");
            return None;
        };
        let mut sum = 0.0;
        let mut up_to: Vec<f64> = Vec::with_capacity(shares.len());
        for (_, share) in &shares {
            sum += share;
            up_to.push(sum);
        }
        if (sum - 1.0).abs() > 1e-6 {
            self.given.refuse(
                &of.at,
                format!("a sum of {sum}"),
                "shares that sum to 1",
                "correct the shares",
            );
        }
        // A draw just below 1 must not fall behind the last text.
        *up_to.last_mut()? = 1.0;
        Some(Generator::RandomChoice { of: shares.into_iter().map(|s| s.0).collect(), up_to: up_to.into() })
    }
}

fn choice(of: &ReadValue<RawValue>) -> Option<Vec<(Box<str>, f64)>> {
    match &of.value {
        RawValue::List(items) => {
            let each = 1.0 / items.len() as f64;
            let text = |n: &crate::settings_reader::Node| match &n.plain {
                RawValue::Text(text) => Some((text.as_str().into(), each)),
                _ => None,
            };
            items.iter().map(text).collect()
        }
        RawValue::Table(entries) => {
            entries.iter().map(|(text, n)| Some((text.as_str().into(), as_share(&n.plain)?.get()))).collect()
        }
        _ => None,
    }
}

/// Appends the values needed by value `i`, itself last; false if it needs itself.
fn visit(
    first: usize,
    i: usize,
    direct: &[(Vec<DrawId>, crate::settings_reader::KeyPosition)],
    (order, on_the_way): (&mut Vec<DrawId>, &mut Vec<usize>),
) -> bool {
    if on_the_way.contains(&i) {
        return false;
    }
    on_the_way.push(i);
    for draw in &direct[i].0 {
        let sound = match usize::from(draw.0).checked_sub(first) {
            Some(inner) if !order.contains(draw) => {
                visit(first, inner, direct, (&mut *order, &mut *on_the_way))
            }
            _ => true,
        };
        if !sound {
            return false;
        }
        if !order.contains(draw) {
            order.push(*draw);
        }
    }
    on_the_way.pop();
    let itself = DrawId((first + i) as u16);
    if !order.contains(&itself) {
        order.push(itself);
    }
    true
}
