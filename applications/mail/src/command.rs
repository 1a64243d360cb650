//! Commands of IMAP: a tag, a name, arguments.

/// Deepest nesting of lists.
const DEEPEST: u32 = 8;

/// An argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// An atom, with any brackets.
    Atom(String),
    /// A quoted string or a literal.
    Text(Vec<u8>),
    /// A list.
    List(Vec<Argument>),
}

impl Argument {
    /// An atom or a string as text.
    pub(crate) fn text(&self) -> Option<String> {
        match self {
            Argument::Atom(text) => Some(text.clone()),
            Argument::Text(bytes) => String::from_utf8(bytes.clone()).ok(),
            Argument::List(_) => None,
        }
    }
}

/// A piece of a command as it was received.
#[derive(Debug)]
pub(crate) enum Piece {
    /// A line without the announcement of a literal.
    Line(Vec<u8>),
    /// A literal.
    Literal(Vec<u8>),
}

/// The length of the literal that a line announces, and whether the client waits for permission.
pub(crate) fn announced(line: &[u8]) -> Option<(usize, usize, bool)> {
    let rest = line.strip_suffix(b"}")?;
    let begin = rest.iter().rposition(|byte| *byte == b'{')?;
    let digits = str::from_utf8(&rest[begin + 1..]).ok()?;
    let (digits, waits) = digits.strip_suffix('+').map_or((digits, true), |digits| (digits, false));
    Some((begin, digits.parse().ok()?, waits))
}

/// The words and arguments of a command; `None` if it cannot be read.
pub(crate) fn arguments(pieces: &[Piece]) -> Option<Vec<Argument>> {
    let mut stack = vec![Vec::new()];
    for piece in pieces {
        match piece {
            Piece::Literal(bytes) => stack.last_mut()?.push(Argument::Text(bytes.clone())),
            Piece::Line(line) => read(line, &mut stack)?,
        }
    }
    let all = stack.pop()?;
    stack.is_empty().then_some(all)
}

fn read(line: &[u8], stack: &mut Vec<Vec<Argument>>) -> Option<()> {
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        match byte {
            b' ' => at += 1,
            b'(' => {
                at += 1;
                stack.push(Vec::new());
                if stack.len() as u32 > DEEPEST {
                    return None;
                }
            }
            b')' => {
                at += 1;
                let list = stack.pop()?;
                stack.last_mut()?.push(Argument::List(list));
            }
            b'"' => {
                let (text, length) = quoted(&line[at..])?;
                at += length;
                stack.last_mut()?.push(Argument::Text(text));
            }
            _ => {
                let length = atom(&line[at..]);
                let text = str::from_utf8(&line[at..at + length]).ok()?;
                at += length;
                stack.last_mut()?.push(Argument::Atom(text.to_owned()));
            }
        }
    }
    Some(())
}

fn quoted(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (mut text, mut at) = (Vec::new(), 1);
    loop {
        match bytes.get(at)? {
            b'"' => return Some((text, at + 1)),
            b'\\' => {
                text.push(*bytes.get(at + 1)?);
                at += 2;
            }
            byte => {
                text.push(*byte);
                at += 1;
            }
        }
    }
}

/// The length of an atom; brackets may enclose blanks and lists.
fn atom(bytes: &[u8]) -> usize {
    let mut in_brackets = false;
    let ends = |byte: &u8| {
        match byte {
            b'[' => in_brackets = true,
            b']' => in_brackets = false,
            b' ' | b'(' | b')' | b'"' => return !in_brackets,
            _ => {}
        }
        false
    };
    bytes.iter().position(ends).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn atom(text: &str) -> Argument {
        Argument::Atom(text.to_owned())
    }

    #[test]
    fn commands_are_read_with_their_literals() {
        let pieces = [
            Piece::Line(b"a1 X \"q \\\"\" (\\Seen (b)) BODY[HEADER.FIELDS (A B)]<0.5> ".to_vec()),
            Piece::Literal(b"l\r\n".to_vec()),
            Piece::Line(Vec::new()),
        ];
        let list = Argument::List(vec![atom("\\Seen"), Argument::List(vec![atom("b")])]);
        let text = |text: &str| Argument::Text(text.into());
        assert_eq!(
            arguments(&pieces).unwrap(),
            [
                atom("a1"),
                atom("X"),
                text("q \""),
                list,
                atom("BODY[HEADER.FIELDS (A B)]<0.5>"),
                text("l\r\n")
            ]
        );
        assert_eq!(announced(b"a1 APPEND x {12}"), Some((12, 12, true)));
        assert_eq!(announced(b"a1 APPEND x {3+}"), Some((12, 3, false)));
        assert_eq!((announced(b"a1 NOOP"), announced(b"{x}")), (None, None));
        for line in ["a (", "a )", "a \"b", "((((((((((", "a \"\\"] {
            assert_eq!(arguments(&[Piece::Line(line.into())]), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(line in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = announced(&line);
            let _ = arguments(&[Piece::Line(line)]);
        }
    }
}
