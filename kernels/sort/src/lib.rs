//! External merge sort of records in files, their generation from a seed, and the check of the result.
//!
//! A record has 100 bytes, of which the first 10 are its key, as in TeraSort. The sort is stable: records of equal keys keep
//! their order. Its memory has a bound, and it counts the bytes that it reads and writes.

mod check;
mod cursor;
mod error;
mod merge;
mod record;
mod runs;
mod sort;

pub use check::{Checksum, Findings, check};
pub use error::SortError;
pub use record::{KEY, RECORD, generate};
pub use sort::{Files, LEAST_MEMORY, Sort, Traffic};
