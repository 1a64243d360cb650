//! URLs of requests over HTTP.

/// A parsed URL; characters not allowed in a request line are percent-encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// Scheme, host and port.
    pub(crate) origin: String,
    /// Begins with a slash.
    pub(crate) path: String,
    pub(crate) query: Option<String>,
}

/// Parses an HTTP URL; user, password and fragment are dropped.
pub(crate) fn address(text: &str) -> Option<Address> {
    let url = url::Url::parse(text.trim()).ok()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
    let is_http = matches!(url.scheme(), "http" | "https") && url.port() != Some(0);
    let is_sent = is_http && url.host_str().is_some_and(|host| host.chars().all(is_plain));
    is_sent.then(|| Address {
        origin: url.origin().ascii_serialization(),
        path: url.path().to_owned(),
        query: url.query().map(str::to_owned),
    })
}

impl Address {
    /// Path and query.
    pub(crate) fn target(&self) -> String {
        match &self.query {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.clone(),
        }
    }
}
