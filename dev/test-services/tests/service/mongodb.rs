//! FerretDB, with hand-written messages of MongoDB's protocol.

use std::io::{Read, Write};
use std::net::TcpStream;

use barograph_test_services::{self as services, Service, or_skip};

use crate::{drop_and_look, kill_and_restart};

/// A document of already encoded fields.
fn document(fields: &[&[u8]]) -> Vec<u8> {
    let fields = fields.concat();
    let size = u32::try_from(fields.len() + 5).unwrap();
    [&size.to_le_bytes()[..], &fields, b"\0"].concat()
}

fn field(kind: u8, name: &str, value: &[u8]) -> Vec<u8> {
    [&[kind][..], name.as_bytes(), b"\0", value].concat()
}

fn text(name: &str, value: &str) -> Vec<u8> {
    let size = u32::try_from(value.len() + 1).unwrap();
    field(2, name, &[&size.to_le_bytes()[..], value.as_bytes(), b"\0"].concat())
}

/// Sends a command and returns the number in the answer's field `n`.
fn n_of(service: &Service, fields: &[&[u8]]) -> i32 {
    let command = document(&[&fields.concat(), &text("$db", "test")]);
    let length = u32::try_from(command.len() + 21).unwrap();
    let head = [length, 1, 0, 2013].map(u32::to_le_bytes).concat();
    let mut stream = TcpStream::connect(("127.0.0.1", service.port())).unwrap();
    stream.write_all(&[&head, &[0; 5][..], &command].concat()).unwrap();
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut answer = vec![0; usize::try_from(u32::from_le_bytes(length)).unwrap() - 4];
    stream.read_exact(&mut answer).unwrap();
    let at = answer.windows(3).position(|w| w == b"\x10n\0").unwrap_or_else(|| panic!("{answer:?}")) + 3;
    i32::from_le_bytes(answer[at..at + 4].try_into().unwrap())
}

#[test]
fn ferretdb_keeps_a_document_when_it_is_killed() {
    let Some(mut service) = or_skip(services::ferretdb()) else { return };
    let one = document(&[&field(16, "_id", &7_i32.to_le_bytes())]);
    let documents = field(4, "documents", &document(&[&field(3, "0", &one)]));
    assert_eq!(n_of(&service, &[&text("insert", "things"), &documents]), 1);
    kill_and_restart(&mut service);
    assert_eq!(n_of(&service, &[&text("count", "things")]), 1);
    drop_and_look(service);
}
