//! Arrays of numbers in memory of their own: pages of a stated size, touched for the first time by their user.
//!
//! Memory comes from the system and goes back to it, so no allocator has touched or kept it. The system gives a page to the
//! memory node of the thread that writes to it first.
#![expect(unsafe_code, reason = "memory is mapped, and its pages are chosen, by system calls on addresses")]

use std::fs;
use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Bytes of a huge page, and the alignment of every array.
pub const HUGE: usize = 2 << 20;

/// The size of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageSize {
    /// The smallest of the processor.
    Small,
    /// 2 MiB where the system has them to give.
    Huge,
}

/// An array of zeros in pages of its own.
#[derive(Debug)]
pub struct Array {
    /// The first number.
    numbers: NonNull<f64>,
    len: usize,
    /// What was mapped: address and bytes.
    mapped: (NonNull<libc::c_void>, usize),
}

// SAFETY: an array owns its memory as a `Vec` does, and shares it only through references.
unsafe impl Send for Array {}
// SAFETY: a shared reference to an array gives only shared references to its numbers.
unsafe impl Sync for Array {}

impl Array {
    /// Maps `len` numbers, aligned at [`HUGE`] bytes. No page is touched.
    ///
    /// # Errors
    /// The system has no memory, or does not know pages of this kind.
    pub fn map(len: usize, pages: PageSize) -> io::Result<Self> {
        let too_large = || io::Error::from(io::ErrorKind::OutOfMemory);
        let bytes =
            len.max(1).checked_mul(size_of::<f64>()).and_then(|bytes| bytes.checked_next_multiple_of(HUGE));
        let whole = bytes.and_then(|bytes| bytes.checked_add(HUGE)).ok_or_else(too_large)?;
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: an anonymous mapping at an address of the system's choice touches no memory that is in use.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), whole, access, kind, -1, 0) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(address).ok_or_else(too_large)?;
        let gap = start.as_ptr().align_offset(HUGE);
        // SAFETY: the mapping is `HUGE` bytes longer than the numbers, and the gap is shorter than `HUGE`.
        let numbers = unsafe { start.byte_add(gap) }.cast::<f64>();
        let array = Array { numbers, len, mapped: (start, whole) };
        let advice = match pages {
            PageSize::Small => libc::MADV_NOHUGEPAGE,
            PageSize::Huge => libc::MADV_HUGEPAGE,
        };
        // SAFETY: the range is the mapping of this array, and neither advice changes what is in it.
        match unsafe { libc::madvise(address, whole, advice) } {
            0 => Ok(array),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The share of the touched memory that is in huge pages; `None` where the system does not tell, or none is touched.
    #[must_use]
    pub fn huge_share(&self) -> Option<f64> {
        let maps = fs::read_to_string("/proc/self/smaps").ok()?;
        let start = self.mapped.0.as_ptr() as usize;
        share(&maps, start..start + self.mapped.1)
    }
}

impl Deref for Array {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        // SAFETY: the mapping holds `len` numbers from here on; zeros are numbers; it lives as long as the array.
        unsafe { std::slice::from_raw_parts(self.numbers.as_ptr(), self.len) }
    }
}

impl DerefMut for Array {
    fn deref_mut(&mut self) -> &mut [f64] {
        // SAFETY: as for shared access, and the array is borrowed for no other use.
        unsafe { std::slice::from_raw_parts_mut(self.numbers.as_ptr(), self.len) }
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        let (address, bytes) = self.mapped;
        // SAFETY: the range was mapped by `map`, and no reference into it outlives the array.
        let ended = unsafe { libc::munmap(address.as_ptr(), bytes) };
        debug_assert_eq!(ended, 0, "{}", io::Error::last_os_error());
    }
}

/// The share of a range's touched memory that is in huge pages, from the text of `smaps`. Mappings that reach beyond the range
/// count as a whole, since the system merges neighbours.
fn share(maps: &str, range: std::ops::Range<usize>) -> Option<f64> {
    let (mut inside, mut touched, mut huge) = (false, 0.0, 0.0);
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let first = words.next()?;
        if let Some((from, to)) = first.split_once('-') {
            let limit = |text| usize::from_str_radix(text, 16).ok();
            inside = limit(from)? < range.end && limit(to)? > range.start;
        } else if inside {
            let kib = words.next().and_then(|word| word.parse::<f64>().ok());
            match first {
                "Rss:" => touched += kib?,
                "AnonHugePages:" => huge += kib?,
                _ => {}
            }
        }
    }
    (touched > 0.0).then(|| huge / touched)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_aligned_and_zero_and_keeps_what_is_written() {
        for pages in [PageSize::Small, PageSize::Huge] {
            let mut array = Array::map(600_001, pages).unwrap();
            assert_eq!((array.len(), array.as_ptr() as usize % HUGE), (600_001, 0));
            assert!(array.iter().all(|number| *number == 0.0));
            array.iter_mut().zip(0..).for_each(|(number, at)| *number = f64::from(at));
            assert_eq!((array[0], array[600_000]), (0.0, 600_000.0));
        }
    }

    #[test]
    fn small_pages_are_not_huge() {
        let mut array = Array::map(1 << 19, PageSize::Small).unwrap();
        array.fill(1.0);
        assert_eq!(array.huge_share(), Some(0.0));
    }

    #[test]
    fn an_impossible_size_is_an_error() {
        assert_eq!(
            Array::map(usize::MAX / 8, PageSize::Small).unwrap_err().kind(),
            io::ErrorKind::OutOfMemory
        );
        assert!(Array::map(usize::MAX / 64, PageSize::Small).is_err());
    }

    #[test]
    fn huge_pages_are_told_from_small_ones() {
        let maps = "1000-3000 rw-p 00000000 00:00 0 \nSize: 8 kB\nRss: 4 kB\nAnonHugePages: 0 kB\n\
                    400000-a00000 rw-p 00000000 00:00 0 \nRss: 4096 kB\nAnonHugePages: 2048 kB\nVmFlags: rd wr\n\
                    b00000-c00000 rw-p 00000000 00:00 0 \nRss: 1024 kB\nAnonHugePages: 0 kB\n";
        assert_eq!(share(maps, 0x40_0000..0xa0_0000), Some(0.5));
        assert_eq!(share(maps, 0xa0_0000..0xb0_0000), None);
        assert_eq!(share("", 0..1), None);
    }
}
