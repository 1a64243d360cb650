//! Others who see what goes into a record, in the moment it goes in.

use std::fmt;

use barograph_stats::Interval;

use crate::{Entry, ProbeRow};

/// Follows a record while it is written: sends its figures elsewhere, or shows them. It is told only what has been written,
/// on the thread that writes, so it must return quickly and must never wait for anybody.
pub trait Follower: fmt::Debug + Send + Sync {
    /// An entry was written; intervals are told apart, with their histograms.
    fn entry(&self, entry: &Entry) {
        let _ = entry;
    }

    /// An interval was written. `names` are the operations' names by index.
    fn interval(&self, interval: &Interval, names: &[&str]) {
        let _ = (interval, names);
    }

    /// A resource sample was written.
    fn probe(&self, row: &ProbeRow) {
        let _ = row;
    }

    /// The record is about to be closed. May take a few seconds to bring things to an end, and gives what the record
    /// should say of this follower, a note per item.
    fn leave(&self) -> Vec<String> {
        Vec::new()
    }
}
