//! Properties of the reader, over generated responses, splits and bytes.

use barograph_lines::Frame;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::data::{Data, Response, response};
use crate::frame::frame;
use crate::mailbox::Mailbox;
use crate::value::Value;

/// A value as it is written, and as it is read.
#[derive(Clone, Debug)]
enum Item {
    Atom(String),
    Quoted(String),
    Literal(Vec<u8>),
    List(Vec<Item>),
}

fn item() -> impl Strategy<Value = Item> {
    let leaf = prop_oneof![
        "[A-MO-Z0-9.\\\\][A-Za-z0-9.]{0,8}".prop_map(Item::Atom),
        "[a-z (){}]{0,10}".prop_map(Item::Quoted),
        vec(any::<u8>(), 0..40).prop_map(Item::Literal),
    ];
    leaf.prop_recursive(4, 20, 4, |inner| vec(inner, 0..4).prop_map(Item::List))
}

fn write(item: &Item, out: &mut Vec<u8>) {
    match item {
        Item::Atom(text) => out.extend_from_slice(text.as_bytes()),
        Item::Quoted(text) => out.extend_from_slice(format!("\"{text}\"").as_bytes()),
        Item::Literal(bytes) => {
            out.extend_from_slice(format!("{{{}}}\r\n", bytes.len()).as_bytes());
            out.extend_from_slice(bytes);
        }
        Item::List(items) => {
            out.push(b'(');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b' ');
                }
                write(item, out);
            }
            out.push(b')');
        }
    }
}

fn is_same(item: &Item, value: &Value<'_>) -> bool {
    match (item, value) {
        (Item::Atom(text), Value::Atom(bytes)) | (Item::Quoted(text), Value::Quoted(bytes)) => {
            text.as_bytes() == *bytes
        }
        (Item::Literal(sent), Value::Literal(bytes)) => sent == bytes,
        (Item::List(items), Value::List(values)) => {
            items.len() == values.count()
                && items.iter().zip(*values).all(|(item, value)| is_same(item, &value))
        }
        _ => false,
    }
}

fn fetch(items: &[Item]) -> Vec<u8> {
    let mut bytes = b"* 3 FETCH (".to_vec();
    for (at, item) in items.iter().enumerate() {
        bytes.extend_from_slice(format!("{}N{at}. ", if at > 0 { " " } else { "" }).as_bytes());
        write(item, &mut bytes);
    }
    bytes.extend_from_slice(b")\r\n");
    bytes
}

proptest! {
    #[test]
    fn attributes_are_read_as_they_were_written(items in vec(item(), 0..5), next in vec(any::<u8>(), 0..20)) {
        let bytes = fetch(&items);
        prop_assert_eq!(frame(&[&bytes[..], &next].concat()), Ok(Frame::Whole(bytes.len())));
        let Ok(Response::Untagged(Data::Fetch(fetched))) = response(&bytes) else {
            return Err(TestCaseError::fail(format!("{:?}", response(&bytes))));
        };
        for (at, item) in items.iter().enumerate() {
            let value = fetched.find(&format!("N{at}.")).unwrap();
            prop_assert!(is_same(item, &value), "{:?} {:?}", item, value);
        }
    }

    #[test]
    fn the_beginning_of_a_response_is_never_whole(items in vec(item(), 0..4)) {
        let bytes = fetch(&items);
        for end in 0..bytes.len() {
            let Ok(Frame::Part(needed)) = frame(&bytes[..end]) else {
                return Err(TestCaseError::fail(format!("{end} of {bytes:?}")));
            };
            prop_assert!(end < needed && needed <= bytes.len());
        }
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in vec(any::<u8>(), 0..120)) {
        for begin in [&b""[..], b"* ", b"* 1 FETCH (", b"* LIST ", b"* STATUS ", b"* SEARCH ", b"a1 OK ", b"* OK ["] {
            let all = [begin, &bytes, b"\r\n"].concat();
            if let Ok(Frame::Whole(length)) = frame(&all)
                && let Ok(Response::Untagged(data)) = response(&all[..length])
            {
                let _ = Mailbox::default().take(&data);
                if let Data::Fetch(fetched) = data {
                    let _ = (fetched.uid(), fetched.body());
                }
            }
        }
    }

    #[test]
    fn words_of_the_protocol_in_any_order_are_read_without_a_panic(
        words in vec(
            prop_oneof![
                Just("*"), Just("+"), Just("a1"), Just("OK"), Just("FETCH"), Just("("), Just(")"), Just("{3}\r\n"),
                Just("\""), Just("BODY["), Just("]"), Just("7"), Just("NIL"), Just("\\"), Just("\r\n"), Just("EXPUNGE"),
            ],
            0..20,
        ),
    ) {
        let all = [words.join(" "), "\r\n".to_owned()].concat();
        if let Ok(Frame::Whole(length)) = frame(all.as_bytes()) {
            let _ = response(&all.as_bytes()[..length]);
        }
    }
}
