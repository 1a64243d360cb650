//! Records of runs and studies as one file, after a check for private data.
//!
//! The file is a tar archive compressed with Zstandard. It holds the files of the record and nothing else of
//! its folder, and the same record gives the same bytes. Reading trusts nothing in the archive: only plain
//! files below one folder are written, and sizes are limited.

mod error;
mod inspect;
mod members;
mod pack;
mod patterns;
mod unpack;

pub use error::ShareError;
pub use inspect::{Finding, Inspection, inspect};
pub use members::{RecordFile, members};
pub use pack::pack;
pub use patterns::{Machine, PatternKind};
pub use unpack::{Limits, unpack};
