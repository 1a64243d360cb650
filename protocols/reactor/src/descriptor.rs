//! A descriptor that is no socket, as one that the kernel uses to report events.

use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::event_loop::{ReactorState, current};
use crate::source::{Direction, Token};

/// A descriptor of this thread.
pub struct Descriptor {
    _fd: OwnedFd,
    token: Token,
    home: Rc<ReactorState>,
}

impl Descriptor {
    /// Watches a descriptor from now on.
    ///
    /// # Errors
    /// What the kernel says.
    ///
    /// # Panics
    /// When the thread runs no reactor.
    pub fn new(fd: OwnedFd) -> io::Result<Self> {
        let home = current();
        let token = home.sources.watch(&fd)?;
        Ok(Descriptor { _fd: fd, token, home })
    }

    /// Ready once for each report of the kernel that there is something to read; it is not read. Wakes the task at the next
    /// report in any case.
    pub fn poll_event(&self, cx: &Context<'_>) -> Poll<()> {
        let sources = &self.home.sources;
        let reported = sources.poll_ready(self.token, Direction::In, cx);
        if reported.is_ready() {
            sources.exhausted(self.token, Direction::In);
            // The waker is kept for the next report.
            let _ = sources.poll_ready(self.token, Direction::In, cx);
        }
        reported
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        self.home.sources.forget(self.token);
    }
}
