//! Resources of ended child processes.

use std::io;

use serde::{Deserialize, Serialize};

/// Resources of all children that have ended and were waited for, with their descendants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// CPU time in user mode, in microseconds.
    pub user_us: u64,
    /// CPU time in the kernel, in microseconds.
    pub system_us: u64,
    /// Peak resident memory of the largest process, in KiB.
    pub peak_kib: u64,
}

impl Usage {
    /// Reads the account of this process.
    ///
    /// # Errors
    /// The error of the system.
    #[expect(unsafe_code, reason = "the call of the kernel, which has no safe form among our crates")]
    pub(crate) fn of_children() -> io::Result<Self> {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the kernel writes one `rusage` to the given address and keeps nothing of it.
        let done = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: all its fields are integers, for which zero is a value, and the kernel has filled them.
        let usage = unsafe { usage.assume_init() };
        let micros = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
        Ok(Usage {
            user_us: micros(usage.ru_utime),
            system_us: micros(usage.ru_stime),
            peak_kib: usage.ru_maxrss as u64,
        })
    }
}
