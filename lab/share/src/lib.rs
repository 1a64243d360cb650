//! Records of runs and studies as one file, after a check for what should not leave the machine.
//!
//! The file is a tar archive compressed with Zstandard. It holds the files of the record and nothing else of its folder,
//! and the same record gives the same bytes. Reading one trusts nothing in it: only plain files below one folder are
//! written, and sizes have bounds.

mod error;
mod inspect;
mod members;
mod pack;
mod patterns;
mod unpack;

pub use error::ShareError;
pub use inspect::{Finding, Inspection, inspect};
pub use members::{Member, members};
pub use pack::pack;
pub use patterns::{Kind, Machine};
pub use unpack::{Limits, unpack};
