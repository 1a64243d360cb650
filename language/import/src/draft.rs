//! A scenario in the making: what an importer found, before it is written as text.

/// A text with named values in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text(pub(crate) Vec<Piece>);

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// As it is.
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

    /// Appends a fixed text; neighbours are one.
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

    /// The same with another name for a value.
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
    /// Null, a truth or a number, as it is written in JSON.
    Plain(String),
    /// A text.
    Text(Text),
    /// A value that is written without quotes: a number.
    Bare(String),
    /// A list.
    List(Vec<Json>),
    /// Members in their order.
    Object(Vec<(String, Json)>),
}

/// What a request carries.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Body {
    Json(Json),
    Form(Vec<(String, Text)>),
    Multipart(Vec<(String, Part)>),
    Text(Text),
}

/// A field or a file of a multipart form.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Part {
    pub(crate) text: Text,
    pub(crate) filename: Option<String>,
    pub(crate) media_type: Option<String>,
}

/// Where a kept value is found in an answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum From {
    /// A JSON pointer.
    Json(String),
    /// An expression whose first group is the value.
    Regex(String),
    /// A header of the answer.
    Header(String),
}

/// A value to keep for later operations.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Keep {
    pub(crate) name: String,
    pub(crate) from: From,
}

/// A WebSocket under the name of its stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Socket {
    pub(crate) stream: String,
    pub(crate) protocols: Vec<String>,
}

/// One request and what is expected of its answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Exchange {
    pub(crate) method: String,
    /// It opens a WebSocket, and has no method.
    pub(crate) socket: Option<Socket>,
    pub(crate) path: Text,
    pub(crate) query: Vec<(String, Text)>,
    pub(crate) headers: Vec<(String, Text)>,
    pub(crate) body: Option<Body>,
    pub(crate) keep: Vec<Keep>,
    /// Statuses that are right; every 2xx where there is none.
    pub(crate) statuses: Vec<u16>,
    /// Runs side by side with the exchange before it.
    pub(crate) beside: bool,
    /// What a person should look at.
    pub(crate) remarks: Vec<String>,
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Operation {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) exchanges: Vec<Exchange>,
}

/// How a value is made that no answer gives.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Made {
    /// A whole number in this range.
    Integer { min: i64, max: i64 },
    /// A number in this range.
    Number { min: f64, max: f64 },
    /// One of these.
    Choice(Vec<String>),
    /// A random name that is never used twice.
    Uuid,
    /// A value to be filled in by hand, with its description.
    Secret(String),
}

/// How long users think between two operations.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Think {
    /// Exponential with this mean in seconds: nothing is known.
    Guess(f64),
    /// As recorded, in seconds, in rising order.
    Recorded(Vec<f64>),
}

/// A whole scenario.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Draft {
    pub(crate) about: String,
    /// What a person should know or do, a sentence each.
    pub(crate) remarks: Vec<String>,
    pub(crate) url: String,
    pub(crate) values: Vec<(String, Made)>,
    /// In the order in which a user does them.
    pub(crate) operations: Vec<Operation>,
    pub(crate) think: Think,
}
