//! Bounded fuzzing of the readers: known texts and changed ones, whole and in pieces, against each other and httparse.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;

use crate::flaw::Flaw;
use crate::head::{after_status_line, fields};
use crate::reader::{AnswerLayout, Reader};
use crate::sse::Events;

/// Body limit, small so that the texts reach it.
const LIMIT: usize = 4_096;

/// Mutated texts in one run of the tests.
const CHANGED: u32 = 20_000;

/// Fragments of the protocol, for mutations that reach deep.
const WORDS: [&[u8]; 16] = [
    b"\r\n",
    b"\n",
    b"\r\n\r\n",
    b"0\r\n\r\n",
    b"content-length: ",
    b"transfer-encoding: chunked\r\n",
    b"HTTP/1.1 100 C\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n",
    b"connection: close\r\n",
    b"data: ",
    b"id: ",
    b"event",
    b"\xef\xbb\xbf",
    b"ffffffff",
    b": ",
    b"\0",
];

/// Texts by name.
type Corpus = Vec<(String, Vec<u8>)>;

static ANSWERS: LazyLock<Corpus> = LazyLock::new(|| corpus("answers"));
static EVENTS: LazyLock<Corpus> = LazyLock::new(|| corpus("events"));

/// The committed texts in `tests/corpus/KIND`, by name.
fn corpus(kind: &str) -> Corpus {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(kind);
    let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Corpus = files
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap()))
        .collect();
    all.sort();
    all
}

/// Result of reading an answer: status, fields, body, trailers.
type ParsedAnswer = (u16, Vec<(Vec<u8>, Vec<u8>)>, Vec<u8>, Vec<(Vec<u8>, Vec<u8>)>);

fn owned(text: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    fields(text).map(|(name, value)| (name.to_vec(), value.to_vec())).collect()
}

/// Reads an answer that arrives in these pieces, after which the connection is closed. `None` if it is cut
/// off.
fn read<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    bodiless: bool,
) -> Result<Option<ParsedAnswer>, Flaw> {
    let all = read_keeping(pieces, bodiless, usize::MAX)?;
    Ok(all.map(|(answer, length, ..)| {
        assert_eq!(answer.2.len(), length);
        answer
    }))
}

/// The same with only the first `kept` bytes of the body kept; also the length of the body, and the bytes on
/// the wire.
fn read_keeping<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    bodiless: bool,
    kept: usize,
) -> Result<Option<(ParsedAnswer, usize, usize)>, Flaw> {
    let mut reader = Reader::new(LIMIT, bodiless).keeping(kept);
    let mut buffer = Vec::new();
    let mut sent = 0;
    let found = |whole: AnswerLayout, buffer: &[u8], sent: usize| {
        assert!(whole.wire <= sent && whole.body.end <= whole.wire, "{whole:?} of {sent} bytes");
        assert!(whole.body.len() <= LIMIT && whole.head == whole.body.start);
        let head = owned(after_status_line(&buffer[..whole.head]));
        let body = buffer[whole.body.clone()].to_vec();
        let answer = (whole.status, head, body, owned(&buffer[whole.trailers]));
        (answer, whole.body_length, whole.wire)
    };
    for piece in pieces {
        buffer.extend_from_slice(piece);
        sent += piece.len();
        assert!(reader.room(buffer.len()) > 0);
        if let Some(whole) = reader.look(&mut buffer, false)? {
            return Ok(Some(found(whole, &buffer, sent)));
        }
    }
    Ok(reader.look(&mut buffer, true)?.map(|whole| found(whole, &buffer, sent)))
}

/// Reads a text whole, byte by byte and in two pieces; all must give the same result.
fn read_in_all_ways(
    text: &[u8],
    cuts: impl IntoIterator<Item = usize>,
) -> Result<Option<ParsedAnswer>, Flaw> {
    for bodiless in [true, false] {
        let whole = read([text], bodiless);
        assert_eq!(read(text.chunks(1), bodiless), whole, "byte by byte: {}", text.escape_ascii());
    }
    let whole = read([text], false);
    for cut in cuts {
        let (a, b) = text.split_at(cut.min(text.len()));
        assert_eq!(read([a, b], false), whole, "cut at {cut}: {}", text.escape_ascii());
    }
    let all = read_keeping([text], false, usize::MAX);
    for kept in [0, 3] {
        let first = all.clone().map(|read| {
            read.map(|(mut answer, length, wire)| {
                answer.2.truncate(kept);
                (answer, length, wire)
            })
        });
        assert_eq!(read_keeping(text.chunks(1), false, kept), first, "{kept} kept: {}", text.escape_ascii());
    }
    whole
}

/// The fields of a head as read by httparse.
fn fields_by_httparse(text: &[u8]) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut headers = [httparse::EMPTY_HEADER; 128];
    let mut response = httparse::Response::new(&mut headers);
    response.parse(text).ok().filter(httparse::Status::is_complete)?;
    Some(response.headers.iter().map(|h| (h.name.as_bytes().to_vec(), h.value.to_vec())).collect())
}

fn events(text: &[u8], step: usize) -> Result<Vec<(String, String, String)>, Flaw> {
    let (mut events, mut found) = (Events::new(LIMIT), Vec::new());
    for mut piece in text.chunks(step) {
        while !piece.is_empty() {
            let (n, whole) = events.take(piece)?;
            assert!(n > 0 && n <= piece.len());
            piece = &piece[n..];
            if whole {
                let event = events.event();
                found.push((event.name.to_owned(), event.id.to_owned(), event.data.to_owned()));
            }
        }
    }
    Ok(found)
}

/// A mutation of a text.
#[derive(Clone, Debug)]
enum Change {
    Flip(prop::sample::Index, u8),
    Remove(prop::sample::Index, usize),
    Insert(prop::sample::Index, usize),
    Repeat(prop::sample::Index, usize),
    Append(prop::sample::Index),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(i, b)| Change::Flip(i, b)),
        (at(), 1usize..20).prop_map(|(i, n)| Change::Remove(i, n)),
        (at(), 0..WORDS.len()).prop_map(|(i, n)| Change::Insert(i, n)),
        (at(), 1usize..60).prop_map(|(i, n)| Change::Repeat(i, n)),
        at().prop_map(Change::Append),
    ]
}

fn changed(corpus: &[(String, Vec<u8>)], first: prop::sample::Index, changes: &[Change]) -> Vec<u8> {
    let mut text = first.get(corpus).1.clone();
    for change in changes {
        let (at, n) = match change {
            Change::Flip(at, _) | Change::Append(at) => (at, 0),
            Change::Remove(at, n) | Change::Insert(at, n) | Change::Repeat(at, n) => (at, *n),
        };
        let start = at.index(text.len() + 1);
        let end = (start + n).min(text.len());
        match change {
            Change::Flip(_, bits) => text.iter_mut().skip(start).take(1).for_each(|b| *b ^= bits),
            Change::Remove(..) => drop(text.drain(start..end)),
            Change::Insert(..) => drop(text.splice(start..start, WORDS[n].iter().copied())),
            Change::Repeat(..) => {
                let piece = text[start..end].to_vec();
                text.splice(start..start, piece);
            }
            Change::Append(_) => text.extend_from_slice(&at.get(corpus).1),
        }
    }
    text
}

#[test]
fn known_answers_read_the_same_in_any_pieces() {
    let mut outcomes = Vec::new();
    for (name, text) in ANSWERS.iter() {
        let found = read_in_all_ways(text, 0..text.len().min(600));
        if let (Ok(Some((_, head, ..))), Some(other)) = (&found, fields_by_httparse(text)) {
            // Interim answers come first in the text and are left out here.
            assert!(name.starts_with("interim") || *head == other, "{name}");
        }
        let outcome = match found {
            Ok(Some((status, head, body, trailers))) => {
                format!("{status}, {} fields, {} bytes, {} trailers", head.len(), body.len(), trailers.len())
            }
            Ok(None) => "cut off".to_owned(),
            Err(flaw) => format!("{flaw:?}"),
        };
        outcomes.push(format!("{name}: {outcome}"));
    }
    let expected = include_str!("../tests/corpus/answers.txt");
    assert_eq!(outcomes.join("\n") + "\n", expected);
}

#[test]
fn known_event_streams_read_the_same_in_any_pieces() {
    for (name, text) in EVENTS.iter() {
        let whole = events(text, usize::MAX >> 1).unwrap();
        assert_eq!(whole.is_empty(), name == "never_ended", "{name}: {whole:?}");
        for step in 1..=text.len() {
            assert_eq!(events(text, step).unwrap(), whole, "{name} in steps of {step}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CHANGED))]

    #[test]
    fn changed_answers_read_the_same_in_any_pieces(
        first: prop::sample::Index,
        changes in prop::collection::vec(change(), 1..6),
        cuts in prop::array::uniform3(0usize..400),
    ) {
        let text = changed(&ANSWERS, first, &changes);
        let found = read_in_all_ways(&text, cuts);
        if let (Ok(Some((status, head, ..))), Some(other)) = (found, fields_by_httparse(&text)) {
            let interim = text.windows(4).any(|w| w == b" 100" || w == b" 103") || status < 200;
            prop_assert!(interim || head == other, "{:?}", text.escape_ascii().to_string());
        }
    }

    #[test]
    fn changed_event_streams_read_the_same_in_any_pieces(
        first: prop::sample::Index,
        changes in prop::collection::vec(change(), 1..6),
        step in 1usize..9,
    ) {
        let text = changed(&EVENTS, first, &changes);
        prop_assert_eq!(events(&text, step), events(&text, usize::MAX >> 1));
    }
}
