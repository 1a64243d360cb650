//! Services as data: how to install, start, size, query and stop each, read from `services/NAME/`.
//!
//! A folder holds a `service.toml` and the templates of its configuration files. They are built into the
//! program, so that it works in any folder. [`Service::unit`] makes the [`Unit`](barograph_platform::Unit) of
//! one instance: this crate does not know the platform of a unit, and no platform knows a service.
//! `docs/services.md` describes `service.toml`.

mod check;
mod error;
mod list;
mod measured;
mod paths;
mod placement;
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
pub use measured::{Figures, MeasuredFigures};
pub use placement::{Flavour, Placement};
pub use service::Service;
pub use word::{Word, WordKind};
