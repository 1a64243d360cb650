//! JSON pointers, resolved in the bytes of a document without a parse of the whole.
//!
//! The document is read only as far as the pointer needs: a fault behind that goes unnoticed. A schema check
//! validates a whole body.

/// Greatest depth of a pointer.
const DEEPEST: usize = 32;

/// A compiled JSON pointer, in which `*` stands for every element of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer(Vec<Step>);

/// One step of a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// To a member of an object, or to an element of an array if the text is a number.
    To(Box<str>, Option<usize>),
    /// To every element of an array.
    Each,
}

impl Pointer {
    /// Parses a pointer such as `/items/0/id` or `/items/*/id`; the error names the fault.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Pointer(Vec::new()));
        }
        let rest = text.strip_prefix('/').ok_or("a JSON pointer begins with `/`")?;
        let steps: Vec<Step> = rest.split('/').map(step).collect();
        if steps.len() > DEEPEST {
            return Err(format!("more than {DEEPEST} steps"));
        }
        Ok(Pointer(steps))
    }

    /// Whether it leads to several places.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.0.contains(&Step::Each)
    }

    /// The JSON text of the first place it leads to.
    #[must_use]
    pub fn first<'a>(&self, document: &'a [u8]) -> Option<&'a [u8]> {
        let mut found = None;
        self.visit(document, &mut |json| {
            found = Some(json);
            false
        });
        found
    }

    /// Calls `take` with the JSON text of every place it leads to, until that returns false.
    pub fn visit<'a>(&self, document: &'a [u8], take: &mut dyn FnMut(&'a [u8]) -> bool) {
        let mut cursor = Cursor { bytes: without_mark(document), at: 0 };
        cursor.walk(&self.0, take);
    }
}

impl std::fmt::Display for Pointer {
    /// Writes the form used in scenarios.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|step| match step {
            Step::To(name, _) => write!(f, "/{}", name.replace('~', "~0").replace('/', "~1")),
            Step::Each => f.write_str("/*"),
        })
    }
}

/// A JSON document without a leading byte order mark, which JSON parsers ignore.
#[must_use]
pub fn without_mark(document: &[u8]) -> &[u8] {
    document.strip_prefix(b"\xef\xbb\xbf").unwrap_or(document)
}

fn step(text: &str) -> Step {
    if text == "*" {
        return Step::Each;
    }
    // RFC 6901: an index has no leading zero.
    let index = text.parse().ok().filter(|_| text == "0" || !text.starts_with(['0', '+']));
    Step::To(text.replace("~1", "/").replace("~0", "~").into(), index)
}

/// Appends the value of a JSON text: a string without its quotes, anything else unchanged; `None` for null
/// and for malformed text.
pub fn say(json: &[u8], out: &mut String) -> Option<()> {
    match json {
        b"null" => None,
        [b'"', inside @ .., b'"'] if !inside.contains(&b'\\') => {
            out.push_str(std::str::from_utf8(inside).ok()?);
            Some(())
        }
        [b'"', ..] => {
            out.push_str(&serde_json::from_slice::<String>(json).ok()?);
            Some(())
        }
        _ => {
            out.push_str(std::str::from_utf8(json).ok()?);
            Some(())
        }
    }
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Continuation of a walk; `None` if the visitor has enough, or the text is not JSON.
type VisitResult = Option<()>;

impl<'a> Cursor<'a> {
    /// Walks the value at the cursor and leaves the cursor behind it.
    fn walk(&mut self, steps: &[Step], take: &mut dyn FnMut(&'a [u8]) -> bool) -> VisitResult {
        let Some((step, rest)) = steps.split_first() else {
            let start = self.value_start()?;
            self.skip()?;
            return take(&self.bytes[start..self.at]).then_some(());
        };
        let start = self.value_start()?;
        match (self.bytes[start], step) {
            (b'{', Step::To(key, _)) => self.members(key, rest, take),
            (b'[', Step::To(_, Some(index))) => self.elements(|i| i == *index, rest, take),
            (b'[', Step::Each) => self.elements(|_| true, rest, take),
            _ => self.skip(),
        }
    }

    fn members(&mut self, key: &str, rest: &[Step], take: &mut dyn FnMut(&'a [u8]) -> bool) -> VisitResult {
        self.at += 1;
        if self.eat(b'}') {
            return Some(());
        }
        loop {
            let start = self.value_start()?;
            self.string()?;
            let is_key = same_text(&self.bytes[start..self.at], key);
            self.must_eat(b':')?;
            if is_key {
                self.walk(rest, take)?
            } else {
                self.skip()?
            }
            if !self.eat(b',') {
                return self.must_eat(b'}');
            }
        }
    }

    fn elements(
        &mut self,
        wanted: impl Fn(usize) -> bool,
        rest: &[Step],
        take: &mut dyn FnMut(&'a [u8]) -> bool,
    ) -> VisitResult {
        self.at += 1;
        if self.eat(b']') {
            return Some(());
        }
        for index in 0.. {
            if wanted(index) {
                self.walk(rest, take)?
            } else {
                self.skip()?
            }
            if !self.eat(b',') {
                break;
            }
        }
        self.must_eat(b']')
    }

    fn value_start(&mut self) -> Option<usize> {
        while self.bytes.get(self.at)?.is_ascii_whitespace() {
            self.at += 1;
        }
        Some(self.at)
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.value_start().is_some_and(|at| self.bytes[at] == byte);
        self.at += usize::from(found);
        found
    }

    fn must_eat(&mut self, byte: u8) -> VisitResult {
        self.eat(byte).then_some(())
    }

    /// Skips a string; the cursor is at its quote.
    fn string(&mut self) -> VisitResult {
        self.must_eat(b'"')?;
        loop {
            match self.bytes.get(self.at)? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some(())
    }

    /// Skips a whole value, looking only at its brackets and quotes.
    fn skip(&mut self) -> VisitResult {
        let mut depth = 0_u32;
        loop {
            let start = self.value_start()?;
            match self.bytes[start] {
                b'"' => self.string()?,
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                b',' | b':' if depth > 0 => self.at += 1,
                _ => self.scalar()?,
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    fn scalar(&mut self) -> VisitResult {
        let inside = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.');
        let length = self.bytes[self.at..].iter().take_while(|b| inside(b)).count();
        self.at += length;
        (length > 0).then_some(())
    }
}

/// Whether this JSON text, quotes included, is the key.
fn same_text(json: &[u8], key: &str) -> bool {
    match json {
        [b'"', inside @ .., b'"'] if !inside.contains(&b'\\') => inside == key.as_bytes(),
        _ => serde_json::from_slice::<String>(json).is_ok_and(|text| text == key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn first(pointer: &str, document: &str) -> Option<String> {
        let json = Pointer::parse(pointer).unwrap().first(document.as_bytes())?.to_vec();
        String::from_utf8(json).ok()
    }

    #[test]
    fn pointers_lead_to_places() {
        let document = r#" {"a": [1, {"b\"": "x,]}"}, null], "c/d": {"~": true}, "": -1.5e3} "#;
        for (pointer, found) in [
            ("/a/0", Some("1")),
            ("/a/1/b\"", Some(r#""x,]}""#)),
            ("/a/2", Some("null")),
            ("/a/3", None),
            ("/c~1d/~0", Some("true")),
            ("/", Some("-1.5e3")),
            ("/a/01", None),
            ("/x", None),
        ] {
            assert_eq!(first(pointer, document).as_deref(), found, "{pointer}");
        }
        assert_eq!(first("", document).as_deref(), Some(document.trim()));
        assert_eq!(first("/id", "\u{feff} {\"id\": 7}").as_deref(), Some("7"));
        assert_eq!(first("/0", "\u{feff}[true]").as_deref(), Some("true"));
        assert_eq!(first("", "\u{feff}\u{feff}1"), None);
        assert_eq!(Pointer::parse("a").unwrap_err(), "a JSON pointer begins with `/`");
    }

    #[test]
    fn a_star_leads_to_every_element() {
        let document = r#"{"rows": [{"id": 1, "t": ["a"]}, {"t": []}, {"id": 3, "t": ["b", "c"]}]}"#;
        let all = |pointer: &str, most: usize| {
            let mut found = Vec::new();
            Pointer::parse(pointer).unwrap().visit(document.as_bytes(), &mut |json| {
                found.push(String::from_utf8(json.to_vec()).unwrap());
                found.len() < most
            });
            found
        };
        assert_eq!(all("/rows/*/id", 9), ["1", "3"]);
        assert_eq!(all("/rows/*/t/*", 9), [r#""a""#, r#""b""#, r#""c""#]);
        assert_eq!(all("/rows/*/t/*", 2), [r#""a""#, r#""b""#]);
        assert!(all("/rows/0/*", 9).is_empty());
    }

    #[test]
    fn what_is_said() {
        let said = |json: &str| {
            let mut out = String::new();
            say(json.as_bytes(), &mut out).map(|()| out)
        };
        assert_eq!(said(r#""a\n\u00e9""#).as_deref(), Some("a\n\u{e9}"));
        assert_eq!(said("12.50").as_deref(), Some("12.50"));
        assert_eq!(said("null"), None);
        assert_eq!(said("\"\\x\""), None);
    }

    fn documents() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-c\"\\\\~/\u{e9}]{0,4}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-c\"\\\\~/0-2]{0,2}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn all_pointers(prefix: &str, value: &Value, out: &mut Vec<String>) {
        out.push(prefix.to_owned());
        match value {
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(i, v)| all_pointers(&format!("{prefix}/{i}"), v, out));
            }
            Value::Object(map) => map.iter().for_each(|(key, v)| {
                let key = key.replace('~', "~0").replace('/', "~1");
                all_pointers(&format!("{prefix}/{key}"), v, out);
            }),
            _ => {}
        }
    }

    proptest! {
        #[test]
        fn every_place_is_found_as_a_full_parser_finds_it(document in documents(), pretty in any::<bool>()) {
            let text = if pretty { format!("{document:#}") } else { document.to_string() };
            let mut pointers = Vec::new();
            all_pointers("", &document, &mut pointers);
            for pointer in pointers {
                let found = first(&pointer, &text).map(|json| serde_json::from_str::<Value>(&json).unwrap());
                prop_assert_eq!(found.as_ref(), document.pointer(&pointer), "{} in {}", pointer, text);
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..64), nearly in "[\\[\\]{}\",:0-9a\\\\ ]{0,40}") {
            for pointer in ["", "/a", "/0", "/*", "/*/a", "/a/*/0"] {
                let pointer = Pointer::parse(pointer).unwrap();
                pointer.visit(&bytes, &mut |_| true);
                pointer.visit(nearly.as_bytes(), &mut |_| true);
            }
        }
    }
}
