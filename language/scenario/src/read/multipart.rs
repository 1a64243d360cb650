//! Reads `multipart`: fields and files of a form, separated by a boundary.

use std::path::Path;

use crate::operation::Body;
use crate::read::ScenarioReader;
use crate::read::bodies::MOST_BODY;
use crate::read::names::Scope;
use crate::section::Section;
use crate::settings_reader::{RawValue, ReadValue};
use crate::template::{Builder, Escape, Segment, Template};

/// One field or file.
struct MultipartPart {
    /// Its headers.
    head: String,
    content: Template,
}

impl ScenarioReader<'_> {
    /// The content type with its boundary, and the body.
    pub(crate) fn multipart(&mut self, mut form: Section<'_>, scope: &mut Scope) -> (String, Body) {
        let mut parts = Vec::new();
        for (name, got) in form.rest() {
            match &got.value {
                RawValue::List(items) => {
                    for (i, node) in items.iter().enumerate() {
                        let at = got.at.element(i, node.line);
                        parts.extend(self.part(&name, ReadValue { value: node.plain.clone(), at }, scope));
                    }
                }
                _ => parts.extend(self.part(&name, got, scope)),
            }
        }
        let boundary = boundary(&parts);
        let mut builder = Builder::default();
        for part in &parts {
            builder.push(format!("--{boundary}\r\n{}\r\n", part.head).as_bytes());
            builder.join(&part.content);
            builder.push(b"\r\n");
        }
        builder.push(format!("--{boundary}--\r\n").as_bytes());
        (format!("multipart/form-data; boundary={boundary}"), Body::Template(builder.finish()))
    }

    /// A part: a text, a number, true or false, or a table with `text` or `file`.
    fn part(&mut self, name: &str, got: ReadValue<RawValue>, scope: &mut Scope) -> Option<MultipartPart> {
        let text = match &got.value {
            RawValue::Table(_) => return self.part_of_table(name, &got, scope),
            RawValue::Text(text) => text.clone(),
            plain @ (RawValue::Integer(_) | RawValue::Number(_) | RawValue::Flag(_)) => {
                crate::resolved::inline(plain)
            }
            other => {
                let found = crate::resolved::inline(other);
                let allowed =
                    "a text, a number, true, false, a table with `text` or `file`, or a list of them";
                self.given.refuse(&got.at, found, allowed, "write it so");
                return None;
            }
        };
        let content = self.template(&ReadValue { value: text, at: got.at }, Escape::Raw, scope);
        Some(MultipartPart { head: head(name, None, None), content })
    }

    fn part_of_table(
        &mut self,
        name: &str,
        got: &ReadValue<RawValue>,
        scope: &mut Scope,
    ) -> Option<MultipartPart> {
        let mut section = Section::inside(self.given, got);
        let (text, file) = (section.text("text"), section.text("file"));
        let filename = section.text("filename").map(|got| got.value);
        let media_type = section.text("type").map(|got| got.value);
        let part = match (text, file) {
            (Some(text), None) => {
                let content = self.template(&text, Escape::Raw, scope);
                Some(MultipartPart { head: head(name, filename.as_deref(), media_type.as_deref()), content })
            }
            (None, Some(file)) => self.file(&file, MOST_BODY).map(|bytes| {
                let own = Path::new(&file.value).file_name().map(|own| own.to_string_lossy().into_owned());
                let filename = filename.or(own);
                let media_type = media_type.as_deref().unwrap_or("application/octet-stream");
                let head = head(name, filename.as_deref(), Some(media_type));
                MultipartPart { head, content: Template::literal(&bytes) }
            }),
            _ => {
                self.given.refuse(&got.at, "", "one of `text` and `file`", "keep one");
                None
            }
        };
        section.finish();
        part
    }
}

fn head(name: &str, filename: Option<&str>, media_type: Option<&str>) -> String {
    let mut head = format!("content-disposition: form-data; name=\"{}\"", quoted(name));
    if let Some(filename) = filename {
        head.push_str(&format!("; filename=\"{}\"", quoted(filename)));
    }
    head.push_str("\r\n");
    if let Some(media_type) = media_type {
        head.push_str(&format!("content-type: {}\r\n", media_type.replace(char::is_control, " ")));
    }
    head
}

/// A name in quotes, in the notation of browsers.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

/// A line that occurs in no part.
fn boundary(parts: &[MultipartPart]) -> String {
    let holds = |bytes: &[u8], line: &str| bytes.windows(line.len()).any(|window| window == line.as_bytes());
    let is_in = |line: &str| {
        let literals = parts.iter().flat_map(|part| part.content.segments());
        literals.into_iter().any(|s| matches!(s, Segment::Literal(bytes) if holds(bytes, line)))
    };
    let mut n = 1;
    let mut line = "barograph-boundary-1".to_owned();
    while is_in(&line) {
        n += 1;
        line = format!("barograph-boundary-{n}");
    }
    line
}
