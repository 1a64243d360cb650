//! What a unit says, read through the API server.

use std::path::Path;
use std::time::Duration;

use barograph_platform::UnitOutput;
use futures::{AsyncBufReadExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::LogParams;
use tokio::time::timeout;

use crate::names::CONTAINER;
use crate::pod_state::PodState;
use crate::watch::PodView;

/// Interval between attempts to read on after the API server ended a connection.
const AGAIN: Duration = Duration::from_millis(200);

/// Longest such interval: it doubles while nothing can be read, since many pods may be on nodes that do not answer.
const LONGEST_AGAIN: Duration = Duration::from_secs(5);

/// Most bytes of a step's output.
const OF_STEP: i64 = 1 << 20;

/// Copies everything until the container has ended and its log was read to the end. After a broken
/// connection the log is read from its beginning, without the lines that were read before.
pub(crate) async fn follow(mut output: UnitOutput, pods: Api<Pod>, pod: String, view: PodView) {
    let params = LogParams { follow: true, container: Some(CONTAINER.to_owned()), ..LogParams::default() };
    let mut read: usize = 0;
    let mut again = AGAIN;
    loop {
        // Asked before the reading: what is written after that is read the next time.
        let was_last = view.now().is_none_or(|state| state.is_last());
        let whole = read_on(&mut output, (&pods, &pod), &params, &mut read).await.is_ok();
        if was_last || (whole && view.now().is_none_or(|state| state.is_last())) {
            break;
        }
        again = if whole { AGAIN } else { LONGEST_AGAIN.min(again * 2) };
        // The end of the container is a reason to read at once.
        let _ = timeout(again, view.clone().until(PodState::is_last)).await;
    }
    output.finish();
}

async fn read_on(
    output: &mut UnitOutput,
    (pods, pod): (&Api<Pod>, &str),
    params: &LogParams,
    read: &mut usize,
) -> Result<(), kube::Error> {
    let mut lines = pods.log_stream(pod, params).await?.lines();
    let mut number: usize = 0;
    while let Some(line) = lines.try_next().await.map_err(|error| kube::Error::Service(error.into()))? {
        number += 1;
        if number > *read {
            *read = number;
            take(output, &line);
        }
    }
    Ok(())
}

/// Appends a line to the log, and passes it on: stdout and stderr are one here.
fn take(output: &mut UnitOutput, line: &str) {
    for piece in [line.as_bytes(), b"\n"] {
        output.log(piece);
        if let Some(lines) = output.lines() {
            lines.take(piece);
        }
    }
}

/// Appends the output of a step to the log. What cannot be read is left out.
pub(crate) async fn of_step(pods: &Api<Pod>, pod: &str, step: String, log: &Path) {
    let params = LogParams { container: Some(step), limit_bytes: Some(OF_STEP), ..LogParams::default() };
    if let Ok(text) = pods.logs(pod, &params).await {
        append(log, &text);
    }
}

/// Appends a text to a log. A failure is ignored, as such a log has lost more.
pub(crate) fn append(log: &Path, text: &str) {
    if let Ok(mut output) = UnitOutput::to_log(log) {
        output.log(text.as_bytes());
    }
}
