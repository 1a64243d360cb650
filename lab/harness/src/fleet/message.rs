//! Messages between harness and driver, and the encoding of intervals.

use barograph_model::{Level, Nanos};
use barograph_probe::ProcessSample;
use barograph_stats::Interval;
use barograph_workload::Gauge;
use serde::{Deserialize, Serialize};

use super::frame::FrameError;
use super::order::Order;

/// Version of all of this. Both ends must have the same; the program's own version must be the same too.
pub(super) const PROTOCOL: u32 = 4;

/// Message from the harness to a driver. Times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(super) enum DriverCommand {
    /// First message of the connection. Each load has its own connection.
    Hello { protocol: u32, tool: String, token: String, loads: usize },
    /// Asks for the time of the driver's clock.
    Ping { n: u64 },
    /// Orders the preparation of a load. The bytes of its files follow.
    Prepare { order: Box<Order> },
    /// Sets the instant of the driver's clock at which the load begins.
    Start { origin: u64 },
    /// Changes the level, beginning at an instant of the load.
    Ramp {
        #[serde(with = "barograph_record::level")]
        level: Level,
        over: u64,
        at: u64,
    },
    /// Stops new operations.
    Stop { drain: u64 },
    /// Asks for the status.
    Status,
}

/// Message from a driver to the harness.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "said", rename_all = "snake_case")]
pub(super) enum DriverMessage {
    /// The token was correct.
    Welcome { protocol: u32, tool: String, cores: usize, open_files: u64 },
    /// A refusal: reason, and exit code that names the side at fault.
    Refused { why: String, exit: u8 },
    /// Time of the driver's clock.
    Pong { n: u64, at: u64 },
    /// Names are resolved and files are read.
    Prepared,
    /// Workers run and wait for the start.
    Started { facts: Facts },
    /// Status, sent every second and on request: level asked for, and the load's time.
    Status {
        #[serde(with = "barograph_record::level")]
        level: Level,
        at: u64,
    },
    /// Delay of a change that was received too late.
    Late { by: u64 },
    /// Figures of the load in the interval that follows.
    Gauges { gauges: Vec<NamedGauge> },
    /// The last interval is sent. What failed operations saw, in lines for people, and counts for the data checks.
    Ended { told: Vec<String>, counts: Vec<i64> },
    /// The engine broke.
    Failed { why: String },
}

/// A figure of a load in an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct NamedGauge {
    /// Name in records.
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) value: f64,
}

impl From<Gauge> for NamedGauge {
    fn from(gauge: Gauge) -> Self {
        NamedGauge { name: gauge.name.to_owned(), unit: gauge.unit.to_owned(), value: gauge.value }
    }
}

/// Resource use of the driver's process so far. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Facts {
    /// By the driver's clock.
    at: u64,
    cpu_user: u64,
    cpu_system: u64,
    resident_bytes: u64,
    threads: u64,
    open_files: Option<u64>,
    voluntary_switches: u64,
    involuntary_switches: u64,
    /// Open sockets; counted rarely, as counting many takes long.
    pub(super) connections: Option<u64>,
}

impl Facts {
    pub(super) fn of(sample: &ProcessSample, connections: Option<u64>) -> Self {
        Facts {
            at: sample.at.0,
            cpu_user: sample.cpu_user.0,
            cpu_system: sample.cpu_system.0,
            resident_bytes: sample.resident_bytes,
            threads: sample.threads,
            open_files: sample.open_files,
            voluntary_switches: sample.voluntary_switches,
            involuntary_switches: sample.involuntary_switches,
            connections,
        }
    }

    pub(super) fn process(&self) -> ProcessSample {
        ProcessSample {
            at: Nanos(self.at),
            cpu_user: Nanos(self.cpu_user),
            cpu_system: Nanos(self.cpu_system),
            resident_bytes: self.resident_bytes,
            threads: self.threads,
            open_files: self.open_files,
            voluntary_switches: self.voluntary_switches,
            involuntary_switches: self.involuntary_switches,
        }
    }
}

/// Decodes a message.
pub(super) fn read<'m, T: Deserialize<'m>>(body: &'m [u8]) -> Result<T, FrameError> {
    serde_json::from_slice(body).map_err(FrameError::Message)
}

/// Encodes a message.
pub(super) fn body<T: Serialize>(message: &T) -> Vec<u8> {
    serde_json::to_vec(message).expect("numbers, words and lists have a form in JSON")
}

/// Encodes an interval with its facts: length of the facts, the facts, the interval.
pub(super) fn interval_body(interval: &Interval, facts: &Facts) -> Vec<u8> {
    let facts = body(facts);
    let length = u16::try_from(facts.len()).expect("nine numbers take a few hundred bytes");
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend_from_slice(&facts);
    interval.write_to(&mut bytes);
    bytes
}

/// Decodes an interval of `ops` operations with its facts.
pub(super) fn read_interval(body: &[u8], ops: usize) -> Result<(Interval, Facts), FrameError> {
    let short = FrameError::OutOfPlace("an interval without its facts");
    let Some((length, rest)) = body.split_first_chunk::<2>() else { return Err(short) };
    let Some((facts, rest)) = rest.split_at_checked(u16::from_le_bytes(*length).into()) else {
        return Err(short);
    };
    Ok((Interval::read_from(rest, ops).map_err(FrameError::Interval)?, read(facts)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn messages_have_names_and_come_back() {
        let ping = DriverCommand::Ping { n: u64::MAX };
        assert_eq!(body(&ping), br#"{"do":"ping","n":18446744073709551615}"#);
        assert_eq!(read::<DriverCommand>(&body(&ping)).unwrap(), ping);
        let ended = DriverMessage::Ended { told: vec!["Home refused: 500".to_owned()], counts: vec![5, -1] };
        assert_eq!(read::<DriverMessage>(&body(&ended)).unwrap(), ended);
        let gauge = Gauge { name: "longest_gap_ms", unit: "ms", value: 7.5 };
        let told = DriverMessage::Gauges { gauges: vec![gauge.into()] };
        assert_eq!(read::<DriverMessage>(&body(&told)).unwrap(), told);
        assert!(read::<DriverCommand>(br#"{"do":"dance"}"#).is_err());
    }

    #[test]
    fn an_interval_travels_with_its_facts() {
        let mut interval = Interval::new(2);
        interval.ops[1].response.saturating_record(1_234);
        let facts = Facts { at: 5, open_files: Some(9), connections: None, ..Facts::default() };
        let bytes = interval_body(&interval, &facts);
        let (read, also) = read_interval(&bytes, 2).unwrap();
        assert_eq!((read.ops[1].response.len(), also), (1, facts));
        assert_eq!(Facts::of(&also.process(), None), facts);
        for cut in 0..bytes.len() {
            assert!(read_interval(&bytes[..cut], 2).is_err(), "{cut}");
        }
    }

    proptest! {
        #[test]
        fn noise_is_refused(noise in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(read_interval(&noise, 1).is_err());
            prop_assert!(read::<DriverMessage>(&noise).is_err() && read::<DriverCommand>(&noise).is_err());
        }
    }
}
