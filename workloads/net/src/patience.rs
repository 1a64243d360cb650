//! The patience of a stream's receiver: it looks for bytes that are about to come before it sleeps.
//!
//! A sender pays for waking a receiver that sleeps, which one core of a virtual machine does for another at the cost of a
//! message. A receiver that is awake, or that wakes by itself, costs it nothing but the lock of the socket while it reads.

use std::num::NonZeroU64;
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, Result};
use rustix::thread::set_current_timer_slack;

use crate::low_water::set_low_water;

/// No wait.
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Looks at an empty socket before a nap, in which a sender in flow comes up with more. Over loopback a hundred carried
/// twice as much in messages of 64 KiB; where bytes come slowly, they would cost the receiver more than wakes do.
const LOOKS_BEFORE_NAP: u32 = 30;

/// Looks where the buffer is too small for a nap. A quarter of them carried less than half in messages of 16 KiB.
const LOOKS_WITHOUT_NAP: u32 = 200;

/// The part of such a buffer that has to fill before the socket counts as readable. In messages of 256 bytes and a buffer
/// of 8 KiB, reads of all that was there took seven messages each and carried two thirds.
const LOW_WATER_PART: u32 = 2;

/// Longest nap.
const LONGEST_NAP_NS: i64 = 50_000;

/// Shortest nap.
const SHORTEST_NAP_NS: i64 = 20_000;

/// Bytes of a receive buffer for each nanosecond of a nap: at 40 Gb/s five come in one, and the system doubles the
/// buffer, so that a third of it fills.
const BUFFER_PER_NAP_NS: i64 = 8;

/// Sleeps without a look after one that found nothing.
const SLEEPS: u32 = 15;

/// Patience of one receiver.
#[derive(Debug)]
pub(crate) struct Patience {
    looks: u32,
    nap: Option<Timespec>,
    /// Whether the socket has a low-water mark.
    has_mark: bool,
    /// Sleeps left without a look.
    sleeps: u32,
}

impl Patience {
    /// The patience of a receiver with this receive buffer (0 for that of the system) on the calling thread, whose naps
    /// become exact.
    pub(crate) fn new(receive_buffer: u32) -> Self {
        // The kernel may otherwise end a nap 50 microseconds late.
        let _ = set_current_timer_slack(Some(NonZeroU64::MIN));
        let nap = nap(receive_buffer);
        let looks = if nap.is_some() { LOOKS_BEFORE_NAP } else { LOOKS_WITHOUT_NAP };
        Patience { looks, nap, has_mark: false, sleeps: 0 }
    }

    /// That of a receiver that does nothing else. Where the buffer is too small for a nap, its socket becomes readable not at
    /// its first byte, but when a part of the buffer is filled or the stream has ended.
    pub(crate) fn with_low_water(socket: impl AsFd, receive_buffer: u32) -> Self {
        let patience = Self::new(receive_buffer);
        // Without a mark reads are more and smaller.
        let mark = receive_buffer / LOW_WATER_PART;
        let has_mark = patience.nap.is_none() && set_low_water(socket, mark).is_ok();
        Patience { has_mark, ..patience }
    }

    /// Looks, with a read that does not block, for the bytes of a socket.
    ///
    /// # Errors
    /// `AGAIN` if the receiver has to sleep until the system wakes it; otherwise the error of the read.
    pub(crate) fn look(
        &mut self,
        socket: impl AsFd,
        mut read: impl FnMut() -> Result<usize>,
    ) -> Result<usize> {
        if self.sleeps > 0 {
            self.sleeps -= 1;
            return Err(Errno::AGAIN);
        }
        let found = if self.has_mark {
            self.find(|| if is_readable(&socket)? { read() } else { Err(Errno::AGAIN) })
        } else {
            self.find(read)
        };
        if found.is_err() {
            self.sleeps = SLEEPS;
        }
        found
    }

    fn find(&self, mut read: impl FnMut() -> Result<usize>) -> Result<usize> {
        for _ in 0..self.looks {
            match read() {
                Err(Errno::AGAIN) => {}
                found => return found,
            }
        }
        let Some(nap) = &self.nap else { return Err(Errno::AGAIN) };
        // Nothing is waited for: a wait for the socket would make the sender wake this thread.
        let _ = poll(&mut [], Some(nap));
        read()
    }
}

/// Whether a socket is readable. Unlike a read of an empty socket, the question takes no lock that the sender waits for.
fn is_readable(socket: impl AsFd) -> Result<bool> {
    let mut one = [PollFd::new(&socket, PollFlags::IN)];
    Ok(poll(&mut one, Some(&AT_ONCE))? > 0)
}

/// The nap with a receive buffer of this size, 0 for that of the system; `None` if the buffer would be full before.
fn nap(receive_buffer: u32) -> Option<Timespec> {
    let longest = match receive_buffer {
        0 => LONGEST_NAP_NS,
        bytes => LONGEST_NAP_NS.min(i64::from(bytes) / BUFFER_PER_NAP_NS),
    };
    (longest >= SHORTEST_NAP_NS).then_some(Timespec { tv_sec: 0, tv_nsec: longest })
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _, stdin};
    use std::net::{TcpListener, TcpStream};

    use rustix::net::sockopt::set_socket_recv_buffer_size;

    use super::*;

    const BUFFER: usize = 8_192;

    /// Answers of reads in turn; the last one stays.
    fn reads<'a>(
        answers: &'a [(u32, Result<usize>)],
        made: &'a mut u32,
    ) -> impl FnMut() -> Result<usize> + 'a {
        move || {
            *made += 1;
            answers.iter().rfind(|(from, _)| *from <= *made).map_or(Err(Errno::AGAIN), |(_, answer)| *answer)
        }
    }

    #[test]
    fn bytes_that_come_soon_are_found() {
        let mut patience = Patience { looks: 10, nap: None, has_mark: false, sleeps: 0 };
        for _ in 0..3 {
            let mut made = 0;
            assert_eq!(patience.look(stdin(), reads(&[(4, Ok(7))], &mut made)), Ok(7));
            assert_eq!(made, 4);
        }
    }

    #[test]
    fn a_nap_is_followed_by_one_look() {
        let mut patience = Patience { looks: 10, nap: nap(0), has_mark: false, sleeps: 0 };
        let mut made = 0;
        assert_eq!(patience.look(stdin(), reads(&[(11, Ok(7))], &mut made)), Ok(7));
        assert_eq!((made, patience.sleeps), (11, 0));
        made = 0;
        assert_eq!(patience.look(stdin(), reads(&[], &mut made)), Err(Errno::AGAIN));
        assert_eq!((made, patience.sleeps), (11, SLEEPS));
    }

    #[test]
    fn looks_that_find_nothing_are_rare() {
        let mut patience = Patience { looks: 2, nap: None, has_mark: false, sleeps: 0 };
        let mut made = 0;
        for _ in 0..4 * (SLEEPS + 1) {
            assert_eq!(patience.look(stdin(), reads(&[], &mut made)), Err(Errno::AGAIN));
        }
        assert_eq!(made, 4 * 2);
    }

    #[test]
    fn the_end_of_a_stream_and_errors_are_seen_at_once() {
        for answer in [Ok(0), Err(Errno::CONNRESET)] {
            let (mut patience, mut made) =
                (Patience { looks: 10, nap: nap(0), has_mark: false, sleeps: 0 }, 0);
            assert_eq!(patience.look(stdin(), reads(&[(0, answer)], &mut made)), answer);
            assert_eq!(made, 1);
        }
    }

    /// A connection over loopback whose second end has a small receive buffer, with its mark at these bytes.
    fn connection(mark: usize) -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        set_socket_recv_buffer_size(&listener, BUFFER).unwrap();
        let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        sender.set_nodelay(true).unwrap();
        let receiver = listener.accept().unwrap().0;
        set_low_water(&receiver, mark as u32).unwrap();
        (sender, receiver)
    }

    /// What a look at such a socket finds.
    fn found(socket: &TcpStream) -> Result<usize> {
        let mut reader = socket;
        let mut patience = Patience { looks: 1, nap: None, has_mark: true, sleeps: 0 };
        let read = || reader.read(&mut [0; BUFFER]).map_err(|why| Errno::from_io_error(&why).unwrap());
        patience.look(socket, read)
    }

    #[test]
    fn bytes_below_the_mark_wait_for_more() {
        let (mut sender, receiver) = connection(BUFFER / 2);
        sender.write_all(&[7; 100]).unwrap();
        assert_eq!(found(&receiver), Err(Errno::AGAIN));
        sender.write_all(&[7; BUFFER / 2 - 100]).unwrap();
        assert_eq!(found(&receiver), Ok(BUFFER / 2));
    }

    #[test]
    fn the_end_of_a_stream_does_not_wait() {
        let (mut sender, receiver) = connection(BUFFER / 2);
        sender.write_all(&[7]).unwrap();
        drop(sender);
        assert_eq!([found(&receiver), found(&receiver)], [Ok(1), Ok(0)]);
    }

    #[test]
    fn a_mark_that_has_no_room_does_not_stop_a_stream() {
        let (mut sender, receiver) = connection(1 << 30);
        sender.set_nonblocking(true).unwrap();
        while sender.write(&[7; 1_000]).is_ok() {}
        assert!(found(&receiver).unwrap() > 0);
    }

    #[test]
    fn only_buffers_without_a_nap_have_a_mark() {
        let of = |receive_buffer| {
            let (_sender, receiver) = connection(1);
            Patience::with_low_water(&receiver, receive_buffer).has_mark
        };
        assert_eq!([0, 8_192, 262_144].map(of), [false, true, false]);
    }

    #[test]
    fn naps_are_shorter_than_a_buffer_lasts() {
        let ns = |bytes| nap(bytes).map(|nap| nap.tv_nsec);
        assert_eq!(
            [0, 8_192, 65_536, 262_144, 4 << 20].map(ns),
            [Some(50_000), None, None, Some(32_768), Some(50_000)]
        );
    }
}
