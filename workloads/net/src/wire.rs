//! Messages between driver and responder beside the traffic: greetings, settings, reports and totals.

use crate::datagram::{self, DatagramCounts};
use crate::kernel::Report;
use crate::ledger::Totals;
use crate::pattern::Pattern;
use crate::tcp_info::ConnectionSums;

/// Beginning of a connection with traffic. The token of the run follows.
pub(crate) const DATA: [u8; 8] = *b"BGnet2d\n";

/// Beginning of a connection for questions.
pub(crate) const CONTROL: [u8; 8] = *b"BGnet2c\n";

/// Bytes of the greeting of a connection with traffic.
pub(crate) const GREETING: usize = 16;

/// Bytes of a question.
pub(crate) const QUESTION: usize = 32;

/// Most bytes of a message, a request, an answer or a read.
pub(crate) const LARGEST: u32 = 16 << 20;

/// Settings of a run at the responder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunSettings {
    pub(crate) pattern: Pattern,
    /// Whether content is verified.
    pub(crate) verifies: bool,
    /// Whether received bytes are discarded in the kernel.
    pub(crate) discards: bool,
    /// Whether small writes wait for acknowledgements of earlier ones.
    pub(crate) delays: bool,
    /// Whether messages are datagrams (UDP).
    pub(crate) datagrams: bool,
    /// Bytes of a message of a stream.
    pub(crate) message: u32,
    /// Bytes of a request.
    pub(crate) request: u32,
    /// Bytes of an answer.
    pub(crate) answer: u32,
    /// Most bytes of a read.
    pub(crate) read: u32,
    /// Bytes of the send buffer; 0 leaves them to the system.
    pub(crate) send_buffer: u32,
    /// Bytes of the receive buffer; 0 leaves them to the system.
    pub(crate) receive_buffer: u32,
}

impl RunSettings {
    /// Bytes of the largest piece.
    pub(crate) fn largest(&self) -> usize {
        self.message.max(self.request).max(self.answer).max(self.read) as usize
    }

    /// Bytes of the largest datagram of the driver.
    pub(crate) fn largest_datagram(&self) -> usize {
        self.message.max(self.request) as usize
    }

    fn write(&self, out: &mut [u8; QUESTION]) {
        let flags = [self.verifies, self.discards, self.delays, self.datagrams];
        let bits = flags.into_iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(flag));
        (out[1], out[2]) = (self.pattern as u8, bits);
        let sizes =
            [self.message, self.request, self.answer, self.read, self.send_buffer, self.receive_buffer];
        for (room, size) in out[4..28].chunks_exact_mut(4).zip(sizes) {
            room.copy_from_slice(&size.to_le_bytes());
        }
    }

    /// Reads the settings; `None` if they are impossible.
    fn read(bytes: &[u8; QUESTION]) -> Option<Self> {
        let size = |at: usize| word32(bytes, 4 + 4 * at);
        let is_set = |bit: u8| bytes[2] & 1 << bit != 0;
        let settings = RunSettings {
            pattern: *Pattern::ALL.get(usize::from(bytes[1]))?,
            verifies: is_set(0),
            discards: is_set(1),
            delays: is_set(2),
            datagrams: is_set(3),
            message: size(0),
            request: size(1),
            answer: size(2),
            read: size(3),
            send_buffer: size(4),
            receive_buffer: size(5),
        };
        let sizes = [settings.message, settings.request, settings.answer, settings.read];
        let allowed =
            if settings.datagrams { datagram::HEAD as u32..=datagram::LARGEST } else { 1..=LARGEST };
        let (of_run, read) = sizes.split_at(3);
        let are_right = of_run.iter().all(|size| allowed.contains(size)) && (1..=LARGEST).contains(&read[0]);
        are_right.then_some(settings)
    }
}

/// A question to the responder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// Begins a run; the answer is its token.
    Begin(RunSettings),
    /// Asks for a report of its kernel, with the connections at a port; the answer is a [`Report`].
    Report { port: u16 },
    /// Asks for the counts of the datagrams of a run; the answer is [`DatagramCounts`].
    Datagrams { token: u64 },
    /// Asks for the totals of a run, once this number of connections was closed in order.
    Totals { token: u64, closed: u64 },
}

impl Question {
    /// As bytes.
    pub(crate) fn bytes(&self) -> [u8; QUESTION] {
        let mut bytes = [0; QUESTION];
        match self {
            Question::Begin(settings) => {
                bytes[0] = b'B';
                settings.write(&mut bytes);
            }
            Question::Report { port } => {
                bytes[0] = b'R';
                bytes[8..16].copy_from_slice(&u64::from(*port).to_le_bytes());
            }
            Question::Datagrams { token } => {
                bytes[0] = b'D';
                bytes[8..16].copy_from_slice(&token.to_le_bytes());
            }
            Question::Totals { token, closed } => {
                bytes[0] = b'T';
                bytes[8..16].copy_from_slice(&token.to_le_bytes());
                bytes[16..24].copy_from_slice(&closed.to_le_bytes());
            }
        }
        bytes
    }

    /// Reads a question; `None` if it is none.
    pub(crate) fn read(bytes: &[u8; QUESTION]) -> Option<Self> {
        match bytes[0] {
            b'B' => RunSettings::read(bytes).map(Question::Begin),
            b'R' => Some(Question::Report { port: word64(bytes, 8) as u16 }),
            b'D' => Some(Question::Datagrams { token: word64(bytes, 8) }),
            b'T' => Some(Question::Totals { token: word64(bytes, 8), closed: word64(bytes, 16) }),
            _ => None,
        }
    }
}

/// Numbers of an answer.
pub(crate) const NUMBERS: usize = 8;

/// An answer: numbers with a meaning by question.
pub(crate) type Answer = [u64; NUMBERS];

/// An answer as bytes.
pub(crate) fn answer_bytes(answer: &Answer) -> [u8; NUMBERS * 8] {
    let mut bytes = [0; NUMBERS * 8];
    for (room, number) in bytes.chunks_exact_mut(8).zip(answer) {
        room.copy_from_slice(&number.to_le_bytes());
    }
    bytes
}

/// Reads an answer.
pub(crate) fn read_answer(bytes: &[u8; NUMBERS * 8]) -> Answer {
    std::array::from_fn(|at| word64(bytes, at * 8))
}

/// The place of a run at a responder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunPlace {
    /// Names the run; 0 if there can be none.
    pub(crate) token: u64,
    /// Port of its connections; 0 for that of the responder.
    pub(crate) port: u16,
}

/// The place of a new run as an answer.
pub(crate) fn run_answer(place: RunPlace) -> Answer {
    let mut answer = [0; NUMBERS];
    (answer[0], answer[1], answer[2]) = (place.token, u64::from_le_bytes(DATA), place.port.into());
    answer
}

/// Reads the place of a run; `None` if the answer is none of a responder.
pub(crate) fn read_run(answer: &Answer) -> Option<RunPlace> {
    let place = RunPlace { token: answer[0], port: answer[2] as u16 };
    (answer[1] == u64::from_le_bytes(DATA)).then_some(place)
}

/// A report as an answer.
pub(crate) fn report_answer(report: &Report) -> Answer {
    let ConnectionSums { samples, round_trip_us, window, delivery_mbit } = report.connections;
    [
        report.cpu_us,
        report.packets,
        report.retransmits,
        report.namespace,
        samples,
        round_trip_us,
        window,
        delivery_mbit,
    ]
}

/// Reads a report.
pub(crate) fn read_report(answer: &Answer) -> Report {
    let [cpu_us, packets, retransmits, namespace, samples, round_trip_us, window, delivery_mbit] = *answer;
    let connections = ConnectionSums { samples, round_trip_us, window, delivery_mbit };
    Report { cpu_us, packets, retransmits, namespace, connections }
}

/// Counts of datagrams as an answer.
pub(crate) fn datagrams_answer(counts: &DatagramCounts) -> Answer {
    let DatagramCounts { arrived, bytes, lost, reordered, jitter_ns, answered } = *counts;
    [arrived, bytes, lost, reordered, jitter_ns, answered, 0, 0]
}

/// Reads counts of datagrams.
pub(crate) fn read_datagrams(answer: &Answer) -> DatagramCounts {
    let [arrived, bytes, lost, reordered, jitter_ns, answered, _, _] = *answer;
    DatagramCounts { arrived, bytes, lost, reordered, jitter_ns, answered }
}

/// Totals as an answer. The last number says whether they are final, and whether the run is known.
pub(crate) fn totals_answer(totals: Option<(Totals, bool)>) -> Answer {
    let Some((totals, is_final)) = totals else { return [0; NUMBERS] };
    let Totals { closed, sent, received, broken, wrong } = totals;
    [closed, sent, received, broken, wrong, 0, u64::from(is_final), 1]
}

/// Reads totals, and whether they are final; `None` for an unknown run.
pub(crate) fn read_totals(answer: &Answer) -> Option<(Totals, bool)> {
    let [closed, sent, received, broken, wrong, _, is_final, is_known] = *answer;
    (is_known == 1).then_some((Totals { closed, sent, received, broken, wrong }, is_final == 1))
}

/// The greeting of a connection with traffic.
pub(crate) fn greeting(token: u64) -> [u8; GREETING] {
    let mut bytes = [0; GREETING];
    bytes[..8].copy_from_slice(&DATA);
    bytes[8..].copy_from_slice(&token.to_le_bytes());
    bytes
}

/// The little-endian number of 64 bits at a place.
pub(crate) fn word64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn word32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> RunSettings {
        RunSettings {
            pattern: Pattern::Both,
            verifies: true,
            discards: false,
            delays: true,
            datagrams: false,
            message: 1,
            request: 2,
            answer: LARGEST,
            read: 4,
            send_buffer: 0,
            receive_buffer: 6,
        }
    }

    #[test]
    fn questions_and_answers_read_back() {
        let datagrams =
            RunSettings { datagrams: true, message: 24, request: 24, answer: 65_507, ..settings() };
        for question in [
            Question::Begin(settings()),
            Question::Begin(datagrams),
            Question::Report { port: 65_535 },
            Question::Datagrams { token: 7 },
            Question::Totals { token: 7, closed: u64::MAX },
        ] {
            assert_eq!(Question::read(&question.bytes()), Some(question));
        }
        let answer = [1, 2, 3, 4, 5, 6, 7, u64::MAX];
        assert_eq!(read_answer(&answer_bytes(&answer)), answer);
        let place = RunPlace { token: 7, port: 65_535 };
        assert_eq!((read_run(&run_answer(place)), read_run(&answer)), (Some(place), None));
        let counts = [1, 2, 3, 4, 5, u64::MAX, 0, 0];
        assert_eq!(datagrams_answer(&read_datagrams(&counts)), counts);
        assert_eq!(report_answer(&read_report(&answer)), answer);
        let totals = Totals { closed: 1, sent: 2, received: 3, broken: 4, wrong: 5 };
        assert_eq!(read_totals(&totals_answer(Some((totals, true)))), Some((totals, true)));
        assert_eq!(read_totals(&totals_answer(None)), None);
    }

    #[test]
    fn impossible_questions_are_none() {
        assert_eq!(Question::read(&[0; QUESTION]), None);
        let of = |settings: RunSettings| Question::read(&Question::Begin(settings).bytes());
        assert_eq!(of(RunSettings { message: 0, ..settings() }), None);
        assert_eq!(of(RunSettings { answer: LARGEST + 1, ..settings() }), None);
        assert_eq!(of(RunSettings { datagrams: true, ..settings() }), None, "a datagram has a head");
        let mut pattern = Question::Begin(settings()).bytes();
        pattern[1] = 5;
        assert_eq!(Question::read(&pattern), None);
    }
}
