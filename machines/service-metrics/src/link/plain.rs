//! Protocols with a line of text as the question and lines as the answer: Redis and memcached.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{LARGEST, LinkError};
use crate::form;
use crate::sums::Sums;

/// `INFO`: a length, and that many bytes of lines `name:value`.
pub(super) async fn redis(stream: &mut TcpStream, sums: &mut Sums<'_>) -> Result<(), LinkError> {
    stream.write_all(b"INFO\r\n").await?;
    let mut answer = Vec::new();
    let length = loop {
        more(stream, &mut answer).await?;
        if let Some(length) = redis_length(&answer)? {
            break length;
        }
    };
    while answer.len() < length {
        more(stream, &mut answer).await?;
    }
    form::pairs(&String::from_utf8_lossy(&answer), ":", sums);
    Ok(())
}

/// Length of the whole answer, including head and end; `None` while the head is incomplete.
fn redis_length(answer: &[u8]) -> Result<Option<usize>, LinkError> {
    let Some(end) = answer.windows(2).position(|two| two == b"\r\n") else { return Ok(None) };
    let head = String::from_utf8_lossy(&answer[..end]);
    match (head.strip_prefix('-'), head.strip_prefix('$').and_then(|length| length.parse::<usize>().ok())) {
        (Some(said), _) => Err(LinkError::Refused(said.to_owned())),
        (None, Some(length)) if length <= LARGEST => Ok(Some(end + 2 + length + 2)),
        _ => Err(LinkError::Unreadable(format!("`{head}` where a length should be"))),
    }
}

/// `stats`: lines `STAT name value`, and `END`.
pub(super) async fn memcached(stream: &mut TcpStream, sums: &mut Sums<'_>) -> Result<(), LinkError> {
    stream.write_all(b"stats\r\n").await?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"END\r\n") {
        more(stream, &mut answer).await?;
        if answer.starts_with(b"ERROR") || answer.starts_with(b"SERVER_ERROR") {
            return Err(LinkError::Refused(String::from_utf8_lossy(&answer).trim_end().to_owned()));
        }
    }
    let text = String::from_utf8_lossy(&answer);
    form::pairs(&text.replace("STAT ", ""), " ", sums);
    Ok(())
}

/// Reads available bytes; an answer that is too long, or ends early, is an error.
async fn more(stream: &mut TcpStream, answer: &mut Vec<u8>) -> Result<(), LinkError> {
    if answer.len() > LARGEST {
        return Err(LinkError::Unreadable("the answer has no end".to_owned()));
    }
    match stream.read_buf(answer).await? {
        0 => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_read_when_its_line_is_whole() {
        assert!(matches!(redis_length(b"$1"), Ok(None)));
        assert!(matches!(redis_length(b"$12\r\nab"), Ok(Some(19))));
        assert!(
            matches!(redis_length(b"-LOADING soon\r\n"), Err(LinkError::Refused(said)) if said == "LOADING soon")
        );
        for odd in [&b"+OK\r\n"[..], b"$-1\r\n", b"$99999999999\r\n", b"HTTP/1.1 400\r\n"] {
            assert!(matches!(redis_length(odd), Err(LinkError::Unreadable(_))));
        }
    }
}
