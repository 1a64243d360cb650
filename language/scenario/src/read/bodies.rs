//! Reads bodies: text, JSON, forms, multipart forms, files.

use std::sync::Arc;

use crate::operation::Body;
use crate::read::ScenarioReader;
use crate::read::names::Scope;
use crate::section::Section;
use crate::settings_reader::{RawValue, ReadValue};
use crate::template::{Builder, Escape, Escaping, Template, TextPiece, parts};

/// Keys of bodies.
pub(crate) const BODIES: [&str; 5] = ["body", "json", "form", "multipart", "file"];

/// Largest file that is sent as a body, in bytes.
pub const MOST_BODY: usize = 64 << 20;

impl ScenarioReader<'_> {
    /// The body and its usual content type.
    pub(crate) fn body(&mut self, section: &mut Section<'_>, scope: &mut Scope) -> Option<(String, Body)> {
        let given: Vec<&'static str> = BODIES.into_iter().filter(|key| section.has(key)).collect();
        if given.len() > 1 {
            let at = section.at_key(given[1]);
            let found = format!("{} are given", given.join(" and "));
            self.given.refuse(&at, found, &format!("one of {}", BODIES.join(", ")), "keep one");
            given.iter().for_each(|key| drop(section.any(key)));
            return None;
        }
        if let Some(text) = section.text("body") {
            let template = self.template(&text, Escape::Raw, scope);
            return Some(("text/plain; charset=utf-8".to_owned(), Body::Template(template)));
        }
        if let Some(json) = section.any("json") {
            return Some(("application/json".to_owned(), Body::Template(self.json(&json, scope))));
        }
        if let Some(mut form) = section.section("form") {
            let mut builder = Builder::default();
            self.pairs(&mut builder, &mut form, ("", scope));
            return Some(("application/x-www-form-urlencoded".to_owned(), Body::Template(builder.finish())));
        }
        if let Some(form) = section.section("multipart") {
            return Some(self.multipart(form, scope));
        }
        let file = section.text("file")?;
        let bytes: Arc<[u8]> = self.file(&file, MOST_BODY)?.into();
        Some(("application/octet-stream".to_owned(), Body::File(bytes)))
    }

    /// JSON with placeholders inside its texts.
    pub(crate) fn json(&self, got: &ReadValue<RawValue>, scope: &mut Scope) -> Template {
        let mut builder = Builder::default();
        self.json_value(&mut builder, got, scope);
        builder.finish()
    }

    fn json_value(&self, builder: &mut Builder, got: &ReadValue<RawValue>, scope: &mut Scope) {
        let inner = |node: &crate::settings_reader::Node, at| ReadValue { value: node.plain.clone(), at };
        match &got.value {
            RawValue::Text(text) => {
                self.json_text(builder, &ReadValue { value: text.clone(), at: got.at.clone() }, scope)
            }
            RawValue::Integer(n) => builder.push(n.to_string().as_bytes()),
            RawValue::Number(x) => builder.push(serde_json::Value::from(*x).to_string().as_bytes()),
            RawValue::Flag(flag) => builder.push(flag.to_string().as_bytes()),
            RawValue::Other(text) => {
                self.given.refuse(
                    &got.at,
                    text,
                    "texts, numbers, true, false, lists, tables",
                    "write it as a text",
                );
            }
            RawValue::List(items) => {
                builder.push(b"[");
                for (i, node) in items.iter().enumerate() {
                    builder.push(if i > 0 { b"," } else { b"" });
                    self.json_value(builder, &inner(node, got.at.element(i, node.line)), scope);
                }
                builder.push(b"]");
            }
            RawValue::Table(entries) => {
                builder.push(b"{");
                for (i, (key, node)) in entries.iter().enumerate() {
                    builder.push(if i > 0 { b"," } else { b"" });
                    builder.push(serde_json::Value::from(key.as_str()).to_string().as_bytes());
                    builder.push(b":");
                    self.json_value(builder, &inner(node, got.at.inner(key, node.line)), scope);
                }
                builder.push(b"}");
            }
        }
    }

    /// A JSON text; one that is only `{name:raw}` is the value itself, without quotes.
    fn json_text(&self, builder: &mut Builder, text: &ReadValue<String>, scope: &mut Scope) {
        let bare =
            parts(&text.value).is_ok_and(|p| matches!(p.as_slice(), [TextPiece::Name { raw: true, .. }]));
        let quote: &[u8] = if bare { b"" } else { b"\"" };
        builder.push(quote);
        self.append(builder, text, Escaping::whole(Escape::Json), scope);
        builder.push(quote);
    }
}
