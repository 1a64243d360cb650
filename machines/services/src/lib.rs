//! Services as data: how to install, start, size, ask and stop each of them, read from `services/NAME/`.
//!
//! A folder there holds a `service.toml` and the templates of its configuration files. They are part of the program, so
//! that it works in any folder. [`Service::unit`] makes the [`Unit`](barograph_platform::Unit) of one instance: nothing
//! is known here of the platform on which it will run, and no platform knows any service. What a service.toml may say
//! is in `docs/services.md`.

mod check;
mod error;
mod list;
mod measured;
mod paths;
mod place;
mod raw;
mod service;
mod size;
mod template;
mod version;
mod word;

#[cfg(test)]
mod tests;

pub use error::ServiceError;
pub use list::{all, find};
pub use measured::{Figures, Measured};
pub use place::{Flavour, Place};
pub use service::Service;
pub use word::{Kind, Word};
