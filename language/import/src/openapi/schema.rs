//! Schemas of an OpenAPI document: references, compositions, what an answer holds.

use serde_json::Value;

use crate::name;

/// How deep answers and examples are looked into: schemas may contain themselves.
pub(super) const DEPTH: usize = 5;

/// Longest chain of references and compositions.
const LONGEST: usize = 16;

/// Most schemas that make one up.
const MOST_PARTS: usize = 64;

/// Most members of an answer that are looked at: large documents refer to most of their schemas from each.
const MOST_LOOKED_AT: usize = 2_000;

/// A schema that says nothing.
pub(super) static ANY: Value = Value::Null;

/// The document, for its references.
#[derive(Clone, Copy)]
pub(super) struct Schemas<'a> {
    pub(super) document: &'a Value,
}

/// All that a schema demands: itself, what it refers to, every part of `allOf`, and one choice of `oneOf` and `anyOf`.
#[derive(Default)]
pub(super) struct Shape<'a> {
    parts: Vec<&'a Value>,
    /// Last word of the first reference.
    pub(super) called: Option<&'a str>,
}

/// A value that an answer holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) pointer: String,
    /// What other places of the document call it.
    pub(super) known_as: String,
    /// It names the very thing it stands in, and does not only mention it.
    pub(super) is_own: bool,
}

impl<'a> Schemas<'a> {
    /// What a reference leads to; itself where it is none.
    pub(super) fn resolve(self, mut at: &'a Value) -> &'a Value {
        for _ in 0..LONGEST {
            let Some(reference) = at.get("$ref").and_then(Value::as_str) else { break };
            at = self.find(reference).unwrap_or(&ANY);
        }
        at
    }

    /// The place in the document that a reference names.
    pub(super) fn find(self, reference: &str) -> Option<&'a Value> {
        let pointer = reference.strip_prefix('#')?;
        let found = self.document.pointer(pointer);
        found.or_else(|| self.document.pointer(&crate::percent::decoded(pointer)))
    }

    pub(super) fn shape(self, schema: &'a Value) -> Shape<'a> {
        self.shape_of(&[schema])
    }

    /// The shape of what several schemas demand.
    pub(super) fn shape_of(self, schemas: &[&'a Value]) -> Shape<'a> {
        let mut shape = Shape::default();
        schemas.iter().for_each(|schema| self.collect(schema, &mut shape, (LONGEST, true)));
        shape
    }

    /// `names`: a reference here names the whole.
    fn collect(self, schema: &'a Value, shape: &mut Shape<'a>, (depth, names): (usize, bool)) {
        let is_new = !shape.parts.iter().any(|part| std::ptr::eq(*part, schema));
        if depth == 0 || !is_new || shape.parts.len() >= MOST_PARTS {
            return;
        }
        shape.parts.push(schema);
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            if names && shape.called.is_none() {
                shape.called = Some(last_word(reference));
            }
            self.find(reference).into_iter().for_each(|to| self.collect(to, shape, (depth - 1, names)));
        }
        let list = |key| schema.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let all = list("allOf");
        all.iter().for_each(|part| self.collect(part, shape, (depth - 1, names && all.len() == 1)));
        for choices in [list("oneOf"), list("anyOf")] {
            // "This or null" is this.
            let first =
                choices.iter().find(|one| Shape { parts: vec![one], called: None }.kind() != Some("null"));
            first.into_iter().for_each(|one| self.collect(one, shape, (depth - 1, names)));
        }
    }

    /// Every text and number of an answer, of lists the first.
    pub(super) fn leaves(self, schema: &'a Value, path: &str) -> Vec<Leaf> {
        let mut look = Look { schemas: self, found: Vec::new(), left: MOST_LOOKED_AT, around: Vec::new() };
        look.at(&[schema], (String::new(), &resource(path)));
        look.found
    }
}

/// A search for values in an answer.
struct Look<'a> {
    schemas: Schemas<'a>,
    found: Vec<Leaf>,
    left: usize,
    /// Schemas around the present one.
    around: Vec<&'a Value>,
}

impl<'a> Look<'a> {
    fn at(&mut self, schemas: &[&'a Value], (at, within): (String, &str)) {
        let shape = self.schemas.shape_of(schemas);
        let Some(itself) = shape.parts.last().copied() else { return };
        if self.around.len() == DEPTH || self.around.iter().any(|outer| std::ptr::eq(*outer, itself)) {
            return;
        }
        self.around.push(itself);
        let called = shape.called.filter(|called| !called.contains('_'));
        let named = called.map_or_else(|| within.to_owned(), name::value);
        let properties = shape.properties();
        let items = shape.all("items");
        if properties.is_empty() && !items.is_empty() {
            self.at(&items, (format!("{at}/0"), within));
        }
        // A `*` in a pointer stands for every element.
        for (property, schemas) in properties.into_iter().filter(|(property, _)| *property != "*") {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            let at = format!("{at}/{}", property.replace('~', "~0").replace('/', "~1"));
            self.property(property, &schemas, (at, &named));
        }
        self.around.pop();
    }

    fn property(&mut self, property: &str, schemas: &[&'a Value], (at, within): (String, &str)) {
        let inner = self.schemas.shape_of(schemas);
        if inner.is_plain() {
            let is_own = name::value(property) == "id";
            let known_as = known_as(property, inner.called, within);
            self.found.push(Leaf { pointer: at, known_as, is_own });
            return;
        }
        let inside = name::singular(&name::value(property));
        // A list named for its purpose says less of what it holds than what is around it.
        let says_little = matches!(inside.as_str(), "item" | "result" | "data" | "content" | "entry");
        let inside = if says_little && !within.is_empty() { within } else { &inside };
        self.at(schemas, (at, inside));
    }
}

impl<'a> Shape<'a> {
    /// What the first part that has this key says.
    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        self.parts.iter().find_map(|part| part.get(key))
    }

    /// What each part that has this key says.
    pub(super) fn all(&self, key: &str) -> Vec<&'a Value> {
        self.parts.iter().filter_map(|part| part.get(key)).collect()
    }

    /// Members in the document's order, each with what the parts say of it.
    pub(super) fn properties(&self) -> Vec<(&'a str, Vec<&'a Value>)> {
        let tables = self.parts.iter().filter_map(|part| part.get("properties")?.as_object());
        let mut found: Vec<(&str, Vec<&Value>)> = Vec::new();
        for (name, schema) in tables.flatten() {
            match found.iter_mut().find(|(known, _)| known == name) {
                Some((_, schemas)) => schemas.push(schema),
                None => found.push((name, vec![schema])),
            }
        }
        found
    }

    /// Names of members that must be there; `None` where no part says which.
    pub(super) fn required(&self) -> Option<Vec<&'a str>> {
        let lists = self.parts.iter().filter_map(|part| part.get("required")?.as_array());
        let lists: Vec<&Vec<Value>> = lists.collect();
        let names = lists.iter().flat_map(|list| list.iter().filter_map(Value::as_str)).collect();
        (!lists.is_empty()).then_some(names)
    }

    /// The type; of a list of types the first that is not null. Where none is said, what the other keys show.
    pub(super) fn kind(&self) -> Option<&'a str> {
        let said = self.parts.iter().find_map(|part| match part.get("type")? {
            Value::String(kind) => Some(kind.as_str()),
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
            _ => None,
        });
        let shown = || match self.proposals().next() {
            _ if self.get("properties").is_some() => Some("object"),
            _ if self.get("items").is_some() => Some("array"),
            Some(Value::String(_)) => Some("string"),
            Some(Value::Number(_)) => Some("number"),
            Some(Value::Bool(_)) => Some("boolean"),
            _ => None,
        };
        said.or_else(shown)
    }

    pub(super) fn is_plain(&self) -> bool {
        matches!(self.kind(), Some("string" | "integer" | "number"))
    }

    /// Is the key true?
    pub(super) fn is(&self, key: &str) -> bool {
        self.get(key) == Some(&Value::Bool(true))
    }

    /// A value that the schema itself proposes.
    pub(super) fn said(&self) -> Option<&'a Value> {
        self.proposals().next()
    }

    fn proposals(&self) -> impl Iterator<Item = &'a Value> + '_ {
        let first = |key: &str| self.get(key).and_then(Value::as_array).and_then(|all| all.first());
        let all =
            [self.get("example"), first("examples"), self.get("const"), self.get("default"), first("enum")];
        all.into_iter().flatten().filter(|value| !value.is_null())
    }

    /// All that an `enum` of several allows, as text.
    pub(super) fn choices(&self) -> Vec<String> {
        let listed = self.get("enum").and_then(Value::as_array).into_iter().flatten();
        let plain = listed.filter(|value| !value.is_null() && !value.is_array() && !value.is_object());
        plain.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect()
    }
}

/// The name that a reference ends in, without the ending of a file.
fn last_word(reference: &str) -> &str {
    let last = reference.rsplit(['/', '#']).find(|part| !part.is_empty()).unwrap_or("");
    let file = last.rsplit("~1").next().unwrap_or(last);
    [".json", ".yaml", ".yml"].iter().find_map(|ending| file.strip_suffix(ending)).unwrap_or(file)
}

/// What a value is known as all over a document: its own name, and where that is only `id`, the name of the thing it
/// names.
pub(super) fn known_as(own: &str, called: Option<&str>, within: &str) -> String {
    let own = name::value(own);
    match called.map(name::value) {
        _ if own != "id" && own != "v_" => own,
        Some(called) if called.ends_with("_id") => called,
        _ if within.is_empty() => own,
        _ => format!("{within}_id"),
    }
}

/// What the last fixed part of a path names, in the singular.
pub(super) fn resource(path: &str) -> String {
    let mut parts = path.split('/').filter(|part| !part.is_empty() && !part.starts_with('{'));
    parts.next_back().map_or_else(String::new, |part| name::singular(&name::value(part)))
}
