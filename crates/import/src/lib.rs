//! Makes a first scenario from an OpenAPI document, from a HAR recording or for one URL.
//!
//! Text goes in, text comes out: a scenario that a person reads, edits and runs. What an importer cannot know it says in
//! comments. Nothing here does I/O.

mod draft;
mod har;
mod name;
mod openapi;
mod print;

use draft::{Draft, Exchange, Operation, Text, Think};

/// Pictures, styles, fonts and scripts of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assets {
    /// They are requests like all others.
    Keep,
    /// Leave them out: caches answer them in front of most services.
    LeaveOut,
}

/// A document that no scenario can be made from.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The text is not JSON.
    #[error("read the document as JSON; one in YAML is converted with `yq -o json FILE`, for example")]
    NotJson(#[source] serde_json::Error),
    /// The document is JSON, but not OpenAPI 3.
    #[error("find `openapi: 3...` in the document; it says {0}")]
    NotOpenApi(String),
    /// The document describes no call.
    #[error("find a call in the document: `paths` names none")]
    NoCalls,
    /// The text is not a HAR recording.
    #[error("read the recording as HAR 1.2; browsers write it as \"save all as HAR\"")]
    NotHar(#[source] serde_json::Error),
    /// A recording says when something happened, and nobody understands it.
    #[error("read the time `{0}` in the recording as RFC 3339")]
    NotATime(String),
    /// The recording holds no request that can be repeated.
    #[error("find a request over HTTP in the recording that is no asset")]
    NoRequests,
    /// The URL is not one of a request.
    #[error("read `{0}` as http://HOST[:PORT][/PATH] or https://...")]
    NotAUrl(String),
}

/// A scenario from an OpenAPI 3 document in JSON. `url` replaces the server that it names.
///
/// # Errors
/// What is wrong with the document.
pub fn from_openapi(text: &str, url: Option<&str>) -> Result<String, ImportError> {
    let document: serde_json::Value = serde_json::from_str(text).map_err(ImportError::NotJson)?;
    match document.get("openapi").and_then(serde_json::Value::as_str) {
        Some(version) if version.starts_with("3.") => {}
        Some(version) => return Err(ImportError::NotOpenApi(format!("version {version}"))),
        None => return Err(ImportError::NotOpenApi("nothing of it".to_owned())),
    }
    openapi::draft(&document, url).map(|draft| print::print(&draft))
}

/// A scenario from a HAR 1.2 recording. `url` replaces the origin of its requests.
///
/// # Errors
/// What is wrong with the recording.
pub fn from_har(text: &str, assets: Assets, url: Option<&str>) -> Result<String, ImportError> {
    let mut draft = har::draft(text, assets)?;
    if let Some(url) = url {
        url.clone_into(&mut draft.url);
    }
    Ok(print::print(&draft))
}

/// A scenario that asks for one URL.
///
/// # Errors
/// The URL is not one.
pub fn from_url(url: &str) -> Result<String, ImportError> {
    let host = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    if host.is_none_or(|host| host.is_empty() || host.starts_with(['/', '?', '#'])) {
        return Err(ImportError::NotAUrl(url.to_owned()));
    }
    let (origin, target) = har::split(url);
    // Whoever types a URL may type a query without a path.
    let slash = if target.starts_with('/') { "" } else { "/" };
    let exchange = Exchange {
        method: "GET".to_owned(),
        path: Text::fixed(format!("{slash}{target}")),
        query: Vec::new(),
        headers: Vec::new(),
        body: None,
        keep: Vec::new(),
        statuses: vec![200],
        beside: false,
        remarks: Vec::new(),
    };
    let about = format!("GET {url}");
    let operation = Operation { name: "Get".to_owned(), about: about.clone(), exchanges: vec![exchange] };
    let draft = Draft {
        about,
        remarks: vec![
            "Edit: add operations, values and checks; docs/scenario.md has all of the language.".to_owned(),
        ],
        url: origin.to_owned(),
        values: Vec::new(),
        operations: vec![operation],
        think: Think::Guess(1.0),
    };
    Ok(print::print(&draft))
}
