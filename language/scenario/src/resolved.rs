//! Prints a scenario with every default filled in: keys in the order of the file, values as written.

use std::fmt::Write as _;

use crate::settings_reader::RawValue;

/// A step of the path to a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Key {
    Name(String),
    Element(usize),
}

/// Values with their paths.
pub(crate) type ResolvedValues = Vec<(Vec<Key>, RawValue)>;

/// A node of the output: tables with headers, lists of tables with double headers, and values on one line.
enum Tree<'k> {
    Leaf(&'k RawValue),
    Table(Vec<(&'k str, Tree<'k>)>),
    List(Vec<Tree<'k>>),
}

impl<'k> Tree<'k> {
    /// An empty node of the kind that contains `key`.
    fn around(key: &Key) -> Self {
        match key {
            Key::Name(_) => Tree::Table(Vec::new()),
            Key::Element(_) => Tree::List(Vec::new()),
        }
    }

    fn insert(&mut self, path: &'k [Key], leaf: &'k RawValue) {
        let Some((key, rest)) = path.split_first() else { return };
        let new = || rest.first().map_or(Tree::Leaf(leaf), Tree::around);
        let inner = match (self, key) {
            (Tree::Table(entries), Key::Name(name)) => {
                if !entries.iter().any(|(n, _)| n == name) {
                    entries.push((name, new()));
                }
                entries.iter_mut().find(|(n, _)| n == name).map(|(_, tree)| tree)
            }
            (Tree::List(items), Key::Element(index)) => {
                // A list item without any key would leave a gap; sections keep at least one key each.
                if items.len() <= *index {
                    items.push(new());
                }
                items.last_mut()
            }
            _ => None,
        };
        if let Some(inner) = inner {
            inner.insert(rest, leaf);
        }
    }
}

/// The kept values as TOML.
pub(crate) fn print(kept: &ResolvedValues) -> String {
    let mut root = Tree::Table(Vec::new());
    kept.iter().for_each(|(path, leaf)| root.insert(path, leaf));
    let mut out = String::new();
    if let Tree::Table(entries) = &root {
        table("", entries, &mut out);
    }
    out
}

fn table(path: &str, entries: &[(&str, Tree<'_>)], out: &mut String) {
    for (name, tree) in entries {
        if let Tree::Leaf(plain) = tree {
            writeln!(out, "{} = {}", quoted_key(name), inline(plain)).expect("writing to memory cannot fail");
        }
    }
    for (name, tree) in entries {
        let name = quoted_key(name);
        let path = if path.is_empty() { name } else { format!("{path}.{name}") };
        match tree {
            Tree::Leaf(_) => {}
            Tree::Table(inner) => header(&path, ("[", "]"), inner, out),
            Tree::List(items) => items.iter().for_each(|item| {
                if let Tree::Table(inner) = item {
                    header(&path, ("[[", "]]"), inner, out);
                }
            }),
        }
    }
}

fn header(path: &str, (open, close): (&str, &str), inner: &[(&str, Tree<'_>)], out: &mut String) {
    // A table of only tables needs no header of its own, an element of a list always does.
    if open == "[[" || inner.iter().any(|(_, tree)| matches!(tree, Tree::Leaf(_))) {
        writeln!(out, "\n{open}{path}{close}").expect("writing to memory cannot fail");
    }
    table(path, inner, out);
}

/// A value on one line.
pub(crate) fn inline(plain: &RawValue) -> String {
    match plain {
        RawValue::Text(text) => quoted(text),
        RawValue::Integer(n) => n.to_string(),
        RawValue::Number(x) => format!("{x:?}"),
        RawValue::Flag(flag) => flag.to_string(),
        RawValue::Other(text) => text.clone(),
        RawValue::List(items) => {
            let items: Vec<String> = items.iter().map(|n| inline(&n.plain)).collect();
            format!("[{}]", items.join(", "))
        }
        RawValue::Table(entries) if entries.is_empty() => "{}".to_owned(),
        RawValue::Table(entries) => {
            let entry = |(key, node): &(String, _)| {
                let node: &crate::settings_reader::Node = node;
                format!("{} = {}", quoted_key(key), inline(&node.plain))
            };
            format!("{{ {} }}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

/// A key, quoted if TOML requires it.
pub(crate) fn quoted_key(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !key.is_empty() && key.chars().all(bare) { key.to_owned() } else { quoted(key) }
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => {
                write!(out, "\\u{:04X}", c as u32).expect("writing to memory cannot fail");
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
