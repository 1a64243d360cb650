//! The low-water mark of a socket (`SO_RCVLOWAT`): the bytes from which on it counts as readable.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _};

/// Sets the mark. The kernel takes at most half of the receive buffer, and ignores the mark where no more bytes have room or
/// will come.
///
/// # Errors
/// That of the system.
#[expect(unsafe_code, reason = "the option of the kernel, which has no safe form among our crates")]
pub(crate) fn set_low_water(socket: impl AsFd, bytes: u32) -> io::Result<()> {
    let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    let length = size_of_val(&bytes) as libc::socklen_t;
    let descriptor = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel reads one integer at the address, which lives throughout the call, and keeps nothing of it.
    let set = unsafe {
        libc::setsockopt(
            descriptor,
            libc::SOL_SOCKET,
            libc::SO_RCVLOWAT,
            std::ptr::from_ref(&bytes).cast(),
            length,
        )
    };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
