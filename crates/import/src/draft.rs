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

    /// The names in it.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Value(name) => Some(name.as_str()),
            Piece::Fixed(_) => None,
        })
    }
}

/// A JSON document with named values in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    /// Null, a truth or a number.
    Plain(serde_json::Value),
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
    Text(Text),
}

/// Where a kept value is found in an answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum From {
    /// A JSON pointer.
    Json(String),
    /// An expression whose first group is the value.
    Regex(String),
}

/// A value to keep for later operations.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Keep {
    pub(crate) name: String,
    pub(crate) from: From,
}

/// One request and what is expected of its answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Exchange {
    pub(crate) method: String,
    pub(crate) path: Text,
    pub(crate) query: Vec<(String, Text)>,
    pub(crate) headers: Vec<(String, Text)>,
    pub(crate) body: Option<Body>,
    pub(crate) keep: Vec<Keep>,
    /// Statuses that are right.
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
    /// One of these.
    Choice(Vec<String>),
    /// A random name that is never used twice.
    Uuid,
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
