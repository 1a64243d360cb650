//! Values of a user: their lifetime, storage and views.

use crate::DataId;

/// Lifetime of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Life {
    /// The operation in progress.
    Operation,
    /// The activity.
    Activity,
    /// The user's session; visible to all activities.
    Session,
    /// The user; visible to all activities.
    User,
}

impl Life {
    /// Every lifetime, shortest first, with its word in a scenario.
    pub const WORDS: [(&'static str, Life); 4] = [
        ("operation", Life::Operation),
        ("activity", Life::Activity),
        ("session", Life::Session),
        ("user", Life::User),
    ];
}

/// A slot in the array of its lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlotIndex {
    /// The array.
    pub life: Life,
    /// Index in it.
    pub slot: u16,
}

/// Number of slots of each lifetime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// Per operation in progress.
    pub operation: u16,
    /// Per activity.
    pub activity: u16,
    /// Per user, cleared with its session.
    pub session: u16,
    /// Per user.
    pub user: u16,
}

impl Slots {
    /// Adds a slot of this lifetime.
    pub(crate) fn add(&mut self, life: Life) -> SlotIndex {
        let count = match life {
            Life::Operation => &mut self.operation,
            Life::Activity => &mut self.activity,
            Life::Session => &mut self.session,
            Life::User => &mut self.user,
        };
        let slot = *count;
        // The number of names is bounded far below this when they are read.
        *count = count.saturating_add(1);
        SlotIndex { life, slot }
    }
}

/// Values provided by the executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BuiltIn {
    /// `user`: the user's number over all workers, from 0.
    User,
    /// `argument`: the text this activity was started with; empty in the main one.
    Argument,
    /// `status`: status of the last answer of this operation, 0 before any.
    Status,
    /// `outcome`: the outcome of this activity's last operation, in the words of `Outcome::name`.
    Outcome,
    /// `activities`: the number of the user's activities beside the main one.
    Activities,
}

impl BuiltIn {
    /// Every built-in with its name in a scenario.
    pub const NAMES: [(&'static str, BuiltIn); 5] = [
        ("user", BuiltIn::User),
        ("argument", BuiltIn::Argument),
        ("status", BuiltIn::Status),
        ("outcome", BuiltIn::Outcome),
        ("activities", BuiltIn::Activities),
    ];
}

/// Source of a named value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A place.
    Slot(SlotIndex),
    /// A data file: this column of the row whose number is in the place.
    Column {
        /// The file.
        data: DataId,
        /// The column.
        column: u16,
        /// The place of the row's number.
        row: SlotIndex,
    },
    /// The executor.
    BuiltIn(BuiltIn),
}

/// A stored value.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// No value.
    #[default]
    Absent,
    /// A text; numbers from an answer keep their notation.
    Text(Box<str>),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Number(f64),
    /// Several texts.
    List(Box<[Box<str>]>),
}

impl Value {
    /// The view for templates and conditions.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        match self {
            Value::Absent => View::Absent,
            Value::Text(text) => View::Text(text),
            Value::Integer(n) => View::Integer(*n),
            Value::Number(x) => View::Number(*x),
            Value::List(items) => View::List(items),
        }
    }
}

/// A view of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum View<'a> {
    /// No value.
    Absent,
    /// A text.
    Text(&'a str),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Number(f64),
    /// Several texts.
    List(&'a [Box<str>]),
}

impl View<'_> {
    /// The number, or the number that the text denotes.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            View::Integer(n) => Some(*n as f64),
            View::Number(x) => Some(*x),
            // `parse` takes "inf" and "nan" for numbers; no answer means them.
            View::Text(text) => text.parse().ok().filter(|x: &f64| x.is_finite()),
            View::Absent | View::List(_) => None,
        }
    }

    /// Number of items of a list or of bytes of a text; 0 without a value.
    #[must_use]
    pub fn length(&self) -> usize {
        match self {
            View::Absent => 0,
            View::Text(text) => text.len(),
            View::List(items) => items.len(),
            View::Integer(_) | View::Number(_) => 1,
        }
    }
}

/// Storage of a user's values.
pub trait Values {
    /// The value at `source`.
    fn view(&self, source: Source) -> View<'_>;
}
