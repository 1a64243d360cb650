//! The figures of a run as it goes, for a receiver elsewhere.
//!
//! [`Sender`] follows the record. On the thread of the harness it only adds up ([`figures`]) and puts what an interval came
//! to into a bounded queue; a thread of its own encodes and sends ([`carry`]). What the queue cannot take is left out and
//! counted: totals and histograms are sums since the start of the load, so a gap costs points in time and no counts.

mod buckets;
mod carry;
mod figures;
mod otlp;
mod point;
mod prometheus;
mod receiver;
mod sender;
mod tls;

pub use receiver::{NotAReceiver, Protocol, Receiver};
pub use sender::Sender;
