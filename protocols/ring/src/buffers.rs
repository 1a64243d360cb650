//! Memory for direct input and output: buffers of one size, each at the beginning of a page.

use std::ptr::NonNull;
use std::{io, ptr, slice};

use crate::RingError;

/// Bytes to which buffers are aligned: what any known device asks of direct input and output.
const ALIGNMENT: usize = 4096;

/// Buffers of one size in a mapping of their own.
#[derive(Debug)]
pub struct Buffers {
    begin: NonNull<u8>,
    count: usize,
    /// Of one buffer.
    bytes: usize,
    /// From one buffer to the next.
    stride: usize,
}

impl Buffers {
    /// `count` buffers of `bytes` bytes, at least one of each, filled with zeros.
    ///
    /// # Errors
    /// [`RingError::Memory`].
    #[expect(unsafe_code, reason = "a mapping is unmapped in one piece and is not returned to an allocator")]
    pub fn new(count: usize, bytes: usize) -> Result<Self, RingError> {
        let (count, bytes) = (count.max(1), bytes.max(1));
        let failed = |why| RingError::Memory { bytes: count.saturating_mul(bytes), why };
        let stride = bytes.checked_next_multiple_of(ALIGNMENT);
        let stride = stride.ok_or_else(|| failed(io::ErrorKind::OutOfMemory.into()))?;
        let all = stride.checked_mul(count).filter(|all| isize::try_from(*all).is_ok());
        let all = all.ok_or_else(|| failed(io::ErrorKind::OutOfMemory.into()))?;
        let (protection, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE,
        );
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no memory that is in use.
        let begin = unsafe { libc::mmap(ptr::null_mut(), all, protection, flags, -1, 0) };
        match NonNull::new(begin.cast::<u8>()) {
            Some(begin) if begin.as_ptr().cast() != libc::MAP_FAILED => {
                Ok(Buffers { begin, count, bytes, stride })
            }
            _ => Err(failed(io::Error::last_os_error())),
        }
    }

    /// Number of buffers.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Bytes of a buffer.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// A buffer.
    ///
    /// # Panics
    /// When there is none with this index.
    #[must_use]
    #[expect(unsafe_code, reason = "a slice of the mapping")]
    pub fn get(&self, index: usize) -> &[u8] {
        // SAFETY: the pointer is valid for `bytes` bytes of initialised memory (the kernel fills new pages with zeros) that
        // lives as long as `self`. Safe code writes to it through `&mut self` only; a ring, which has the kernel write to it,
        // owns the buffers and calls this for a buffer without an operation in flight.
        unsafe { slice::from_raw_parts(self.begin_of(index), self.bytes) }
    }

    /// A buffer to write to.
    ///
    /// # Panics
    /// When there is none with this index.
    #[must_use]
    #[expect(unsafe_code, reason = "a slice of the mapping")]
    pub fn get_mut(&mut self, index: usize) -> &mut [u8] {
        // SAFETY: as for `get`, and `&mut self` makes it the only reference.
        unsafe { slice::from_raw_parts_mut(self.begin_of(index), self.bytes) }
    }

    /// Address of a buffer.
    #[expect(unsafe_code, reason = "an address within the mapping")]
    pub(crate) fn begin_of(&self, index: usize) -> *mut u8 {
        assert!(index < self.count, "buffer {index} of {}", self.count);
        // SAFETY: the offset lies within the mapping, whose length fits an `isize`.
        unsafe { self.begin.as_ptr().add(index * self.stride) }
    }

    /// The buffers as the kernel takes them.
    pub(crate) fn vectors(&self) -> Vec<libc::iovec> {
        let one = |index| libc::iovec { iov_base: self.begin_of(index).cast(), iov_len: self.bytes };
        (0..self.count).map(one).collect()
    }
}

impl Drop for Buffers {
    #[expect(unsafe_code, reason = "the end of the mapping")]
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and every slice of it has ended. An operation that the kernel has not
        // completed holds the pages by itself, since they are registered: it writes to pages that no address leads to.
        unsafe { libc::munmap(self.begin.as_ptr().cast(), self.stride * self.count) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_apart() {
        let mut buffers = Buffers::new(3, 5_000).unwrap();
        assert_eq!((buffers.count(), buffers.bytes()), (3, 5_000));
        for index in 0..3 {
            let buffer = buffers.get_mut(index);
            assert_eq!((buffer.len(), buffer.as_ptr() as usize % ALIGNMENT), (5_000, 0));
            assert!(buffer.iter().all(|byte| *byte == 0));
            buffer.fill(index as u8 + 1);
        }
        assert!((0..3).all(|index| buffers.get(index).iter().all(|byte| *byte == index as u8 + 1)));
    }

    #[test]
    fn more_memory_than_there_is_is_an_error() {
        for (count, bytes) in [(1, usize::MAX), (usize::MAX, 4096), (1 << 20, 1 << 30)] {
            let why = Buffers::new(count, bytes).unwrap_err();
            assert!(matches!(why, RingError::Memory { .. }), "{why}");
        }
    }
}
