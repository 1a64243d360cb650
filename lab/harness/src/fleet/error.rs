//! Errors of remote drivers.

use std::net::SocketAddr;

use barograph_record::ExitCode;

use super::frame::FrameError;
use super::wire::WireError;

/// An error of a remote driver. Every message names the driver.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// The driver cannot be reached at its address.
    #[error("connect to {driver} at {address}")]
    Connect {
        /// Name of the driver.
        driver: String,
        /// Address of the driver.
        address: SocketAddr,
        /// The cause.
        #[source]
        why: std::io::Error,
    },
    /// The driver refused the order.
    #[error("{driver} refused: {why}")]
    Refused {
        /// Name of the driver.
        driver: String,
        /// Reasons given by the driver.
        why: String,
        /// Exit code, which names the side at fault.
        exit: ExitCode,
    },
    /// The connection to the driver is lost or silent.
    #[error("{driver} is gone")]
    Gone {
        /// Name of the driver.
        driver: String,
        /// The cause.
        #[source]
        why: WireError,
    },
    /// The driver ended before it was stopped.
    #[error("{driver} ended its load by itself")]
    EndedEarly {
        /// Name of the driver.
        driver: String,
    },
    /// The driver answers, but sends no intervals.
    #[error("{driver} has sent no interval for {seconds} s")]
    NoInterval {
        /// Name of the driver.
        driver: String,
        /// Seconds without an interval.
        seconds: u64,
    },
    /// The driver's engine failed.
    #[error("{driver} failed: {why}")]
    Failed {
        /// Name of the driver.
        driver: String,
        /// Message of the engine.
        why: String,
    },
    /// The driver's clock drifts from the harness's.
    #[error(
        "the clock of {driver} went away from this machine's by at least {micros} µs since the start, and intervals of \
         {interval_ms} ms would be taken for others; let a time service discipline both, or make driver.interval_ms larger"
    )]
    Clock {
        /// Name of the driver.
        driver: String,
        /// Drift in microseconds.
        micros: u64,
        /// Length of an interval, in milliseconds.
        interval_ms: u64,
    },
    /// The files of the load exceed the limit.
    #[error("send the files of the plan to the drivers: they have {bytes} bytes, at most {most} are allowed")]
    TooMuch {
        /// Size in bytes.
        bytes: u64,
        /// Limit in bytes.
        most: u64,
    },
    /// A driver cannot listen.
    #[error("listen for the harness")]
    Listen(#[source] std::io::Error),
    /// The harness is gone; the load ends, as its results would be lost.
    #[error("hear the harness")]
    Harness(#[source] WireError),
    /// The driver could not sample its own resources.
    #[error("read the driver's own figures")]
    Probe(#[source] barograph_probe::ProbeError),
    /// A fleet needs at least one driver.
    #[error("drive a load with no driver at all")]
    NoDriver,
}

impl FleetError {
    /// Returns the exit code for this error.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        match self {
            FleetError::Refused { exit, .. } => *exit,
            FleetError::TooMuch { .. } => ExitCode::Refused,
            FleetError::Failed { .. } | FleetError::EndedEarly { .. } | FleetError::NoDriver => ExitCode::Bug,
            FleetError::Connect { .. }
            | FleetError::Gone { .. }
            | FleetError::NoInterval { .. }
            | FleetError::Clock { .. }
            | FleetError::Listen(_)
            | FleetError::Harness(_)
            | FleetError::Probe(_) => ExitCode::PlatformFault,
        }
    }
}

/// Exit code with this number; that of a fault of the tool for an unknown number.
pub(super) fn exit_code(number: u8) -> ExitCode {
    let known = [ExitCode::Refused, ExitCode::TargetNotReady, ExitCode::PlatformFault, ExitCode::CannotWrite];
    known.into_iter().find(|code| code.code() == number).unwrap_or(ExitCode::Bug)
}

/// Adds the driver's name to a connection error.
pub(super) fn of(driver: &str) -> impl Fn(WireError) -> FleetError + '_ {
    move |why| FleetError::Gone { driver: driver.to_owned(), why }
}

/// Error for a message that is not allowed in this state.
pub(super) fn out_of_place(what: &'static str) -> WireError {
    WireError::Nonsense(FrameError::OutOfPlace(what))
}
