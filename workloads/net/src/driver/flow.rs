//! A flow of datagrams of the driver: numbered, with the time of sending, and the answers to them.

use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};

use barograph_model::Nanos;
use barograph_reactor::Socket;

use super::connection::Break;
use super::worker::Worker;
use crate::datagram::{Head, LAST};
use crate::ledger::Close;

/// Copies of the last datagram, which says how many there were: some may be lost.
const COPIES_OF_LAST: u32 = 3;

/// Tells the time of the engine.
pub(super) type Watch = Rc<dyn Fn() -> Nanos>;

/// A flow between two sockets.
pub(super) struct Flow {
    socket: Socket,
    worker: Rc<Worker>,
    watch: Watch,
    datagram: Vec<u8>,
    /// Number of the next datagram.
    next: u64,
    /// Bytes of the datagram to send.
    to_send: Option<u32>,
    /// Number of the request whose answer is expected, and its bytes.
    awaited: Option<(u64, u32)>,
    sent: u64,
    received: u64,
}

impl Flow {
    pub(super) fn new(socket: Socket, worker: &Rc<Worker>, watch: &Watch) -> Self {
        let datagram = worker.load.content.at(0, worker.load.settings.largest_datagram()).to_vec();
        let (worker, watch) = (Rc::clone(worker), Rc::clone(watch));
        let (next, to_send, awaited, sent, received) = (0, None, None, 0, 0);
        Flow { socket, worker, watch, datagram, next, to_send, awaited, sent, received }
    }

    /// Begins a datagram of this many bytes.
    pub(super) fn send(&mut self, bytes: u32) {
        self.to_send = Some(bytes);
    }

    /// Expects an answer of this many bytes to the datagram that was begun.
    pub(super) fn expect(&mut self, bytes: u32) {
        self.awaited = Some((self.next, bytes));
    }

    /// Forgets the datagram in progress. An answer that still comes is none to the next one.
    pub(super) fn forget(&mut self) {
        (self.to_send, self.awaited) = (None, None);
    }

    /// Sends the datagram; ready when the system has taken it.
    pub(super) fn poll_send(&mut self, cx: &Context<'_>) -> Poll<Result<(), Break>> {
        while let Some(bytes) = self.to_send {
            let datagram = &mut self.datagram[..bytes as usize];
            let (token, sent_ns) = (self.worker.load.token, (self.watch)().0);
            Head { token, number: self.next, sent_ns }.write(datagram);
            match self.socket.try_write(datagram) {
                Ok(_) => {
                    if self.next == 0 {
                        self.worker.load.ledger.open();
                    }
                    self.next += 1;
                    self.sent += u64::from(bytes);
                    self.to_send = None;
                }
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                    if self.socket.poll_writable(cx).is_pending() {
                        return Poll::Pending;
                    }
                }
                Err(why) => return Poll::Ready(Err(Break::of(&why))),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Receives datagrams up to the expected answer.
    pub(super) fn poll_receive(&mut self, cx: &Context<'_>) -> Poll<Result<(), Break>> {
        let mut buffer = self.worker.buffer.borrow_mut();
        while let Some((number, bytes)) = self.awaited {
            match self.socket.try_receive(&mut buffer) {
                Ok(length) => {
                    let head = Head::read(&buffer[..length]);
                    // An answer to an earlier request was given up.
                    if head.is_some_and(|head| head.number == number) {
                        if length != bytes as usize {
                            return Poll::Ready(Err(Break::Wrong));
                        }
                        self.awaited = None;
                        self.received += u64::from(bytes);
                    }
                }
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                    if self.socket.poll_readable(cx).is_pending() {
                        return Poll::Pending;
                    }
                }
                Err(why) => return Poll::Ready(Err(Break::of(&why))),
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        if self.next == 0 {
            return;
        }
        let load = &self.worker.load;
        let last = &mut self.datagram[..crate::datagram::HEAD];
        Head { token: load.token, number: self.next | LAST, sent_ns: 0 }.write(last);
        for _ in 0..COPIES_OF_LAST {
            // Without it the target waits, and counts what is missing all the same.
            let _ = self.socket.try_write(last);
        }
        load.ledger.close(Close::InOrder { sent: self.sent, received: self.received });
    }
}
