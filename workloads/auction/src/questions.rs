//! Queries to the application outside of the load, by plain requests.

use std::error::Error;
use std::sync::mpsc;
use std::time::Duration;

use barograph_auction_api::{CheckReport, Health, routes};
use barograph_http::{Client, Method, Request, ResolvedTarget};
use barograph_model::words::in_one_line;
use serde::de::DeserializeOwned;

/// Longest wait for an answer: the data checks read every row of a run.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

/// Runs the data checks and returns their result. Blocks.
pub(crate) fn check(target: &ResolvedTarget) -> Result<CheckReport, String> {
    ask_within(target, routes::check)
}

/// The state of the answering node. Blocks.
pub(crate) fn health(target: &ResolvedTarget) -> Result<Health, String> {
    ask_within(target, routes::health)
}

fn ask_within<T: DeserializeOwned + Send + 'static>(
    target: &ResolvedTarget,
    path: fn() -> String,
) -> Result<T, String> {
    let target = target.clone();
    // The client has no clock: its thread is abandoned after the time limit.
    let (send, answer) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let answer = match barograph_reactor::block_on(ask(&target, path())) {
            Ok(answer) => answer.map_err(|why| in_one_line(&*why)),
            Err(why) => Err(in_one_line(&why)),
        };
        // The receiver is gone after the time limit.
        let _ = send.send(answer);
    });
    match answer.recv_timeout(ANSWER_TIMEOUT) {
        Ok(answer) => answer,
        Err(_) => Err(format!("no answer within {} s", ANSWER_TIMEOUT.as_secs())),
    }
}

async fn ask<T: DeserializeOwned>(
    target: &ResolvedTarget,
    path: String,
) -> Result<T, Box<dyn Error + Send + Sync>> {
    let connections = Client::new(target).user(0);
    let request = Request { method: Method::GET, path: format_args!("{path}"), headers: &[], body: None };
    let answer = connections.send(&request).await?;
    // A node that is not ready gives its reason in the same form.
    if !matches!(answer.status, 200 | 503) {
        return Err(format!("{path} answered {}", answer.status).into());
    }
    serde_json::from_slice(answer.body())
        .map_err(|why| format!("read what {path} answered ({}): {why}", answer.status).into())
}
