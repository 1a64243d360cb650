//! Messages of the client, appended to a buffer.

use crate::backend::CancelKey;

/// Version 3.0 of the protocol, which every server since 2003 speaks.
const VERSION: i32 = 3 << 16;

/// The code of a request for TLS, in place of a version.
const TLS: i32 = 80_877_103;

/// The code of a request to cancel, in place of a version.
const CANCEL: i32 = 80_877_102;

/// A message: its type, its length, and the body that `write` appends.
pub(crate) fn message<T>(out: &mut Vec<u8>, tag: u8, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    out.push(tag);
    counted(out, write)
}

/// A length, and the body that `write` appends.
fn counted<T>(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let begin = out.len();
    out.extend([0; 4]);
    let end = write(out);
    let length = (out.len() - begin) as u32;
    out[begin..begin + 4].copy_from_slice(&length.to_be_bytes());
    end
}

fn terminated(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(text);
    out.push(0);
}

/// Begins a session with these settings.
pub(crate) fn startup(out: &mut Vec<u8>, settings: &[(&str, &str)]) {
    counted(out, |out| {
        out.extend(VERSION.to_be_bytes());
        for (name, value) in settings {
            terminated(out, name.as_bytes());
            terminated(out, value.as_bytes());
        }
        out.push(0);
    });
}

/// Asks for TLS; the answer is one byte.
pub(crate) fn tls(out: &mut Vec<u8>) {
    counted(out, |out| out.extend(TLS.to_be_bytes()));
}

/// Asks for the end of what another connection does.
pub(crate) fn cancel(out: &mut Vec<u8>, key: CancelKey) {
    counted(out, |out| {
        for number in [CANCEL, key.process, key.secret] {
            out.extend(number.to_be_bytes());
        }
    });
}

pub(crate) fn password(out: &mut Vec<u8>, password: &[u8]) {
    message(out, b'p', |out| terminated(out, password));
}

/// Begins a login by SASL.
pub(crate) fn sasl_initial(out: &mut Vec<u8>, mechanism: &str, data: &[u8]) {
    message(out, b'p', |out| {
        terminated(out, mechanism.as_bytes());
        out.extend((data.len() as u32).to_be_bytes());
        out.extend_from_slice(data);
    });
}

pub(crate) fn sasl(out: &mut Vec<u8>, data: &[u8]) {
    message(out, b'p', |out| out.extend_from_slice(data));
}

/// The name of a prepared statement in a session.
fn name(out: &mut Vec<u8>, number: u32) {
    terminated(out, format!("s{number}").as_bytes());
}

/// Prepares a statement and asks for its description.
pub(crate) fn prepare(out: &mut Vec<u8>, number: u32, sql: &str) {
    message(out, b'P', |out| {
        name(out, number);
        terminated(out, sql.as_bytes());
        // The server finds the types of all parameters.
        out.extend([0, 0]);
    });
    message(out, b'D', |out| {
        out.push(b'S');
        name(out, number);
    });
}

/// The part of a Bind before the values of the parameters: portal, statement, formats, number of values.
pub(crate) fn bind_head(number: u32, binary: impl ExactSizeIterator<Item = bool>) -> Vec<u8> {
    let mut head = vec![0];
    name(&mut head, number);
    let count = (binary.len() as u16).to_be_bytes();
    formats(&mut head, binary);
    head.extend(count);
    head
}

/// A list of formats.
pub(crate) fn formats(out: &mut Vec<u8>, binary: impl ExactSizeIterator<Item = bool>) {
    out.extend((binary.len() as u16).to_be_bytes());
    for binary in binary {
        out.extend(u16::from(binary).to_be_bytes());
    }
}

/// Executes what was bound, to its last row.
pub(crate) fn execute(out: &mut Vec<u8>) {
    out.extend_from_slice(b"E\0\0\0\x09\0\0\0\0\0");
}

pub(crate) fn sync(out: &mut Vec<u8>) {
    out.extend_from_slice(b"S\0\0\0\x04");
}

/// A simple query: one or more statements, with rows as text.
pub(crate) fn query(out: &mut Vec<u8>, sql: &str) {
    message(out, b'Q', |out| terminated(out, sql.as_bytes()));
}

pub(crate) fn copy_data(out: &mut Vec<u8>, data: &[u8]) {
    message(out, b'd', |out| out.extend_from_slice(data));
}

pub(crate) fn copy_done(out: &mut Vec<u8>) {
    message(out, b'c', |_| ());
}

pub(crate) fn copy_fail(out: &mut Vec<u8>, why: &str) {
    message(out, b'f', |out| terminated(out, why.as_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out);
        out
    }

    #[test]
    fn what_comes_before_a_session_has_no_type() {
        let settings = [("user", "me"), ("database", "d")];
        assert_eq!(written(|out| startup(out, &settings)), b"\0\0\0\x1c\0\x03\0\0user\0me\0database\0d\0\0");
        assert_eq!(written(tls), b"\0\0\0\x08\x04\xd2\x16\x2f");
        assert_eq!(
            written(|out| cancel(out, CancelKey { process: 1, secret: -1 })),
            b"\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\x01\xff\xff\xff\xff"
        );
    }

    #[test]
    fn a_message_is_type_length_and_body() {
        assert_eq!(written(|out| password(out, b"pw")), b"p\0\0\0\x07pw\0");
        assert_eq!(written(|out| sasl_initial(out, "M", b"ab")), b"p\0\0\0\x0cM\0\0\0\0\x02ab");
        assert_eq!(written(|out| sasl(out, b"ab")), b"p\0\0\0\x06ab");
        assert_eq!(written(|out| query(out, "x")), b"Q\0\0\0\x06x\0");
        assert_eq!(written(|out| prepare(out, 7, "x")), b"P\0\0\0\x0bs7\0x\0\0\0D\0\0\0\x08Ss7\0");
        assert_eq!(written(execute), b"E\0\0\0\x09\0\0\0\0\0");
        assert_eq!(written(sync), b"S\0\0\0\x04");
        assert_eq!(written(|out| copy_data(out, b"ab")), b"d\0\0\0\x06ab");
        assert_eq!(written(copy_done), b"c\0\0\0\x04");
        assert_eq!(written(|out| copy_fail(out, "x")), b"f\0\0\0\x06x\0");
        assert_eq!(
            bind_head(7, [true, false].into_iter()),
            b"\0s7\0\0\x02\0\x01\0\0\0\x02",
            "portal, statement, two formats, two values"
        );
    }
}
