//! Properties of messages, over generated messages, splits and values.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::answer;
use crate::diagnostic::Diagnostic;
use crate::fields::Fields;
use crate::flaw::Flaw;
use crate::greeting::Greeting;
use crate::inbox::Inbox;
use crate::packet::{self, FULL, HEAD};
use crate::param::{self, Param};
use crate::row::{self, Cell, Row};
use crate::sql_type::SqlType;
use crate::timestamp::Timestamp;

const BIG: SqlType = SqlType::Int { bytes: 8, unsigned: false };

/// Messages in packets numbered from 0.
fn framed(messages: &[Vec<u8>]) -> Vec<u8> {
    let (mut out, mut number) = (Vec::new(), 0);
    for body in messages {
        number = packet::message(&mut out, number, |out| out.extend_from_slice(body));
    }
    out
}

/// The messages in pieces of a stream.
fn received(pieces: &[&[u8]]) -> Result<Vec<Vec<u8>>, Flaw> {
    let (mut inbox, mut all) = (Inbox::new(), Vec::new());
    for piece in pieces {
        inbox.take(piece);
        while let Some(place) = inbox.message()? {
            all.push(inbox.bytes(&place).to_vec());
        }
    }
    Ok(all)
}

/// A row of text.
fn text_row(values: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut body = Vec::new();
    for value in values {
        match value {
            Some(value) => param::counted(&mut body, value),
            None => body.push(251),
        }
    }
    body
}

fn values() -> impl Strategy<Value = Vec<Option<Vec<u8>>>> {
    let value = prop_oneof![vec(any::<u8>(), 0..30), vec(any::<u8>(), 240..300)];
    vec(proptest::option::of(value), 0..6)
}

/// The row that a server would make of parameters, and their types.
fn binary_row(params: &[Param<'_>]) -> (Vec<u8>, Vec<SqlType>) {
    let mut sent = Vec::new();
    param::write(params, &mut sent);
    let (nulls, types) = (params.len().div_ceil(8), 2 * params.len());
    let mut body = vec![0; 1 + (params.len() + 2).div_ceil(8)];
    let mut kinds = Vec::new();
    for n in 0..params.len() {
        body[1 + (n + 2) / 8] |= (sent[n / 8] >> (n % 8) & 1) << ((n + 2) % 8);
        let binary = if sent[nulls + 1 + 2 * n] == 252 { 63 } else { 45 };
        kinds.push(SqlType::of(sent[nulls + 1 + 2 * n], 0, binary));
    }
    body.extend_from_slice(&sent[nulls + 1 + types..]);
    (body, kinds)
}

fn split(body: &[u8], kinds: &[SqlType]) -> Result<Vec<Cell>, Flaw> {
    let mut cells = Vec::new();
    row::split_binary(body, kinds, &mut cells).map(|()| cells)
}

proptest! {
    #[test]
    fn any_split_of_the_stream_gives_the_same_messages(
        messages in vec(vec(any::<u8>(), 1..40), 1..8),
        cuts in vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let stream = framed(&messages);
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len())).collect();
        places.extend([0, stream.len()]);
        places.sort_unstable();
        let pieces: Vec<&[u8]> = places.windows(2).map(|ends| &stream[ends[0]..ends[1]]).collect();
        prop_assert_eq!(received(&pieces), Ok(messages.clone()));
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        prop_assert_eq!(received(&bytes), Ok(messages));
    }

    #[test]
    fn rows_of_text_have_their_values(values in values()) {
        let body = text_row(&values);
        let kinds = vec![SqlType::Bytes; values.len()];
        let mut cells = Vec::new();
        row::split_text(&body, &kinds, &mut cells).unwrap();
        let row = Row { body: &body, cells: &cells, kinds: &kinds };
        for (n, value) in values.iter().enumerate() {
            prop_assert_eq!(row.bytes(n), value.as_deref());
            prop_assert_eq!(row.get_optional::<&[u8]>(n), Ok(value.as_deref()));
        }
        prop_assert!(row.get::<&[u8]>(values.len()).is_err());
        for end in 0..body.len() {
            let cut = row::split_text(&body[..end], &kinds, &mut cells);
            prop_assert_eq!(cut, Err(Flaw::Cut("a row")));
        }
    }

    #[test]
    fn a_value_comes_back_as_it_was_sent(
        int in any::<i64>(),
        float in any::<f64>(),
        text in ".{0,120}",
        us in -62_167_219_200_000_000_i64..253_402_300_800_000_000,
    ) {
        let at = Timestamp::from_unix_us(us).unwrap();
        let all = [
            Param::Int(int),
            Param::Float(float),
            Param::Null,
            Param::Text(&text),
            Param::Bytes(text.as_bytes()),
            Param::Timestamp(at),
            Param::Null,
            Param::Int(-1),
            Param::Null,
        ];
        let (body, kinds) = binary_row(&all);
        let cells = split(&body, &kinds).unwrap();
        let row = Row { body: &body, cells: &cells, kinds: &kinds };
        prop_assert_eq!(row.get::<i64>(0), Ok(int));
        prop_assert_eq!(row.get::<i32>(0).ok(), i32::try_from(int).ok());
        prop_assert_eq!(row.get::<u64>(0).ok(), u64::try_from(int).ok());
        prop_assert_eq!(row.get::<f64>(1).map(f64::to_bits), Ok(float.to_bits()));
        prop_assert_eq!(row.get::<&str>(3), Ok(&*text));
        prop_assert_eq!(row.get::<&[u8]>(4), Ok(text.as_bytes()));
        prop_assert_eq!(row.get::<Timestamp>(5), Ok(at));
        prop_assert_eq!(at.unix_us(), us);
        prop_assert_eq!([2, 6, 8].map(|n| row.bytes(n)), [None; 3]);
        for end in 0..body.len() {
            prop_assert_eq!(split(&body[..end], &kinds), Err(Flaw::Cut("a row")));
        }
        prop_assert_eq!(split(&[&body[..], b"x"].concat(), &kinds), Err(Flaw::Excess("a row")));
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in vec(any::<u8>(), 1..120), number in any::<u8>()) {
        let _ = received(&[&bytes]);
        let _ = packet::frame(&bytes, number);
        let _ = answer::ok(&bytes);
        let _ = answer::end(&bytes);
        let _ = answer::count(&bytes);
        let _ = answer::column(&bytes);
        let _ = answer::prepared(&bytes);
        let _ = Diagnostic::read(&bytes);
        let _ = Greeting::read(&bytes);
        let kinds = [BIG, SqlType::Text, SqlType::Timestamp];
        let mut cells = Vec::new();
        if row::split_binary(&bytes, &kinds, &mut cells).is_ok() {
            let row = Row { body: &bytes, cells: &cells, kinds: &kinds };
            let _ = (row.get::<i64>(0), row.get::<&str>(1), row.get::<Timestamp>(2));
        }
        let _ = row::split_text(&bytes, &kinds, &mut cells);
    }

    #[test]
    fn a_number_has_its_bytes_before_it(length in prop_oneof![0_usize..300, 65_500..65_600_usize]) {
        let mut written = Vec::new();
        param::counted(&mut written, &vec![7; length]);
        let mut fields = Fields::new("x", &written);
        prop_assert_eq!(fields.counted().map(<[u8]>::len), Ok(length));
        prop_assert_eq!(fields.end(), Ok(()));
    }
}

#[test]
fn a_message_of_16_mib_and_more_has_several_packets() {
    for (length, packets) in [(FULL - 1, 1), (FULL, 2), (FULL + 1, 2), (2 * FULL, 3), (2 * FULL + 5, 3)] {
        let body: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
        let (mut out, number) = (Vec::new(), 254_u8);
        let next = packet::message(&mut out, number, |out| out.extend_from_slice(&body));
        assert_eq!(
            (out.len(), next),
            (length + packets * HEAD, number.wrapping_add(packets as u8)),
            "{length}"
        );
        let mut inbox = Inbox::new();
        inbox.number = number;
        inbox.take(&out[..out.len() - 1]);
        assert_eq!(inbox.message(), Ok(None));
        inbox.take(&out[out.len() - 1..]);
        let place = inbox.message().unwrap().unwrap();
        assert!(inbox.bytes(&place) == body, "{length}");
        assert!(inbox.is_empty() && inbox.number == next);
    }
}

#[test]
fn a_message_that_cannot_be_is_refused_at_its_first_bytes() {
    assert_eq!(received(&[b"\x01\0\0\x01\0"]), Err(Flaw::Number { expected: 0, got: 1 }));
    assert_eq!(received(&[b"\x03\0\0\x07\xff\x01\0"]), Ok(vec![b"\xff\x01\0".to_vec()]), "an error");
    assert_eq!(received(&[b"\0\0\0\0"]), Err(Flaw::Empty));
    let full = [&[0xff, 0xff, 0xff, 0][..], &[0; FULL]].concat();
    let mut stream: Vec<u8> = (0..4).flat_map(|n| [&[0xff, 0xff, 0xff, n], &full[HEAD..]].concat()).collect();
    stream.extend([5, 0, 0, 4]);
    assert_eq!(received(&[&stream]), Err(Flaw::Length(4 * FULL + 5)));
    assert_eq!(answer::count(b"\xfb"), Err(Flaw::Null("a number of columns")));
    assert_eq!(answer::end(b"\xfe\0\0\0\0x"), Err(Flaw::Excess("the end of rows")));
}

#[test]
fn types_are_those_of_descriptions() {
    let unsigned = |bytes| SqlType::Int { bytes, unsigned: true };
    for (code, flags, charset, kind, name) in [
        (1, 0, 63, SqlType::Int { bytes: 1, unsigned: false }, "tinyint"),
        (2, 32, 63, unsigned(2), "smallint unsigned"),
        (13, 32, 63, unsigned(2), "smallint unsigned"),
        (9, 0, 63, SqlType::Int { bytes: 4, unsigned: false }, "int"),
        (8, 32, 63, unsigned(8), "bigint unsigned"),
        (4, 0, 63, SqlType::Float, "float"),
        (5, 0, 63, SqlType::Double, "double"),
        (246, 0, 63, SqlType::Decimal, "decimal"),
        (12, 0, 63, SqlType::Timestamp, "datetime"),
        (11, 0, 63, SqlType::Time, "time"),
        (253, 0, 45, SqlType::Text, "text"),
        (254, 0, 63, SqlType::Bytes, "bytes"),
        (252, 0, 63, SqlType::Bytes, "bytes"),
        (252, 0, 33, SqlType::Text, "text"),
        (245, 0, 63, SqlType::Text, "text"),
        (16, 0, 63, SqlType::Bytes, "bytes"),
    ] {
        assert_eq!(SqlType::of(code, flags, charset), kind);
        assert_eq!(kind.to_string(), name);
    }
    let read = |bytes: &[u8], kind| {
        let cells = [Some((0, bytes.len() as u32))];
        Row { body: bytes, cells: &cells, kinds: &[kind] }.get::<i64>(0)
    };
    assert_eq!(read(b"\xff", unsigned(1)), Ok(255));
    assert_eq!(read(b"\xff", SqlType::Int { bytes: 1, unsigned: false }), Ok(-1));
    assert_eq!(
        read(&[0xff; 8], unsigned(8)).unwrap_err().to_string(),
        "column 0 has a value that is no bigint"
    );
    assert_eq!(read(b"7", SqlType::Text).unwrap_err().to_string(), "column 0 is text, and is read as bigint");
    let row = Row { body: &[], cells: &[None], kinds: &[SqlType::Float] };
    assert_eq!(row.get::<f64>(0).unwrap_err().to_string(), "column 0 is null");
    assert_eq!(row.get::<f64>(1).unwrap_err().to_string(), "column 1 of a row of 1");
}
