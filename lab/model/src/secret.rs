//! Secrets in texts that are shown or recorded: passwords of URLs, headers with credentials, files of keys.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A file whose content is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretFile {
    /// The path as given.
    pub path: PathBuf,
    /// Content of the file.
    pub bytes: Arc<[u8]>,
}

impl fmt::Debug for SecretFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretFile({})", self.path.display())
    }
}

/// Replacement for a secret.
pub const MASK: &str = "***";

/// Names of headers with credentials, or parts of such names.
const SECRET_NAMES: [&str; 7] =
    ["authorization", "cookie", "token", "secret", "password", "api-key", "apikey"];

/// Masks the passwords of URLs (`SCHEME://USER:PASSWORD@HOST`) in a text.
#[must_use]
pub fn masked(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        let end = after.find(ends_authority).unwrap_or(after.len());
        let authority = &after[..end];
        out.push_str(before);
        match authority.rsplit_once('@').map(|(user, host)| (user.split_once(':'), host)) {
            Some((Some((user, password)), host)) if !password.is_empty() => {
                out.push_str(&format!("{user}:{MASK}@{host}"));
            }
            _ => out.push_str(authority),
        }
        rest = &after[end..];
    }
    if out.is_empty() {
        return Cow::Borrowed(text);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn ends_authority(c: char) -> bool {
    c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '`' | '<' | '>' | '\\')
}

/// Whether a header of this name carries credentials.
#[must_use]
pub fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|secret| name.contains(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_urls_are_masked_wherever_they_stand() {
        for (text, expected) in [
            ("redis://:s3cret@127.0.0.1:6379/0", "redis://:***@127.0.0.1:6379/0"),
            ("at redis://me:a:b@h,h2:7 kept", "at redis://me:***@h,h2:7 kept"),
            (r#"{"target":"rediss://u:p@h"}"#, r#"{"target":"rediss://u:***@h"}"#),
            ("a://u:p@h b://u:q@i", "a://u:***@h b://u:***@i"),
            ("redis://:p@ss@h/", "redis://:***@h/"),
        ] {
            assert_eq!(masked(text), expected);
        }
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for text in
            ["", "no address", "http://h:80/a@b:c", "redis://user@h", "redis://user:@h", "a:b@c", "://"]
        {
            assert_eq!(masked(text), text);
        }
    }

    #[test]
    fn headers_with_credentials_are_known_by_their_names() {
        assert!(
            ["Authorization", "proxy-authorization", "Cookie", "X-Api-Key", "x-auth-token"]
                .into_iter()
                .all(is_secret_header)
        );
        assert!(!["accept", "content-type", "x-request-id"].into_iter().any(is_secret_header));
    }
}
