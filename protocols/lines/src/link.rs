//! A connection with its buffers.

use std::error::Error;
use std::io;
use std::ops::Range;

use barograph_net::{Dialer, Stream};

use crate::address::Security;
use crate::fault::Fault;
use crate::target::Target;

/// Least and most bytes of space for a read: the length named by a message is not trusted in advance.
const READ_STEP: usize = 4 * 1024;
const READ_MOST: usize = 256 * 1024;

/// Capacity of an idle buffer; larger ones are freed, as thousands of links idle at once.
const KEPT: usize = 16 * 1024;

/// The bytes at the front of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A whole message of this length.
    Whole(usize),
    /// The beginning of a message of at least this length.
    Part(usize),
}

/// A connection of a text protocol.
pub struct Link {
    stream: Stream,
    input: Vec<u8>,
    /// Bytes of `input` that were taken.
    at: usize,
    out: Vec<u8>,
    /// An answer is expected, or never came to its end.
    busy: bool,
}

impl Link {
    /// Opens a connection, through TLS from the first byte if the address requires it.
    ///
    /// # Errors
    /// If the target or this machine refuses it.
    pub async fn open(dialer: &Dialer, target: &Target, number: u32) -> Result<Self, barograph_net::Fault> {
        let stream = match target.tls() {
            Some(tls) if target.address().security == Security::Tls => {
                dialer.connect_tls(number, tls).await?
            }
            _ => dialer.connect(number).await?,
        };
        Ok(Link { stream, input: Vec::new(), at: 0, out: Vec::new(), busy: false })
    }

    /// Begins TLS. Bytes that were read before it are dropped: they arrived without protection.
    ///
    /// # Errors
    /// If the handshake fails.
    pub async fn secure<F: Error + 'static>(
        self,
        dialer: &Dialer,
        target: &Target,
        number: u32,
    ) -> Result<Self, Fault<F>> {
        let Some(tls) = target.tls() else { return Err(Fault::Lacks("TLS")) };
        let stream = dialer.secure(self.stream, number, tls).await?;
        Ok(Link { stream, input: Vec::new(), at: 0, out: self.out, busy: self.busy })
    }

    /// Begins a call. Bytes for it are then appended to the returned buffer.
    ///
    /// # Errors
    /// [`Fault::Unusable`] if the last call has not come to its end.
    pub fn begin<F: Error + 'static>(&mut self) -> Result<&mut Vec<u8>, Fault<F>> {
        if self.busy {
            return Err(Fault::Unusable);
        }
        self.busy = true;
        self.out.clear();
        Ok(&mut self.out)
    }

    /// The bytes to send.
    pub fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Ends a call: its answer is complete.
    pub fn end(&mut self) {
        self.busy = false;
        if self.at == self.input.len() {
            self.input.clear();
            self.at = 0;
        }
        for buffer in [&mut self.input, &mut self.out] {
            if buffer.capacity() > KEPT && buffer.len() <= KEPT {
                buffer.shrink_to(KEPT);
            }
        }
    }

    /// Whether a call may begin: the last one is complete, and the server has neither closed nor sent
    /// anything since.
    pub fn is_quiet(&mut self) -> bool {
        !self.busy && self.at == self.input.len() && self.stream.is_quiet()
    }

    /// Sends the buffer.
    ///
    /// # Errors
    /// [`Fault::Broken`].
    pub async fn send<F: Error + 'static>(&mut self) -> Result<(), Fault<F>> {
        let sent = self.stream.write_all(&self.out).await;
        self.out.clear();
        sent.map_err(Fault::Broken)
    }

    /// Reads until a message is whole. Its place holds until the next call.
    ///
    /// # Errors
    /// [`Fault::Broken`] if the connection ends before, [`Fault::Flawed`] with the flaw found by `frame`.
    pub async fn message<F: Error + 'static>(
        &mut self,
        frame: impl Fn(&[u8]) -> Result<Frame, F>,
    ) -> Result<Range<usize>, Fault<F>> {
        loop {
            match frame(&self.input[self.at..]).map_err(Fault::Flawed)? {
                Frame::Whole(length) => {
                    let place = self.at..self.at + length;
                    self.at = place.end;
                    return Ok(place);
                }
                Frame::Part(needed) => self.read(needed).await.map_err(Fault::Broken)?,
            }
        }
    }

    /// The bytes of a message.
    #[must_use]
    pub fn bytes(&self, place: &Range<usize>) -> &[u8] {
        &self.input[place.clone()]
    }

    /// Bytes that have arrived after the last message.
    #[must_use]
    pub fn unread(&self) -> &[u8] {
        &self.input[self.at..]
    }

    /// Whether unread bytes have arrived after the last message.
    #[must_use]
    pub fn has_input(&self) -> bool {
        !self.unread().is_empty()
    }

    async fn read(&mut self, needed: usize) -> io::Result<()> {
        let missing = needed.saturating_sub(self.input.len() - self.at);
        let space = missing.clamp(READ_STEP, READ_MOST);
        if self.at == self.input.len() {
            self.input.clear();
            self.at = 0;
        } else if self.input.capacity() - self.input.len() < space {
            self.input.drain(..self.at);
            self.at = 0;
        }
        self.input.reserve(space);
        match self.stream.read_into(&mut self.input).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}
