//! Responses: continuations, ends of commands, untagged data.

use crate::flaw::Flaw;
use crate::value::{List, Reader, Value, number32};

/// A response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Response<'b> {
    /// A request to continue.
    Continue,
    /// The end of a command.
    End { tag: &'b [u8], status: Status, text: &'b [u8] },
    /// Data that answer a command, or come on their own.
    Untagged(Data<'b>),
}

/// Status of a finished command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Done.
    Ok,
    /// Refused.
    No,
    /// Not understood.
    Bad,
}

/// An untagged condition of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Information.
    Ok,
    /// A warning.
    No,
    /// A complaint.
    Bad,
    /// The end of the session.
    Bye,
    /// A session that needs no login.
    Preauth,
}

/// Untagged data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data<'b> {
    /// A condition with its text, which may begin with a code in brackets.
    Condition(Condition, &'b [u8]),
    /// Number of messages in the mailbox.
    Exists(u32),
    /// A message was removed; later ones move up by one.
    Expunge(u32),
    /// Attributes of a message.
    Fetch(Fetched<'b>),
    /// UIDs or sequence numbers that match.
    Search(Numbers<'b>),
    /// A mailbox: its name.
    List(&'b [u8]),
    /// Counts of a mailbox: its name, then names and numbers in turn.
    Status(&'b [u8], List<'b>),
    /// Names of abilities, separated by blanks.
    Capability(&'b [u8]),
    /// Data of another kind.
    Other(&'b [u8]),
}

/// Attributes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetched<'b> {
    /// Its sequence number.
    pub sequence: u32,
    items: List<'b>,
}

impl<'b> Fetched<'b> {
    /// The value of the first attribute whose name begins with `name`, as in `UID` or `BODY[`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Value<'b>> {
        let mut items = self.items;
        while let (Some(Value::Atom(found)), Some(value)) = (items.next(), items.next()) {
            if found.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name.as_bytes())) {
                return Some(value);
            }
        }
        None
    }

    /// The UID.
    #[must_use]
    pub fn uid(&self) -> Option<u32> {
        self.find("UID")?.number()?.try_into().ok()
    }

    /// The bytes of the first fetched part.
    #[must_use]
    pub fn body(&self) -> Option<&'b [u8]> {
        match self.find("BODY[")? {
            Value::Nil => Some(&[]),
            value => value.bytes(),
        }
    }
}

/// Numbers, separated by blanks. They were read before, so that reading them again cannot fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers<'b>(&'b [u8]);

impl Iterator for Numbers<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let mut reader = Reader::new(self.0);
        reader.blanks();
        let number = number32(reader.word()).ok();
        self.0 = reader.rest();
        number
    }
}

/// Reads a whole response, its last line end included.
///
/// # Errors
/// [`Flaw`] if it is none.
pub(crate) fn response(bytes: &[u8]) -> Result<Response<'_>, Flaw> {
    let line = bytes.strip_suffix(b"\r\n").unwrap_or(bytes);
    let mut reader = Reader::new(line);
    match reader.word() {
        b"+" => Ok(Response::Continue),
        b"*" => untagged(reader).map(Response::Untagged),
        tag if !tag.is_empty() && tag.iter().all(u8::is_ascii_alphanumeric) => {
            let status = match &reader.word().to_ascii_uppercase()[..] {
                b"OK" => Status::Ok,
                b"NO" => Status::No,
                b"BAD" => Status::Bad,
                _ => return Err(Flaw::Status),
            };
            Ok(Response::End { tag, status, text: reader.rest() })
        }
        _ => Err(Flaw::Begin),
    }
}

fn untagged(mut reader: Reader<'_>) -> Result<Data<'_>, Flaw> {
    let all = reader.rest();
    let word = reader.word();
    if word.first().is_some_and(u8::is_ascii_digit) {
        return numbered(number32(word)?, all, reader);
    }
    let condition = |condition| Ok(Data::Condition(condition, reader.rest()));
    let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
    match word {
        _ if is("OK") => condition(Condition::Ok),
        _ if is("NO") => condition(Condition::No),
        _ if is("BAD") => condition(Condition::Bad),
        _ if is("BYE") => condition(Condition::Bye),
        _ if is("PREAUTH") => condition(Condition::Preauth),
        _ if is("CAPABILITY") => Ok(Data::Capability(reader.rest())),
        _ if is("SEARCH") => search(reader.rest()),
        _ if is("LIST") || is("LSUB") => list(reader),
        _ if is("STATUS") => status(reader),
        b"" => Err(Flaw::Value),
        _ => Ok(Data::Other(all)),
    }
}

fn numbered<'b>(number: u32, all: &'b [u8], mut reader: Reader<'b>) -> Result<Data<'b>, Flaw> {
    let word = reader.word();
    let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
    match word {
        _ if is("EXISTS") => Ok(Data::Exists(number)),
        _ if is("EXPUNGE") => Ok(Data::Expunge(number)),
        _ if is("FETCH") => match reader.value()? {
            Value::List(items) if reader.rest().is_empty() => {
                // Names and values come in turn.
                let mut pairs = items;
                while let Some(name) = pairs.next() {
                    if !matches!(name, Value::Atom(_)) || pairs.next().is_none() {
                        return Err(Flaw::Value);
                    }
                }
                Ok(Data::Fetch(Fetched { sequence: number, items }))
            }
            Value::List(_) => Err(Flaw::Excess),
            _ => Err(Flaw::Value),
        },
        b"" => Err(Flaw::Value),
        _ => Ok(Data::Other(all)),
    }
}

fn search(numbers: &[u8]) -> Result<Data<'_>, Flaw> {
    let mut words = numbers.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    words.try_for_each(|word| number32(word).map(drop))?;
    Ok(Data::Search(Numbers(numbers)))
}

fn list(mut reader: Reader<'_>) -> Result<Data<'_>, Flaw> {
    for _ in ["flags", "delimiter"] {
        reader.value()?;
        reader.blanks();
    }
    Ok(Data::List(reader.value()?.bytes().ok_or(Flaw::Value)?))
}

fn status(mut reader: Reader<'_>) -> Result<Data<'_>, Flaw> {
    let name = reader.value()?.bytes().ok_or(Flaw::Value)?;
    reader.blanks();
    match reader.value()? {
        Value::List(items) => Ok(Data::Status(name, items)),
        _ => Err(Flaw::Value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(line: &str) -> Result<Data<'_>, Flaw> {
        match response(line.as_bytes())? {
            Response::Untagged(data) => Ok(data),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn responses_are_read_as_what_they_are() {
        assert_eq!(response(b"+ go on\r\n"), Ok(Response::Continue));
        assert_eq!(response(b"+\r\n"), Ok(Response::Continue));
        assert_eq!(
            response(b"a7 no [TRYCREATE] none\r\n"),
            Ok(Response::End { tag: b"a7", status: Status::No, text: b"[TRYCREATE] none" })
        );
        assert_eq!(data("* 12 EXISTS\r\n"), Ok(Data::Exists(12)));
        assert_eq!(data("* 3 expunge\r\n"), Ok(Data::Expunge(3)));
        assert_eq!(data("* BYE over\r\n"), Ok(Data::Condition(Condition::Bye, b"over")));
        assert_eq!(data("* 0 RECENT\r\n"), Ok(Data::Other(b"0 RECENT")));
        let Ok(Data::Search(numbers)) = data("* SEARCH 4 5  9\r\n") else { panic!("a search") };
        assert_eq!(numbers.collect::<Vec<_>>(), [4, 5, 9]);
        assert!(matches!(data("* SEARCH\r\n"), Ok(Data::Search(none)) if none.count() == 0));
        assert_eq!(data("* LIST (\\HasNoChildren) \"/\" \"a b\"\r\n"), Ok(Data::List(b"a b")));
        let Ok(Data::Status(name, items)) = data("* STATUS x (MESSAGES 3 UNSEEN 1)\r\n") else { panic!() };
        assert_eq!((name, items.count()), (&b"x"[..], 4));
    }

    #[test]
    fn attributes_of_messages_are_found_by_name() {
        let line = "* 2 FETCH (FLAGS (\\Seen $X) UID 44 BODY[HEADER.FIELDS (A B)]<0> {5}\r\nA: )\" X \"a\\\"b\" Y NIL)\r\n";
        let Ok(Data::Fetch(fetched)) = data(line) else { panic!("a message") };
        assert_eq!((fetched.sequence, fetched.uid(), fetched.body()), (2, Some(44), Some(&b"A: )\""[..])));
        assert_eq!(fetched.find("X"), Some(Value::Quoted(b"a\\\"b")));
        assert_eq!(fetched.find("y"), Some(Value::Nil));
        let Some(Value::List(flags)) = fetched.find("FLAGS") else { panic!("flags") };
        assert_eq!(flags.filter_map(|flag| flag.bytes()).collect::<Vec<_>>(), [&b"\\Seen"[..], b"$X"]);
        assert_eq!(fetched.find("RFC822.SIZE"), None);
    }

    #[test]
    fn broken_responses_are_flaws() {
        for (line, flaw) in [
            ("x! OK\r\n", Flaw::Begin),
            ("\r\n", Flaw::Begin),
            ("a1 YES\r\n", Flaw::Status),
            ("a1\r\n", Flaw::Status),
            ("* \r\n", Flaw::Value),
            ("* 5\r\n", Flaw::Value),
            ("* 5x EXISTS\r\n", Flaw::Number),
            ("* 4294967296 EXISTS\r\n", Flaw::Number),
            ("* SEARCH 1 x\r\n", Flaw::Number),
            ("* 1 FETCH UID 3\r\n", Flaw::Value),
            ("* 1 FETCH (UID)\r\n", Flaw::Value),
            ("* 1 FETCH (UID 3\r\n", Flaw::List),
            ("* 1 FETCH (UID 3) x\r\n", Flaw::Excess),
            ("* 1 FETCH (X \"a)\r\n", Flaw::Quote),
            ("* 1 FETCH (BODY[ x)\r\n", Flaw::Value),
            ("* LIST () \"/\"\r\n", Flaw::Value),
            ("* STATUS x 3\r\n", Flaw::Value),
        ] {
            assert_eq!(response(line.as_bytes()), Err(flaw), "{line}");
        }
        let deep = format!("* 1 FETCH (X {}{})\r\n", "(".repeat(40), ")".repeat(40));
        assert_eq!(response(deep.as_bytes()), Err(Flaw::Nesting));
    }
}
