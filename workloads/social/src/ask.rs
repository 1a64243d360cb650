//! Requests outside of the load: the fill, the check, and whether the site answers.

use std::error::Error;
use std::time::Duration;

use barograph_http::{Client, JSON, Method, Options, Policy, Protocol, Request, ResolvedTarget, Target};
use barograph_model::words::in_one_line;
use barograph_reactor::block_on;

/// Time limit of the first answer.
const FIRST_ANSWER: Duration = Duration::from_secs(5);

/// Checks that an address is well-formed.
///
/// # Errors
/// The fault in words.
pub(crate) fn check(url: &str) -> Result<(), String> {
    Target::parse(url, &Options::default()).map(drop).map_err(|why| in_one_line(&why))
}

/// The site at an address, which answers. Blocks.
///
/// # Errors
/// The address is malformed, or the site does not answer.
pub(crate) fn target(url: &str, policy: Policy) -> Result<ResolvedTarget, Box<dyn Error + Send + Sync>> {
    let options = Options { protocol: Protocol::Http1, policy, ..Options::default() };
    Target::parse(url, &options)?.resolve()?.answering(FIRST_ANSWER)
}

/// Sends one request, GET or POST with a body of JSON. Returns the body of the answer.
///
/// # Errors
/// No answer within the time limit, or one with another status than 200, in words.
pub(crate) async fn ask(
    target: &ResolvedTarget,
    (path, body): (String, Option<String>),
    limit: Duration,
) -> Result<Vec<u8>, String> {
    let target = target.clone();
    let (send, answer) = tokio::sync::oneshot::channel();
    // The client has no clock: its thread is left behind after the time limit.
    let work = move || send.send(asked(&target, &path, body.as_deref()).map_err(|why| in_one_line(&*why)));
    let spawned = std::thread::Builder::new().name("ask".to_owned()).spawn(work);
    spawned.map_err(|why| format!("start a thread: {why}"))?;
    match tokio::time::timeout(limit, answer).await {
        Ok(answer) => answer.unwrap_or_else(|_| Err("no answer".to_owned())),
        Err(_) => Err(format!("no answer within {} s", limit.as_secs())),
    }
}

/// Sends one request. Blocks.
pub(crate) fn asked(
    target: &ResolvedTarget,
    path: &str,
    body: Option<&str>,
) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
    let method = if body.is_some() { Method::POST } else { Method::GET };
    let headers: &[(&str, &str)] = if body.is_some() { &[JSON] } else { &[] };
    let request = Request { method, path: format_args!("{path}"), headers, body: body.map(str::as_bytes) };
    let answer = block_on(async { Client::new(target).user(0).send(&request).await })??;
    if answer.status == 200 {
        return Ok(answer.body().to_vec());
    }
    let text = String::from_utf8_lossy(answer.body());
    Err(format!("{path} answered {}: {}", answer.status, text.lines().next().unwrap_or_default()).into())
}

/// The ETag of a file. Blocks.
pub(crate) fn tag(target: &ResolvedTarget, path: &str) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
    let request = Request { method: Method::GET, path: format_args!("{path}"), headers: &[], body: None };
    let answer = block_on(async { Client::new(target).user(0).send(&request).await })??;
    let tag = answer.header("etag").filter(|_| answer.status == 200);
    Ok(tag.ok_or_else(|| format!("{path} has no ETag, status {}", answer.status))?.to_vec())
}
