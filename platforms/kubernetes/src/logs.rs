//! What a unit says, read through the API server.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use barograph_platform::{Lines, OnLine, ReadyAddress};
use futures::{AsyncBufReadExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::LogParams;
use tokio::sync::oneshot;
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

/// Destination of a unit's output.
pub(crate) struct Output {
    log: File,
    /// Receiver of its lines, if they are wanted.
    lines: Option<Lines>,
}

impl Output {
    /// Appends everything to the log.
    pub(crate) fn to_log(log: &Path) -> io::Result<Self> {
        Ok(Output { log: open(log)?, lines: None })
    }

    /// Appends everything to the log, and passes on each line: stdout and stderr are one here.
    pub(crate) fn lines(log: &Path, on_line: OnLine) -> io::Result<(Self, oneshot::Receiver<ReadyAddress>)> {
        let (announce, announced) = oneshot::channel();
        // The receiver is gone if the unit was given up; then the line does not matter.
        let lines = Lines::new(on_line, move |line| drop(announce.send(line)));
        Ok((Output { log: open(log)?, lines: Some(lines) }, announced))
    }

    fn take(&mut self, line: &str) {
        // A full disk loses lines of the log, as it would if the unit wrote them itself.
        let _ = writeln!(self.log, "{line}");
        if let Some(lines) = &mut self.lines {
            lines.take(line.as_bytes());
            lines.take(b"\n");
        }
    }

    /// Copies everything until the container has ended and its log was read to the end. After a broken
    /// connection the log is read from its beginning, without the lines that were read before.
    pub(crate) async fn follow(mut self, pods: Api<Pod>, pod: String, view: PodView) {
        let params =
            LogParams { follow: true, container: Some(CONTAINER.to_owned()), ..LogParams::default() };
        let mut read: usize = 0;
        let mut again = AGAIN;
        loop {
            // Asked before the reading: what is written after that is read the next time.
            let was_last = view.now().is_none_or(|state| state.is_last());
            let whole = self.read_on(&pods, &pod, &params, &mut read).await.is_ok();
            if was_last || (whole && view.now().is_none_or(|state| state.is_last())) {
                break;
            }
            again = if whole { AGAIN } else { LONGEST_AGAIN.min(again * 2) };
            // The end of the container is a reason to read at once.
            let _ = timeout(again, view.clone().until(PodState::is_last)).await;
        }
        if let Some(lines) = self.lines {
            lines.finish();
        }
    }

    async fn read_on(
        &mut self,
        pods: &Api<Pod>,
        pod: &str,
        params: &LogParams,
        read: &mut usize,
    ) -> Result<(), kube::Error> {
        let mut lines = pods.log_stream(pod, params).await?.lines();
        let mut number: usize = 0;
        while let Some(line) = lines.try_next().await.map_err(|error| kube::Error::Service(error.into()))? {
            number += 1;
            if number > *read {
                *read = number;
                self.take(&line);
            }
        }
        Ok(())
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
    if let Ok(mut file) = open(log) {
        let _ = file.write_all(text.as_bytes());
    }
}

fn open(log: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(log)
}
