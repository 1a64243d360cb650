//! Drawn values: rows picked from data files, and generated values.

use std::sync::Arc;

use crate::{Call, DataId, SlotIndex, Source, Template};

/// Index into the scenario's draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DrawId(pub u16);

/// A drawn value.
#[derive(Clone, Debug, PartialEq)]
pub struct Draw {
    /// Its name in the scenario.
    pub name: &'static str,
    /// Frequency of the draw.
    pub per: DrawScope,
    /// Its place, for a value or the number of a row.
    pub place: SlotIndex,
    /// Its source.
    pub what: DrawSource,
}

/// Frequency of a draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DrawScope {
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

impl DrawScope {
    /// Every variant with its word in a scenario.
    pub const WORDS: [(&'static str, DrawScope); 5] = [
        ("exchange", DrawScope::Exchange),
        ("operation", DrawScope::Operation),
        ("activity", DrawScope::Activity),
        ("session", DrawScope::Session),
        ("user", DrawScope::User),
    ];
}

/// Source of a drawn value.
#[derive(Clone, Debug, PartialEq)]
pub enum DrawSource {
    /// The number of a row, as [`Value::Integer`](crate::Value::Integer).
    Row(DataId, Pick),
    /// A value.
    Generated(Generator),
}

/// Method of picking a row. None needs communication between users, so that a seed repeats all picks with any
/// number of workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The n-th draw of user u takes row u + n, from the beginning again at the end.
    Sequential,
    /// A random row, uniformly.
    Random,
    /// User u has row u alone; there are no more users than rows.
    Unique,
}

impl Pick {
    /// Every variant with its word in a scenario.
    pub const WORDS: [(&'static str, Pick); 3] =
        [("sequential", Pick::Sequential), ("random", Pick::Random), ("unique", Pick::Unique)];
}

/// Generator of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Generator {
    /// The n-th draw of a user is `start + n * step`, wrapping at the ends of 64 bits.
    Sequence {
        /// The first.
        start: i64,
        /// The increment.
        step: i64,
    },
    /// The user's number, counted from `first`.
    UserId {
        /// The number of user 0.
        first: i64,
    },
    /// A random UUID of version 4.
    Uuid,
    /// A random whole number, uniformly, both ends included.
    RandomInt {
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
    },
    /// A random number with a fixed number of decimals, uniformly.
    RandomFloat {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
        /// Digits after the point.
        decimals: u32,
    },
    /// One of several texts.
    RandomChoice {
        /// The texts.
        of: Arc<[Box<str>]>,
        /// Running sums of their shares, the last being 1.
        up_to: Arc<[f64]>,
    },
    /// Random characters of an alphabet, uniformly.
    RandomString {
        /// Number of characters.
        length: u32,
        /// The alphabet.
        alphabet: Arc<[char]>,
    },
    /// A number from `first` on, smaller ones more often: the k-th of `keys` in proportion to k to the power
    /// of minus `exponent`.
    Zipf {
        /// Number of keys.
        keys: u64,
        /// The exponent; larger ones are more uneven.
        exponent: f64,
        /// The most frequent one.
        first: i64,
    },
    /// The time of day.
    Timestamp(TimeFormat),
    /// A text composed of other values, which are drawn before.
    Template(Template),
    /// A random item of a list, uniformly; absent if the list is.
    Item(Source),
    /// The result of a function.
    Script(Call),
}

/// Format of a time of day.
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
    /// Every variant with its word in a scenario.
    pub const WORDS: [(&'static str, TimeFormat); 3] = [
        ("unix_s", TimeFormat::UnixSeconds),
        ("unix_ms", TimeFormat::UnixMillis),
        ("rfc3339", TimeFormat::Rfc3339),
    ];
}
