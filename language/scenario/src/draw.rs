//! Values that are drawn: rows picked from data files, and generated values.

use std::sync::Arc;

use crate::{Call, DataId, Place, Source, Template};

/// Index into the scenario's draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DrawId(pub u16);

/// A value that is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Draw {
    /// Its name in the scenario.
    pub name: &'static str,
    /// How often it is drawn.
    pub per: Per,
    /// Where it is put: a value, or the number of a row.
    pub place: Place,
    /// What is drawn.
    pub what: Drawn,
}

/// How often a value is drawn anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Per {
    /// Once for each exchange that uses it.
    Exchange,
    /// Once for each operation that uses it.
    Operation,
    /// Once for each activity.
    Activity,
    /// Once for each session.
    Session,
    /// Once for each user.
    User,
}

impl Per {
    /// Every one with its word in a scenario.
    pub const WORDS: [(&'static str, Per); 5] = [
        ("exchange", Per::Exchange),
        ("operation", Per::Operation),
        ("activity", Per::Activity),
        ("session", Per::Session),
        ("user", Per::User),
    ];
}

/// What is drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum Drawn {
    /// The number of a row, as [`Value::Integer`](crate::Value::Integer).
    Row(DataId, Pick),
    /// A value.
    Generated(Generator),
}

/// How a row is picked. None of them needs users to speak with each other, so that a seed repeats all picks whatever
/// the number of workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The n-th draw of user u takes row u + n, from the beginning again at the end.
    Sequential,
    /// Any row, all alike.
    Random,
    /// User u has row u for itself; there are no more users than rows.
    Unique,
}

impl Pick {
    /// Every one with its word in a scenario.
    pub const WORDS: [(&'static str, Pick); 3] =
        [("sequential", Pick::Sequential), ("random", Pick::Random), ("unique", Pick::Unique)];
}

/// How a value is generated.
#[derive(Clone, Debug, PartialEq)]
pub enum Generator {
    /// The n-th draw of a user is `start + n * step`, wrapping at the ends of 64 bits.
    Sequence {
        /// The first.
        start: i64,
        /// From one to the next.
        step: i64,
    },
    /// The user's number, counted from `first`.
    UserId {
        /// What user 0 has.
        first: i64,
    },
    /// A random UUID of version 4.
    Uuid,
    /// A whole number, all alike, both ends included.
    RandomInt {
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
    },
    /// A number with so many digits behind the point, all alike.
    RandomFloat {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
        /// Digits behind the point.
        decimals: u32,
    },
    /// One of several texts.
    RandomChoice {
        /// The texts.
        of: Arc<[Box<str>]>,
        /// Running sums of their shares, the last being 1.
        up_to: Arc<[f64]>,
    },
    /// So many characters of an alphabet, all alike.
    RandomString {
        /// How many.
        length: u32,
        /// Which.
        alphabet: Arc<[char]>,
    },
    /// A number from `first` on, the smaller the more often: the k-th of `keys` in proportion to k to the power of
    /// minus `exponent`.
    Zipf {
        /// How many numbers.
        keys: u64,
        /// How uneven.
        exponent: f64,
        /// The most frequent one.
        first: i64,
    },
    /// The time of day.
    Timestamp(TimeFormat),
    /// Put together from other values, which are drawn before.
    Template(Template),
    /// Any item of a list, all alike; absent when the list is.
    Item(Source),
    /// What a function says.
    Script(Call),
}

/// How a time of day is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeFormat {
    /// Seconds since 1970.
    UnixSeconds,
    /// Milliseconds since 1970.
    UnixMillis,
    /// As in `2026-01-31T23:59:59.123Z`.
    Rfc3339,
}

impl TimeFormat {
    /// Every one with its word in a scenario.
    pub const WORDS: [(&'static str, TimeFormat); 3] = [
        ("unix_s", TimeFormat::UnixSeconds),
        ("unix_ms", TimeFormat::UnixMillis),
        ("rfc3339", TimeFormat::Rfc3339),
    ];
}
