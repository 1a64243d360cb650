//! The driver's line for questions to a responder. Its calls block.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::datagram::DatagramCounts;
use crate::kernel::Report;
use crate::ledger::Totals;
use crate::wire::{self, Answer, CONTROL, NUMBERS, Question, RunPlace, RunSettings};

/// Longest wait for a connection.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// Longest wait for an answer, beyond the wait of the responder for the last connections.
const ANSWER_TIME: Duration = Duration::from_secs(20);

/// Longest wait for the first answer, which needs no other connection.
const FIRST_ANSWER: Duration = Duration::from_secs(5);

/// Reason for a missing or foreign answer.
const NO_RESPONDER: &str =
    "what listens there does not answer as a responder (barograph serve net) of this version";

/// A line to a responder.
#[derive(Debug)]
pub(crate) struct Control(TcpStream);

impl Control {
    /// Connects.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn connect(to: SocketAddr) -> io::Result<Self> {
        let mut stream = TcpStream::connect_timeout(&to, CONNECT_TIME)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_TIME))?;
        stream.set_write_timeout(Some(ANSWER_TIME))?;
        // Its end is seen by the first question.
        let _ = stream.write_all(&CONTROL);
        Ok(Control(stream))
    }

    /// Begins a run; returns its place.
    ///
    /// # Errors
    /// If the other end is no responder of this version, or has too many runs.
    pub(crate) fn begin(&mut self, settings: RunSettings) -> io::Result<RunPlace> {
        self.0.set_read_timeout(Some(FIRST_ANSWER))?;
        let answer = self.ask(Question::Begin(settings))?;
        self.0.set_read_timeout(Some(ANSWER_TIME))?;
        match wire::read_run(&answer) {
            None => Err(io::Error::other(NO_RESPONDER)),
            Some(RunPlace { token: 0, .. }) => Err(io::Error::other(
                "the responder has too many runs with open connections, or no port or memory for another",
            )),
            Some(place) => Ok(place),
        }
    }

    /// Asks for a report of the responder's kernel, with the connections at a port.
    ///
    /// # Errors
    /// If there is no answer.
    pub(crate) fn report(&mut self, port: u16) -> io::Result<Report> {
        self.ask(Question::Report { port }).map(|answer| wire::read_report(&answer))
    }

    /// Asks for the counts of the datagrams of a run.
    ///
    /// # Errors
    /// If there is no answer.
    pub(crate) fn datagrams(&mut self, token: u64) -> io::Result<DatagramCounts> {
        self.ask(Question::Datagrams { token }).map(|answer| wire::read_datagrams(&answer))
    }

    /// Asks for the totals of a run, of which `closed` connections were closed in order. Waits for the last of them.
    /// Returns whether the totals are final.
    ///
    /// # Errors
    /// If there is no answer, or the responder does not know the run.
    pub(crate) fn totals(&mut self, token: u64, closed: u64) -> io::Result<(Totals, bool)> {
        let answer = self.ask(Question::Totals { token, closed })?;
        let unknown = "the responder does not know the run: it was started again since";
        wire::read_totals(&answer).ok_or_else(|| io::Error::other(unknown))
    }

    fn ask(&mut self, question: Question) -> io::Result<Answer> {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof, WouldBlock};
        let mut bytes = [0; NUMBERS * 8];
        let asked = self.0.write_all(&question.bytes()).and_then(|()| self.0.read_exact(&mut bytes));
        asked.map_err(|why| match why.kind() {
            BrokenPipe | ConnectionReset | UnexpectedEof | WouldBlock => io::Error::other(NO_RESPONDER),
            _ => why,
        })?;
        Ok(wire::read_answer(&bytes))
    }
}
