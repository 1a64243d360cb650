//! The network workload: streams, requests and connections between the driver and a responder, which are both
//! this program.
//!
//! A user has a connection and one message in flight. The responder counts what it sends and receives, so the
//! bytes of both ends are compared after the load. A sampler asks the kernels of both ends for processor time,
//! packets and the state of connections while the load goes on, and the responder for datagrams that were lost or reordered.
//!
//! `README.md` beside this folder's manifest describes the extent of the model.

mod content;
mod control;
mod datagram;
mod driver;
mod kernel;
mod ledger;
mod low_water;
mod measures;
mod one_line;
mod patience;
mod pattern;
mod plan;
mod responder;
mod sampler;
mod seam;
mod serve;
mod tcp_info;
#[cfg(test)]
mod tests;
mod topology;
mod verify;
mod wire;

pub use seam::Net;
