//! Selection of values in an answer: a name, and labels that must match.

use serde::Deserialize;

/// A name in an answer, with labels: `in_msgs`, `hits_total{cache="items"}`. All values of the name with
/// matching labels are added up.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Pick {
    name: String,
    labels: Vec<(String, String)>,
}

/// A malformed selection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither NAME nor NAME{{LABEL=\"VALUE\",...}}")]
pub struct BadPick(String);

impl Pick {
    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the labels of a value match; `of` returns the value of a label.
    pub(crate) fn fits<'a>(&self, of: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.labels.iter().all(|(label, wanted)| of(label) == Some(wanted.as_str()))
    }
}

impl TryFrom<String> for Pick {
    type Error = BadPick;

    fn try_from(text: String) -> Result<Self, BadPick> {
        parse(&text).ok_or(BadPick(text))
    }
}

fn parse(text: &str) -> Option<Pick> {
    let (name, inside) = match text.split_once('{') {
        None => (text, ""),
        Some((name, rest)) => (name, rest.strip_suffix('}').filter(|inside| !inside.is_empty())?),
    };
    if name.is_empty() || name.contains(['}', '"', ' ']) {
        return None;
    }
    let mut labels = Vec::new();
    for pair in inside.split(',').filter(|pair| !pair.is_empty()) {
        let (label, value) = pair.split_once('=')?;
        let value = value.strip_prefix('"')?.strip_suffix('"')?;
        if label.is_empty() || value.contains('"') {
            return None;
        }
        labels.push((label.to_owned(), value.to_owned()));
    }
    Some(Pick { name: name.to_owned(), labels })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_labels_are_told_apart() {
        let pick = Pick::try_from(r#"rows{type="2",status="DOWN"}"#.to_owned()).unwrap();
        assert_eq!(pick.name(), "rows");
        assert!(pick.fits(|label| Some(if label == "type" { "2" } else { "DOWN" })));
        assert!(
            !pick.fits(|label| (label == "type").then_some("2")),
            "a label that is not there does not fit"
        );
        assert!(Pick::try_from("in_msgs".to_owned()).unwrap().fits(|_| None));
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in ["", "{a=\"b\"}", "a{", "a{}", "a{b}", "a{b=c}", "a{=\"c\"}", "a}", "a b"] {
            let refused = Pick::try_from(bad.to_owned()).unwrap_err();
            assert!(refused.to_string().starts_with(&format!("`{bad}`")), "{refused}");
        }
    }
}
