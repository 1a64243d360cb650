//! Figures of a run in progress, for an external receiver.
//!
//! [`Sender`] follows the record. On the thread of the harness it only adds up ([`figures`]) and puts the
//! points of an interval into a bounded queue; a thread of its own encodes and sends ([`carry`]). Batches
//! that do not fit into the queue are left out and counted: totals and histograms are sums since the start of
//! the load, so a gap costs points in time and no counts.

mod buckets;
mod carry;
mod figures;
mod otlp;
mod point;
mod prometheus;
mod receiver;
mod sender;
mod tls;

pub use receiver::{InvalidReceiver, Protocol, Receiver};
pub use sender::Sender;
