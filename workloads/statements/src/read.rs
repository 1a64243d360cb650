//! Reads a file of statements, and refuses what is wrong with its place.

mod tables;
mod transactions;
mod values;

use barograph_spec::{Refusals, SettingsReader};

use crate::script::{Check, Script};
use transactions::Names;

/// Most tables of a list.
pub(crate) const MOST: usize = 100;

/// Reads a file. `name` is its path, for refusals.
pub(crate) fn read(name: &str, text: &str) -> Result<Script, Refusals> {
    let mut g = SettingsReader::parse(name, text, &[])?;
    let script = script(&mut g, name);
    let refusals = g.finish();
    match script {
        Some(script) if refusals.is_empty() => Ok(script),
        _ => Err(Refusals(refusals)),
    }
}

fn script(g: &mut SettingsReader, name: &str) -> Option<Script> {
    // Lists with names of one that was refused are left alone.
    let later = |g: &mut SettingsReader, lists: &[&str]| lists.iter().for_each(|list| g.leave(list));
    let Some(tables) = tables::read(g) else {
        later(g, &["values", "indices", "transactions", "checks"]);
        return None;
    };
    let table_names: Vec<&str> = tables.iter().map(|table| table.spec.name).collect();
    let Some(drawn) = values::read(g, &table_names) else {
        later(g, &["indices", "transactions", "checks"]);
        return None;
    };
    let mut names = Names::new(&drawn);
    let indices =
        listed(g, "indices", "a list of tables with `sql`", |g, key| g.listed_word(&key("sql"), &[]));
    let Some((transactions, statements)) = transactions::read(g, &mut names) else {
        later(g, &["checks"]);
        return None;
    };
    let checks = checks(g, &transactions);
    let stem =
        std::path::Path::new(name).file_stem().map_or("statements".into(), |stem| stem.to_string_lossy());
    let indices: Vec<&'static str> = indices?.iter().map(|sql| leak(sql)).collect();
    Some(Script {
        name: stem.into_owned(),
        tables,
        indices: Box::leak(indices.into_boxed_slice()),
        values: drawn.into_iter().map(|value| value.draw).collect(),
        slots: names.slots(),
        statements,
        transactions,
        checks: checks?,
    })
}

fn checks(g: &mut SettingsReader, transactions: &[crate::script::Transaction]) -> Option<Vec<Check>> {
    let names: Vec<&str> = transactions.iter().map(|transaction| transaction.spec.name).collect();
    let allowed = format!("one of {}", names.join(", "));
    listed(g, "checks", "a list of tables with `rule` and `sql`", |g, key| {
        let (rule, sql) = (g.listed_word(&key("rule"), &[]), g.listed_word(&key("sql"), &[]));
        let counted = match g.optional_word(&key("counts"), &allowed)? {
            None => None,
            Some(name) => Some(place(&names, &name).or_else(|| {
                g.refuse(&key("counts"), format!("{name:?}"), &allowed, "name a transaction of this file");
                None
            })?),
        };
        Some(Check { rule: rule?, sql: sql?, counted })
    })
}

/// Reads the tables of a list; none where it is missing. `read` gets a function that names the keys of its table.
fn listed<T>(
    g: &mut SettingsReader,
    list: &str,
    allowed: &str,
    mut read: impl FnMut(&mut SettingsReader, &dyn Fn(&str) -> String) -> Option<T>,
) -> Option<Vec<T>> {
    let count = g.tables(list, MOST, allowed)?;
    // All are read, so that everything that is wrong is refused at once.
    let all: Vec<Option<T>> =
        (0..count).map(|at| read(g, &|key: &str| format!("{list}[{at}].{key}"))).collect();
    all.into_iter().collect()
}

/// The place of a name in a list.
fn place(names: &[&str], name: &str) -> Option<usize> {
    names.iter().position(|one| *one == name)
}

/// A name that SQL takes without quotes, and that none of those before it is; anything else is refused.
fn identifier(g: &mut SettingsReader, key: &str, before: &[String]) -> Option<String> {
    let name = g.listed_word(key, &[])?;
    let is_plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if is_plain && name.starts_with(|c: char| c.is_ascii_lowercase()) && name.len() <= 59 {
        return unused(g, key, name, before);
    }
    let allowed = "a letter and up to 58 more letters, digits and _, all small";
    g.refuse(key, format!("{name:?}"), allowed, "give it such a name");
    None
}

/// A name that none of those before it is; another one is refused.
fn unused(g: &mut SettingsReader, key: &str, name: String, before: &[String]) -> Option<String> {
    if !before.contains(&name) {
        return Some(name);
    }
    g.refuse(key, format!("{name:?}"), "a name that is used once", "give it another name");
    None
}

/// A text that lives as long as the program. A file has a few.
fn leak(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}
