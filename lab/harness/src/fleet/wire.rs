//! One end of a control connection: frames in and out, and patience that ends.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};

use super::frame::{Frame, FrameError, Frames, Kind, framed};
use super::message;

/// Room that is made for what comes next.
const ROOM: usize = 64 << 10;

/// Why nothing more comes over a connection.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The other end closed it, or its process ended.
    #[error("the connection was closed")]
    Closed,
    /// Nothing came, or nothing was taken, for too long.
    #[error("nothing was heard for {} s", .0.as_secs())]
    Silent(Duration),
    /// The system says so.
    #[error("the connection broke")]
    Broken(#[source] io::Error),
    /// What came makes no sense.
    #[error("what it said cannot be understood")]
    Nonsense(#[source] FrameError),
}

impl From<FrameError> for Trouble {
    fn from(why: FrameError) -> Self {
        Trouble::Nonsense(why)
    }
}

/// A connection.
pub(super) struct Wire {
    stream: TcpStream,
    frames: Frames,
    heard: Instant,
    patience: Duration,
}

impl Wire {
    /// `most` is the longest frame taken, `patience` how long the other end may be silent.
    pub(super) fn new(stream: TcpStream, most: usize, patience: Duration) -> io::Result<Self> {
        // Commands are small and must not wait for more of them.
        stream.set_nodelay(true)?;
        Ok(Wire { stream, frames: Frames::new(most), heard: tokio::time::Instant::now(), patience })
    }

    /// Both ends know each other now.
    pub(super) fn trust(&mut self, most: usize, patience: Duration) {
        self.frames.most = most;
        self.patience = patience;
    }

    /// The next frame. May be dropped and asked again: nothing gets lost.
    pub(super) async fn next(&mut self) -> Result<Frame, Trouble> {
        loop {
            if let Some(frame) = self.frames.next()? {
                return Ok(frame);
            }
            self.frames.bytes.reserve(ROOM);
            // What is there already is read first, however late that is: our own process may have stood still.
            let read = timeout_at(self.heard + self.patience, self.stream.read_buf(&mut self.frames.bytes));
            match read.await {
                Ok(Ok(0)) => return Err(Trouble::Closed),
                Ok(Ok(_)) => self.heard = tokio::time::Instant::now(),
                Ok(Err(why)) if why.kind() == io::ErrorKind::ConnectionReset => return Err(Trouble::Closed),
                Ok(Err(why)) => return Err(Trouble::Broken(why)),
                Err(_) => return Err(Trouble::Silent(self.patience)),
            }
        }
    }

    pub(super) async fn say<T: serde::Serialize>(&mut self, message: &T) -> Result<(), Trouble> {
        self.send(Kind::Message, &message::body(message)).await
    }

    pub(super) async fn send(&mut self, kind: Kind, body: &[u8]) -> Result<(), Trouble> {
        match timeout(self.patience, self.stream.write_all(&framed(kind, body))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(why)) if is_closed(&why) => Err(Trouble::Closed),
            Ok(Err(why)) => Err(Trouble::Broken(why)),
            Err(_) => Err(Trouble::Silent(self.patience)),
        }
    }

    /// Nothing more will be said. Waits until the other end has gone too: a connection that is closed with unread bytes
    /// takes the last answers with it.
    pub(super) async fn part(mut self) {
        // It may be gone already.
        let _ = self.stream.shutdown().await;
        while self.next().await.is_ok() {}
    }
}

fn is_closed(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}
