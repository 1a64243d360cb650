//! Reading of commands, on the side of a server.

use crate::reply::{Flaw, ReadResult, Reply, reply};

/// Most words of an accepted command.
const MOST_WORDS: usize = 1024 * 1024;

/// Reads the command at the front of `bytes` into `words`, its name first; returns its length in bytes, or
/// `None` if it is incomplete. A line of words without lengths is a command too, as typed by people.
///
/// # Errors
/// [`Flaw`] if they are not a command.
pub fn request<'b>(bytes: &'b [u8], words: &mut Vec<&'b [u8]>) -> Result<Option<usize>, Flaw> {
    words.clear();
    match bytes.first() {
        None => Ok(None),
        Some(b'*') => array(bytes, words),
        Some(_) => Ok(typed(bytes, words)),
    }
}

fn array<'b>(bytes: &'b [u8], words: &mut Vec<&'b [u8]>) -> Result<Option<usize>, Flaw> {
    let ReadResult::Whole { reply, length } = reply(bytes)? else { return Ok(None) };
    let Reply::Array(items) = reply else { return Ok(Some(length)) };
    if items.len() > MOST_WORDS {
        return Err(Flaw::TooLarge);
    }
    for item in items {
        let Reply::Bulk(word) = item else { return Err(Flaw::End) };
        words.push(word);
    }
    Ok(Some(length))
}

fn typed<'b>(bytes: &'b [u8], words: &mut Vec<&'b [u8]>) -> Option<usize> {
    let end = memchr::memchr(b'\n', bytes)?;
    let line = bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]);
    words.extend(line.split(|byte| *byte == b' ').filter(|word| !word.is_empty()));
    Some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_come_as_arrays_or_as_lines() {
        let mut words = Vec::new();
        let bytes = b"*2\r\n$3\r\nGET\r\n$1\r\na\r\nPING\r\n";
        let first = request(bytes, &mut words).unwrap().unwrap();
        assert_eq!((first, &words[..]), (20, &[&b"GET"[..], b"a"][..]));
        let second = request(&bytes[first..], &mut words).unwrap();
        assert_eq!((second, &words[..]), (Some(6), &[&b"PING"[..]][..]));
        assert_eq!(request(b"*2\r\n$3\r\nGET", &mut words), Ok(None));
        assert_eq!(request(b"PIN", &mut words), Ok(None));
        assert_eq!(request(b"*1\r\n:1\r\n", &mut words), Err(Flaw::End));
    }
}
