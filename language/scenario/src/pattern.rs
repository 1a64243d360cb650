//! Regular expressions and JSON schemas, compiled once and compared by their sources.

use std::fmt;

use regex::bytes::Regex;

/// Most memory of one compiled expression, in bytes. Ten times as much as sensible ones need.
const MOST_BYTES: usize = 1 << 20;

/// A regular expression over bytes; matching takes linear time.
#[derive(Clone)]
pub struct Pattern(Regex);

impl Pattern {
    /// Compiles an expression; the error names the fault.
    pub fn new(text: &str) -> Result<Self, String> {
        let built = regex::bytes::RegexBuilder::new(text).size_limit(MOST_BYTES).build();
        built.map(Pattern).map_err(|e| {
            let message = e.to_string();
            message.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
        })
    }

    /// The compiled expression.
    #[must_use]
    pub fn regex(&self) -> &Regex {
        &self.0
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/", self.0.as_str())
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

/// A JSON schema. References outside of the document are refused: nothing is fetched.
pub struct Schema {
    text: serde_json::Value,
    validator: jsonschema::Validator,
}

impl Schema {
    /// Compiles a schema; the error names the fault.
    pub fn new(text: &[u8]) -> Result<Self, String> {
        let text: serde_json::Value =
            serde_json::from_slice(crate::without_mark(text)).map_err(|e| format!("not JSON: {e}"))?;
        let validator = jsonschema::validator_for(&text).map_err(|e| format!("not a schema: {e}"))?;
        Ok(Schema { text, validator })
    }

    /// Whether the document fits.
    #[must_use]
    pub fn fits(&self, document: &serde_json::Value) -> bool {
        self.validator.is_valid(document)
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({})", self.text)
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}
