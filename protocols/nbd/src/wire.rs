//! Requests and replies in bytes.

use crate::NbdError;
use crate::input::Input;

const REQUEST: u32 = 0x2560_9513;
const SIMPLE_REPLY: u32 = 0x6744_6698;
const STRUCTURED_REPLY: u32 = 0x668e_33ef;

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Read = 0,
    Write = 1,
    Flush = 3,
}

/// A request without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) command: Command,
    /// Names the request in its reply.
    pub(crate) cookie: u64,
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

impl Request {
    /// Appends the request.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend(REQUEST.to_be_bytes());
        out.extend([0, 0]);
        out.extend((self.command as u16).to_be_bytes());
        out.extend(self.cookie.to_be_bytes());
        out.extend(self.offset.to_be_bytes());
        out.extend(self.length.to_be_bytes());
    }
}

/// The beginning of a reply. The data of a read follow where there is no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    /// Number of the error; 0 for none.
    pub(crate) error: u32,
    pub(crate) cookie: u64,
}

impl Reply {
    /// Takes a reply; `None` until it is there.
    pub(crate) fn take(input: &mut Input) -> Result<Option<Self>, NbdError> {
        match input.rest().first_chunk().map(|magic| u32::from_be_bytes(*magic)) {
            None | Some(SIMPLE_REPLY) => {}
            Some(STRUCTURED_REPLY) => return Err(NbdError::Structured),
            Some(_) => return Err(NbdError::WrongMagic),
        }
        let Some(bytes) = input.next::<16>() else { return Ok(None) };
        let [_, _, _, _, e0, e1, e2, e3, cookie @ ..] = bytes;
        Ok(Some(Reply { error: u32::from_be_bytes([e0, e1, e2, e3]), cookie: u64::from_be_bytes(cookie) }))
    }
}

/// The name of an error.
pub(crate) fn error_name(error: u32) -> String {
    match error {
        1 => "EPERM".to_owned(),
        5 => "EIO".to_owned(),
        12 => "ENOMEM".to_owned(),
        22 => "EINVAL".to_owned(),
        28 => "ENOSPC".to_owned(),
        75 => "EOVERFLOW".to_owned(),
        95 => "ENOTSUP".to_owned(),
        108 => "ESHUTDOWN".to_owned(),
        other => format!("error {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_its_bytes_in_network_order() {
        let mut out = Vec::new();
        Request { command: Command::Write, cookie: 7, offset: 4_096, length: 512 }.write(&mut out);
        let expected = [
            0x25, 0x60, 0x95, 0x13, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 2, 0,
        ];
        assert_eq!(out, expected);
    }

    #[test]
    fn a_reply_is_taken_when_all_of_it_is_there() {
        let bytes = [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 9, 42];
        let mut input = Input::default();
        input.room().extend(&bytes[..15]);
        assert_eq!(Reply::take(&mut input), Ok(None));
        input.room().extend(&bytes[15..]);
        assert_eq!(Reply::take(&mut input), Ok(Some(Reply { error: 5, cookie: 9 })));
        assert_eq!(
            (input.rest(), error_name(5).as_str(), error_name(99).as_str()),
            (&[42][..], "EIO", "error 99")
        );
    }
}
