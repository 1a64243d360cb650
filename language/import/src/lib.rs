//! Makes a first scenario from an OpenAPI document, from a HAR recording or for one URL.
//!
//! Input and output are text: a scenario to be read, edited and run. Comments in it list unknowns and
//! omissions. The crate does no I/O; the caller reads files beside a document.

mod address;
mod draft;
mod har;
mod header;
mod json;
mod media;
mod name;
mod openapi;
mod percent;
mod print;

use draft::{Draft, Exchange, Operation, Text, ThinkTime};

/// Pictures, styles, fonts and scripts of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assets {
    /// Keep them like all other requests.
    Keep,
    /// Leave them out: caches answer them in front of most services.
    LeaveOut,
}

/// Reason why a document gives no scenario.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The text is neither JSON nor YAML.
    #[error("read the document as JSON or YAML: {0}")]
    NotADocument(String),
    /// The document is neither OpenAPI 3 nor Swagger 2.0.
    #[error("find `openapi: 3...` or `swagger: 2.0` in the document; it says {0}")]
    NotOpenApi(String),
    /// The document describes no calls.
    #[error("find a call in the document: `paths` names none")]
    NoCalls,
    /// References in `paths` lead nowhere.
    #[error("find a call in the document: `paths` names what was not found: {0}")]
    LostCalls(String),
    /// The text is not a HAR recording.
    #[error("read the recording as HAR 1.2; browsers write it as \"save all as HAR\"")]
    NotHar(#[source] serde_json::Error),
    /// The text is JSON, but not a HAR recording.
    #[error("find `log.entries` in the recording; browsers write it as \"save all as HAR\"")]
    NoEntries,
    /// The recording has no repeatable request.
    #[error("find a request over HTTP in the recording that is no asset")]
    NoRequests,
    /// The URL is invalid.
    #[error("read `{0}` as http://HOST[:PORT][/PATH] or https://...")]
    NotAUrl(String),
}

/// Reader of files beside a document, by their path from the document's folder.
pub type Files<'f> = &'f dyn Fn(&str) -> std::io::Result<String>;

/// Decodes a file: UTF-8, or UTF-16 by its byte order mark. The mark is dropped, and invalid text replaced.
#[must_use]
pub fn text(bytes: &[u8]) -> String {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        bytes => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// A scenario from a document of OpenAPI 3 or Swagger 2.0, in JSON or YAML. `url` replaces the host in it.
///
/// # Errors
/// The fault in the document.
pub fn from_openapi(text: &str, url: Option<&str>, files: Files<'_>) -> Result<String, ImportError> {
    let (document, lost) = openapi::read(text, files)?;
    let mut draft = openapi::draft(&document, url).map_err(|why| match &lost {
        Some(lost) => ImportError::LostCalls(lost.clone()),
        None => why,
    })?;
    draft.remarks.extend(lost.map(|lost| format!("Not found, and so left out: {lost}.")));
    Ok(print::print(&draft))
}

/// A scenario from a HAR 1.2 recording. `url` replaces the origin of its requests.
///
/// # Errors
/// The fault in the recording.
pub fn from_har(text: &str, assets: Assets, url: Option<&str>) -> Result<String, ImportError> {
    let mut draft = har::draft(text, assets)?;
    if let Some(url) = url {
        url.clone_into(&mut draft.url);
    }
    Ok(print::print(&draft))
}

/// A scenario that requests one URL.
///
/// # Errors
/// If the URL is invalid.
pub fn from_url(url: &str) -> Result<String, ImportError> {
    let host = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let has_host = host.is_some_and(|host| !host.starts_with(['/', '?', '#']));
    let address = address::address(url).filter(|_| has_host);
    let address = address.ok_or_else(|| ImportError::NotAUrl(url.to_owned()))?;
    let exchange = Exchange {
        method: "GET".to_owned(),
        path: Text::fixed(address.target()),
        statuses: vec![200],
        ..Exchange::default()
    };
    let about = format!("GET {url}");
    let operation = Operation { name: "Get".to_owned(), about: about.clone(), exchanges: vec![exchange] };
    let draft = Draft {
        about,
        remarks: vec![
            "Edit: add operations, values and checks; docs/scenario.md has all of the language.".to_owned(),
        ],
        url: address.origin,
        values: Vec::new(),
        operations: vec![operation],
        think: ThinkTime::Guess(1.0),
    };
    Ok(print::print(&draft))
}

/// The first few of a list, and the number of the others.
fn named(all: &[String]) -> String {
    const NAMED: usize = 5;
    let more = all.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{more}", all[..all.len().min(NAMED)].join(", "))
}
