//! The notation of statements, and its translation for the products.
//!
//! The statements of this crate are written once. They hold marks for values and, between braces, words for
//! the few differences between the products.
//!
//! | written | PostgreSQL | MariaDB, MySQL |
//! |---|---|---|
//! | `?` | `$1` | `?`, or the value |
//! | `id ?in` | `id = ANY($1)` | `id IN (1,2,3)` |
//! | `?rows` | `SELECT * FROM unnest($1::bigint[],$2::bigint[])` | `VALUES (1,2),(3,4)` |
//! | `{conflict id}` | `ON CONFLICT (id) DO UPDATE SET` | `ON DUPLICATE KEY UPDATE` |
//! | `{new x}` | `excluded.x` | `VALUES(x)` |
//! | `{now}`, `{int}`, `{name}`, `{long}`, `{table}` | see [`word`] | |

use std::fmt::Write as _;

use crate::value::Value;

/// The dialect of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    Postgres,
    MariaDb,
    MySql,
}

/// Representation of values in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaceholderStyle {
    /// `$1`, `$2`, ... with the values beside the statement.
    Numbered,
    /// `?` with the values beside the statement; lists are written out.
    Kept,
    /// Values are written out: numbers as they are, texts as hexadecimal digits, which cannot end a text.
    WrittenOut,
}

/// The statement in a server's dialect.
pub(crate) fn translate(sql: &str, values: &[Value], how: (Flavour, PlaceholderStyle)) -> String {
    let (flavour, marks) = how;
    let mut out = String::with_capacity(sql.len() + 64);
    let mut values = values.iter();
    let mut number = 0;
    let mut rest = sql;
    while let Some(at) = rest.find(['?', '{']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some((inside, after)) = rest.strip_prefix('{').and_then(|r| r.split_once('}')) {
            word(&mut out, flavour, inside);
            rest = after;
            continue;
        }
        let (mark, after) = mark(rest);
        let value = values.next().unwrap_or(&Value::Null);
        match marks {
            PlaceholderStyle::Numbered => numbered(&mut out, mark, value, &mut number),
            PlaceholderStyle::Kept if mark == PlaceholderKind::One => out.push('?'),
            PlaceholderStyle::Kept | PlaceholderStyle::WrittenOut => written(&mut out, mark, value),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PlaceholderKind {
    One,
    AnyOf,
    Rows,
}

fn mark(text: &str) -> (PlaceholderKind, &str) {
    if let Some(after) = text.strip_prefix("?in") {
        (PlaceholderKind::AnyOf, after)
    } else if let Some(after) = text.strip_prefix("?rows") {
        (PlaceholderKind::Rows, after)
    } else {
        (PlaceholderKind::One, text.get(1..).unwrap_or_default())
    }
}

fn numbered(out: &mut String, mark: PlaceholderKind, value: &Value, number: &mut usize) {
    // Writing to a `String` cannot fail.
    *number += 1;
    match (mark, value) {
        (PlaceholderKind::Rows, Value::Columns(columns)) => {
            out.push_str("SELECT * FROM unnest(");
            for at in 0..columns.len() {
                let comma = if at == 0 { "" } else { "," };
                let _ = write!(out, "{comma}${}::bigint[]", *number + at);
            }
            *number += columns.len().saturating_sub(1);
            out.push(')');
        }
        (PlaceholderKind::AnyOf, _) => {
            let _ = write!(out, "= ANY(${number})");
        }
        _ => {
            let _ = write!(out, "${number}");
        }
    }
}

fn written(out: &mut String, mark: PlaceholderKind, value: &Value) {
    match value {
        Value::Int(number) => {
            let _ = write!(out, "{number}");
        }
        Value::Null => out.push_str("NULL"),
        Value::Text(text) => literal(out, text),
        Value::Ints(numbers) => {
            if mark == PlaceholderKind::AnyOf {
                out.push_str("IN ");
            }
            tuple(out, numbers.iter().copied().map(Some));
        }
        Value::Columns(columns) => {
            out.push_str("VALUES ");
            for row in 0..columns.first().map_or(0, Vec::len) {
                if row > 0 {
                    out.push(',');
                }
                tuple(out, columns.iter().map(|column| column.get(row).copied().flatten()));
            }
        }
    }
}

fn tuple(out: &mut String, numbers: impl Iterator<Item = Option<i64>>) {
    let mut before = '(';
    for number in numbers {
        out.push(before);
        before = ',';
        match number {
            Some(number) => {
                let _ = write!(out, "{number}");
            }
            None => out.push_str("NULL"),
        }
    }
    // An empty list is not allowed, and null equals nothing.
    out.push_str(if before == '(' { "(NULL)" } else { ")" });
}

/// Appends a text for MariaDB and MySQL, independent of the settings for quotes.
pub(crate) fn literal(out: &mut String, text: &str) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.push_str("_utf8mb4 X'");
    for byte in text.bytes() {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    out.push('\'');
}

/// The words between braces.
fn word(out: &mut String, flavour: Flavour, inside: &str) {
    let postgres = flavour == Flavour::Postgres;
    let (name, argument) = inside.split_once(' ').unwrap_or((inside, ""));
    let text = match (name, postgres) {
        ("now", true) => "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
        ("now", false) => "CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED)",
        ("int", true) => "BIGINT",
        ("int", false) => "SIGNED",
        ("name", true) => "TEXT",
        // Long enough for every name, short enough for an index.
        ("name", false) => "VARCHAR(512)",
        ("long", true) => "TEXT",
        // Twice the application's limit. A longer type would make MariaDB put every page on disk first.
        ("long", false) => "VARCHAR(2048)",
        ("table", true) => "",
        ("table", false) if flavour == Flavour::MariaDb => {
            "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin"
        }
        ("table", false) => "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin",
        ("new", true) => return out.push_str(&format!("excluded.{argument}")),
        ("new", false) => return out.push_str(&format!("VALUES({argument})")),
        ("conflict", true) => return out.push_str(&format!("ON CONFLICT ({argument}) DO UPDATE SET")),
        ("conflict", false) => "ON DUPLICATE KEY UPDATE",
        (other, _) => other,
    };
    out.push_str(text);
}
