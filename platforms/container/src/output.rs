//! Output of a container, passed to the unit's log and to the receiver of its lines.

use std::pin::Pin;

use barograph_platform::UnitOutput;
use bollard::container::LogOutput;
use bollard::errors::Error;
use futures::{Stream, StreamExt};

/// Output stream of a container from an engine.
pub(crate) type LogStream = Pin<Box<dyn Stream<Item = Result<LogOutput, Error>> + Send>>;

/// Copies everything until the output ends: stdout to the receiver of lines if they are wanted, the rest to the
/// log. An error ends it, too: the end of the container is detected elsewhere.
pub(crate) async fn follow(mut output: UnitOutput, mut said: LogStream) {
    while let Some(Ok(piece)) = said.next().await {
        match (&piece, output.lines()) {
            (LogOutput::StdOut { message } | LogOutput::Console { message }, Some(lines)) => {
                lines.take(message);
            }
            _ => output.log(piece.as_ref()),
        }
    }
    output.finish();
}
