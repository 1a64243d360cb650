//! Bounds of one call.

/// Bounds of one call, and of the compilation of a file.
///
/// Steps and memory are checked between instructions and by the allocator. One built-in call, such as a
/// search in a long text, is not interrupted, so steps do not bound time tightly: a loop of built-in calls
/// over the largest lists and texts that memory allows may take a minute. A choice takes a microsecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Loop turns and calls of one call; rounded up to whole slices of [`Bounds::SLICE`].
    pub steps: u32,
    /// Bytes that one call may add to the engine's memory at rest. The same amount as that rest is allowed on
    /// top, so that garbage of earlier calls does not count against a later one.
    pub memory_bytes: usize,
    /// Bytes of stack, taken from the worker's thread: about four hundred nested calls in 256 KiB.
    pub stack_bytes: usize,
}

impl Bounds {
    /// Steps between two checks of the engine's budget; fixed in QuickJS.
    pub const SLICE: u32 = 10_000;

    /// The number of checks after which a call is ended.
    pub(crate) fn slices(self) -> u32 {
        self.steps.div_ceil(Self::SLICE).max(1)
    }
}

impl Default for Bounds {
    /// 20,000 steps are half a millisecond of plain code, far more than a choice should take.
    fn default() -> Self {
        Self { steps: 20_000, memory_bytes: 512 << 10, stack_bytes: 256 << 10 }
    }
}
