//! Several drivers: the engine in processes of their own, anywhere, as one load.
//!
//! Every driver is a unit that runs `barograph drive` and takes one control connection, from the harness. Over it goes the
//! plan with the files it needs, then the commands; back come whole intervals, never averages. A driver makes the choices
//! of its share of the workers ([`barograph_engine::Place`]), so that any number of drivers does what one would do.
//!
//! Drivers have clocks of their own. [`Fleet::connect`] measures how far each is from ours and gives all of them the same
//! instant to begin at, each in its own time; from there on all count alike. What clocks drift afterwards is measured
//! and told, and ends the run before intervals could be taken for their neighbours.
//!
//! The control connection is not encrypted: its token keeps strangers from using a driver, not from listening.

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
pub use several::{DriverAt, DriverSample, Fleet};
pub use token::Token;
pub use wire::Trouble;

pub(crate) use load::Load;
pub(crate) use order::settings;
pub(crate) use window::{follow, name_the_limit};
