//! What goes wrong with drivers that are processes of their own.

use std::net::SocketAddr;

use barograph_record::ExitCode;

use super::frame::FrameError;
use super::wire::Trouble;

/// A driver did not do its part. Every message names it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// Nobody answers at its address.
    #[error("connect to {driver} at {address}")]
    Connect {
        /// Its name.
        driver: String,
        /// Where it should answer.
        address: SocketAddr,
        /// Why not.
        #[source]
        why: std::io::Error,
    },
    /// It will not do what it is asked.
    #[error("{driver} refused: {why}")]
    Refused {
        /// Its name.
        driver: String,
        /// Its reasons.
        why: String,
        /// Whose side that is on.
        exit: ExitCode,
    },
    /// It is gone, or as good as gone.
    #[error("{driver} is gone")]
    Gone {
        /// Its name.
        driver: String,
        /// How that was noticed.
        #[source]
        why: Trouble,
    },
    /// It ended before anybody asked for it.
    #[error("{driver} ended its load by itself")]
    EndedEarly {
        /// Its name.
        driver: String,
    },
    /// It lives, but records nothing.
    #[error("{driver} has sent no interval for {seconds} s")]
    NoInterval {
        /// Its name.
        driver: String,
        /// For so long.
        seconds: u64,
    },
    /// Its engine broke.
    #[error("{driver} failed: {why}")]
    Failed {
        /// Its name.
        driver: String,
        /// Its own words.
        why: String,
    },
    /// Its clock and ours go at different speeds.
    #[error(
        "the clock of {driver} went away from this machine's by at least {micros} µs since the start, and intervals of \
         {interval_ms} ms would be taken for others; let a time service discipline both, or make driver.interval_ms larger"
    )]
    Clock {
        /// Its name.
        driver: String,
        /// By so much, in microseconds.
        micros: u64,
        /// Length of an interval, in milliseconds.
        interval_ms: u64,
    },
    /// More than any load is made of.
    #[error("send the files of the plan to the drivers: they have {bytes} bytes, at most {most} are allowed")]
    TooMuch {
        /// So many they have.
        bytes: u64,
        /// So many may be.
        most: u64,
    },
    /// A driver cannot listen.
    #[error("listen for the harness")]
    Listen(#[source] std::io::Error),
    /// The harness is gone; a load that nobody watches must not go on.
    #[error("hear the harness")]
    Harness(#[source] Trouble),
    /// What a driver samples of itself was refused.
    #[error("read the driver's own figures")]
    Probe(#[source] barograph_probe::ProbeError),
    /// There must be one at least.
    #[error("drive a load with no driver at all")]
    NoDriver,
}

impl FleetError {
    /// The exit code this error ends the program with.
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

/// The exit code with this number; a fault of the tool where there is none.
pub(super) fn exit_code(number: u8) -> ExitCode {
    let known = [ExitCode::Refused, ExitCode::TargetNotReady, ExitCode::PlatformFault, ExitCode::CannotWrite];
    known.into_iter().find(|code| code.code() == number).unwrap_or(ExitCode::Bug)
}

/// Names the driver whose connection is in trouble.
pub(super) fn of(driver: &str) -> impl Fn(Trouble) -> FleetError + '_ {
    move |why| FleetError::Gone { driver: driver.to_owned(), why }
}

/// What came does not belong here.
pub(super) fn out_of_place(what: &'static str) -> Trouble {
    Trouble::Nonsense(FrameError::OutOfPlace(what))
}
