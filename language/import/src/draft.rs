//! Drafts of scenarios: the findings of an importer, before they are printed.

/// A text with named values in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text(pub(crate) Vec<Piece>);

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Literal text.
    Fixed(String),
    /// The value of this name.
    Value(String),
}

impl Text {
    pub(crate) fn fixed(text: impl Into<String>) -> Self {
        Text(vec![Piece::Fixed(text.into())])
    }

    pub(crate) fn value(name: impl Into<String>) -> Self {
        Text(vec![Piece::Value(name.into())])
    }

    /// Appends a fixed text; neighbours are joined.
    pub(crate) fn push(&mut self, text: &str) {
        match self.0.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Fixed(before)) => before.push_str(text),
            _ => self.0.push(Piece::Fixed(text.to_owned())),
        }
    }

    /// Appends another text.
    pub(crate) fn append(&mut self, text: Text) {
        for piece in text.0 {
            match piece {
                Piece::Fixed(fixed) => self.push(&fixed),
                Piece::Value(name) => self.0.push(Piece::Value(name)),
            }
        }
    }

    /// Renames a value.
    pub(crate) fn renamed(mut self, old: &str, new: &str) -> Text {
        for piece in &mut self.0 {
            if *piece == Piece::Value(old.to_owned()) {
                *piece = Piece::Value(new.to_owned());
            }
        }
        self
    }
}

/// A JSON document with named values in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    /// Null, a boolean or a number, in its JSON notation.
    Plain(String),
    /// A text.
    Text(Text),
    /// A value written without quotes: a number.
    Bare(String),
    /// A list.
    List(Vec<Json>),
    /// Members in order.
    Object(Vec<(String, Json)>),
}

/// Body of a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Body {
    Json(Json),
    Form(Vec<(String, Text)>),
    Multipart(Vec<(String, FormPart)>),
    Text(Text),
}

/// A field or a file of a multipart form.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FormPart {
    pub(crate) text: Text,
    pub(crate) filename: Option<String>,
    pub(crate) media_type: Option<String>,
}

/// Location of a kept value in an answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ValueSource {
    /// A JSON pointer.
    Json(String),
    /// An expression whose first group is the value.
    Regex(String),
    /// A header of the answer.
    Header(String),
}

/// A value to keep for later operations.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Extraction {
    pub(crate) name: String,
    pub(crate) from: ValueSource,
}

/// A WebSocket under the name of its stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Socket {
    pub(crate) stream: String,
    pub(crate) protocols: Vec<String>,
}

/// One request and the expectations of its answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Exchange {
    pub(crate) method: String,
    /// Set if it opens a WebSocket; it then has no method.
    pub(crate) socket: Option<Socket>,
    pub(crate) path: Text,
    pub(crate) query: Vec<(String, Text)>,
    pub(crate) headers: Vec<(String, Text)>,
    pub(crate) body: Option<Body>,
    pub(crate) keep: Vec<Extraction>,
    /// Expected statuses; every 2xx if empty.
    pub(crate) statuses: Vec<u16>,
    /// Whether it runs side by side with the previous exchange.
    pub(crate) beside: bool,
    /// Points to be checked by the user.
    pub(crate) remarks: Vec<String>,
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Operation {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) exchanges: Vec<Exchange>,
}

/// Generator of a value that no answer gives.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GeneratedValue {
    /// A whole number in this range.
    Integer { min: i64, max: i64 },
    /// A number in this range.
    Number { min: f64, max: f64 },
    /// One of these.
    Choice(Vec<String>),
    /// A random name that is never repeated.
    Uuid,
    /// A value to be filled in by hand, with its description.
    Secret(String),
}

/// Think time between two operations.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ThinkTime {
    /// Exponential with this mean in seconds, without any knowledge.
    Guess(f64),
    /// Recorded, in seconds, in rising order.
    Recorded(Vec<f64>),
}

/// A whole scenario.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Draft {
    pub(crate) about: String,
    /// Notes for the user, a sentence each.
    pub(crate) remarks: Vec<String>,
    pub(crate) url: String,
    pub(crate) values: Vec<(String, GeneratedValue)>,
    /// Operations, in a user's order.
    pub(crate) operations: Vec<Operation>,
    pub(crate) think: ThinkTime,
}
