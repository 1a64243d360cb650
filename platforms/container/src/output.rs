//! What a container says, on its way to the unit's log and to whoever wants the lines.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::pin::Pin;

use barograph_platform::{Announced, Lines, OnLine};
use bollard::container::LogOutput;
use bollard::errors::Error;
use futures::{Stream, StreamExt};
use tokio::sync::oneshot;

/// What an engine sends of a container's output.
pub(crate) type Said = Pin<Box<dyn Stream<Item = Result<LogOutput, Error>> + Send>>;

/// Where the output of a container goes.
pub(crate) struct Output {
    log: File,
    /// Stdout, where somebody wants its lines; else it goes to the log too.
    lines: Option<Lines>,
}

impl Output {
    /// Stdout and stderr are appended to the log.
    pub(crate) fn to_log(log: &Path) -> io::Result<Self> {
        Ok(Output { log: open(log)?, lines: None })
    }

    /// Stderr is appended to the log, stdout is read line by line.
    pub(crate) fn lines(log: &Path, on_line: OnLine) -> io::Result<(Self, oneshot::Receiver<Announced>)> {
        let (announce, announced) = oneshot::channel();
        // Nobody waits any more when the unit was given up; then the line does not matter.
        let lines = Lines::new(on_line, move |line| drop(announce.send(line)));
        Ok((Output { log: open(log)?, lines: Some(lines) }, announced))
    }

    /// Takes everything until the container has nothing more to say. A stream that breaks is an end too: how the
    /// container ended is found out otherwise.
    pub(crate) async fn follow(mut self, mut said: Said) {
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
