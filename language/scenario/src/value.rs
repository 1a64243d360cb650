//! Values of a user: where they live, how they are kept and how they are shown.

use crate::DataId;

/// How long a value lives, and with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Life {
    /// With the operation in progress.
    Operation,
    /// With the activity.
    Activity,
    /// With the user's session; all activities see it.
    Session,
    /// With the user; all activities see it.
    User,
}

impl Life {
    /// Every life, shortest first, with its word in a scenario.
    pub const WORDS: [(&'static str, Life); 4] = [
        ("operation", Life::Operation),
        ("activity", Life::Activity),
        ("session", Life::Session),
        ("user", Life::User),
    ];
}

/// A slot in the array of its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Which array.
    pub life: Life,
    /// Index in it.
    pub slot: u16,
}

/// How many slots each life needs.
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
    /// One more slot of this life.
    pub(crate) fn add(&mut self, life: Life) -> Place {
        let count = match life {
            Life::Operation => &mut self.operation,
            Life::Activity => &mut self.activity,
            Life::Session => &mut self.session,
            Life::User => &mut self.user,
        };
        let slot = *count;
        // The number of names is bounded far below this when they are read.
        *count = count.saturating_add(1);
        Place { life, slot }
    }
}

/// What the executor knows without being told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BuiltIn {
    /// `user`: the user's number over all workers, from 0.
    User,
    /// `argument`: the text this activity was started with; empty in the main one.
    Argument,
    /// `status`: status of the last answer of this operation, 0 before any.
    Status,
    /// `outcome`: how this activity's last operation ended, in the words of `Outcome::name`.
    Outcome,
    /// `activities`: how many activities the user has beside the main one.
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

/// Where a named value is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// From a place.
    Slot(Place),
    /// From a data file: this column of the row whose number is in the place.
    Column {
        /// Which file.
        data: DataId,
        /// Which column of it.
        column: u16,
        /// Where the number of the picked row is.
        row: Place,
    },
    /// From the executor.
    BuiltIn(BuiltIn),
}

/// A value as it is kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// There is none.
    #[default]
    Absent,
    /// A text; numbers of an answer are kept as they were written.
    Text(Box<str>),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Number(f64),
    /// Several texts.
    List(Box<[Box<str>]>),
}

impl Value {
    /// As it is shown to templates and conditions.
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

/// A value as it is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum View<'a> {
    /// There is none.
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
    /// The number that this is or that its text says.
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

    /// Items of a list, bytes of a text, 0 where there is nothing.
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

/// Whoever keeps a user's values and shows them by where they live.
pub trait Values {
    /// The value at `source`.
    fn view(&self, source: Source) -> View<'_>;
}
