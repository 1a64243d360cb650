//! Judgement of replies.

use barograph_model::Outcome;
use barograph_resp::{Items, Reply};

use crate::command::Verb;
use crate::values::{Values, field};

/// A sent command, as far as needed to judge its reply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentCommand<'k> {
    pub(crate) verb: Verb,
    /// The field of a hash.
    pub(crate) field: u32,
    /// The number of its key; of several, the first.
    pub(crate) key: u64,
    /// The keys of a command with several.
    pub(crate) keys: &'k [u64],
}

/// Contents of a good reply.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Found {
    /// Number of lookups.
    pub(crate) lookups: u32,
    /// Number of hits.
    pub(crate) hits: u32,
    /// Bytes of values.
    pub(crate) bytes: u32,
}

/// A command that failed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failed {
    pub(crate) outcome: Outcome,
    pub(crate) why: &'static str,
    /// The text of a refusal.
    pub(crate) seen: Vec<u8>,
}

impl Failed {
    pub(crate) const fn new(outcome: Outcome, why: &'static str) -> Self {
        Failed { outcome, why, seen: Vec::new() }
    }
}

/// Judge of replies.
pub(crate) struct Judge<'v> {
    pub(crate) values: &'v Values,
    /// Whether values are compared with those written.
    pub(crate) verify: bool,
}

impl Judge<'_> {
    /// Judges a reply.
    #[inline]
    pub(crate) fn end(&self, sent: SentCommand<'_>, reply: &Reply<'_>) -> Result<Found, Failed> {
        match (sent.verb, reply) {
            (Verb::Get | Verb::LPop, reply) => self.looked_up(sent.key, reply),
            (Verb::HGet, reply) => self.looked_up(field(sent.key, sent.field), reply),
            (Verb::MGet, Reply::Array(items)) => self.several(sent.keys, *items),
            (Verb::LRange, Reply::Array(items)) => self.elements(sent.key, *items),
            (Verb::Set, Reply::Simple(b"OK")) => Ok(Found::default()),
            (Verb::Incr | Verb::LPush, Reply::Integer(number)) if *number > 0 => Ok(Found::default()),
            (Verb::Del | Verb::Expire | Verb::HSet, Reply::Integer(0 | 1)) => Ok(Found::default()),
            (_, other) => Err(unexpected(other)),
        }
    }

    /// Judges a reply of one value or null.
    #[inline]
    fn looked_up(&self, key: u64, reply: &Reply<'_>) -> Result<Found, Failed> {
        match reply {
            Reply::Null => Ok(Found { lookups: 1, ..Found::default() }),
            Reply::Bulk(value) if self.is_right(key, value) => {
                Ok(Found { lookups: 1, hits: 1, bytes: value.len() as u32 })
            }
            Reply::Bulk(_) => Err(other_value()),
            other => Err(unexpected(other)),
        }
    }

    fn several(&self, keys: &[u64], items: Items<'_>) -> Result<Found, Failed> {
        if items.len() != keys.len() {
            return Err(Failed::new(Outcome::WrongAnswer, "not as many values as keys"));
        }
        let mut all = Found { lookups: keys.len() as u32, ..Found::default() };
        for (key, item) in keys.iter().zip(items) {
            let one = self.looked_up(*key, &item)?;
            all.hits += one.hits;
            all.bytes += one.bytes;
        }
        Ok(all)
    }

    /// Judges the elements of a list: all equal the value of its key.
    fn elements(&self, key: u64, items: Items<'_>) -> Result<Found, Failed> {
        let mut all = Found::default();
        for item in items {
            match item {
                Reply::Bulk(value) if self.is_right(key, value) => all.bytes += value.len() as u32,
                _ => return Err(other_value()),
            }
        }
        Ok(all)
    }

    fn is_right(&self, key: u64, value: &[u8]) -> bool {
        !self.verify || value == self.values.of(key)
    }
}

#[cold]
fn other_value() -> Failed {
    Failed::new(Outcome::WrongAnswer, "a value that was not written to this key")
}

/// The failure of a command with a reply that it cannot have.
#[cold]
fn unexpected(reply: &Reply<'_>) -> Failed {
    match reply {
        Reply::Error(text) => refused(text),
        _ => Failed::new(Outcome::WrongAnswer, "a reply of another type than the command has"),
    }
}

/// Known error codes of stores and proxies; others are counted under their own codes.
const REFUSALS: [(&[u8], &str); 8] = [
    (b"OOM", "out of memory (OOM)"),
    (b"MOVED", "the store is one of a cluster and the key is in another (MOVED)"),
    (b"WRONGTYPE", "the key has a value of another type (WRONGTYPE)"),
    (b"LOADING", "the store loads its data (LOADING)"),
    (b"READONLY", "the store is a replica (READONLY)"),
    (b"NOAUTH", "a password is wanted (NOAUTH): give it in the address, as in redis://:PASSWORD@HOST"),
    (b"WRONGPASS", "the password is wrong (WRONGPASS): correct it in the address"),
    (b"ERR", "an error (ERR)"),
];

fn refused(text: &[u8]) -> Failed {
    let known = REFUSALS.iter().find(|(code, _)| text.starts_with(code));
    let why = known.map_or("an error of another kind", |(_, why)| why);
    Failed { outcome: Outcome::Refused, why, seen: text.to_vec() }
}

#[cfg(test)]
mod tests {
    use barograph_resp::{ReadResult, reply};

    use super::*;
    use crate::values::Size;

    fn judged(verb: Verb, text: &str, verify: bool) -> Result<Found, Failed> {
        let values = Values::new(Size { least: 4, most: 4 }, 1.0, 1);
        let mut bytes = Vec::new();
        for piece in text.split_inclusive("VALUE") {
            bytes.extend(piece.trim_end_matches("VALUE").as_bytes());
            if piece.ends_with("VALUE") {
                bytes.extend(values.of(7));
            }
        }
        let Ok(ReadResult::Whole { reply, .. }) = reply(&bytes) else { panic!("{text:?} is a reply") };
        let sent = SentCommand { verb, key: 7, field: 0, keys: &[7, 7] };
        Judge { values: &values, verify }.end(sent, &reply)
    }

    #[test]
    fn lookups_are_hits_or_misses() {
        let found = |lookups, hits, bytes| Ok(Found { lookups, hits, bytes });
        assert_eq!(judged(Verb::Get, "$-1\r\n", true), found(1, 0, 0));
        assert_eq!(judged(Verb::Get, "_\r\n", true), found(1, 0, 0));
        assert_eq!(judged(Verb::Get, "$4\r\nVALUE\r\n", true), found(1, 1, 4));
        let mget = "*2\r\n$4\r\nVALUE\r\n$-1\r\n";
        assert_eq!(judged(Verb::MGet, mget, true), found(2, 1, 4));
        let lrange = "*2\r\n$4\r\nVALUE\r\n$4\r\nVALUE\r\n";
        assert_eq!(judged(Verb::LRange, lrange, true), found(0, 0, 8));
    }

    #[test]
    fn another_value_is_a_wrong_answer_where_values_are_verified() {
        assert_eq!(judged(Verb::Get, "$4\r\nabcd\r\n", true), Err(other_value()));
        assert!(judged(Verb::Get, "$4\r\nabcd\r\n", false).is_ok());
        assert_eq!(judged(Verb::LRange, "*1\r\n$4\r\nabcd\r\n", true), Err(other_value()));
        assert_eq!(judged(Verb::MGet, "*2\r\n$-1\r\n$4\r\nabcd\r\n", true), Err(other_value()));
    }

    #[test]
    fn replies_of_another_kind_are_failures() {
        let outcome =
            |verb, text| judged(verb, text, false).map_or_else(|failed| failed.outcome, |_| Outcome::Good);
        assert_eq!(outcome(Verb::Get, ":1\r\n"), Outcome::WrongAnswer);
        assert_eq!(outcome(Verb::Set, "+QUEUED\r\n"), Outcome::WrongAnswer);
        assert_eq!(outcome(Verb::Incr, ":0\r\n"), Outcome::WrongAnswer);
        assert_eq!(outcome(Verb::Expire, ":2\r\n"), Outcome::WrongAnswer);
        assert_eq!(outcome(Verb::MGet, "*1\r\n$-1\r\n"), Outcome::WrongAnswer);
        for (verb, text) in [(Verb::Set, "+OK\r\n"), (Verb::Del, ":0\r\n"), (Verb::LPush, ":9\r\n")] {
            assert_eq!(outcome(verb, text), Outcome::Good);
        }
        let seen = b"MOVED 3999 127.0.0.1:6381".to_vec();
        let moved = Failed { outcome: Outcome::Refused, why: REFUSALS[1].1, seen };
        assert_eq!(judged(Verb::Get, "-MOVED 3999 127.0.0.1:6381\r\n", false), Err(moved));
    }
}
