//! Schemas of an OpenAPI document: references, compositions, contents of answers.

use serde_json::Value;

use crate::name;

/// Greatest depth of answers and examples: schemas may contain themselves.
pub(super) const DEPTH: usize = 5;

/// Longest chain of references and compositions.
const LONGEST: usize = 16;

/// Most schemas in a composition.
const MOST_PARTS: usize = 64;

/// Most members of an answer searched: in large documents each schema refers to most others.
const MOST_LOOKED_AT: usize = 2_000;

/// An unrestricted schema.
pub(super) static ANY: Value = Value::Null;

/// The document, for its references.
#[derive(Clone, Copy)]
pub(super) struct Schemas<'a> {
    pub(super) document: &'a Value,
}

/// All parts of a schema: itself, its references, every part of `allOf`, and one choice of `oneOf` and
/// `anyOf`.
#[derive(Default)]
pub(super) struct Shape<'a> {
    parts: Vec<&'a Value>,
    /// Last word of the first reference.
    pub(super) called: Option<&'a str>,
}

/// A value in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) pointer: String,
    /// Its name in the rest of the document.
    pub(super) known_as: String,
    /// Whether it identifies the object that contains it, rather than mentions another.
    pub(super) is_own: bool,
}

impl<'a> Schemas<'a> {
    /// The target of a reference; itself without one.
    pub(super) fn resolve(self, mut at: &'a Value) -> &'a Value {
        for _ in 0..LONGEST {
            let Some(reference) = at.get("$ref").and_then(Value::as_str) else { break };
            at = self.find(reference).unwrap_or(&ANY);
        }
        at
    }

    /// The place in the document of a reference.
    pub(super) fn find(self, reference: &str) -> Option<&'a Value> {
        let pointer = reference.strip_prefix('#')?;
        let found = self.document.pointer(pointer);
        found.or_else(|| self.document.pointer(&crate::percent::decoded(pointer)))
    }

    pub(super) fn shape(self, schema: &'a Value) -> Shape<'a> {
        self.shape_of(&[schema])
    }

    /// The shape of several schemas together.
    pub(super) fn shape_of(self, schemas: &[&'a Value]) -> Shape<'a> {
        let mut shape = Shape::default();
        schemas.iter().for_each(|schema| self.collect(schema, &mut shape, (LONGEST, true)));
        shape
    }

    /// Adds a schema's parts. With `names`, its reference names the whole.
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

    /// All texts and numbers of an answer, of lists the first.
    pub(super) fn leaves(self, schema: &'a Value, path: &str) -> Vec<Leaf> {
        let mut look =
            SchemaSearch { schemas: self, found: Vec::new(), left: MOST_LOOKED_AT, around: Vec::new() };
        look.at(&[schema], (String::new(), &resource(path)));
        look.found
    }
}

/// A search for values in an answer.
struct SchemaSearch<'a> {
    schemas: Schemas<'a>,
    found: Vec<Leaf>,
    left: usize,
    /// Schemas around the present one.
    around: Vec<&'a Value>,
}

impl<'a> SchemaSearch<'a> {
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
        // A list named for its purpose describes its contents less than its surroundings do.
        let says_little = matches!(inside.as_str(), "item" | "result" | "data" | "content" | "entry");
        let inside = if says_little && !within.is_empty() { within } else { &inside };
        self.at(schemas, (at, inside));
    }
}

impl<'a> Shape<'a> {
    /// The value of a key in the first part that has it.
    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        self.parts.iter().find_map(|part| part.get(key))
    }

    /// The values of a key in all parts that have it.
    pub(super) fn all(&self, key: &str) -> Vec<&'a Value> {
        self.parts.iter().filter_map(|part| part.get(key)).collect()
    }

    /// Members in the document's order, each with its schemas in the parts.
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

    /// Names of required members; `None` if no part lists them.
    pub(super) fn required(&self) -> Option<Vec<&'a str>> {
        let lists = self.parts.iter().filter_map(|part| part.get("required")?.as_array());
        let lists: Vec<&Vec<Value>> = lists.collect();
        let names = lists.iter().flat_map(|list| list.iter().filter_map(Value::as_str)).collect();
        (!lists.is_empty()).then_some(names)
    }

    /// The type; of a list of types the first that is not null. Without a type, it is inferred from the other
    /// keys.
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

    /// Whether the key is true.
    pub(super) fn is(&self, key: &str) -> bool {
        self.get(key) == Some(&Value::Bool(true))
    }

    /// A value proposed by the schema itself.
    pub(super) fn said(&self) -> Option<&'a Value> {
        self.proposals().next()
    }

    fn proposals(&self) -> impl Iterator<Item = &'a Value> + '_ {
        let first = |key: &str| self.get(key).and_then(Value::as_array).and_then(|all| all.first());
        let all =
            [self.get("example"), first("examples"), self.get("const"), self.get("default"), first("enum")];
        all.into_iter().flatten().filter(|value| !value.is_null())
    }

    /// All values of an `enum` of several, as text.
    pub(super) fn choices(&self) -> Vec<String> {
        let listed = self.get("enum").and_then(Value::as_array).into_iter().flatten();
        let plain = listed.filter(|value| !value.is_null() && !value.is_array() && !value.is_object());
        plain.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect()
    }
}

/// The last word of a reference, without the extension of a file.
fn last_word(reference: &str) -> &str {
    let last = reference.rsplit(['/', '#']).find(|part| !part.is_empty()).unwrap_or("");
    let file = last.rsplit("~1").next().unwrap_or(last);
    [".json", ".yaml", ".yml"].iter().find_map(|ending| file.strip_suffix(ending)).unwrap_or(file)
}

/// The name of a value across a document: its own name, or if that is only `id`, the name of its resource.
pub(super) fn known_as(own: &str, called: Option<&str>, within: &str) -> String {
    let own = name::value(own);
    match called.map(name::value) {
        _ if own != "id" && own != "v_" => own,
        Some(called) if called.ends_with("_id") => called,
        _ if within.is_empty() => own,
        _ => format!("{within}_id"),
    }
}

/// The resource named by the last fixed part of a path, in the singular.
pub(super) fn resource(path: &str) -> String {
    let mut parts = path.split('/').filter(|part| !part.is_empty() && !part.starts_with('{'));
    parts.next_back().map_or_else(String::new, |part| name::singular(&name::value(part)))
}
