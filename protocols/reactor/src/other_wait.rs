//! A wait of the thread outside of its loop, as in the call of a ring.

use std::cell::RefCell;
use std::io;
use std::os::fd::BorrowedFd;
use std::rc::Rc;

use crate::event_loop::{ReactorState, current};
use crate::source::Sleep;

/// A call of the kernel in which a thread sleeps in place of the loop's own, and which its own events end directly.
pub trait OtherWait {
    /// Looks for its own events or, as `sleep` allows, sleeps until one comes or `descriptors`, those of the loop, can be
    /// read. Wakes the tasks concerned. Returns whether descriptors may have events.
    ///
    /// # Errors
    /// The error of the system.
    fn wait(&self, descriptors: BorrowedFd<'_>, sleep: Sleep) -> io::Result<bool>;
}

/// The other wait of a thread, if it has one.
pub(crate) type WaitPlace = RefCell<Option<Rc<dyn OtherWait>>>;

/// Keeps a thread in its other wait until it is dropped.
pub struct WaitGuard(Rc<ReactorState>);

impl WaitGuard {
    /// Makes the thread sleep in `wait`; `None` if it has another wait already.
    ///
    /// # Panics
    /// If the thread runs no reactor.
    pub fn new(wait: &Rc<impl OtherWait + 'static>) -> Option<Self> {
        let home = current();
        let mut place = home.other_wait.borrow_mut();
        if place.is_some() {
            return None;
        }
        *place = Some(Rc::clone(wait) as Rc<dyn OtherWait>);
        drop(place);
        Some(WaitGuard(home))
    }
}

impl Drop for WaitGuard {
    fn drop(&mut self) {
        self.0.other_wait.borrow_mut().take();
    }
}
