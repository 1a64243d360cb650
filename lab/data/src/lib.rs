//! Made-up data from a seed: random streams, distributions, texts, names and pictures.
//!
//! Everything is a pure function of a seed and a number, so that the data do not depend on the number of
//! threads, and a driver knows the names of users without asking the application.

pub mod names;
mod normal;
pub mod pictures;
mod popularity;
mod streams;
pub mod text;

pub use normal::TruncatedNormal;
pub use popularity::{Numbers, Popularity, Position};
pub use streams::{Stream, Streams, mix};
