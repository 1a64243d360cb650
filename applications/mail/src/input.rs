//! Buffered input of a session.

use std::io;

use memchr::memchr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Space for a read.
const READ_STEP: usize = 8 * 1024;

/// Longest line of a command.
const LONGEST_LINE: usize = 64 * 1024;

/// A connection with its input.
pub(crate) struct Input {
    stream: TcpStream,
    bytes: Vec<u8>,
}

impl Input {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Input { stream, bytes: Vec::new() }
    }

    /// Whether bytes have arrived that were not taken.
    pub(crate) fn has_more(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// The next line without its end; `None` at the end of the connection. May be dropped while it waits.
    ///
    /// # Errors
    /// If the connection breaks, or the line is too long.
    pub(crate) async fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(end) = memchr(b'\n', &self.bytes) {
                let mut line: Vec<u8> = self.bytes.drain(..=end).collect();
                line.truncate(line.strip_suffix(b"\r\n").map_or(end, <[u8]>::len));
                return Ok(Some(line));
            }
            if self.bytes.len() > LONGEST_LINE {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if !self.read().await? {
                return Ok(None);
            }
        }
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    /// If the connection ends before.
    pub(crate) async fn exactly(&mut self, count: usize) -> io::Result<Vec<u8>> {
        while self.bytes.len() < count {
            if !self.read().await? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let rest = self.bytes.split_off(count);
        Ok(std::mem::replace(&mut self.bytes, rest))
    }

    /// Sends bytes.
    ///
    /// # Errors
    /// If the connection breaks.
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Reads what has arrived; false at the end.
    async fn read(&mut self) -> io::Result<bool> {
        self.bytes.reserve(READ_STEP);
        Ok(self.stream.read_buf(&mut self.bytes).await? > 0)
    }
}
