//! The text protocol of memcached.

use std::io;

use super::{Answer, KEPT_S, Protocol, Question};

pub(super) const PROTOCOL: Protocol = Protocol { write, read };

fn write(question: Question<'_>, out: &mut Vec<u8>) {
    let mut stored = |verb: &str, key: &str, value: &[u8]| {
        out.extend_from_slice(format!("{verb} {key} 0 {KEPT_S} {}\r\n", value.len()).as_bytes());
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    };
    match question {
        Question::Set(key, value) => stored("set", key, value),
        Question::Add(key, value) => stored("add", key, value),
        Question::Get(key) => out.extend_from_slice(format!("get {key}\r\n").as_bytes()),
        Question::Remove(key) => out.extend_from_slice(format!("delete {key}\r\n").as_bytes()),
        Question::Clear => out.extend_from_slice(b"flush_all\r\n"),
    }
}

fn read(bytes: &[u8]) -> Result<Option<Answer>, io::Error> {
    let Some(end) = bytes.windows(2).position(|pair| pair == b"\r\n") else { return Ok(None) };
    let (line, rest) = (String::from_utf8_lossy(&bytes[..end]), &bytes[end + 2..]);
    match &*line {
        "STORED" | "NOT_STORED" | "DELETED" | "NOT_FOUND" | "OK" | "END" => return Ok(Some(None)),
        _ => {}
    }
    let length = line.strip_prefix("VALUE ").and_then(|line| line.rsplit(' ').next()?.parse::<usize>().ok());
    let Some(length) = length.filter(|length| *length <= super::LARGEST) else {
        return Err(io::Error::other(format!("memcached answered {line}")));
    };
    match (rest.get(..length), rest.get(length..)) {
        (Some(value), Some(b"\r\nEND\r\n")) => Ok(Some(Some(value.to_vec()))),
        (Some(_), Some(after)) if !b"\r\nEND\r\n".starts_with(after) => {
            Err(io::Error::other("memcached answered a value without its end"))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_whole() {
        let whole = b"VALUE k 0 5\r\na\r\nbc\r\nEND\r\n";
        for cut in 0..whole.len() {
            assert_eq!(read(&whole[..cut]).unwrap(), None, "{cut}");
        }
        assert_eq!(read(whole).unwrap(), Some(Some(b"a\r\nbc".to_vec())));
        for nothing in ["END\r\n", "STORED\r\n", "NOT_STORED\r\n", "DELETED\r\n", "NOT_FOUND\r\n", "OK\r\n"] {
            assert_eq!(read(nothing.as_bytes()).unwrap(), Some(None));
        }
        for wrong in
            ["ERROR\r\n", "VALUE k 0 x\r\n", "VALUE k 0 99999999999\r\n", "VALUE k 0 1\r\nab\r\nEND\r\n"]
        {
            assert!(read(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
