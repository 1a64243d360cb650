//! Properties of what is read and written, over generated messages, splits and values.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::backend::{self, Message, Transaction};
use crate::column::{self, Column};
use crate::diagnostic::Diagnostic;
use crate::flaw::Flaw;
use crate::frontend::message;
use crate::inbox::Inbox;
use crate::param::Param;
use crate::row::{self, Row};
use crate::sql_type::{SqlType, Timestamp};

/// A message with its type.
fn framed(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    message(&mut out, tag, |out| out.extend_from_slice(body));
    out
}

fn counted(values: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut body = (values.len() as u16).to_be_bytes().to_vec();
    for value in values {
        let length = value.as_ref().map_or(-1, |value| value.len() as i32);
        body.extend(length.to_be_bytes());
        body.extend(value.iter().flatten());
    }
    body
}

fn values() -> impl Strategy<Value = Vec<Option<Vec<u8>>>> {
    vec(proptest::option::of(vec(any::<u8>(), 0..30)), 0..6)
}

/// A body that its type allows.
fn body() -> impl Strategy<Value = (u8, Vec<u8>)> {
    let word = "[a-z]{0,12}";
    prop_oneof![
        values().prop_map(|values| (b'D', counted(&values))),
        vec(any::<u8>(), 0..60).prop_map(|data| (b'd', data)),
        word.prop_map(|word| (b'C', format!("{word}\0").into_bytes())),
        (word, word).prop_map(|(name, value)| (b'S', format!("{name}\0{value}\0").into_bytes())),
        word.prop_map(|word| (b'E', format!("VERROR\0C40001\0M{word}\0\0").into_bytes())),
        prop_oneof![Just(b'I'), Just(b'T'), Just(b'E')].prop_map(|code| (b'Z', vec![code])),
        Just((b'1', Vec::new())),
        Just((b'2', Vec::new())),
        vec(any::<u32>(), 0..5).prop_map(|oids| {
            let mut body = (oids.len() as u16).to_be_bytes().to_vec();
            body.extend(oids.iter().flat_map(|oid| oid.to_be_bytes()));
            (b't', body)
        }),
    ]
}

/// Reads the way that a connection reads, with all fields.
fn whole(tag: u8, body: &[u8]) -> Result<(), Flaw> {
    match backend::read(tag, body)? {
        Message::Row(body) => row::split(body, &mut Vec::new()),
        Message::Columns(body) => column::read(body).map(drop),
        Message::Error(body) | Message::Notice(body) => Diagnostic::read(tag, body).map(drop),
        _ => Ok(()),
    }
}

/// The messages in pieces of a stream.
fn received(pieces: &[&[u8]]) -> Result<Vec<Vec<u8>>, Flaw> {
    let (mut inbox, mut all) = (Inbox::new(), Vec::new());
    for piece in pieces {
        inbox.take(piece);
        while let Some((_, place)) = inbox.message()? {
            all.push(inbox.bytes(&place).to_vec());
        }
    }
    Ok(all)
}

proptest! {
    #[test]
    fn any_split_of_the_stream_gives_the_same_messages(
        messages in vec(body(), 1..8),
        cuts in vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let framed: Vec<Vec<u8>> = messages.iter().map(|(tag, body)| framed(*tag, body)).collect();
        let stream = framed.concat();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len())).collect();
        places.extend([0, stream.len()]);
        places.sort_unstable();
        let pieces: Vec<&[u8]> = places.windows(2).map(|ends| &stream[ends[0]..ends[1]]).collect();
        prop_assert_eq!(received(&pieces), Ok(framed.clone()));
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        prop_assert_eq!(received(&bytes), Ok(framed));
    }

    #[test]
    fn a_message_is_read_as_it_was_written_and_its_beginnings_are_not((tag, body) in body()) {
        prop_assert_eq!(whole(tag, &body), Ok(()));
        // Data has no fields that could be missing.
        for end in (0..body.len()).filter(|_| tag != b'd') {
            prop_assert_eq!(whole(tag, &body[..end]), Err(Flaw::Cut(char::from(tag))), "{} of {:?}", end, body);
        }
        let longer = [&body[..], b"x"].concat();
        prop_assert_eq!(whole(tag, &longer).is_err(), tag != b'd');
    }

    #[test]
    fn rows_have_the_values_that_were_written(values in values()) {
        let body = counted(&values);
        let mut cells = Vec::new();
        row::split(&body, &mut cells).unwrap();
        let column = Column { name: "x".into(), kind: SqlType::Bytea };
        let columns = vec![column; values.len()];
        let row = Row { body: &body, cells: &cells, columns: &columns };
        for (n, value) in values.iter().enumerate() {
            prop_assert_eq!(row.bytes(n), value.as_deref());
            prop_assert_eq!(row.get_optional::<&[u8]>(n), Ok(value.as_deref()));
        }
        prop_assert!(row.get::<&[u8]>(values.len()).is_err());
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in vec(any::<u8>(), 0..120), tag in any::<u8>()) {
        let _ = received(&[&bytes]);
        let _ = received(&[&framed(tag, &bytes)]);
        let _ = whole(tag, &bytes);
    }

    #[test]
    fn a_value_comes_back_as_it_was_sent(int in any::<i64>(), float in any::<f64>(), text in ".{0,20}") {
        let mut sent = Vec::new();
        let all = [
            (Param::Int(int), SqlType::Int8),
            (Param::Int(int as i32 as i64), SqlType::Int4),
            (Param::Int(int as i16 as i64), SqlType::Int2),
            (Param::Int(int), SqlType::Other(1700)),
            (Param::Float(float), SqlType::Float8),
            (Param::Bool(int > 0), SqlType::Bool),
            (Param::Text(&text), SqlType::Text),
            (Param::Bytes(text.as_bytes()), SqlType::Bytea),
            (Param::Timestamp(Timestamp(int)), SqlType::Timestamp),
            (Param::Null, SqlType::Int8),
        ];
        sent.extend((all.len() as u16).to_be_bytes());
        for (param, kind) in all {
            prop_assert!(param.write(kind, &mut sent));
        }
        let columns: Vec<Column> = all.iter().map(|(_, kind)| Column { name: "x".into(), kind: *kind }).collect();
        let mut cells = Vec::new();
        row::split(&sent, &mut cells).unwrap();
        let row = Row { body: &sent, cells: &cells, columns: &columns };
        prop_assert_eq!(row.get::<i64>(0), Ok(int));
        prop_assert_eq!(row.get::<i32>(1), Ok(int as i32));
        prop_assert_eq!(row.get::<i64>(1), Ok(i64::from(int as i32)));
        prop_assert_eq!(row.get::<i16>(2), Ok(int as i16));
        prop_assert_eq!(row.get::<i64>(2), Ok(i64::from(int as i16)));
        prop_assert_eq!(row.get::<&str>(3), Ok(&*int.to_string()));
        prop_assert_eq!(row.get::<f64>(4).map(f64::to_bits), Ok(float.to_bits()));
        prop_assert_eq!(row.get::<bool>(5), Ok(int > 0));
        prop_assert_eq!(row.get::<&str>(6), Ok(&*text));
        prop_assert_eq!(row.get::<&[u8]>(7), Ok(text.as_bytes()));
        prop_assert_eq!(row.get::<Timestamp>(8), Ok(Timestamp(int)));
        prop_assert_eq!(row.get_optional::<i64>(9), Ok(None));
        prop_assert_eq!(row.get::<i64>(9).unwrap_err().to_string(), "column 9 is null");
    }

    #[test]
    fn a_value_that_does_not_fit_is_not_written(int in any::<i64>()) {
        let mut out = Vec::new();
        let narrow = i32::try_from(int).is_err();
        prop_assert_eq!(Param::Int(int).write(SqlType::Int4, &mut out), !narrow);
        prop_assert!(!Param::Int(int).write(SqlType::Text, &mut out));
        prop_assert!(!Param::Text("1").write(SqlType::Int4, &mut out));
        prop_assert!(!Param::Float(1.0).write(SqlType::Other(1700), &mut out));
    }
}

#[test]
fn what_no_message_can_be_is_refused_at_its_first_bytes() {
    for (bytes, flaw) in [
        (&b"x"[..], Flaw::Type(b'x')),
        (b"D\0\0\0\x03", Flaw::Length { tag: 'D', length: 3 }),
        (b"D\xff\xff\xff\xff", Flaw::Length { tag: 'D', length: -1 }),
        (b"D\x04\0\0\x01", Flaw::Length { tag: 'D', length: (64 << 20) + 1 }),
    ] {
        assert_eq!(received(&[bytes]), Err(flaw));
    }
    assert_eq!(backend::read(b'Z', b"X"), Err(Flaw::Code { tag: 'Z', code: 88 }));
    assert_eq!(backend::read(b'Z', b"I"), Ok(Message::Ready(Transaction::Idle)));
    assert_eq!(row::split(b"\0\x01\xff\xff\xff\xfe", &mut Vec::new()), Err(Flaw::Negative('D')));
}

#[test]
fn an_instant_is_the_same_in_both_counts() {
    assert_eq!(Timestamp(0).unix_us(), 946_684_800_000_000);
    assert_eq!(Timestamp::from_unix_us(0), Timestamp(-946_684_800_000_000));
    assert_eq!(Timestamp(i64::MAX).unix_us(), i64::MAX, "infinity stays");
    assert_eq!(Timestamp::from_unix_us(i64::MIN), Timestamp(i64::MIN));
}

#[test]
fn a_type_that_does_not_hold_a_column_is_refused() {
    let body = counted(&[Some(vec![0; 8])]);
    let mut cells = Vec::new();
    row::split(&body, &mut cells).unwrap();
    let columns = [Column { name: "x".into(), kind: SqlType::Int8 }];
    let row = Row { body: &body, cells: &cells, columns: &columns };
    assert_eq!(row.get::<i32>(0).unwrap_err().to_string(), "column 0 is bigint, and is read as integer");
    assert_eq!(row.get::<&str>(0).unwrap_err().to_string(), "column 0 is bigint, and is read as text");
    assert_eq!(row.get::<i64>(1).unwrap_err().to_string(), "column 1 of a row of 1");
    let columns = [Column { name: "x".into(), kind: SqlType::Bool }];
    let row = Row { body: &body, cells: &cells, columns: &columns };
    assert_eq!(row.get::<bool>(0).unwrap_err().to_string(), "column 0 has a value that is no boolean");
    let columns = [Column { name: "x".into(), kind: SqlType::Int4 }];
    let row = Row { body: &body, cells: &cells, columns: &columns };
    assert_eq!(row.get::<i64>(0).unwrap_err().to_string(), "column 0 has a value that is no bigint");
}
