//! Names valid in routing keys, subjects and exchanges.

use crate::bounds::MAX_NAME_BYTES;

/// An invalid name of a node or a namespace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to take {name:?} as a name: 1 to {MAX_NAME_BYTES} letters, digits, - and _ are")]
pub struct InvalidName {
    name: String,
}

/// Checks a name. Dots and stars have meanings for brokers, blanks and line ends for their protocols.
pub(crate) fn check(name: &str) -> Result<(), InvalidName> {
    let fits = (1..=MAX_NAME_BYTES).contains(&name.len());
    if fits && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') {
        return Ok(());
    }
    Err(InvalidName { name: name.chars().take(MAX_NAME_BYTES).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_pass() {
        for good in ["a", "node-1", "N_2", &"x".repeat(MAX_NAME_BYTES)] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        let long = "x".repeat(MAX_NAME_BYTES + 1);
        for bad in ["", "a.b", "*", ">", "#", "a b", "a\r\nPUB x 0", "é", &long] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
    }
}
