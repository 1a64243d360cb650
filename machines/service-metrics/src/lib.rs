//! Statistics of running services: a question in the service's own protocol, values from the answer, and
//! rates of counters; and states, sampled more often.
//!
//! Questions are data ([`Statistics`], from `services/NAME/service.toml`), so this crate knows no products,
//! only protocols and text formats. A [`StatisticsClient`] keeps one connection and answers within [`WAIT`] or fails;
//! [`Series`] makes rates of counters. The caller provides the clock, and [`Statements`] to a server that more is needed for than an
//! address.

mod client;
mod described;
mod error;
mod form;
mod link;
mod pick;
mod series;
mod statements;
mod sums;

pub use client::{StatisticsClient, WAIT};
pub use described::{Form, Otherwise, Question, Sampled, Statement, Statistic, StatisticKind, Statistics};
pub use error::AskError;
pub use pick::{BadPick, Pick};
pub use series::Series;
pub use statements::{OpenStatements, StatementError, StatementFuture, Statements};
