//! The image store of the auction application: stores of pictures, a cache of small ones, an upload queue.
//!
//! | place | form of a picture |
//! |---|---|
//! | files | `thumbnail/{id / 1000}/{id}.jpg`, and the same below `preview` and `full` |
//! | NFS | files with the same names below an export |
//! | S3 | objects with the same names, below a prefix |
//! | PostgreSQL | a row of the table `picture` |
//! | MongoDB protocol | a document of the collection `picture` |
//!
//! [`Pictures`] reads and stores, [`load`] brings the pictures of a fill into a place. The server checks with
//! [`kind`] whether an upload is a picture; nothing here decodes.
//!
//! Metadata of images (their items and sizes) are in the event store.

mod cache;
mod error;
mod kind;
mod load;
mod location;
mod pictures;
mod queue;
mod store;
#[cfg(test)]
mod tests;

pub use error::{Full, PictureError};
pub use kind::{PictureKind, kind};
pub use load::load;
pub use location::{Limits, PictureLocation};
pub use pictures::{CLOSE_WITHIN, PictureCounts, Pictures};
pub use store::path_of;
