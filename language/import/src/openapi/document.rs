//! An OpenAPI document of version 3 from its text: JSON or YAML, with files beside it included, and Swagger
//! 2.0 converted.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Map, Value};
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};

use super::swagger;
use crate::{Files, ImportError, percent};

/// Key of files included in the document.
const FILES: &str = "x-barograph-files";

/// Most files beside a document.
const MOST_FILES: usize = 1_000;

/// Most parts of a document in YAML. The largest published ones have a tenth of it.
const MOST_PARTS: usize = 10_000_000;

/// Reads a document; returns also a remark on broken references.
pub(crate) fn read(text: &str, files: Files<'_>) -> Result<(Value, Option<String>), ImportError> {
    let document = value(text).map_err(ImportError::NotADocument)?;
    let says = |key: &str| match document.get(key) {
        Some(Value::String(version)) => Some(version.clone()),
        Some(Value::Number(version)) => Some(version.to_string()),
        _ => None,
    };
    let (is_swagger, version) = match (says("openapi"), says("swagger")) {
        (Some(version), _) => (false, version),
        (None, Some(version)) => (true, version),
        (None, None) => return Err(ImportError::NotOpenApi("nothing of it".to_owned())),
    };
    if !version.starts_with(if is_swagger { "2" } else { "3" }) {
        return Err(ImportError::NotOpenApi(format!("version {version}")));
    }
    let (document, lost) = joined(document, files);
    Ok((if is_swagger { swagger::upgraded(&document) } else { document }, lost))
}

/// Parses JSON or YAML; the error describes the fault.
fn value(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).or_else(|in_json| {
        let options = serde_saphyr::options! {
            budget: serde_saphyr::budget! {
                max_nodes: MOST_PARTS,
                max_events: 2 * MOST_PARTS,
                max_depth: 256,
                // One anchor may stand for an answer of every call.
                enforce_alias_anchor_ratio: false,
            },
            duplicate_keys: DuplicateKeyPolicy::LastWins,
            non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
            // Only `true` and `false`, as in JSON.
            strict_booleans: true,
        };
        let in_yaml = serde_saphyr::from_str_with_options(text, options);
        in_yaml.map_err(|in_yaml| {
            let is_json = text.trim_start().starts_with(['{', '[']);
            let why = if is_json { in_json.to_string() } else { in_yaml.to_string() };
            why.lines().next().unwrap_or("").trim_start_matches("error: ").to_owned()
        })
    })
}

/// Broken references of a document, with their places.
#[derive(Default)]
struct BrokenReferences(Vec<String>);

/// Includes the files named in a document, so that every reference is one within the document.
fn joined(mut document: Value, files: Files<'_>) -> (Value, Option<String>) {
    let mut lost = BrokenReferences::default();
    let mut waiting: VecDeque<String> = VecDeque::new();
    let mut found: BTreeMap<String, Value> = BTreeMap::new();
    rewrite(&mut document, "", &mut |reference| moved(reference, "", &mut waiting));
    while let Some(name) = waiting.pop_front() {
        if found.contains_key(&name) || found.len() == MOST_FILES {
            continue;
        }
        let read = files(&name).map_err(|why| why.to_string()).and_then(|text| value(&text));
        let mut file = read.unwrap_or_else(|why| {
            lost.0.push(format!("the file `{name}` ({why})"));
            Value::Null
        });
        rewrite(&mut file, "", &mut |reference| moved(reference, &name, &mut waiting));
        found.insert(name, file);
    }
    if let (false, Some(members)) = (found.is_empty(), document.as_object_mut()) {
        members.insert(FILES.to_owned(), Value::Object(found.into_iter().collect()));
    }
    lost.look(&document);
    let lost = (!lost.0.is_empty()).then(|| crate::named(&lost.0));
    (document, lost)
}

/// Replaces every reference by the result of `to`.
fn rewrite(value: &mut Value, key: &str, to: &mut dyn FnMut(&str) -> String) {
    match value {
        Value::Object(members) => {
            // Members of `properties` may have any name.
            let reference = members.get_mut("$ref").filter(|_| key != "properties");
            if let Some(Value::String(reference)) = reference {
                *reference = to(reference);
            }
            let members = members.iter_mut().filter(|(key, _)| !is_extension(key));
            members.for_each(|(key, member)| rewrite(member, key, to));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rewrite(item, "", to)),
        _ => {}
    }
}

/// Whether a key is an extension of a tool.
fn is_extension(key: &str) -> bool {
    key.starts_with("x-") && !matches!(key, FILES | "x-webhooks")
}

/// Converts a reference in the file `from` to one within the joined document. Files that it names are queued.
fn moved(reference: &str, from: &str, waiting: &mut VecDeque<String>) -> String {
    let (file, pointer) = reference.split_once('#').unwrap_or((reference, ""));
    if file.contains("://") || file.is_empty() && from.is_empty() {
        return reference.to_owned();
    }
    let name = if file.is_empty() { from.to_owned() } else { beside(from, &percent::decoded(file)) };
    let place = format!("#/{FILES}/{}{pointer}", name.replace('~', "~0").replace('/', "~1"));
    waiting.push_back(name);
    place
}

/// A path relative to the folder of another file.
fn beside(from: &str, path: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

impl BrokenReferences {
    fn look(&mut self, document: &Value) {
        let schemas = super::schema::Schemas { document };
        let mut references = Vec::new();
        gather(document, "", &mut references);
        for (reference, at) in references {
            if schemas.find(reference).is_none() {
                self.0.push(format!("`{}` at {}", as_written(reference), as_written(&at)));
            }
        }
    }
}

/// A place in a file as `FILE#/PLACE`.
fn as_written(place: &str) -> String {
    let inner = place.trim_start_matches('#').strip_prefix(&format!("/{FILES}/"));
    let Some((file, pointer)) = inner.map(|inner| inner.split_once('/').unwrap_or((inner, ""))) else {
        return place.to_owned();
    };
    format!("{}#/{pointer}", file.replace("~1", "/").replace("~0", "~"))
}

/// Collects references with their places.
fn gather<'a>(value: &'a Value, at: &str, found: &mut Vec<(&'a str, String)>) {
    let inner = |key: &str| format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
    match value {
        Value::Object(members) => {
            let is_table = at.ends_with("/properties");
            let reference = members.get("$ref").and_then(Value::as_str).filter(|_| !is_table);
            found.extend(reference.map(|reference| (reference, at.to_owned())));
            let is_data = |key: &str| matches!(key, "example" | "examples" | "default" | "enum") && !is_table;
            members
                .iter()
                .filter(|(key, _)| !is_data(key) && (is_table || !is_extension(key)))
                .for_each(|(key, v)| gather(v, &inner(key), found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| gather(item, &inner(&i.to_string()), found));
        }
        _ => {}
    }
}

/// An object with these members.
pub(super) fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    let members = members.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(members.map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_from_the_folder_of_the_file_that_names_them() {
        for (from, path, to) in [
            ("", "a.yaml", "a.yaml"),
            ("", "./x/a.yaml", "x/a.yaml"),
            ("x/a.yaml", "b.yaml", "x/b.yaml"),
            ("x/a.yaml", "../y/b.yaml", "y/b.yaml"),
            ("", "../b.yaml", "../b.yaml"),
            ("../b.yaml", "../c.yaml", "../../c.yaml"),
        ] {
            assert_eq!(beside(from, path), to, "{path} beside {from}");
        }
    }
}
