//! Parser of templates and conditions, which refuses unknown words.

use super::{Condition, ConditionTest, Expression, Fact, Template, TemplatePart, View};
use crate::ServiceError;
use crate::size::{Quantity, Step};
use crate::word::{Word, WordKind};

/// Names that a template of a service may use.
#[derive(Clone, Copy)]
pub(crate) struct KnownNames<'a> {
    pub(crate) ports: &'a [(String, u16)],
    pub(crate) paths: &'a [String],
    pub(crate) words: &'a [Word],
}

/// Words that need no declaration, so that none can be declared.
pub(crate) const RESERVED: &[&str] = &[
    "name",
    "host",
    "address",
    "folder",
    "own_program",
    "flavour",
    "vanilla",
    "tuned",
    "cpus",
    "memory_mib",
    "memory_kib",
    "port",
    "socket",
    "path",
    "item",
    "if",
    "unless",
    "each",
    "end",
];

/// Parses a file. `file` is its path below `services/`.
pub(crate) fn text(file: &str, text: &str, known: KnownNames<'_>) -> Result<Template, ServiceError> {
    let mut reader = Reader { file, known, open: Vec::new(), parts: Vec::new() };
    for (index, line) in text.split_inclusive('\n').enumerate() {
        reader.line(index + 1, line)?;
    }
    match reader.open.pop() {
        Some(block) => Err(folder(&format!("{file}:{}", block.line), "a block that has no end".to_owned())),
        None => Ok(Template { parts: reader.parts }),
    }
}

/// Parses an argument or value, which has no blocks. `place` is the file and the key.
pub(crate) fn inline(place: &str, text: &str, known: KnownNames<'_>) -> Result<Template, ServiceError> {
    Ok(Template { parts: pieces(place, text, known, None)? })
}

/// Parses `when` or `unless`.
pub(crate) fn condition(
    place: &str,
    text: &str,
    holds: bool,
    known: KnownNames<'_>,
) -> Result<Condition, ServiceError> {
    let unknown = || ServiceError::UnknownWord { file: place.to_owned(), word: text.to_owned() };
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    match (name, value) {
        ("tuned", None) => return Ok(Condition { asked: ConditionTest::Tuned, holds }),
        ("vanilla", None) => return Ok(Condition { asked: ConditionTest::Tuned, holds: !holds }),
        _ => {}
    }
    let word = word(known, name).ok_or_else(unknown)?;
    let asked = match value {
        None => ConditionTest::Given(name.to_owned()),
        Some(value) if word.choice.is_empty() || word.choice.iter().any(|c| c == value) => {
            ConditionTest::Is(name.to_owned(), value.to_owned())
        }
        Some(_) => return Err(unknown()),
    };
    Ok(Condition { asked, holds })
}

/// An open block.
struct Block {
    line: usize,
    opened: OpenBlock,
    /// Parts before the block.
    before: Vec<TemplatePart>,
}

enum OpenBlock {
    If(Condition),
    Each(String),
}

struct Reader<'a> {
    file: &'a str,
    known: KnownNames<'a>,
    open: Vec<Block>,
    parts: Vec<TemplatePart>,
}

impl Reader<'_> {
    fn line(&mut self, number: usize, line: &str) -> Result<(), ServiceError> {
        let place = format!("{}:{number}", self.file);
        let alone = line.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let opened = match alone {
            Some("end") => return self.end(&place),
            Some(word) => match word.split_once(':') {
                Some(("if", asked)) => Some(OpenBlock::If(condition(&place, asked, true, self.known)?)),
                Some(("unless", asked)) => Some(OpenBlock::If(condition(&place, asked, false, self.known)?)),
                Some(("each", list)) => Some(OpenBlock::Each(self.list(&place, list)?)),
                _ => None,
            },
            None => None,
        };
        match opened {
            Some(opened) => {
                self.open.push(Block { line: number, opened, before: std::mem::take(&mut self.parts) });
            }
            None => {
                let item = self.open.iter().rev().find_map(|block| match &block.opened {
                    OpenBlock::Each(list) => word(self.known, list),
                    OpenBlock::If(_) => None,
                });
                self.parts.extend(pieces(&place, line, self.known, item)?);
            }
        }
        Ok(())
    }

    fn list(&self, place: &str, list: &str) -> Result<String, ServiceError> {
        match word(self.known, list) {
            Some(word) if word.kind.is_list() => Ok(list.to_owned()),
            _ => Err(ServiceError::UnknownWord { file: place.to_owned(), word: format!("each:{list}") }),
        }
    }

    fn end(&mut self, place: &str) -> Result<(), ServiceError> {
        let Some(block) = self.open.pop() else {
            return Err(folder(place, "an end without a block".to_owned()));
        };
        let body = std::mem::replace(&mut self.parts, block.before);
        self.parts.push(match block.opened {
            OpenBlock::If(condition) => TemplatePart::If { condition, body },
            OpenBlock::Each(list) => TemplatePart::Each { list, body },
        });
        Ok(())
    }
}

/// Splits a text into literal and variable parts. `item` is the list of the surrounding repeated block.
fn pieces(
    place: &str,
    text: &str,
    known: KnownNames<'_>,
    item: Option<&Word>,
) -> Result<Vec<TemplatePart>, ServiceError> {
    let mut parts = Vec::new();
    let (mut plain, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('{') {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('{') {
            plain.push('{');
            rest = after;
        } else if rest.starts_with(|c: char| c.is_ascii_lowercase()) {
            let unknown =
                |word: &str| ServiceError::UnknownWord { file: place.to_owned(), word: word.to_owned() };
            let Some((name, after)) = rest.split_once('}').filter(|(name, _)| !name.contains('\n')) else {
                return Err(unknown(rest.trim_end()));
            };
            if !plain.is_empty() {
                parts.push(TemplatePart::Text(std::mem::take(&mut plain)));
            }
            parts.push(TemplatePart::Word(expression(name, known, item).ok_or_else(|| unknown(name))?));
            rest = after;
        } else {
            plain.push('{');
        }
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        parts.push(TemplatePart::Text(plain));
    }
    Ok(parts)
}

/// Meaning of a word; `None` if it is unknown.
fn expression(text: &str, known: KnownNames<'_>, item: Option<&Word>) -> Option<Expression> {
    let fact = match text {
        "name" => Some(Fact::Name),
        "host" => Some(Fact::Host),
        "address" => Some(Fact::Address),
        "address:erlang" => Some(Fact::AddressErlang),
        "folder" => Some(Fact::Folder),
        "own_program" => Some(Fact::OwnProgram),
        "flavour" => Some(Fact::Flavour),
        _ => None,
    };
    if let Some(fact) = fact {
        return Some(Expression::Fact(fact));
    }
    match text.split_once(':') {
        Some(("port", name)) => return port(known, name).map(Expression::Port),
        Some(("socket", name)) => return port(known, name).map(Expression::Socket),
        Some(("path", name)) => {
            return known.paths.iter().find(|p| *p == name).cloned().map(Expression::Path);
        }
        _ => {}
    }
    let (name, view) = view(text)?;
    if name == "item" {
        let list = item?;
        let fits = !matches!(view, View::Host | View::Port) || list.kind == WordKind::Addresses;
        return fits.then_some(Expression::Item(view));
    }
    if let Some((base, step)) = Step::split(text) {
        if let Some(quantity) = Quantity::named(base) {
            return Some(Expression::Quantity(quantity, step));
        }
        if let Some(word) = word(known, base).filter(|word| word.kind == WordKind::Number) {
            return Some(Expression::Number(word.name.clone(), step));
        }
    }
    let word = word(known, name)?;
    let fits = match view {
        View::Whole => !word.kind.is_list(),
        View::Host | View::Port => word.kind == WordKind::Address,
        View::Name => false,
    };
    fits.then(|| Expression::Value(word.name.clone(), view))
}

/// Splits `primary:host` into word and view; without a view the whole value is meant.
fn view(text: &str) -> Option<(&str, View)> {
    Some(match text.split_once(':') {
        Some((name, "name")) => (name, View::Name),
        Some((name, "host")) => (name, View::Host),
        Some((name, "port")) => (name, View::Port),
        _ => (text, View::Whole),
    })
}

fn port(known: KnownNames<'_>, name: &str) -> Option<String> {
    known.ports.iter().find(|(port, _)| port == name).map(|(port, _)| port.clone())
}

fn word<'a>(known: KnownNames<'a>, name: &str) -> Option<&'a Word> {
    known.words.iter().find(|word| word.name == name)
}

fn folder(file: &str, what: String) -> ServiceError {
    ServiceError::Folder { file: file.to_owned(), what }
}
