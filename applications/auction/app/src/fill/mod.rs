//! The fill: makes the data of an auction site after two years, from a size, two factors and a seed.
//!
//! A filled folder holds
//!
//! | path | contents |
//! |---|---|
//! | `pristine/relational.db` | users, auctions, items, high bids |
//! | `pristine/events.db` | bids, attendance, image metadata |
//! | `images/{thumbnail,preview,full}/{id / 1000}/{id}.jpg` | picture files |
//! | `marker.json` | description of the data; written last, so that a folder with a marker is complete |
//!
//! The application works on copies of the two stores, so using the data does not wear them away and the next
//! run finds them as they were. Equal plans give equal bytes with any number of threads.
//!
//! **The past.** Auctions are spread over 730 days before the present, ten items each, five minutes and twenty
//! bids per item, each bid 20 units above the one before. The last bidder bought the item: with history factor 1
//! a user has bought five items on average. **The future** holds auctions of the next 182 days.
//!
//! **Starting bids** are normal with mean 200 and deviation 200 units; of a negative draw half its size is taken.
//! The published description says "halved until non-negative", which never ends for a negative number; this
//! reading of it gives 680 s per item, as the published mix implies.
//!
//! **A stationary start.** The first item of each current auction is in the midst of its bidding, as on a
//! site that has been running for long: items that take long are found on sale more often, in proportion to
//! their time, and each at a moment drawn evenly from its time. Amounts grow by 2.25 % a bid up to about 943
//! units, where `amount * 1.06` passes the ceiling of 1,000; then come last call and sale. The sequence
//! number counts those bids; one of them, the highest, has a row. If every auction began with a fresh item
//! instead, none would be sold in the first ten minutes of a run, all would be sold at about the same time
//! after it, and the mix of operations in a measured window would depend on when it is taken.
//!
//! Credit is 1,000,000 units for each user.

mod auctions;
mod crew;
mod error;
mod folder;
mod images;
mod layout;
mod marker;
mod store;
#[cfg(test)]
mod tests;
mod users;

pub use error::FillError;
pub use marker::{Marker, Rows};

use crate::sizes::{Counts, Factors, Size};
use barograph_data::pictures::Pictures;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Initial credit of each user, in cents.
pub(crate) const CREDIT_CENTS: i64 = 100_000_000;

/// Plan of a fill.
#[derive(Debug, Clone, PartialEq)]
pub struct FillPlan {
    /// The folder, made if it does not exist.
    pub dir: PathBuf,
    /// Size: the number of users the data admit.
    pub size: Size,
    /// Factors by which the data are lighter than published.
    pub factors: Factors,
    /// Seed of all choices.
    pub seed: u64,
    /// Threads that make rows and pictures; 0 counts as 1. The number does not change the data.
    pub threads: usize,
}

impl FillPlan {
    /// Sixteen hexadecimal digits that are equal for plans with equal data; fit for the name of a folder.
    #[must_use]
    pub fn stamp(&self) -> String {
        marker::stamp(self)
    }

    /// Rows and files of the data.
    #[must_use]
    pub fn rows(&self) -> Rows {
        layout::Layout::new(Counts::of(self.size, self.factors), self.seed).rows()
    }
}

/// Stage of a fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Encodes the pictures that all picture files are composed from.
    Library,
    /// Makes users; counted in users.
    Users,
    /// Makes auctions with everything in them; counted in picture files.
    Auctions,
    /// Makes the indices of the stores.
    Stores,
    /// Waits until everything is on the disk.
    Flush,
}

/// Progress of a stage, in its own unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The stage.
    pub stage: Stage,
    /// Amount done.
    pub done: u64,
    /// Total amount.
    pub total: u64,
}

/// A filled folder.
#[derive(Debug, Clone, PartialEq)]
pub struct FillResult {
    /// Description of the data.
    pub marker: Marker,
    /// Whether the data were complete before.
    pub reused: bool,
}

/// Fills a folder, or finds it filled by the same plan.
///
/// # Errors
/// See [`FillError`]. A fill that failed or was killed leaves no marker; the next one starts afresh.
pub fn fill(plan: &FillPlan, progress: &mut dyn FnMut(Progress)) -> Result<FillResult, FillError> {
    fill_unless(plan, &AtomicBool::new(false), progress)
}

/// Like [`fill`], but fails with [`FillError::Stopped`] soon after `stop` becomes true.
///
/// # Errors
/// See [`fill`].
pub fn fill_unless(
    plan: &FillPlan,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<FillResult, FillError> {
    let started = Instant::now();
    if let Some(filled) = reuse(plan)? {
        return Ok(filled);
    }
    let folder = folder::FillFolder::take(&plan.dir)?;
    // Another process may have finished between the first look and the lock.
    if let Some(filled) = reuse(plan)? {
        return Ok(filled);
    }
    folder.empty()?;
    progress(Progress { stage: Stage::Library, done: 0, total: 1 });
    let pictures = Pictures::build(plan.seed, plan.factors.images(), plan.threads)?;
    progress(Progress { stage: Stage::Library, done: 1, total: 1 });
    let layout = layout::Layout::new(Counts::of(plan.size, plan.factors), plan.seed);
    let (stores, image_root) = (folder.stores(), folder.images());
    images::make_folders(&image_root, &layout)?;
    let stamp = plan.stamp();
    let order = crew::Order {
        stamp: &stamp,
        layout: &layout,
        pictures: &pictures,
        stores: &stores,
        images: &image_root,
        threads: plan.threads,
        stop,
    };
    let image_bytes = crew::make(&order, progress)?;
    progress(Progress { stage: Stage::Stores, done: 1, total: 1 });
    progress(Progress { stage: Stage::Flush, done: 0, total: 1 });
    folder.flush()?;
    let mut store_bytes = 0;
    for name in ["relational.db", "events.db"] {
        let path = stores.join(name);
        store_bytes += std::fs::metadata(&path).map_err(FillError::file("look at", &path))?.len();
    }
    let seconds = started.elapsed().as_secs_f64();
    let marker = Marker { store_bytes, image_bytes, ..Marker::new(plan, layout.rows(), seconds) };
    marker.write(&plan.dir)?;
    progress(Progress { stage: Stage::Flush, done: 1, total: 1 });
    Ok(FillResult { marker, reused: false })
}

/// The data in the folder, if they are complete and of this plan; an error if they are of another plan.
fn reuse(plan: &FillPlan) -> Result<Option<FillResult>, FillError> {
    let Some(marker) = Marker::read(&plan.dir)? else { return Ok(None) };
    if marker.stamp != plan.stamp() {
        return Err(FillError::OtherPlan {
            dir: plan.dir.clone(),
            found: format!("{} (stamp {})", marker.describe(), marker.stamp),
            wanted: format!("{} (stamp {})", marker::describe(plan), plan.stamp()),
        });
    }
    Ok(Some(FillResult { marker, reused: true }))
}
