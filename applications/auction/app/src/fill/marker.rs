//! The marker: the last file that a fill writes, and the proof that a folder is complete.

use super::{FillError, FillPlan};
use crate::sizes::Factors;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Version of the data format. It rises whenever the same plan would give other data; older data are not
/// reused.
const FORMAT: u32 = 3;
/// File name of the marker.
const NAME: &str = "marker.json";

/// Rows by table, and picture files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    /// Numbered users and the extra accounts.
    pub users: u64,
    /// Current, past and future auctions.
    pub auctions: u64,
    /// Items of all of them.
    pub items: u64,
    /// Sales of the past, and the bidding in progress of each current auction.
    pub high_bids: u64,
    /// Accepted bids.
    pub bids: u64,
    /// Attendance records.
    pub attendance: u64,
    /// Images, each counted once for all its sizes.
    pub images: u64,
    /// Picture files, one per image and size.
    pub files: u64,
}

/// Description of a complete fill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marker {
    /// Version of the data format.
    pub format: u32,
    /// The size's name.
    pub size: String,
    /// Highest number of users simulated at once.
    pub max_users: u32,
    /// Factors by which the data are lighter than published.
    pub factors: Factors,
    /// The seed of the data.
    pub seed: u64,
    /// Equal stamps mean equal data: only runs with equal stamps may be compared.
    pub stamp: String,
    /// Rows by table.
    pub rows: Rows,
    /// Bytes of the two stores.
    pub store_bytes: u64,
    /// Bytes of all picture files (their contents; the file system rounds each up).
    pub image_bytes: u64,
    /// Duration of the fill.
    pub seconds: f64,
}

/// A stamp of everything that determines the data.
pub(super) fn stamp(plan: &FillPlan) -> String {
    let text = format!("barograph auction fill {FORMAT}; {}", describe(plan));
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The plan in words, exact enough to distinguish plans.
pub(super) fn describe(plan: &FillPlan) -> String {
    describe_parts(plan.size.name, plan.size.max_users, plan.factors, plan.seed)
}

fn describe_parts(size: &str, max_users: u32, factors: Factors, seed: u64) -> String {
    let (history, images) = (factors.history(), factors.images());
    format!("size {size} for {max_users} users with history {history}, images {images}, seed {seed}")
}

impl Marker {
    /// The marker of a complete fill of a plan.
    pub(super) fn new(plan: &FillPlan, rows: Rows, seconds: f64) -> Self {
        Self {
            format: FORMAT,
            size: plan.size.name.to_owned(),
            max_users: plan.size.max_users,
            factors: plan.factors,
            seed: plan.seed,
            stamp: stamp(plan),
            rows,
            store_bytes: 0,
            image_bytes: 0,
            // Whole milliseconds: the number written equals the number read back.
            seconds: (seconds * 1e3).round() / 1e3,
        }
    }

    /// Description of the data.
    #[must_use]
    pub fn describe(&self) -> String {
        describe_parts(&self.size, self.max_users, self.factors, self.seed)
    }

    /// Path of the marker in a folder.
    #[must_use]
    pub fn path(dir: &Path) -> PathBuf {
        dir.join(NAME)
    }

    /// The marker of a folder, or `None` if the folder was not filled to the end.
    ///
    /// # Errors
    /// If there is a marker that cannot be read or understood.
    pub fn read(dir: &Path) -> Result<Option<Self>, FillError> {
        let path = Self::path(dir);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(FillError::file("read", &path)(why)),
        };
        serde_json::from_slice(&text).map(Some).map_err(|why| FillError::Marker { path, why })
    }

    /// Writes the marker under another name first, so that a partial marker never exists.
    pub(super) fn write(&self, dir: &Path) -> Result<(), FillError> {
        let (draft, path) = (dir.join("marker.json.part"), Self::path(dir));
        let text =
            serde_json::to_vec_pretty(self).map_err(|why| FillError::Marker { path: path.clone(), why })?;
        let write = || {
            let mut file = std::fs::File::create(&draft)?;
            file.write_all(&text)?;
            file.sync_all()?;
            std::fs::rename(&draft, &path)
        };
        write().map_err(FillError::file("write", &path))
    }
}
