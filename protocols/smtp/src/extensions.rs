//! Extensions that a server announces.

use crate::reply::Reply;

/// Extensions announced in the reply to EHLO or LHLO.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    /// Commands may be sent before the replies to earlier ones.
    pub pipelining: bool,
    /// Mail may be sent by BDAT.
    pub chunking: bool,
    /// TLS may begin by STARTTLS.
    pub starttls: bool,
    /// Login by AUTH PLAIN.
    pub plain: bool,
    /// Login by AUTH LOGIN.
    pub login: bool,
    /// The size of a mail may be declared.
    pub sizes: bool,
    /// Most bytes of a mail; 0 without a limit.
    pub most_bytes: u64,
}

impl Extensions {
    pub(crate) fn of(reply: &Reply<'_>) -> Self {
        let mut all = Extensions::default();
        // The first line is the name of the server.
        for line in reply.lines().skip(1) {
            let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
            let Some(name) = words.next() else { continue };
            match &name.to_ascii_uppercase()[..] {
                b"PIPELINING" => all.pipelining = true,
                b"CHUNKING" => all.chunking = true,
                b"STARTTLS" => all.starttls = true,
                b"SIZE" => {
                    all.sizes = true;
                    let number = words.next().and_then(|word| str::from_utf8(word).ok());
                    all.most_bytes = number.and_then(|number| number.parse().ok()).unwrap_or(0);
                }
                b"AUTH" => words.for_each(|word| {
                    all.plain |= word.eq_ignore_ascii_case(b"PLAIN");
                    all.login |= word.eq_ignore_ascii_case(b"LOGIN");
                }),
                _ => {}
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_read_in_any_case_and_order() {
        let text = b"250-PIPELINING\r\n250-size 1000\r\n250-AUTH login PLAIN\r\n250-X\r\n250 StartTLS\r\n";
        let all = Extensions::of(&Reply::of(text));
        let expected = Extensions {
            sizes: true,
            most_bytes: 1_000,
            plain: true,
            login: true,
            starttls: true,
            ..Extensions::default()
        };
        assert_eq!(all, expected, "the first line is a name");
        assert_eq!(Extensions::of(&Reply::of(b"250-h\r\n250 SIZE x\r\n")).most_bytes, 0);
    }
}
