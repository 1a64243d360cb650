//! Messages between this machine and the agent in a guest: frames of a JSON text and raw bytes.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use barograph_platform::{BadReadyLine, Facts, Fault, GuestCounters, Limits, LogTail, Unit, UnitExit};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Name of the agent's serial port.
pub(crate) const PORT_NAME: &str = "barograph.agent";

/// Largest frame in bytes. A unit's files are sent in one frame; a larger one is an error and must not fill
/// the memory.
const LONGEST: usize = 256 << 20;

/// A request of this machine, with a number for its answer.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) id: u64,
    pub(crate) ask: AgentCommand,
}

/// Kind of a request. This machine numbers units, so that one can be killed before it is ready.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum AgentCommand {
    Preflight(Unit),
    Create {
        unit: u64,
        what: Unit,
    },
    Stop {
        unit: u64,
        grace: Duration,
    },
    Kill {
        unit: u64,
    },
    Pause {
        unit: u64,
    },
    Resume {
        unit: u64,
    },
    Limit {
        unit: u64,
        limits: Limits,
    },
    /// Fills the unit's file system to the last byte.
    FillDisk(Unit),
    FreeDisk(Unit),
    /// Asks for the guest's clock.
    Ping,
    /// Moves the guest's clock by this number of nanoseconds.
    MoveClock(i64),
    /// Asks for the counters of the guest's kernel.
    Counters,
    /// Writes the guest's file systems to the disk.
    Sync,
    /// Answered, and then nothing is sent until [`AgentCommand::GoOn`]: messages wait.
    Hold,
    /// Ends [`AgentCommand::Hold`], and is not answered.
    GoOn,
    /// Kills all units but these. The answer names the existing ones of these.
    Keep(Vec<u64>),
    /// Ends the agent and turns off the machine.
    Leave,
}

/// Message of the agent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    /// First message: the guest's uptime.
    Hello {
        up: Duration,
    },
    Answer {
        id: u64,
        answer: Result<AgentReply, WireFault>,
    },
    /// A line of a unit's stdout.
    Line {
        unit: u64,
        text: String,
    },
    /// A further part of a unit's log, in the raw bytes of the frame.
    Log {
        unit: u64,
    },
    /// The last message about a unit.
    Ended {
        unit: u64,
        end: End,
    },
}

/// An answer to [`AgentCommand`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum AgentReply {
    Done,
    Created {
        address: Option<SocketAddr>,
    },
    Ended(End),
    Filled {
        bytes: u64,
        kind: String,
    },
    Facts(Facts),
    Missing {
        what: String,
        hint: String,
    },
    /// Nanoseconds since 1970.
    Clock(i64),
    Counters(GuestCounters),
    /// Existing ones of the units asked for. Nothing follows about the others.
    Kept(Vec<u64>),
}

/// Exit status of a unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum End {
    Code(i32),
    Signal(i32),
    Unknown(String),
}

impl From<UnitExit> for End {
    fn from(ended: UnitExit) -> Self {
        match ended {
            UnitExit::Code(code) => End::Code(code),
            UnitExit::Signal(number) => End::Signal(number),
            UnitExit::Unknown(text) => End::Unknown(text),
            // A guest has no nodes.
            ended @ UnitExit::NodeLost(_) => End::Unknown(ended.to_string()),
        }
    }
}

impl From<End> for UnitExit {
    fn from(end: End) -> Self {
        match end {
            End::Code(code) => UnitExit::Code(code),
            End::Signal(number) => UnitExit::Signal(number),
            End::Unknown(text) => UnitExit::Unknown(text),
        }
    }
}

/// A fault for transfer: its kind if the harness distinguishes it, or else its text.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum WireFault {
    EndedEarly { end: End, log: Vec<String> },
    NotReady { timeout: Duration, log: Vec<String> },
    Prepare { step: String, end: End, log: Vec<String> },
    Start { program: PathBuf, why: String },
    NoAddress(String),
    BadAddress(String),
    WillNotEnd { after: Duration },
    Other { act: String, why: String },
}

/// A cause transferred as text.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct TextCause(pub(crate) String);

impl From<&Fault> for WireFault {
    fn from(fault: &Fault) -> Self {
        match fault {
            Fault::EndedEarly { ended, log, .. } => {
                WireFault::EndedEarly { end: ended.clone().into(), log: log.0.clone() }
            }
            Fault::NotReady { timeout, log, .. } => {
                WireFault::NotReady { timeout: *timeout, log: log.0.clone() }
            }
            Fault::Prepare { step, ended, log, .. } => {
                WireFault::Prepare { step: step.clone(), end: ended.clone().into(), log: log.0.clone() }
            }
            Fault::Start { program, source, .. } => {
                WireFault::Start { program: program.clone(), why: source.to_string() }
            }
            Fault::BadReadyLine { source: BadReadyLine::NoAddress(line), .. } => {
                WireFault::NoAddress(line.clone())
            }
            Fault::BadReadyLine { source: BadReadyLine::Address(line), .. } => {
                WireFault::BadAddress(line.clone())
            }
            Fault::WillNotEnd { after, .. } => WireFault::WillNotEnd { after: *after },
            other => WireFault::Other { act: other.to_string(), why: causes(other) },
        }
    }
}

impl WireFault {
    /// Restores the fault, about the unit `unit`.
    pub(crate) fn into_fault(self, unit: &str) -> Fault {
        let unit = unit.to_owned();
        match self {
            WireFault::EndedEarly { end, log } => {
                Fault::EndedEarly { unit, ended: end.into(), log: LogTail(log) }
            }
            WireFault::NotReady { timeout, log } => Fault::NotReady { unit, timeout, log: LogTail(log) },
            WireFault::Prepare { step, end, log } => {
                Fault::Prepare { unit, step, ended: end.into(), log: LogTail(log) }
            }
            WireFault::Start { program, why } => {
                Fault::Start { unit, program, source: io::Error::other(why) }
            }
            WireFault::NoAddress(line) => Fault::BadReadyLine { unit, source: BadReadyLine::NoAddress(line) },
            WireFault::BadAddress(line) => Fault::BadReadyLine { unit, source: BadReadyLine::Address(line) },
            WireFault::WillNotEnd { after } => Fault::WillNotEnd { unit, after },
            WireFault::Other { act, why } => Fault::Site { act, source: Box::new(TextCause(why)) },
        }
    }
}

/// Returns the chain of causes below an error, as one text.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let mut texts = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        texts.push(cause.to_string());
        next = cause.source();
    }
    if texts.is_empty() { "no cause is known".to_owned() } else { texts.join(": ") }
}

/// Encodes a frame: the lengths of both parts, then the parts.
pub(crate) fn frame(message: &impl Serialize, raw: &[u8]) -> Result<Vec<u8>, serde_json::Error> {
    let text = serde_json::to_vec(message)?;
    let mut bytes = Vec::with_capacity(8 + text.len() + raw.len());
    for length in [text.len(), raw.len()] {
        // Frames come from this program and stay far below 4 GiB; the reader refuses larger ones.
        bytes.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    }
    bytes.extend_from_slice(&text);
    bytes.extend_from_slice(raw);
    Ok(bytes)
}

/// Splits a stream of bytes into frames.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    bytes: Vec<u8>,
}

impl Frames {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes the next frame, if it is complete.
    pub(crate) fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<(T, Vec<u8>)>> {
        let length = |at: usize| -> Option<usize> {
            let four = self.bytes.get(at..at + 4)?;
            Some(u32::from_le_bytes([four[0], four[1], four[2], four[3]]) as usize)
        };
        let (Some(text), Some(raw)) = (length(0), length(4)) else { return Ok(None) };
        if text.saturating_add(raw) > LONGEST {
            return Err(io::Error::other(format!("a frame of {text} and {raw} bytes is no frame of ours")));
        }
        if self.bytes.len() < 8 + text + raw {
            return Ok(None);
        }
        let rest = self.bytes.split_off(8 + text + raw);
        let whole = std::mem::replace(&mut self.bytes, rest);
        let message = serde_json::from_slice(&whole[8..8 + text])?;
        Ok(Some((message, whole[8 + text..].to_vec())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_whole_however_the_bytes_come_in() {
        let mut bytes = frame(&Message::Log { unit: 7 }, b"a\0b").unwrap();
        bytes.extend(frame(&Message::Line { unit: 8, text: "hej".to_owned() }, b"").unwrap());
        for size in [1, 3, 1000] {
            let mut frames = Frames::default();
            let mut seen = Vec::new();
            for piece in bytes.chunks(size) {
                frames.push(piece);
                while let Some((message, raw)) = frames.next::<Message>().unwrap() {
                    seen.push(format!("{message:?} {raw:?}"));
                }
            }
            assert_eq!(seen, ["Log { unit: 7 } [97, 0, 98]", "Line { unit: 8, text: \"hej\" } []"]);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let mut frames = Frames::default();
        frames.push(&[0xff; 8]);
        assert!(frames.next::<Message>().is_err());
        let mut frames = Frames::default();
        frames.push(&[2, 0, 0, 0, 0, 0, 0, 0, b'{', b']']);
        assert!(frames.next::<Message>().is_err());
    }

    #[test]
    fn faults_keep_their_kind_and_text() {
        let unit = || "db".to_owned();
        let log = LogTail(vec!["port in use".to_owned()]);
        let faults = [
            Fault::EndedEarly { unit: unit(), ended: UnitExit::Code(3), log: log.clone() },
            Fault::NotReady { unit: unit(), timeout: Duration::from_secs(2), log: log.clone() },
            Fault::Prepare { unit: unit(), step: "initdb".to_owned(), ended: UnitExit::Signal(9), log },
            Fault::BadReadyLine { unit: unit(), source: BadReadyLine::Address("x".to_owned()) },
            Fault::WillNotEnd { unit: unit(), after: Duration::from_secs(1) },
            Fault::Site {
                act: "make folder `/x`".to_owned(),
                source: Box::new(io::Error::other("no space left")),
            },
        ];
        for fault in faults {
            let text = serde_json::to_string(&WireFault::from(&fault)).unwrap();
            let back = serde_json::from_str::<WireFault>(&text).unwrap().into_fault("db");
            assert_eq!(back.to_string(), fault.to_string());
            assert_eq!((back.side(), causes(&back)), (fault.side(), causes(&fault)));
        }
    }
}
