//! A table of open files for each thread, so that the system's limit holds for each thread and not for all of
//! them.

use std::io;

/// The first descriptor after the three standard streams.
const FIRST_OF_ALL: u32 = 3;

/// Greater than every descriptor.
const NONE: u32 = u32::MAX;

/// Gives the calling thread a table of open files of its own, with only the three standard streams in it.
///
/// A process that may open 20,000 files thus has 20,000 connections for each worker. From then on the thread
/// must not use a descriptor opened by another thread, nor pass one on: the same number means different files
/// in the two tables. Drivers keep that rule by making everything in the worker's thread and by communicating
/// with other threads through memory alone.
///
/// # Errors
/// If the kernel is older than 5.9, which lacks the call.
pub fn own_open_files() -> io::Result<()> {
    unshare_and_close_from(FIRST_OF_ALL)
}

/// Gives the calling thread a copy of its table of open files.
///
/// Files open before have the same number in both tables and may be used in both; each value that owns a
/// descriptor closes it in the table of the thread that drops it. Files opened later belong to the thread,
/// and to those that it starts.
///
/// # Errors
/// If the kernel is older than 5.9, which lacks the call.
pub fn copy_open_files() -> io::Result<()> {
    unshare_and_close_from(NONE)
}

#[expect(
    unsafe_code,
    reason = "closing by number is outside what the types can promise: called first in a new thread, it owns no descriptor"
)]
fn unshare_and_close_from(first: u32) -> io::Result<()> {
    // SAFETY: the call takes no pointers. It changes this thread's table only (CLOSE_RANGE_UNSHARE), and the thread,
    // being new, owns no descriptor beyond the standard streams.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_UNSHARE) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
