//! Calls that are refused outside the places listed here, each with its reason.
//!
//! The rule reads tokens, not text: comments and strings may contain any names, and macro bodies are seen
//! too.

use std::collections::BTreeSet;
use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::{Finding, Source};

/// A refused call.
struct Ban {
    /// Identifiers in order, joined by `::` in the code.
    path: &'static [&'static str],
    follows: NextToken,
    tests: InTests,
    why: &'static str,
    /// Allowed places: a file, or a folder with a slash at its end, and the reason.
    allowed: &'static [(&'static str, &'static str)],
}

/// What must follow the path for a refused call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NextToken {
    Anything,
    /// `()`: a constructor without a capacity.
    NoArguments,
    /// `!`: a macro.
    Macro,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum InTests {
    Refused,
    Allowed,
}

/// Reason for the bans of clocks.
const CLOCK: &str = "the time is read in a few listed places only; pass it down from there";
/// Reason for the bans of queues without a bound.
const QUEUE: &str = "every queue has a bound";

/// Places that read the monotonic clock.
const MONOTONIC_PLACES: &[(&str, &str)] = &[
    ("lab/engine/src/handle.rs", "the start of the load, from which the engine's clock counts"),
    ("lab/harness/src/clock.rs", "the run's clock: when phases start and end"),
    ("lab/harness/src/fleet/clock.rs", "the clock of a driver, which its harness holds against its own"),
    ("applications/auction/app/src/clock.rs", "the application's clock"),
    ("applications/auction/app/src/fill/mod.rs", "states how long a fill took"),
    ("machines/probe/src/flush.rs", "how long a flush of the disk takes"),
    ("machines/supervisor/src/supervisor.rs", "how long a command takes, apart from the messages about it"),
    ("platforms/container/src/deadline.rs", "deadlines of what a container engine was asked to do"),
    ("platforms/process/src/sweep.rs", "the deadline of a process that was told to stop"),
    ("lab/cli/src/terminal.rs", "remaining time and refresh of the screen"),
    ("dev/bench/src/", "times what it measures"),
    ("dev/test-kubernetes/src/cluster.rs", "the deadline of a cluster that does not start"),
    ("xtask/src/steps.rs", "times the steps of a maintainer's command"),
    ("xtask/src/testing/process.rs", "times a test"),
    ("xtask/src/testing/progress.rs", "shows how long tests have been running"),
];

/// Places that read the time of day.
const TIME_OF_DAY_PLACES: &[(&str, &str)] = &[
    ("lab/harness/src/clock.rs", "the run's clock: the wall clock is held against the monotonic one"),
    ("platforms/vm/src/clock.rs", "the clocks of guests are set by it"),
];

/// Places that read the time of day for people or for other programs.
const STAMPS: &[(&str, &str)] = &[
    ("lab/cli/src/commands/run.rs", "the date in the name of a run"),
    ("dev/test-kubernetes/src/simulated.rs", "a node says to its cluster when it was alive"),
];

/// All bans.
const BANS: &[Ban] = &[
    clock(&["Instant", "now"], MONOTONIC_PLACES),
    clock(&["SystemTime", "now"], TIME_OF_DAY_PLACES),
    clock(&["Zoned", "now"], &[("dev/bench/src/idle/page.rs", "the date beside measured figures")]),
    clock(&["Timestamp", "now"], STAMPS),
    Ban {
        path: &["process", "exit"],
        follows: NextToken::Anything,
        tests: InTests::Refused,
        why: "return an ExitCode from main",
        allowed: &[],
    },
    Ban {
        path: &["thread", "sleep"],
        follows: NextToken::Anything,
        tests: InTests::Refused,
        why: "wait for an event with a deadline; a bare sleep is too short or too long",
        allowed: &[],
    },
    queue(&["unbounded_channel"], NextToken::Anything),
    queue(&["unbounded"], NextToken::Anything),
    queue(&["mpsc", "channel"], NextToken::NoArguments),
    unfinished(&["todo"]),
    unfinished(&["unimplemented"]),
];

const fn clock(path: &'static [&'static str], allowed: &'static [(&'static str, &'static str)]) -> Ban {
    Ban { path, follows: NextToken::Anything, tests: InTests::Allowed, why: CLOCK, allowed }
}

const fn queue(path: &'static [&'static str], follows: NextToken) -> Ban {
    Ban { path, follows, tests: InTests::Refused, why: QUEUE, allowed: &[] }
}

const fn unfinished(path: &'static [&'static str]) -> Ban {
    Ban {
        path,
        follows: NextToken::Macro,
        tests: InTests::Refused,
        why: "no unfinished code is kept",
        allowed: &[],
    }
}

pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    check_against(sources, BANS)
}

fn check_against(sources: &[Source], bans: &[Ban]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut used = BTreeSet::new();
    for source in sources {
        let Ok(tokens) = TokenStream::from_str(&source.text) else {
            // The rule on sizes reports files that cannot be read.
            continue;
        };
        let mut words = Vec::new();
        flatten(tokens, source.is_test(), &mut words);
        for at in 0..words.len() {
            let ban = bans.iter().find(|ban| matches(ban, &words[at..]) && !continues_path(&words[..at]));
            let Some(ban) = ban else { continue };
            if ban.tests == InTests::Allowed && words[at].in_test {
                continue;
            }
            match ban.allowed.iter().find(|(place, _)| belongs(&source.path, place)) {
                Some((place, _)) => {
                    used.insert((ban.path, *place));
                }
                None => findings.push(Finding {
                    rule: "banned",
                    place: format!("{}:{}", source.path, words[at].line),
                    says: format!("`{}` is not allowed here: {}", ban.path.join("::"), ban.why),
                }),
            }
        }
    }
    findings.extend(stale(bans, &used));
    findings
}

/// Unused exceptions.
fn stale(bans: &[Ban], used: &BTreeSet<(&'static [&'static str], &'static str)>) -> Vec<Finding> {
    let all = bans.iter().flat_map(|ban| ban.allowed.iter().map(move |(place, _)| (ban.path, *place)));
    all.filter(|entry| !used.contains(entry))
        .map(|(path, place)| Finding {
            rule: "banned",
            place: "xtask/src/tidy/banned.rs".to_owned(),
            says: format!("remove the exception for `{}` in {place}: nothing uses it", path.join("::")),
        })
        .collect()
}

fn belongs(path: &str, place: &str) -> bool {
    if place.ends_with('/') { path.starts_with(place) } else { path == place }
}

/// A token in the form for the rule.
struct Word {
    text: String,
    line: usize,
    in_test: bool,
}

/// All tokens in order, groups opened up. An empty pair of parentheses is one word, `()`.
fn flatten(tokens: TokenStream, in_test: bool, words: &mut Vec<Word>) {
    let mut next_item_is_test = false;
    for token in tokens {
        let line = token.span().start().line;
        match token {
            TokenTree::Group(group) => {
                let empty = group.stream().is_empty();
                if group.delimiter() == Delimiter::Bracket && is_test_attribute(&group.stream()) {
                    next_item_is_test = true;
                }
                if group.delimiter() == Delimiter::Parenthesis && empty {
                    words.push(Word { text: "()".to_owned(), line, in_test });
                } else {
                    let closes_item = group.delimiter() == Delimiter::Brace;
                    flatten(group.stream(), in_test || next_item_is_test, words);
                    words.push(Word { text: "group end".to_owned(), line, in_test });
                    next_item_is_test &= !closes_item;
                }
            }
            TokenTree::Punct(punct) => {
                next_item_is_test &= punct.as_char() != ';';
                words.push(Word { text: punct.to_string(), line, in_test: in_test || next_item_is_test });
            }
            TokenTree::Ident(ident) => {
                words.push(Word { text: ident.to_string(), line, in_test: in_test || next_item_is_test });
            }
            TokenTree::Literal(_) => words.push(Word { text: String::new(), line, in_test }),
        }
    }
}

/// The inside of `#[cfg(test)]` or `#[test]`, `#[tokio::test(...)]`.
fn is_test_attribute(inside: &TokenStream) -> bool {
    let text: String = inside.to_string().split_whitespace().collect();
    text == "test" || text.starts_with("cfg(test)") || text.starts_with("tokio::test")
}

fn matches(ban: &Ban, words: &[Word]) -> bool {
    let mut at = 0;
    for (i, name) in ban.path.iter().enumerate() {
        if i > 0 {
            if !(is(words, at, ":") && is(words, at + 1, ":")) {
                return false;
            }
            at += 2;
        }
        if !is(words, at, name) {
            return false;
        }
        at += 1;
    }
    match ban.follows {
        NextToken::Anything => true,
        NextToken::NoArguments => is(words, at, "()"),
        NextToken::Macro => is(words, at, "!"),
    }
}

/// `tokio::time::` before a name: the runtime's clock, which tests control.
const RUNTIME_TIME: [&str; 6] = ["tokio", ":", ":", "time", ":", ":"];

/// Whether the word before makes this a method, a definition, or the runtime's own name.
fn continues_path(before: &[Word]) -> bool {
    let last = before.last().map(|w| w.text.as_str());
    if before.iter().rev().take(6).rev().map(|w| w.text.as_str()).eq(RUNTIME_TIME) {
        return true;
    }
    matches!(last, Some("." | "fn" | "let" | "mod"))
}

fn is(words: &[Word], at: usize, text: &str) -> bool {
    words.get(at).is_some_and(|word| word.text == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(path: &str, text: &str) -> Vec<String> {
        let no_exceptions: Vec<Ban> = BANS.iter().map(|ban| Ban { allowed: &[], ..*ban }).collect();
        let source = Source { path: path.to_owned(), text: text.to_owned() };
        check_against(&[source], &no_exceptions).into_iter().map(|f| f.says).collect()
    }

    #[test]
    fn each_ban_is_found_also_in_macros() {
        for (code, call) in [
            ("let t = std::time::Instant::now();", "Instant::now"),
            ("let t = SystemTime::now();", "SystemTime::now"),
            ("select! { _ = x => { Instant::now(); } }", "Instant::now"),
            ("jiff::Zoned::now();", "Zoned::now"),
            ("std::process::exit(1);", "process::exit"),
            ("thread::sleep(d);", "thread::sleep"),
            ("let c = tokio::sync::mpsc::unbounded_channel();", "unbounded_channel"),
            ("let c = crossbeam_channel::unbounded();", "unbounded"),
            ("let c = std::sync::mpsc::channel();", "mpsc::channel"),
            ("todo!()", "todo"),
            ("unimplemented!(\"later\")", "unimplemented"),
        ] {
            let found = places("lab/a/src/b.rs", &format!("fn f() {{ {code} }}"));
            assert!(found.iter().any(|says| says.starts_with(&format!("`{call}`"))), "{code}: {found:?}");
        }
    }

    #[test]
    fn words_in_comments_strings_and_bounded_queues_are_fine() {
        let text = "/// Never `thread::sleep`.\nfn f() { let s = \"todo!() Instant::now()\"; mpsc::channel(8); \
                    oneshot::channel(); tokio::time::Instant::now(); \
                    /* unbounded */ }";
        assert!(places("lab/a/src/b.rs", text).is_empty());
    }

    #[test]
    fn tests_may_read_the_clock_but_not_sleep() {
        let module = "#[cfg(test)]\nmod tests { fn f() { Instant::now(); } }\nfn g() {}";
        assert!(places("lab/a/src/b.rs", module).is_empty());
        let after = "#[cfg(test)]\nmod tests;\nfn g() { Instant::now(); }";
        assert_eq!(places("lab/a/src/b.rs", after).len(), 1);
        assert!(places("lab/a/tests/b.rs", "fn f() { Instant::now(); }").is_empty());
        assert_eq!(places("lab/a/tests/b.rs", "fn f() { thread::sleep(d); }").len(), 1);
    }

    #[test]
    fn an_exception_holds_where_it_is_listed_and_goes_stale() {
        const BAN: Ban =
            clock(&["Instant", "now"], &[("lab/a/src/clock.rs", "the clock"), ("lab/b/src/", "b")]);
        let source =
            |path: &str| Source { path: path.to_owned(), text: "fn f() { Instant::now(); }".to_owned() };
        let (clock, b, other) =
            (source("lab/a/src/clock.rs"), source("lab/b/src/x/y.rs"), source("lab/a/src/other.rs"));
        assert!(check_against(&[clock.clone(), b], &[BAN]).is_empty());
        let found = check_against(&[clock, other], &[BAN]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0].place, "lab/a/src/other.rs:1");
        assert!(found[1].says.contains("lab/b/src/: nothing uses it"));
    }
}
