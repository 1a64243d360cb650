//! The web farm: many small web servers, each with its static set of about 100 KB and loaded at a fixed rate of its own.
//!
//! A user is the client of one server, so a level is a number of loaded servers. Its fetches start on a beat, as in an open
//! loop: they do not wait for each other, up to a number of connections. An operation fetches the whole set. The answer is
//! the number of servers that are held within a limit of response time and a share of the host's CPU.

mod fill;
mod measures;
mod plan;
mod prepared;
mod seam;
mod segments;
mod serve;
mod server;
mod sets;
#[cfg(test)]
mod tests;
mod topology;
mod user;

pub use seam::WebFarm;
