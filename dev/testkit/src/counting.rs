//! A counting allocator, for tests that prove the absence of allocations.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator with a count of allocations per thread. A test binary makes it its global
/// allocator.
pub struct CountingAllocator;

thread_local! {
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

/// Allocations of the calling thread so far; always 0 where [`CountingAllocator`] is not the allocator.
#[must_use]
pub fn allocations() -> u64 {
    ASKED.get()
}

fn count() {
    // A thread that is ending has no counter any more.
    let _ = ASKED.try_with(|asked| asked.set(asked.get() + 1));
}

#[expect(unsafe_code, reason = "an allocator cannot be written without; all work is handed to the system's")]
// SAFETY: every call is passed on unchanged; the counter neither allocates nor unwinds.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are the same.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are the same.
        unsafe { System.realloc(memory, layout, size) }
    }
}
