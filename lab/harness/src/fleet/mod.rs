//! Several drivers as one load: the engine in processes of their own, on any hosts.
//!
//! Every driver is a unit that runs `barograph drive` and accepts a control connection from the harness. The
//! harness sends the plan with the files it needs, then commands; the driver sends whole intervals, never
//! averages. A driver makes the choices of its share of the workers ([`barograph_engine::WorkerShare`]), so any
//! number of drivers makes the choices of one.
//!
//! Drivers have clocks of their own. [`Fleet::connect`] measures the offset of each from the harness's clock
//! and gives all drivers the same start, each in its own time. Later drift is measured and reported, and ends
//! the run before intervals could be assigned to the wrong place.
//!
//! The control connection is not encrypted: the token protects a driver from use by others, not from
//! eavesdropping.

mod clock;
pub mod driver;
mod error;
mod frame;
mod gather;
mod link;
mod load;
mod message;
mod order;
mod several;
mod token;
mod window;
mod wire;

#[cfg(test)]
mod tests;

pub use clock::Clock;
pub use error::FleetError;
pub use frame::FrameError;
pub use order::FleetJob;
pub use several::{DriverAddress, DriverSample, Fleet};
pub use token::Token;
pub use wire::WireError;

pub(crate) use load::Load;
pub(crate) use message::NamedGauge;
pub(crate) use order::settings;
pub(crate) use window::{follow, name_the_limit};
