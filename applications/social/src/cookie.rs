//! The cookie of a login: the number of the person and a hash that only the site can make, so that every node of a
//! site accepts it without a table of sessions.

use axum::http::{HeaderMap, header};
use sha2::{Digest as _, Sha256};

/// Name of the cookie.
const NAME: &str = "social=";

/// The hexadecimal digits of a hash of texts.
pub(crate) fn hash(texts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for text in texts {
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text);
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The field that sets the cookie of a person; without one it removes the cookie.
pub(crate) fn set(secret: &str, person: Option<i64>) -> String {
    match person {
        Some(person) => {
            let hash = hash(&[secret, &person.to_string()]);
            format!("{NAME}{person}.{hash}; Path=/; HttpOnly; SameSite=Lax")
        }
        None => format!("{NAME}; Path=/; Max-Age=0"),
    }
}

/// The person of a request.
pub(crate) fn person(secret: &str, fields: &HeaderMap) -> Option<i64> {
    let cookies = fields.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let own = cookies.flat_map(|all| all.split("; ")).find_map(|cookie| cookie.strip_prefix(NAME))?;
    let (person, found) = own.split_once('.')?;
    (hash(&[secret, person]) == found).then(|| person.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cookie: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::COOKIE, cookie.parse().unwrap())])
    }

    #[test]
    fn only_the_site_makes_its_cookies() {
        let cookie = set("secret", Some(17));
        let own = cookie.split(';').next().unwrap();
        assert_eq!(person("secret", &of(&format!("a=b; {own}"))), Some(17));
        assert_eq!(person("other", &of(own)), None);
        assert_eq!(person("secret", &of(&own.replace("17.", "18."))), None);
        assert_eq!(person("secret", &of("social=")), None);
        assert_eq!(person("secret", &HeaderMap::new()), None);
    }
}
