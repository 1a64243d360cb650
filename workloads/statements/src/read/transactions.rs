//! Transactions and their statements.

use std::ops::RangeInclusive;

use barograph_database::Access;
use barograph_database_engines::Rules;
use barograph_model::words::counted;
use barograph_model::{Nanos, OpSpec, Share};
use barograph_spec::SettingsReader;

use super::values::NamedValue;
use super::{leak, listed, unused};
use crate::parameters::{self, Places, placed};
use crate::script::{MOST_PARAMETERS, Statement, Transaction};

/// Longest name of a transaction: a column of a table.
const LONGEST_NAME: usize = 24;

/// The names of values, by their slots.
#[derive(Debug)]
pub(super) struct Names {
    names: Vec<String>,
    /// Whether each is drawn for each statement. Those after them are kept of rows.
    anew: Vec<bool>,
}

impl Names {
    pub(super) fn new(values: &[NamedValue]) -> Self {
        Names {
            names: values.iter().map(|value| value.name.clone()).collect(),
            anew: values.iter().map(|value| value.is_anew).collect(),
        }
    }

    /// The number of slots.
    pub(super) fn slots(&self) -> usize {
        self.names.len()
    }

    fn slot(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|one| one == name)
    }

    /// The slot of a value that is kept of a row; `None` for the name of a drawn value.
    fn kept(&mut self, name: &str) -> Option<usize> {
        let slot = self.slot(name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        Some(slot).filter(|slot| *slot >= self.anew.len())
    }
}

/// Reads the transactions, and the statements of all of them.
pub(super) fn read(g: &mut SettingsReader, names: &mut Names) -> Option<(Vec<Transaction>, Vec<Statement>)> {
    let mut statements: Vec<Statement> = Vec::new();
    let mut before: Vec<String> = Vec::new();
    let transactions =
        listed(g, "transactions", "a list of tables with `name` and `statements`", |g, key| {
            let name = name(g, &key("name"), &before);
            before.extend(name.clone());
            let about = g.optional_word(&key("about"), "a sentence");
            let weight = g.fraction(&key("weight"), 0.001..=1e6, 1.0);
            let access = g.choice(&key("access"), &["write", "read"], "write");
            let begin = g.flag(&key("begin"), true);
            let rules = rules(g, key);
            let first = statements.len();
            let list = key("statements");
            let own = listed(g, &list, "a list of tables with `sql`", |g, key| {
                let number = statements.len();
                let statement = statement(g, key, (number, names))?;
                statements.push(statement);
                Some(())
            })?;
            let (has_begin, last) = (begin?, statements.len());
            let is_one = own.len() == 1 && statements.get(first).is_some_and(|one| one.times == 1);
            if own.is_empty() || !(has_begin || is_one) {
                let allowed = "a statement at least; without `begin` exactly one, executed once";
                g.refuse(
                    &list,
                    counted(own.len() as u64, "statement"),
                    allowed,
                    "add a statement, or leave `begin` out",
                );
                return None;
            }
            let mut drawn: Vec<usize> = statements[first..last]
                .iter()
                .flat_map(|statement| [&statement.sqlite, &statement.postgres, &statement.mariadb])
                .flat_map(|text| &text.slots)
                .copied()
                .filter(|slot| names.anew.get(*slot) == Some(&false))
                .collect();
            drawn.sort_unstable();
            drawn.dedup();
            let about = about?.unwrap_or_else(|| "statements of the file".to_owned());
            Some(Transaction {
                spec: OpSpec { name: leak(&name?), about: leak(&about) },
                weight: weight?,
                access: if access? == "read" { Access::Read } else { Access::Write },
                has_begin,
                statements: first..last,
                drawn,
                rules: rules?,
            })
        })?;
    if transactions.is_empty() {
        g.refuse(
            "transactions",
            "nothing",
            "a list of tables with `name` and `statements`",
            "add a transaction",
        );
        return None;
    }
    Some((transactions, statements))
}

fn name(g: &mut SettingsReader, key: &str, before: &[String]) -> Option<String> {
    let name = g.listed_word(key, &[])?;
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric());
    if is_plain && name.starts_with(|c: char| c.is_ascii_uppercase()) && name.len() <= LONGEST_NAME {
        return unused(g, key, name, before);
    }
    let allowed =
        format!("a capital and up to {} more letters and digits, as in TransferMoney", LONGEST_NAME - 1);
    g.refuse(key, format!("{name:?}"), &allowed, "give it such a name");
    None
}

/// The form of a number of rows.
const NUMBER_OF_ROWS: &str = "a whole number in quotes or a range of them, as in \"1\" or \"0-1\"";

/// Reads a number of rows.
fn number_of_rows(text: &str) -> Option<RangeInclusive<u64>> {
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    let (least, most) = (least.parse().ok()?, most.parse().ok()?);
    (least <= most).then_some(least..=most)
}

/// The rules of a transaction.
fn rules(g: &mut SettingsReader, key: &dyn Fn(&str) -> String) -> Option<Rules> {
    let limit_ms = g.fraction(&key("limit_ms"), 0.0..=3_600_000.0, 0.0);
    let quantile = g.fraction(&key("quantile"), 0.5..=0.999_999, 0.99);
    let failures = g.fraction(&key("failures"), 0.0..=1.0, 0.0);
    Some(Rules {
        quantile: Share::new(quantile?).ok()?,
        limit: Some(Nanos::from_secs_f64(limit_ms? / 1e3)).filter(|limit| *limit > Nanos::ZERO),
        failures: Share::new(failures?).ok()?,
    })
}

fn statement(
    g: &mut SettingsReader,
    key: &dyn Fn(&str) -> String,
    (number, names): (usize, &mut Names),
) -> Option<Statement> {
    let sql = g.listed_word(&key("sql"), &[]);
    let own = ["sqlite", "postgres", "mariadb"].map(|engine| g.optional_word(&key(engine), "a statement"));
    let times = g.number(&key("times"), 1..=10_000, 1);
    let rows = g.optional_word(&key("rows"), NUMBER_OF_ROWS);
    let keep = g.optional_word(&key("keep"), "names, separated by commas");
    let (sql, [sqlite, postgres, mariadb]) = (sql?, own);
    let texts = [("sqlite", sqlite?), ("postgres", postgres?), ("mariadb", mariadb?)]
        .map(|(engine, own)| own.map_or_else(|| ("sql", sql.clone()), |own| (engine, own)));
    for (of, sql) in &texts {
        if let Some(name) = parameters::names(sql).find(|name| names.slot(name).is_none()) {
            let allowed = "names of [[values]], and of `keep` of an earlier statement";
            g.refuse(&key(of), format!(":{name}"), allowed, "add the value, or correct the name");
            return None;
        }
    }
    let slot = |name: &str| names.slot(name);
    let [sqlite, postgres, mariadb] = [
        placed(&texts[0].1, Places::Marks, slot),
        placed(&texts[1].1, Places::Numbered, slot),
        placed(&texts[2].1, Places::Marks, slot),
    ];
    for ((of, _), text) in texts.iter().zip([&sqlite, &postgres, &mariadb]) {
        if text.slots.len() > MOST_PARAMETERS {
            let (value, allowed) = (
                counted(text.slots.len() as u64, "parameter"),
                format!("at most {MOST_PARAMETERS} parameters"),
            );
            g.refuse(&key(of), value, &allowed, "make two statements of it");
            return None;
        }
    }
    let rows = match rows?.map(|rows| number_of_rows(&rows).ok_or(rows)).transpose() {
        Ok(rows) => rows,
        Err(rows) => {
            g.refuse(&key("rows"), format!("{rows:?}"), NUMBER_OF_ROWS, "correct it");
            return None;
        }
    };
    let used = [&sqlite, &postgres, &mariadb];
    let mut anew: Vec<usize> = used.iter().flat_map(|text| text.slots.iter().copied()).collect();
    anew.retain(|slot| names.anew.get(*slot) == Some(&true));
    anew.sort_unstable();
    anew.dedup();
    let keep = keep?.unwrap_or_default();
    let mut kept = Vec::new();
    for name in keep.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let Some(slot) = names.kept(name).filter(|slot| !kept.contains(slot)) else {
            let allowed = "names that no value of [[values]] has, each once";
            g.refuse(&key("keep"), format!("{name:?}"), allowed, "give it another name");
            return None;
        };
        kept.push(slot);
    }
    Some(Statement { number, sqlite, postgres, mariadb, anew, kept, rows, times: times? as u32 })
}
