//! Statistics of running services: a question in the service's own protocol, values from the answer, and
//! rates of counters; and states, sampled more often.
//!
//! Questions are data ([`Statistics`], from `services/NAME/service.toml`), so this crate knows no products,
//! only protocols and text formats. A [`StatisticsClient`] keeps one connection and answers within [`WAIT`] or fails;
//! [`Series`] makes rates of counters. The caller provides the clock.

mod client;
mod described;
mod error;
mod form;
mod link;
mod pick;
mod series;
mod sums;

pub use client::{StatisticsClient, WAIT};
pub use described::{Form, Question, Sampled, Statistic, StatisticKind, Statistics};
pub use error::AskError;
pub use pick::{BadPick, Pick};
pub use series::Series;
