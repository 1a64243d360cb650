//! Greetings of other protocols: a wrong port in an address is the usual cause of a first message that cannot be read.

use std::error::Error;

use crate::Fault;

/// Beginnings of greetings, and their protocols.
const GREETINGS: [(&[u8], &str); 8] = [
    (b"220", "SMTP"),
    (b"* OK", "IMAP"),
    (b"* PREAUTH", "IMAP"),
    (b"* BYE", "IMAP"),
    (b"+OK", "POP3"),
    (b"-ERR", "POP3"),
    (b"SSH-", "SSH"),
    (b"HTTP/", "HTTP"),
];

/// Most bytes of a greeting that are quoted.
const QUOTED: usize = 80;

/// The fault of a first message of another protocol than `wanted`; `None` if it is of that one or of none known here.
#[must_use]
pub fn foreign<F: Error + 'static>(message: &[u8], wanted: &'static str) -> Option<Fault<F>> {
    let (_, spoken) = GREETINGS.into_iter().find(|(begin, _)| message.starts_with(begin))?;
    if spoken == wanted {
        return None;
    }
    let line = message.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    let said = line[..line.len().min(QUOTED)].escape_ascii().to_string();
    Some(Fault::Foreign { wanted, spoken, said })
}

#[cfg(test)]
mod tests {
    use std::io;

    use barograph_model::Outcome;

    use super::*;

    #[test]
    fn servers_of_other_protocols_are_named() {
        let fault = |message: &[u8], wanted| foreign::<io::Error>(message, wanted);
        let of = |message: &[u8], wanted| fault(message, wanted).map(|fault| fault.to_string());
        let expected = "the server speaks IMAP and not SMTP: `* OK ready\\xff`";
        assert_eq!(of(b"* OK ready\xff\r\n* more", "SMTP").as_deref(), Some(expected));
        assert_eq!(of(b"+OK pop", "IMAP").as_deref(), Some("the server speaks POP3 and not IMAP: `+OK pop`"));
        assert_eq!(fault(b"220 mail", "IMAP").map(|fault| fault.outcome()), Some(Outcome::WrongAnswer));
        assert_eq!((of(b"220 mail", "SMTP"), of(b"22", "SMTP"), of(b"hello", "IMAP")), (None, None, None));
        let long = of(&b"SSH-".repeat(50), "IMAP").unwrap();
        assert_eq!(long.len(), "the server speaks SSH and not IMAP: ``".len() + QUOTED);
    }
}
