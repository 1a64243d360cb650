//! Levels of load as JSON numbers: whole levels as integers.

use barograph_model::Level;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

/// Writes a level.
///
/// # Errors
/// If the writer fails.
pub fn serialize<S: Serializer>(level: &Level, to: S) -> Result<S::Ok, S::Error> {
    if level.is_whole() { to.serialize_u32(level.whole()) } else { to.serialize_f64((*level).into()) }
}

/// Reads a level.
///
/// # Errors
/// If the value is not a level.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Level, D::Error> {
    let value = f64::deserialize(from)?;
    Level::new(value).ok_or_else(|| {
        D::Error::custom(format!("{value} is no level of load: a number with three decimals at most"))
    })
}
