//! Asks running services what they count about themselves: a question in the service's own protocol, values out of the
//! answer, and rates of what only grows.
//!
//! What is asked is data ([`Statistics`], from `services/NAME/service.toml`), so no product is known here, only
//! protocols and forms of text. An [`Asker`] keeps one connection and answers within [`WAIT`] or not at all; [`Series`]
//! makes rates of counters. The clock is the caller's.

mod asker;
mod described;
mod error;
mod form;
mod link;
mod pick;
mod series;
mod sums;

pub use asker::{Asker, WAIT};
pub use described::{Form, Kind, Question, Statistic, Statistics};
pub use error::AskError;
pub use pick::{BadPick, Pick};
pub use series::Series;
