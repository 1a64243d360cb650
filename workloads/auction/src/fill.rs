//! Progress lines of the job that fills a data set.

use barograph_auction::fill::Marker;
use serde::{Deserialize, Serialize};

/// A line of the job, as JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Line {
    /// Progress.
    Progress {
        /// The stage, in a word or two.
        stage: String,
        /// The amount done.
        done: u64,
        /// The total amount.
        total: u64,
    },
    /// The end.
    Filled {
        /// Description of the data.
        marker: Box<Marker>,
        /// Whether they existed already.
        reused: bool,
    },
}
