//! Reading of any text ends: with a scenario that reads back from its resolved text, or with refusals.
//!
//! Three ways for a bounded time: arbitrary text, examples with lines and letters changed, and the corpus of
//! files worth a repetition. Files that failed once go into the corpus.

use std::io;
use std::path::{Path, PathBuf};

use barograph_scenario::{Scenario, minimal, read};
use proptest::prelude::*;

fn here(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)
}

fn texts(folder: &str) -> Vec<String> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(here(folder)).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    let files = paths.iter().filter(|p| p.is_file());
    files.map(|p| String::from_utf8_lossy(&std::fs::read(p).unwrap()).into_owned()).collect()
}

/// Files of the examples, and small ones of any other name.
fn file(path: &Path) -> io::Result<Vec<u8>> {
    std::fs::read(here("../../scenarios").join(path)).or(Ok(b"a,b\n1,2\n".to_vec()))
}

/// Reads a text; refusals have a place, an accepted scenario reads back.
fn try_it(text: &str) -> Option<Scenario> {
    match read("fuzz", text, &file) {
        Ok(scenario) => {
            let again = read("fuzz", &scenario.resolved, &file);
            let again = again.unwrap_or_else(|e| panic!("{e}\nin {}\nfrom {text}", scenario.resolved));
            assert_eq!(again, scenario, "from {text}");
            Some(scenario)
        }
        Err(refused) => {
            assert!(!refused.0.is_empty());
            for refusal in &refused.0 {
                let line: usize = refusal.place.strip_prefix("fuzz:").unwrap().parse().unwrap();
                assert!(line <= text.matches('\n').count() + 1, "{refusal}");
            }
            None
        }
    }
}

#[test]
fn the_corpus_is_read_or_refused() {
    let corpus = texts("tests/corpus");
    assert!(corpus.len() >= 10);
    corpus.iter().chain(&texts("tests/refused")).for_each(|text| drop(try_it(text)));
}

/// One change of a text.
#[derive(Clone, Debug)]
enum Change {
    Drop(usize),
    Double(usize),
    Swap(usize, usize),
    Cut(usize, usize),
    Put(usize, &'static str),
    Other(usize, &'static str),
}

const PIECES: [&str; 16] = [
    "{",
    "}",
    "\"",
    "'",
    "[",
    "]",
    "0",
    "-1",
    "\u{0}",
    "\u{1F600}",
    "{user}",
    "{{",
    "=",
    "\n",
    "true",
    "99999999999999999999",
];

const LINES: [&str; 12] = [
    "when = \"len(found) > 1 or not (status == 200)\"",
    "parallel = true",
    "wait = true",
    "for_each = { list = \"found\", as = \"one\" }",
    "per = \"exchange\"",
    "query = { a = [1, true, \"{user} b\"], \"c d\" = 1.5 }",
    "json = { b = 1, a = { c = [] }, \"\\\"\" = \"\\u0007{{\" }",
    "extract.more = { regex = \"(a)(b)\", all = true }",
    "check.status = [\"1xx\", 404]",
    "qos = \"p50 < 1 ms\"",
    "[[operations.Get.exchanges]]",
    "[behaviours.other]",
];

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let any = 0_usize..10_000;
    let change = prop_oneof![
        any.clone().prop_map(Change::Drop),
        any.clone().prop_map(Change::Double),
        (any.clone(), any.clone()).prop_map(|(a, b)| Change::Swap(a, b)),
        (any.clone(), 1_usize..20).prop_map(|(a, n)| Change::Cut(a, n)),
        (any.clone(), prop::sample::select(&PIECES[..])).prop_map(|(a, p)| Change::Put(a, p)),
        (any, prop::sample::select(&LINES[..])).prop_map(|(a, l)| Change::Other(a, l)),
    ];
    prop::collection::vec(change, 1..4)
}

fn changed(text: &str, change: &Change) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let count = lines.len().max(1);
    match change {
        Change::Drop(at) => {
            if !lines.is_empty() {
                lines.remove(at % count);
            }
        }
        Change::Double(at) => lines.insert(at % count, lines.get(at % count).copied().unwrap_or("")),
        Change::Swap(a, b) => {
            if !lines.is_empty() {
                lines.swap(a % count, b % count);
            }
        }
        Change::Other(at, line) => lines.insert(at % count, line),
        Change::Cut(at, length) => {
            let kept =
                |(i, _): &(usize, char)| *i < at % text.len().max(1) || *i >= at % text.len().max(1) + length;
            return text.char_indices().filter(kept).map(|(_, c)| c).collect();
        }
        Change::Put(at, piece) => {
            let at = (at % (text.len() + 1)..=text.len()).find(|i| text.is_char_boundary(*i)).unwrap();
            return format!("{}{piece}{}", &text[..at], &text[at..]);
        }
    }
    lines.join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_ends(text in "\\PC{0,200}", bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        try_it(&text);
        try_it(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn changed_examples_end(which in 0_usize..100, changes in changes()) {
        let examples = [texts("../../scenarios"), texts("tests/refused"), texts("tests/corpus")].concat();
        let text = examples[which % examples.len()].clone();
        try_it(&changes.iter().fold(text, |text, change| changed(&text, change)));
    }

    #[test]
    fn a_command_line_ends(
        url in "(http://)?[a-z\\[\\]:0-9]{0,8}[/?#{}a-z=&% ]{0,12}",
        method in prop::option::of("[A-Za-z-]{0,5}"),
        headers in prop::collection::vec(("[a-z-]{0,4}", "\\PC{0,6}"), 0..3),
        body in prop::option::of("\\PC{0,20}"),
    ) {
        let what = barograph_scenario::Minimal {
            url: &url, method: method.as_deref(), headers: &headers, body: body.as_deref(), qos: None,
        };
        if let Ok(scenario) = minimal(&what) {
            try_it(&scenario.resolved).expect("what was accepted reads back");
        }
    }
}
