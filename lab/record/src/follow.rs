//! Followers of a record, which see each entry as it is written.

use std::fmt;

use barograph_stats::Interval;

use crate::{Entry, ProbeRow};

/// Follows a record while it is written, to send its figures elsewhere or show them. Its functions are called
/// after each write, on the writing thread, so they must return quickly and never wait.
pub trait Follower: fmt::Debug + Send + Sync {
    /// Takes an entry after it was written; intervals have their own function, with histograms.
    fn entry(&self, entry: &Entry) {
        let _ = entry;
    }

    /// Takes an interval after it was written. `names` are the operations' names by index.
    fn interval(&self, interval: &Interval, names: &[&str]) {
        let _ = (interval, names);
    }

    /// Takes a resource sample after it was written.
    fn probe(&self, row: &ProbeRow) {
        let _ = row;
    }

    /// Ends following before the record is closed. May take a few seconds to finish its work, and returns
    /// notes for the record.
    fn leave(&self) -> Vec<String> {
        Vec::new()
    }
}
