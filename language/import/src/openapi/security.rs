//! Credentials: a token from an earlier answer, or a value to be filled in by the user.

use serde_json::Value;

use super::schema::Schemas;
use crate::draft::{GeneratedValue, Piece, Text};
use crate::name;

/// Form of a credential.
pub(super) enum Credential {
    Header(String, Text),
    Query(String, Text),
    Cookie(Text),
    /// One that cannot be written, with a remark for the user.
    Not(String),
}

/// The credential of a scheme, with a value to fill in if no answer gives it.
pub(super) fn credential<'a>(
    schemas: Schemas<'a>,
    scheme: &'a str,
    token: Option<&str>,
) -> (Credential, Option<(String, GeneratedValue)>) {
    let listed = schemas.document.pointer("/components/securitySchemes").and_then(|all| all.get(scheme));
    let Some(described) = listed.map(|described| schemas.resolve(described)) else {
        return (Credential::Not(format!("the security scheme `{scheme}` is not in the document")), None);
    };
    let text = |key: &str| described.get(key).and_then(Value::as_str).unwrap_or("");
    let own = name::free(&name::value(scheme));
    let kind = text("type");
    let http = text("scheme").to_ascii_lowercase();
    // A token is not a pair of name and password.
    let token = token.filter(|_| !(kind == "http" && http != "bearer"));
    let value = token.map_or_else(|| own.clone(), str::to_owned);
    let (credential, what) = match (kind, text("in")) {
        ("apiKey", "query") => (Credential::Query(text("name").to_owned(), Text::value(value)), "a key"),
        ("apiKey", "cookie") => {
            (Credential::Cookie(with_before(&format!("{}=", text("name")), value)), "a key")
        }
        ("apiKey", _) if crate::header::is_written(text("name")) => {
            (Credential::Header(text("name").to_owned(), Text::value(value)), "a key")
        }
        ("http", _) if http == "basic" => (authorization("Basic ", value), "NAME:PASSWORD in base64"),
        ("http", _) if http == "bearer" => (authorization("Bearer ", value), "a token"),
        ("http", _) => (authorization("", value), "all of the header `authorization`"),
        ("oauth2" | "openIdConnect", _) => (authorization("Bearer ", value), "a token"),
        (other, _) => {
            return (
                Credential::Not(format!("the security scheme `{scheme}` ({other}) is not carried over")),
                None,
            );
        }
    };
    let secret = GeneratedValue::Secret(format!(
        "Edit: {what} of the security scheme `{scheme}` ({kind}); several in the list are shared by the users."
    ));
    (credential, token.is_none().then_some((own, secret)))
}

fn authorization(before: &str, value: String) -> Credential {
    Credential::Header("authorization".to_owned(), with_before(before, value))
}

fn with_before(before: &str, value: String) -> Text {
    let mut text = Text::default();
    text.push(before);
    text.0.push(Piece::Value(value));
    text
}
