//! Output of a container, passed to the unit's log and to the receiver of its lines.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::pin::Pin;

use barograph_platform::{Lines, OnLine, ReadyAddress};
use bollard::container::LogOutput;
use bollard::errors::Error;
use futures::{Stream, StreamExt};
use tokio::sync::oneshot;

/// Output stream of a container from an engine.
pub(crate) type LogStream = Pin<Box<dyn Stream<Item = Result<LogOutput, Error>> + Send>>;

/// Destination of a container's output.
pub(crate) struct Output {
    log: File,
    /// Stdout if its lines are wanted; otherwise it is logged, too.
    lines: Option<Lines>,
}

impl Output {
    /// Appends stdout and stderr to the log.
    pub(crate) fn to_log(log: &Path) -> io::Result<Self> {
        Ok(Output { log: open(log)?, lines: None })
    }

    /// Appends stderr to the log, and reads stdout line by line.
    pub(crate) fn lines(log: &Path, on_line: OnLine) -> io::Result<(Self, oneshot::Receiver<ReadyAddress>)> {
        let (announce, announced) = oneshot::channel();
        // The receiver is gone if the unit was given up; then the line does not matter.
        let lines = Lines::new(on_line, move |line| drop(announce.send(line)));
        Ok((Output { log: open(log)?, lines: Some(lines) }, announced))
    }

    /// Copies everything until the output ends. An error ends it, too: the end of the container is detected
    /// elsewhere.
    pub(crate) async fn follow(mut self, mut said: LogStream) {
        while let Some(Ok(piece)) = said.next().await {
            match (&piece, &mut self.lines) {
                (LogOutput::StdOut { message } | LogOutput::Console { message }, Some(lines)) => {
                    lines.take(message)
                }
                // A full disk loses lines of the log, as it would if the unit wrote them itself.
                _ => drop(self.log.write_all(piece.as_ref())),
            }
        }
        if let Some(lines) = self.lines {
            lines.finish();
        }
    }
}

fn open(log: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(log)
}
