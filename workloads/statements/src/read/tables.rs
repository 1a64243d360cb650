//! Tables and their columns.

use barograph_database::TableSpec;
use barograph_spec::SettingsReader;

use super::{identifier, leak, listed, values};
use crate::script::{DrawSpec, ScriptTable};

/// Most rows for a unit of the scale.
const MOST_ROWS: u64 = 1_000_000_000;

/// Types of columns, with their letters in a [`TableSpec`].
const TYPES: [(&str, &str); 5] =
    [("integer", "i"), ("bigint", "b"), ("numbered", "n"), ("text", "t"), ("long text", "l")];

/// Reads the tables.
pub(super) fn read(g: &mut SettingsReader) -> Option<Vec<ScriptTable>> {
    // Draws of columns name tables before them.
    let mut before: Vec<String> = Vec::new();
    listed(g, "tables", "a list of tables with `name`, `rows` and `columns`", |g, key| {
        let name = identifier(g, &key("name"), &before);
        let rows = g.listed_number(&key("rows"), 0..=MOST_ROWS);
        let keys = g.listed_number(&key("key"), 0..=100);
        let known: Vec<&str> = before.iter().map(String::as_str).collect();
        let mut names: Vec<String> = Vec::new();
        let columns = listed(g, &key("columns"), "a list of tables with `name` and `type`", |g, key| {
            let name = identifier(g, &key("name"), &names);
            names.extend(name.clone());
            let kind = g.listed_word(&key("type"), &TYPES.map(|(name, _)| name));
            let draw = values::draw(g, key, &known);
            let letter = TYPES.iter().find(|(name, _)| Some(*name) == kind.as_deref())?.1;
            let draw = match draw? {
                draw if draw == DrawSpec::ZERO && matches!(letter, "t" | "l") => {
                    DrawSpec::Text(String::new())
                }
                draw => draw,
            };
            Some((format!("{} {letter}", name?), draw))
        })?;
        let (name, keys) = (name?, keys? as usize);
        if columns.is_empty() || keys > columns.len() {
            let allowed =
                "a table has columns, and its `key` is the number of leading columns that are its key";
            g.refuse(&key("key"), keys, allowed, "add columns, or lower the key");
            return None;
        }
        before.push(name.clone());
        let (columns, draws): (Vec<String>, Vec<_>) = columns.into_iter().unzip();
        let spec =
            TableSpec { name: leak(&name), columns: leak(&columns.join(", ")), key: keys, nullable: &[] };
        Some(ScriptTable { spec, rows: rows?, columns: draws })
    })
}
