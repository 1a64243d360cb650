//! One end of a control connection: frames in both directions, with a time limit.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};

use super::frame::{Frame, FrameError, FrameKind, Frames, framed};
use super::message;

/// Bytes reserved for each read.
const ROOM: usize = 64 << 10;

/// Reason for the end of a connection.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The other end closed it, or its process ended.
    #[error("the connection was closed")]
    Closed,
    /// Nothing was received or accepted for this long.
    #[error("nothing was heard for {} s", .0.as_secs())]
    Silent(Duration),
    /// The system reported an error.
    #[error("the connection broke")]
    Broken(#[source] io::Error),
    /// Invalid data were received.
    #[error("what it said cannot be understood")]
    Nonsense(#[source] FrameError),
}

impl From<FrameError> for WireError {
    fn from(why: FrameError) -> Self {
        WireError::Nonsense(why)
    }
}

/// A control connection.
pub(super) struct Wire {
    stream: TcpStream,
    frames: Frames,
    heard: Instant,
    patience: Duration,
}

impl Wire {
    /// Wraps a stream. `most` is the longest frame allowed, `patience` the longest silence of the other end.
    pub(super) fn new(stream: TcpStream, most: usize, patience: Duration) -> io::Result<Self> {
        // Commands are small and must not wait for further data.
        stream.set_nodelay(true)?;
        Ok(Wire { stream, frames: Frames::new(most), heard: tokio::time::Instant::now(), patience })
    }

    /// Sets the limits after the greeting.
    pub(super) fn trust(&mut self, most: usize, patience: Duration) {
        self.frames.most = most;
        self.patience = patience;
    }

    /// Waits for the next frame. May be dropped and called again without losing data.
    pub(super) async fn next(&mut self) -> Result<Frame, WireError> {
        loop {
            if let Some(frame) = self.frames.next()? {
                return Ok(frame);
            }
            self.frames.bytes.reserve(ROOM);
            // Data that have arrived are read first, however late, as this process may have been held up
            // itself.
            let read = timeout_at(self.heard + self.patience, self.stream.read_buf(&mut self.frames.bytes));
            match read.await {
                Ok(Ok(0)) => return Err(WireError::Closed),
                Ok(Ok(_)) => self.heard = tokio::time::Instant::now(),
                Ok(Err(why)) if why.kind() == io::ErrorKind::ConnectionReset => {
                    return Err(WireError::Closed);
                }
                Ok(Err(why)) => return Err(WireError::Broken(why)),
                Err(_) => return Err(WireError::Silent(self.patience)),
            }
        }
    }

    pub(super) async fn say<T: serde::Serialize>(&mut self, message: &T) -> Result<(), WireError> {
        self.send(FrameKind::Message, &message::body(message)).await
    }

    pub(super) async fn send(&mut self, kind: FrameKind, body: &[u8]) -> Result<(), WireError> {
        match timeout(self.patience, self.stream.write_all(&framed(kind, body))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(why)) if is_closed(&why) => Err(WireError::Closed),
            Ok(Err(why)) => Err(WireError::Broken(why)),
            Err(_) => Err(WireError::Silent(self.patience)),
        }
    }

    /// Ends the conversation. Waits until the other end has closed, too: closing a connection with unread
    /// bytes discards the last replies.
    pub(super) async fn part(mut self) {
        // It may be closed already.
        let _ = self.stream.shutdown().await;
        while self.next().await.is_ok() {}
    }
}

fn is_closed(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}
