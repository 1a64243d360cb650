//! A counting allocator, for tests that prove the absence of allocations, or a bound on memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator with a count of allocations and bytes per thread. A test binary makes it its global
/// allocator.
pub struct CountingAllocator;

thread_local! {
    static ASKED: Cell<u64> = const { Cell::new(0) };
    static HELD: Cell<i64> = const { Cell::new(0) };
}

/// Allocations of the calling thread so far; always 0 where [`CountingAllocator`] is not the allocator.
#[must_use]
pub fn allocations() -> u64 {
    ASKED.get()
}

/// Bytes that the calling thread has allocated so far, less those that it freed; always 0 where
/// [`CountingAllocator`] is not the allocator.
#[must_use]
pub fn held_bytes() -> i64 {
    HELD.get()
}

fn count() {
    // A thread that is ending has no counter any more.
    let _ = ASKED.try_with(|asked| asked.set(asked.get() + 1));
}

/// Counts the bytes of a block that is `size` long and was `before`.
fn resized(before: usize, size: usize) {
    // Sizes are at most `isize::MAX`.
    let _ = HELD.try_with(|held| held.set(held.get() + size as i64 - before as i64));
}

#[expect(unsafe_code, reason = "an allocator cannot be written without; all work is handed to the system's")]
// SAFETY: every call is passed on unchanged; the counters neither allocate nor unwind.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        resized(0, layout.size());
        // SAFETY: the caller's promises are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        resized(layout.size(), 0);
        // SAFETY: the caller's promises are the same.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        resized(layout.size(), size);
        // SAFETY: the caller's promises are the same.
        unsafe { System.realloc(memory, layout, size) }
    }
}
