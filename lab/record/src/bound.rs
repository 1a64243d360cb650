//! What bounded the answer of a search, as data and in words.

use std::fmt;

use barograph_model::words::count;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::UnitRecord;

/// What kept the answer of a search from being higher.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", remote = "Self")]
pub enum SearchBound {
    /// The highest level that was allowed passed.
    Maximum {
        /// Unit of the levels.
        unit: UnitRecord,
        /// Why no higher one was allowed; absent where several loads were scaled.
        because: Option<LoadLimit>,
    },
    /// A higher level failed.
    Fail,
    /// A higher level could not be believed.
    Disbelief,
    /// The trials were used up.
    Budget,
    /// The lowest level worth a trial failed.
    Minimum {
        /// Unit of the levels.
        unit: UnitRecord,
    },
    /// A step brought no more throughput.
    Gain,
    /// The CPU of the host was used as far as the plan allows.
    Cpu,
    /// One of several loads did not pass at a higher scale.
    OtherLoad,
    /// At a higher scale, windows of several loads could not be believed.
    Windows,
    /// The words of an older record.
    #[serde(skip)]
    Words {
        /// The words.
        words: String,
    },
    /// A bound of a later version.
    #[default]
    #[serde(other)]
    Unknown,
}

/// What sets the most load of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LoadLimit {
    /// The plan asks for no more.
    Plan,
    /// The plan leaves it open, and a search looks no further then.
    LeftOpen,
    /// The data admit no more.
    Data,
    /// More would need more open files than there may be.
    OpenFiles {
        /// Files that a process may open.
        limit: u64,
    },
    /// A reason of a later version.
    #[serde(other)]
    Unknown,
}

/// As the reason in a sentence.
impl fmt::Display for LoadLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadLimit::Plan => f.write_str("the plan asks for no more"),
            LoadLimit::LeftOpen => {
                f.write_str("the plan sets no maximum and a search looks no further by itself")
            }
            LoadLimit::Data => f.write_str("the data admit no more"),
            LoadLimit::OpenFiles { limit } => write!(
                f,
                "the connections of more do not fit into the {} files a process may open",
                count(*limit)
            ),
            LoadLimit::Unknown => f.write_str("of a reason that this version does not know"),
        }
    }
}

/// In words, behind "bounded by".
impl fmt::Display for SearchBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            SearchBound::Maximum { unit, because: Some(because) } => {
                return write!(f, "the most {} allowed: {because}", unit.name());
            }
            SearchBound::Maximum { because: None, .. } => "the highest scale that was allowed",
            SearchBound::Fail => "a higher level that failed",
            SearchBound::Disbelief => "a level that could not be believed",
            SearchBound::Budget => "the number of trials",
            SearchBound::Minimum { unit } => return write!(f, "the fewest {} worth a trial", unit.name()),
            SearchBound::Gain => "a step that brought no more throughput",
            SearchBound::Cpu => "the CPU of the host",
            SearchBound::OtherLoad => "a load that did not pass",
            SearchBound::Windows => "windows that could not be believed",
            SearchBound::Words { words } => words,
            SearchBound::Unknown => "something that this version does not know",
        };
        f.write_str(words)
    }
}

/// Older records have words, which stay words.
impl Serialize for SearchBound {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            SearchBound::Words { words } => to.serialize_str(words),
            data => SearchBound::serialize(data, to),
        }
    }
}

impl<'de> Deserialize<'de> for SearchBound {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Value::deserialize(from)? {
            Value::String(words) => Ok(SearchBound::Words { words }),
            data => SearchBound::deserialize(data).map_err(D::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_reads_back_and_has_its_words() {
        let unit = UnitRecord::Users;
        let files = Some(LoadLimit::OpenFiles { limit: 20_000 });
        let most = "the most users allowed: the connections of more do not fit into the 20,000 files a process may open";
        for (bound, words) in [
            (SearchBound::Maximum { unit, because: files }, most),
            (
                SearchBound::Maximum { unit: UnitRecord::Percent, because: None },
                "the highest scale that was allowed",
            ),
            (SearchBound::Minimum { unit: UnitRecord::StartsPerSecond }, "the fewest starts/s worth a trial"),
            (SearchBound::Fail, "a higher level that failed"),
            (SearchBound::Words { words: "the edge".to_owned() }, "the edge"),
        ] {
            let text = serde_json::to_string(&bound).unwrap();
            assert_eq!(serde_json::from_str::<SearchBound>(&text).unwrap(), bound, "{text}");
            assert_eq!(bound.to_string(), words);
        }
        let files = SearchBound::Maximum { unit, because: files };
        assert_eq!(
            serde_json::to_string(&files).unwrap(),
            r#"{"kind":"maximum","unit":"users","because":{"kind":"open_files","limit":20000}}"#
        );
    }

    #[test]
    fn words_of_older_records_and_kinds_of_later_ones_are_read() {
        let read = |text: &str| serde_json::from_str::<SearchBound>(text).unwrap();
        assert_eq!(read(r#""a higher level that failed""#).to_string(), "a higher level that failed");
        assert_eq!(read(r#"{"kind":"weather","wind":3}"#), SearchBound::Unknown);
        assert_eq!(
            read(r#"{"kind":"maximum","unit":"users","because":{"kind":"weather"}}"#),
            SearchBound::Maximum { unit: UnitRecord::Users, because: Some(LoadLimit::Unknown) }
        );
    }
}
