//! One connection at the responder, from its greeting to its end.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::io::{Errno, retry_on_intr};
use rustix::net::{RecvFlags, SendFlags, recv, send, sockopt};

use super::Service;
use super::runs::Run;
use crate::kernel::Report;
use crate::ledger::{Close, Totals};
use crate::patience::Patience;
use crate::pattern::Pattern;
use crate::tcp_info::{Connections, Port};
use crate::wire::{self, Answer, CONTROL, DATA, GREETING, QUESTION, Question};

/// Longest wait for the greeting of a connection.
const GREETING_TIME: Duration = Duration::from_secs(10);

/// Longest wait for the last connections of a run.
const LAST_TIME: Duration = Duration::from_secs(10);

/// Longest wait for the ends of flows of datagrams, which may be lost.
const LAST_DATAGRAMS: Duration = Duration::from_secs(2);

/// Milliseconds after which data without an acknowledgement end a connection: its peer is gone.
const GONE_MS: u32 = 60_000;

/// A connection of the responder.
pub(super) struct Conversation<'a> {
    pub(super) stream: &'a TcpStream,
    pub(super) service: &'a Arc<Service>,
    /// A buffer for reads.
    pub(super) buffer: &'a mut Vec<u8>,
}

impl Conversation<'_> {
    /// Serves the connection to its end. One that does not greet is closed.
    pub(super) fn hold(self) {
        let mut stream = self.stream;
        let mut begin = [0; 8];
        let is_ready = stream.set_read_timeout(Some(GREETING_TIME)).is_ok()
            && sockopt::set_socket_keepalive(stream, true).is_ok()
            && sockopt::set_tcp_user_timeout(stream, GONE_MS).is_ok();
        if !is_ready || stream.read_exact(&mut begin).is_err() {
            return;
        }
        match begin {
            CONTROL => self.questions(),
            DATA => self.traffic(),
            _ => reset(stream),
        }
    }

    /// Answers questions until the peer closes.
    fn questions(self) {
        let mut stream = self.stream;
        // A line may be silent for as long as its load lasts.
        if stream.set_read_timeout(None).is_err() || stream.set_nodelay(true).is_err() {
            return;
        }
        let mut connections = Connections::new(Port::At(self.service.address.port()));
        let mut bytes = [0; QUESTION];
        while stream.read_exact(&mut bytes).is_ok() {
            let Some(question) = Question::read(&bytes) else { return reset(stream) };
            let answer = self.answer(question, &mut connections);
            if stream.write_all(&wire::answer_bytes(&answer)).is_err() {
                return;
            }
        }
    }

    fn answer(&self, question: Question, connections: &mut Connections) -> Answer {
        match question {
            Question::Begin(settings) => {
                let begun = Run::start(settings, self.service);
                let begun = begun.ok().and_then(|run| self.service.runs.add(run));
                // Tokens begin with 1.
                wire::run_answer(begun.unwrap_or_default())
            }
            Question::Report { port } => {
                connections.watch(Port::At(port));
                wire::report_answer(&Report::read(connections))
            }
            Question::Datagrams { token } => {
                let run = self.service.runs.find(token);
                wire::datagrams_answer(&run.map(|run| run.count(|counts| *counts)).unwrap_or_default())
            }
            Question::Totals { token, closed } => {
                let run = self.service.runs.find(token);
                wire::totals_answer(run.map(|run| {
                    // The load is over.
                    let totals = totals(&run, closed);
                    run.close_port();
                    totals
                }))
            }
        }
    }

    /// Carries the traffic of a run.
    fn traffic(self) {
        let mut token = [0; GREETING - 8];
        let mut stream = self.stream;
        let run = match stream.read_exact(&mut token) {
            Ok(()) => self.service.runs.find(u64::from_le_bytes(token)),
            Err(_) => None,
        };
        let Some(run) = run else { return reset(stream) };
        run.ledger.open();
        let close = match prepare(stream, &run) {
            Err(_) => Close::Broken,
            Ok(()) => {
                self.buffer.resize(run.settings.read as usize, 0);
                Traffic { stream, run: &run }.carry(self.buffer)
            }
        };
        if !matches!(close, Close::InOrder { .. }) {
            reset(stream);
        }
        // The peer waits for the end of a stream before it counts the connection.
        let _ = stream.shutdown(Shutdown::Both);
        run.ledger.close(close);
    }
}

/// Totals of a run of which the driver closed this many connections or flows, and whether they are final.
fn totals(run: &Run, closed: u64) -> (Totals, bool) {
    if !run.settings.datagrams {
        return run.ledger.settled(closed, LAST_TIME);
    }
    let (totals, is_final) = run.ledger.settled(closed, LAST_DATAGRAMS);
    let counts = run.count(|counts| *counts);
    (Totals { sent: counts.answered, received: counts.bytes, ..totals }, is_final)
}

/// Sets the options of the run.
fn prepare(stream: &TcpStream, run: &Run) -> io::Result<()> {
    let settings = &run.settings;
    stream.set_read_timeout(None)?;
    stream.set_nodelay(!settings.delays)?;
    if settings.send_buffer > 0 {
        sockopt::set_socket_send_buffer_size(stream, settings.send_buffer as usize)?;
    }
    Ok(())
}

/// Makes the end of a connection a reset, which the peer sees as a broken connection.
fn reset(stream: &TcpStream) {
    let _ = sockopt::set_socket_linger(stream, Some(Duration::ZERO));
}

/// Reason for the end of one direction.
enum End {
    /// The peer has sent its last byte.
    Last,
    /// The connection broke.
    Broken,
    /// Other bytes arrived than were sent.
    Wrong,
}

/// Traffic of one connection.
#[derive(Clone, Copy)]
struct Traffic<'a> {
    stream: &'a TcpStream,
    run: &'a Run,
}

impl Traffic<'_> {
    fn carry(self, buffer: &mut [u8]) -> Close {
        match self.run.settings.pattern {
            Pattern::To => {
                let (received, end) = self.receive_all(buffer);
                end.close(0, received)
            }
            Pattern::From | Pattern::Both => self.both_ways(buffer),
            Pattern::Request | Pattern::Connect => self.answer_all(buffer),
        }
    }

    /// Receives up to the end.
    fn receive_all(self, buffer: &mut [u8]) -> (u64, End) {
        let mut patience = Patience::with_low_water(self.stream, self.run.settings.receive_buffer);
        let mut received = 0;
        loop {
            match self.receive(received, buffer, Some(&mut patience)) {
                Ok(0) => return (received, End::Last),
                Ok(bytes) => received += bytes as u64,
                Err(end) => return (received, end),
            }
        }
    }

    /// Sends until the peer has sent its last byte, and receives on another thread.
    fn both_ways(self, buffer: &mut [u8]) -> Close {
        let is_over = AtomicBool::new(false);
        let (sent, (received, end)) = std::thread::scope(|scope| {
            let receiving = scope.spawn(|| {
                let received = self.receive_all(buffer);
                is_over.store(true, Ordering::Release);
                received
            });
            let sent = self.send_until(&is_over);
            if sent.is_err() {
                // A receiver that waits ends with it.
                let _ = self.stream.shutdown(Shutdown::Both);
            }
            (sent, receiving.join().unwrap_or((0, End::Broken)))
        });
        match sent {
            Ok(sent) => end.close(sent, received),
            Err(_) => Close::Broken,
        }
    }

    fn send_until(self, is_over: &AtomicBool) -> io::Result<u64> {
        let Run { settings, content, .. } = self.run;
        let mut sent = 0;
        while !is_over.load(Ordering::Acquire) {
            let place = if settings.verifies { sent } else { 0 };
            sent += self.send(content.at(place, settings.message as usize))? as u64;
        }
        Ok(sent)
    }

    /// Answers requests up to the end.
    fn answer_all(self, buffer: &mut [u8]) -> Close {
        let Run { settings, content, .. } = self.run;
        let (mut sent, mut received) = (0_u64, 0_u64);
        loop {
            let mut left = settings.request as usize;
            while left > 0 {
                let room = left.min(buffer.len());
                match self.receive(received, &mut buffer[..room], None) {
                    Ok(0) => return End::Last.close(sent, received),
                    Ok(bytes) => {
                        received += bytes as u64;
                        left -= bytes;
                    }
                    Err(end) => return end.close(sent, received),
                }
            }
            let mut left = settings.answer as usize;
            while left > 0 {
                let place = if settings.verifies { sent } else { 0 };
                let Ok(bytes) = self.send(content.at(place, left)) else { return Close::Broken };
                sent += bytes as u64;
                left -= bytes;
            }
        }
    }

    fn send(self, bytes: &[u8]) -> io::Result<usize> {
        Ok(retry_on_intr(|| send(self.stream, bytes, SendFlags::NOSIGNAL))?)
    }

    /// Receives what is there, at a place of the stream; 0 bytes after the last.
    fn receive(self, place: u64, buffer: &mut [u8], patience: Option<&mut Patience>) -> Result<usize, End> {
        let Run { settings, content, .. } = self.run;
        let of_run = if settings.discards { RecvFlags::TRUNC } else { RecvFlags::empty() };
        let mut read = |flags| {
            let received = retry_on_intr(|| recv(self.stream, &mut buffer[..], of_run | flags));
            received.map(|(_, bytes)| bytes)
        };
        let mut found = Err(Errno::AGAIN);
        if let Some(patience) = patience {
            found = patience.look(self.stream, || read(RecvFlags::DONTWAIT));
        }
        if found == Err(Errno::AGAIN) {
            found = read(RecvFlags::empty());
        }
        let bytes = found.map_err(|_| End::Broken)?;
        if settings.verifies && !content.is_right(place, &buffer[..bytes]) {
            return Err(End::Wrong);
        }
        Ok(bytes)
    }
}

impl End {
    fn close(self, sent: u64, received: u64) -> Close {
        match self {
            End::Last => Close::InOrder { sent, received },
            End::Broken => Close::Broken,
            End::Wrong => Close::Wrong,
        }
    }
}
