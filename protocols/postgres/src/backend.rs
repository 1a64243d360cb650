//! Messages of the server: found in a buffer, and read in place.

use crate::fields::Fields;
use crate::flaw::Flaw;

/// Most bytes of a message: far above the rows of any load. A longer one is taken for a broken length.
pub(crate) const MOST_BYTES: usize = 64 << 20;

/// Bytes before the body: type and length.
const HEAD: usize = 5;

/// Types of messages that answer what this client sends.
const TAGS: &[u8] = b"12ACDEGHIKNRSTZcdntv";

/// What is at the front of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// A whole message.
    Whole {
        /// Its type.
        tag: u8,
        /// Its bytes, those before the body included.
        length: usize,
    },
    /// The beginning of a message.
    Part {
        /// Bytes of the whole message, as far as is known.
        needed: usize,
    },
}

/// Looks for a message at the front of `bytes`.
pub(crate) fn frame(bytes: &[u8]) -> Result<Frame, Flaw> {
    let Some(&tag) = bytes.first() else { return Ok(Frame::Part { needed: HEAD }) };
    if !TAGS.contains(&tag) {
        return Err(Flaw::Type(tag));
    }
    let Some(head) = bytes.get(1..HEAD) else { return Ok(Frame::Part { needed: HEAD }) };
    let named = i32::from_be_bytes([head[0], head[1], head[2], head[3]]);
    let length = match usize::try_from(named) {
        Ok(length @ 4..=MOST_BYTES) => length + 1,
        _ => return Err(Flaw::Length { tag: char::from(tag), length: named }),
    };
    if bytes.len() < length { Ok(Frame::Part { needed: length }) } else { Ok(Frame::Whole { tag, length }) }
}

/// The body of a whole message.
pub(crate) fn body(message: &[u8]) -> &[u8] {
    &message[HEAD..]
}

/// Whether a transaction is open on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transaction {
    /// None is.
    #[default]
    Idle,
    /// One is.
    Open,
    /// One is, and it takes nothing but its rollback: a statement of it has failed.
    Failed,
}

/// Names a connection in a request to cancel its statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CancelKey {
    pub(crate) process: i32,
    pub(crate) secret: i32,
}

/// A step of the login that the server asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Login<'b> {
    Done,
    ClearText,
    Md5 {
        salt: [u8; 4],
    },
    /// Names of mechanisms, each before a zero byte.
    Sasl {
        mechanisms: &'b [u8],
    },
    SaslContinue(&'b [u8]),
    SaslFinal(&'b [u8]),
    Other(i32),
}

/// A message of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message<'b> {
    Login(Login<'b>),
    Key(CancelKey),
    Setting {
        name: &'b str,
        value: &'b str,
    },
    Ready(Transaction),
    ParseComplete,
    BindComplete,
    NoData,
    EmptyQuery,
    CopyDone,
    CopyIn,
    CopyOut,
    /// A message of another session, or a lower version of the protocol: neither is asked for.
    Ignored,
    /// Types of parameters, four bytes each.
    Parameters(&'b [u8]),
    /// Descriptions of columns, for [`crate::column::read`].
    Columns(&'b [u8]),
    /// The columns of a row, for [`crate::row::split`].
    Row(&'b [u8]),
    Complete(&'b [u8]),
    CopyData(&'b [u8]),
    /// For [`crate::Diagnostic::read`].
    Error(&'b [u8]),
    Notice(&'b [u8]),
}

/// Reads a message.
pub(crate) fn read(tag: u8, body: &[u8]) -> Result<Message<'_>, Flaw> {
    let mut fields = Fields::new(tag, body);
    let message = match tag {
        b'D' => return Ok(Message::Row(body)),
        b'd' => return Ok(Message::CopyData(body)),
        b'T' => return Ok(Message::Columns(body)),
        b'E' => return Ok(Message::Error(body)),
        b'N' => return Ok(Message::Notice(body)),
        b'A' | b'v' => return Ok(Message::Ignored),
        b'R' => return login(fields).map(Message::Login),
        b'1' => Message::ParseComplete,
        b'2' => Message::BindComplete,
        b'C' => Message::Complete(fields.terminated()?),
        b'Z' => Message::Ready(transaction(fields.byte()?)?),
        b'n' => Message::NoData,
        b'I' => Message::EmptyQuery,
        b'c' => Message::CopyDone,
        b'S' => Message::Setting { name: fields.text()?, value: fields.text()? },
        b'K' => Message::Key(CancelKey { process: fields.int4()?, secret: fields.int4()? }),
        b't' => {
            let count = fields.count()?;
            Message::Parameters(fields.bytes(count * 4)?)
        }
        b'G' | b'H' => {
            let (_format, count) = (fields.byte()?, fields.count()?);
            fields.bytes(count * 2)?;
            if tag == b'G' { Message::CopyIn } else { Message::CopyOut }
        }
        _ => return Err(Flaw::Type(tag)),
    };
    fields.end()?;
    Ok(message)
}

fn transaction(code: u8) -> Result<Transaction, Flaw> {
    match code {
        b'I' => Ok(Transaction::Idle),
        b'T' => Ok(Transaction::Open),
        b'E' => Ok(Transaction::Failed),
        code => Err(Flaw::Code { tag: 'Z', code: code.into() }),
    }
}

fn login(mut fields: Fields<'_>) -> Result<Login<'_>, Flaw> {
    let step = match fields.int4()? {
        0 => Login::Done,
        3 => Login::ClearText,
        5 => {
            let salt = fields.int4()?.to_be_bytes();
            Login::Md5 { salt }
        }
        10 => return Ok(Login::Sasl { mechanisms: fields.rest() }),
        11 => return Ok(Login::SaslContinue(fields.rest())),
        12 => return Ok(Login::SaslFinal(fields.rest())),
        code => return Ok(Login::Other(code)),
    };
    fields.end()?;
    Ok(step)
}
