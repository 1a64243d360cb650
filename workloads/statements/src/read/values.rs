//! Values: their draws, in columns of tables and for statements.

use barograph_data::Popularity;
use barograph_spec::SettingsReader;

use super::{identifier, listed, place};
use crate::script::{DrawSpec, Range};

/// Largest number of a draw, to either side.
const MOST: f64 = 9e15;

/// A value that statements use.
#[derive(Debug)]
pub(super) struct NamedValue {
    pub(super) name: String,
    pub(super) draw: DrawSpec,
    /// It is drawn for each statement, and not once for a transaction.
    pub(super) is_anew: bool,
}

/// Reads the values for statements. `tables` are the names of tables.
pub(super) fn read(g: &mut SettingsReader, tables: &[&str]) -> Option<Vec<NamedValue>> {
    let mut names: Vec<String> = Vec::new();
    listed(g, "values", "a list of tables with `name` and a draw", |g, key| {
        let name = identifier(g, &key("name"), &names);
        names.extend(name.clone());
        let each = g.choice(&key("each"), &["transaction", "statement"], "transaction");
        let draw = draw(g, key, tables);
        Some(NamedValue { name: name?, is_anew: each? == "statement", draw: draw? })
    })
}

/// Reads a draw: one of a row, a range, a table, a text, a pattern. Without any it is the number 0.
pub(super) fn draw(
    g: &mut SettingsReader,
    key: &dyn Fn(&str) -> String,
    tables: &[&str],
) -> Option<DrawSpec> {
    let row = g.listed_number(&key("row"), 0..=u64::from(u32::MAX));
    let from = g.optional_word(&key("from"), "a table of this file");
    let [text, like] = ["text", "like"].map(|name| g.word(&key(name), &[], ""));
    let least = g.listed_fraction(&key("least"), -MOST..=MOST);
    let most = g.listed_fraction(&key("most"), -MOST..=MOST);
    let popularity = popularity(g, key);
    let (row, from, text, like, least, most) = (row?, from?, text?, like?, least?, most?);
    let is_range = least != 0.0 || most != 0.0;
    let given = [
        ("row", row > 0),
        ("from", from.is_some()),
        ("text", !text.is_empty()),
        ("like", !like.is_empty()),
        ("most", is_range),
    ];
    let given: Vec<&str> =
        given.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect();
    if let [first, _, ..] = given[..] {
        let allowed = "one of `row`, `from`, `text`, `like`, and `least` with `most`";
        g.refuse(&key(first), given.join(" and "), allowed, "leave the others out");
        return None;
    }
    if row > 0 {
        return Some(DrawSpec::Row(row));
    }
    if !text.is_empty() {
        return Some(DrawSpec::Text(text));
    }
    if !like.is_empty() {
        return Some(DrawSpec::Like(like));
    }
    let (least, range) = match from {
        Some(table) => match place(tables, &table) {
            Some(at) => (1, Range::Table(at)),
            None => {
                let allowed = format!("one of {}", tables.join(", "));
                g.refuse(&key("from"), format!("{table:?}"), &allowed, "name a table of this file");
                return None;
            }
        },
        None if least > most || least.fract() != 0.0 || most.fract() != 0.0 => {
            let allowed = "whole numbers, with `least` at most `most`";
            g.refuse(&key("most"), format!("{least} to {most}"), allowed, "correct them");
            return None;
        }
        None => (least as i64, Range::Fixed((most - least) as u64 + 1)),
    };
    Some(DrawSpec::Number { least, range, popularity: popularity? })
}

/// The popularity of numbers.
fn popularity(g: &mut SettingsReader, key: &dyn Fn(&str) -> String) -> Option<Popularity> {
    let kind = g.choice(&key("popularity"), &["uniform", "zipf", "hot"], "uniform")?;
    for (name, of) in [("exponent", "zipf"), ("hot_percent", "hot"), ("hot_draws_percent", "hot")] {
        g.only_with(&key(name), kind == of, &format!("popularity = {of:?}"));
    }
    let exponent = g.fraction(&key("exponent"), 0.0..=10.0, 0.99)?;
    let numbers = g.fraction(&key("hot_percent"), 0.0..=100.0, 1.0)?;
    let draws = g.fraction(&key("hot_draws_percent"), 0.0..=100.0, 75.0)?;
    Some(match kind {
        "zipf" => Popularity::Zipf { exponent },
        "hot" => Popularity::Hot { numbers: numbers / 100.0, draws: draws / 100.0 },
        _ => Popularity::Uniform,
    })
}
