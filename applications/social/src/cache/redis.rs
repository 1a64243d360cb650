//! Redis, as a cache.

use std::io;

use barograph_resp::{Command, ReadResult, Reply, reply};

use super::{Answer, KEPT_S, Protocol, Question};

pub(super) const PROTOCOL: Protocol = Protocol { write, read };

fn write(question: Question<'_>, out: &mut Vec<u8>) {
    let seconds = KEPT_S.to_string();
    let kept = seconds.as_bytes();
    match question {
        Question::Get(key) => Command::write(out, &[b"GET", key.as_bytes()]),
        Question::Set(key, value) => Command::write(out, &[b"SET", key.as_bytes(), value, b"EX", kept]),
        Question::Add(key, value) => {
            Command::write(out, &[b"SET", key.as_bytes(), value, b"EX", kept, b"NX"])
        }
        Question::Remove(key) => Command::write(out, &[b"DEL", key.as_bytes()]),
        Question::Clear => Command::write(out, &[b"FLUSHDB"]),
    }
}

fn read(bytes: &[u8]) -> Result<Option<Answer>, io::Error> {
    match reply(bytes).map_err(io::Error::other)? {
        ReadResult::Part { .. } => Ok(None),
        ReadResult::Whole { reply: Reply::Bulk(value), .. } => Ok(Some(Some(value.to_vec()))),
        ReadResult::Whole { reply: Reply::Error(text), .. } => {
            Err(io::Error::other(format!("Redis answered {}", String::from_utf8_lossy(text))))
        }
        ReadResult::Whole { .. } => Ok(Some(None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_whole() {
        assert_eq!(read(b"$5\r\na\r\nbc\r\n").unwrap(), Some(Some(b"a\r\nbc".to_vec())));
        assert_eq!(read(b"$5\r\na\r\nb").unwrap(), None);
        for nothing in ["+OK\r\n", ":1\r\n", "$-1\r\n"] {
            assert_eq!(read(nothing.as_bytes()).unwrap(), Some(None));
        }
        for wrong in ["-OOM no memory\r\n", "x\r\n"] {
            assert!(read(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
