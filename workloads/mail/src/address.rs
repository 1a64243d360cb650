//! The addresses of a mail server: for submission, and for mailboxes.

use barograph_lines::{Address, AddressError};
use barograph_smtp::Dialect;

/// Addresses of a mail server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MailAddress {
    pub(crate) submission: Address,
    pub(crate) dialect: Dialect,
    /// `None` for a load that submits mail and reads none.
    pub(crate) mailboxes: Option<Address>,
}

/// The names of LMTP in addresses.
const LMTP: barograph_smtp::Scheme =
    barograph_smtp::Scheme { clear: "lmtp", port: 24, tls: "lmtps", tls_port: 24 };

impl MailAddress {
    /// Parses `smtp://HOST:PORT,imap://HOST:PORT` in the forms of both protocols, `lmtp://` in the place of
    /// `smtp://`, or what a deployment makes: `mail://HOST:PORT,HOST:PORT` and `lmtp://HOST:PORT,HOST:PORT`. The
    /// second address may be left out.
    ///
    /// # Errors
    /// The fault in words.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (first, second) =
            text.split_once(',').map_or((text, None), |(first, second)| (first, Some(second)));
        let first = first.strip_prefix("mail://").unwrap_or(first);
        let is_lmtp = first.starts_with("lmtp");
        let scheme = if is_lmtp { LMTP } else { barograph_smtp::SCHEME };
        let of = |end: Result<Address, AddressError>| end.map_err(|why| why.to_string());
        Ok(MailAddress {
            submission: Address::parse(first, scheme).map_err(|why| match why {
                AddressError::Scheme { found, .. } => {
                    format!("unknown scheme `{found}`; smtp, smtps, lmtp and lmtps are known")
                }
                why => why.to_string(),
            })?,
            dialect: if is_lmtp { Dialect::Lmtp } else { Dialect::Smtp },
            mailboxes: second.map(|second| of(Address::parse(second, barograph_imap::SCHEME))).transpose()?,
        })
    }

    /// The addresses without logins.
    pub(crate) fn shown(&self) -> String {
        match &self.mailboxes {
            Some(mailboxes) => format!("{},{mailboxes}", self.submission),
            None => self.submission.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_addresses_are_read_in_every_form() {
        let shown = |text: &str| MailAddress::parse(text).map(|address| address.shown());
        assert_eq!(shown("smtp://u:p@a,imaps://b").unwrap(), "smtp://a:587,imaps://b:993");
        assert_eq!(shown("mail://127.0.0.1:1,127.0.0.1:2").unwrap(), "smtp://127.0.0.1:1,imap://127.0.0.1:2");
        assert_eq!(shown("lmtp://a:1,b:2").unwrap(), "lmtp://a:1,imap://b:2");
        assert_eq!(MailAddress::parse("lmtp://a:1,b:2").unwrap().dialect, Dialect::Lmtp);
        assert_eq!(shown("smtp://a:25").unwrap(), "smtp://a:25");
        assert!(shown("smtp://a,").is_err(), "an address after a comma is not empty");
        let why = "unknown scheme `http`; smtp, smtps, lmtp and lmtps are known";
        assert_eq!(shown("http://a,b").unwrap_err(), why);
    }
}
