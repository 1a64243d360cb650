//! The lines by which the job that fills a data set says how far it is.

use barograph_auction::fill::Marker;
use serde::{Deserialize, Serialize};

/// A line of the job, as JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Line {
    /// How far it is.
    Progress {
        /// The stage, in a word or two.
        stage: String,
        /// How much of it is done.
        done: u64,
        /// How much of it there is.
        total: u64,
    },
    /// The end.
    Filled {
        /// What the data are.
        marker: Box<Marker>,
        /// They were there already.
        reused: bool,
    },
}
