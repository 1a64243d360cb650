//! Every module begins with a sentence about its purpose.

use super::{Finding, Source};

pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    sources
        .iter()
        .filter(|source| source.path.contains("/src/"))
        .filter(|source| !begins_with_docs(&source.text))
        .map(|source| Finding {
            rule: "module-docs",
            place: source.path.clone(),
            says: "the first line must be `//!` and say what the module is for".to_owned(),
        })
        .collect()
}

fn begins_with_docs(text: &str) -> bool {
    text.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| {
        line.strip_prefix("//!")
            .is_some_and(|words| words.trim().len() >= 10 && !words.contains("(being written)"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_without_a_sentence_is_found() {
        let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
        let found = check(&[
            source("lab/a/src/good.rs", "//! A module with a purpose.\nfn f() {}\n"),
            source("lab/a/src/bare.rs", "use std::fmt;\n"),
            source("lab/a/src/short.rs", "//! x\n"),
            source("lab/a/src/placeholder.rs", "//! (being written)\n"),
            source("lab/a/tests/elsewhere.rs", "fn f() {}\n"),
        ]);
        let places: Vec<&str> = found.iter().map(|f| f.place.as_str()).collect();
        assert_eq!(places, ["lab/a/src/bare.rs", "lab/a/src/short.rs", "lab/a/src/placeholder.rs"]);
    }
}
