//! The plan, the disclosure, and entries of unknown kinds: a row per value, named by its path.

use barograph_record::{Decisions, Entry, Run};
use serde_json::Value;

use super::{Columns, TableSet};
use crate::ExportError;

/// A path such as `load.users`, and the value as text.
type Row = (String, String);

pub(super) fn write(book: &mut TableSet<'_>, run: &Run) -> Result<(), ExportError> {
    let columns = Columns::<Row>::new().text("key", |r| (&r.0).into()).text("value", |r| (&r.1).into());
    // Without a readable plan the rest is still exported.
    let plan = run.plan.as_deref().and_then(|plan| toml::from_str::<Value>(plan).ok());
    book.table("plan", &columns, plan.as_ref().map_or_else(Vec::new, flat))?;
    let decided = run.decisions().into_iter().flat_map(Decisions::rows);
    let decided = Value::Object(decided.map(|(key, value)| (key.to_owned(), value)).collect());
    book.table("decisions", &columns, flat(&decided))?;
    book.table("disclosure", &columns, run.disclosure.as_ref().map_or_else(Vec::new, flat))?;
    let unknown = run.entries.iter().zip(1_u64..).filter_map(|(entry, n)| match entry {
        Entry::Unknown(unknown) => Some((n, unknown.kind.clone(), unknown.value.to_string())),
        _ => None,
    });
    let columns = Columns::<(u64, String, String)>::new()
        .whole("entry", |r| r.0.into())
        .text("kind", |r| (&r.1).into())
        .text("json", |r| (&r.2).into());
    book.table("unknown", &columns, unknown)
}

/// Every scalar value with its path.
fn flat(value: &Value) -> Vec<Row> {
    fn walk(path: String, value: &Value, rows: &mut Vec<Row>) {
        let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, value)| walk(below(name), value, rows)),
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(i, value)| walk(below(&i.to_string()), value, rows));
            }
            Value::String(text) => rows.push((path, text.clone())),
            other => rows.push((path, other.to_string())),
        }
    }
    let mut rows = Vec::new();
    walk(String::new(), value, &mut rows);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_named_by_their_path() {
        let rows = flat(&json!({ "a": { "b": 1.5, "c": ["x", true] }, "d": null, "e": {} }));
        let rows: Vec<(&str, &str)> = rows.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(rows, [("a.b", "1.5"), ("a.c.0", "x"), ("a.c.1", "true"), ("d", "null")]);
    }
}
