//! The disk workload: reads and writes of a file or a device.
//!
//! A user has one operation in flight, so the users of a load are its depth. Operations go through io_uring, or block threads
//! (`disk.engine`). A load writes only to a file that it made itself, or to a device that is named twice and holds nothing known.
//! What a figure depends on is asked of the system and not assumed: direct access, alignment, a file without holes.
//!
//! `README.md` beside this folder's manifest says what it models and what it does not.

mod access;
mod contents;
mod device;
mod error;
mod export;
mod fill;
mod generations;
mod group;
mod mark;
mod measures;
mod one_line;
mod operation;
mod places;
mod plan;
mod program;
mod queue;
mod seam;
mod signature;
mod size;
mod target;
#[cfg(test)]
mod tests;
mod threads;
mod topology;
mod user;

pub use seam::Disk;
