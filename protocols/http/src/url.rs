//! URLs as typed by users: scheme, host, port, path.

use std::net::Ipv6Addr;

/// The parts of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    pub(crate) tls: bool,
    /// A name or an address; an IPv6 address without its brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Path and query, beginning with a slash.
    pub(crate) path: String,
}

impl Url {
    /// Parses a URL; the error names the fault and the expected form.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (tls, rest) = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (false, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (true, rest),
            Some((scheme, _)) => {
                return Err(format!("the scheme is `{scheme}`, and only http and https are spoken"));
            }
            None => return Err(format!("it begins with http:// or https://, as in http://{text}")),
        };
        let (authority, after) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(
                "a name and password before the host are not sent: set an `authorization` header".to_owned()
            );
        }
        let (host, port) = host_and_port(authority)?;
        let port =
            match port {
                None if tls => 443,
                None => 80,
                Some(port) => port.parse().ok().filter(|p| *p > 0).ok_or_else(|| {
                    format!("the port is `{port}`, and it must be a number from 1 to 65535")
                })?,
            };
        Ok(Url { tls, host: host.to_owned(), port, path: path(after)? })
    }

    /// The value of the `host` header: without the port if it is the scheme's own.
    pub(crate) fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let usual = if self.tls { 443 } else { 80 };
        if self.port == usual { host } else { format!("{host}:{}", self.port) }
    }
}

fn host_and_port(authority: &str) -> Result<(&str, Option<&str>), String> {
    if let Some(inner) = authority.strip_prefix('[') {
        let (host, after) =
            inner.split_once(']').ok_or("the bracket before an IPv6 address is not closed")?;
        if host.parse::<Ipv6Addr>().is_err() {
            return Err(format!("`{host}` in brackets is not an IPv6 address"));
        }
        return match after.strip_prefix(':') {
            None if !after.is_empty() => {
                Err(format!("`{after}` after the bracket: a port begins with a colon"))
            }
            port => Ok((host, port)),
        };
    }
    let (host, port) = match authority.split_once(':') {
        Some((_, port)) if port.contains(':') => {
            return Err(format!("an IPv6 address stands in brackets, as in [{authority}]"));
        }
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    if host.is_empty() {
        return Err("there is no host".to_owned());
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    match host.chars().find(|c| !plain(*c)) {
        None => Ok((host, port)),
        Some(c) if c.is_ascii() => Err(format!("the host `{host}` has a `{c}` in it")),
        Some(_) => Err(format!("the host `{host}` has letters beyond ASCII: write it in its xn-- form")),
    }
}

fn path(after: &str) -> Result<String, String> {
    let after = after.split('#').next().unwrap_or_default();
    if let Some(c) = after.chars().find(|c| !c.is_ascii_graphic()) {
        let encoded: String = c.to_string().bytes().map(|b| format!("%{b:02X}")).collect();
        return Err(format!("the path has `{}` in it: write it as {encoded}", c.escape_default()));
    }
    Ok(if after.starts_with('/') { after.to_owned() } else { format!("/{after}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_are_read() {
        for (text, tls, host, port, path, authority) in [
            ("http://localhost:8080", false, "localhost", 8080, "/", "localhost:8080"),
            ("HTTPS://a.example/v1/?q=1#top", true, "a.example", 443, "/v1/?q=1", "a.example"),
            ("http://[::1]:81/x", false, "::1", 81, "/x", "[::1]:81"),
            ("https://[::1]", true, "::1", 443, "/", "[::1]"),
            ("http://a?b=c/d", false, "a", 80, "/?b=c/d", "a"),
            ("http://a:80/", false, "a", 80, "/", "a"),
            ("https://a:80/", true, "a", 80, "/", "a:80"),
        ] {
            let url = Url::parse(text).unwrap();
            let found = (url.tls, url.host.as_str(), url.port, url.path.as_str(), url.authority());
            assert_eq!(found, (tls, host, port, path, authority.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_says_what_would_be_one() {
        for (text, why) in [
            ("localhost:8080", "it begins with http:// or https://, as in http://localhost:8080"),
            ("ftp://a", "the scheme is `ftp`, and only http and https are spoken"),
            ("http://", "there is no host"),
            ("http://:80", "there is no host"),
            (
                "http://me:pw@a/",
                "a name and password before the host are not sent: set an `authorization` header",
            ),
            ("http://a b/", "the host `a b` has a ` ` in it"),
            (
                "http://bücher.example/",
                "the host `bücher.example` has letters beyond ASCII: write it in its xn-- form",
            ),
            ("http://a:0/", "the port is `0`, and it must be a number from 1 to 65535"),
            ("http://a:/", "the port is ``, and it must be a number from 1 to 65535"),
            ("http://::1/", "an IPv6 address stands in brackets, as in [::1]"),
            ("http://[::1", "the bracket before an IPv6 address is not closed"),
            ("http://[::g]/", "`::g` in brackets is not an IPv6 address"),
            ("http://[::1]x", "`x` after the bracket: a port begins with a colon"),
            ("http://a/b c", "the path has ` ` in it: write it as %20"),
            ("http://a/ü", "the path has `\\u{fc}` in it: write it as %C3%BC"),
        ] {
            assert_eq!(Url::parse(text).unwrap_err(), why, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(https?://)?[\\[\\]a-c1:@/?# \u{e0}-\u{ff}]{0,20}") {
            if let Ok(url) = Url::parse(&text) {
                prop_assert!(url.path.starts_with('/') && !url.host.is_empty() && url.port > 0);
                let again = format!("http{}://{}{}", if url.tls { "s" } else { "" }, url.authority(), url.path);
                prop_assert_eq!(Url::parse(&again), Ok(url));
            }
        }
    }
}
