//! The state of each block in a load that verifies: how often it was written, and whether it is being written.

use std::sync::atomic::{AtomicU32, Ordering};

/// Set while a block is being written.
const WRITING: u32 = 1;

/// A block with unknown contents: a write of it failed.
const UNKNOWN: u32 = !WRITING;

/// The first state after unknown contents, far from those of the writes before.
const FRESH: u32 = 1 << 30;

/// The states of all blocks, shared by the users of a load.
#[derive(Debug)]
pub(crate) struct Generations(Box<[AtomicU32]>);

/// The state of a block at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct State(u32);

impl State {
    /// The generation that a read must find; `None` while it is being written or is unknown.
    pub(crate) fn generation(self) -> Option<u64> {
        (self.0 & WRITING == 0 && self.0 != UNKNOWN).then(|| u64::from(self.0 >> 1))
    }
}

impl Generations {
    /// Blocks that are filled with generation 0.
    pub(crate) fn filled(blocks: usize) -> Self {
        Generations((0..blocks).map(|_| AtomicU32::new(0)).collect())
    }

    /// The state of a block.
    pub(crate) fn state(&self, block: u64) -> State {
        State(self.0[block as usize].load(Ordering::Acquire))
    }

    /// Begins a write; its generation. `None` while another write of the block is under way.
    pub(crate) fn begin(&self, block: u64) -> Option<u64> {
        let state = &self.0[block as usize];
        let before = state.load(Ordering::Acquire);
        let free = before & WRITING == 0;
        let next = if before == UNKNOWN { FRESH } else { before.wrapping_add(2) };
        // The highest number means unknown contents, so numbers begin again before it.
        let next = if next >= UNKNOWN { 2 } else { next };
        let taken = free
            && state.compare_exchange(before, next | WRITING, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        taken.then(|| u64::from(next >> 1))
    }

    /// Ends a write.
    pub(crate) fn end(&self, block: u64, generation: u64, is_written: bool) {
        let state = if is_written { (generation as u32) << 1 } else { UNKNOWN };
        self.0[block as usize].store(state, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_raises_the_generation() {
        let all = Generations::filled(2);
        assert_eq!(all.state(1).generation(), Some(0));
        assert_eq!(all.begin(1), Some(1));
        assert_eq!((all.state(1).generation(), all.begin(1)), (None, None));
        all.end(1, 1, true);
        assert_eq!((all.state(1).generation(), all.state(0).generation()), (Some(1), Some(0)));
    }

    #[test]
    fn a_failed_write_leaves_a_block_unknown_until_the_next() {
        let all = Generations::filled(1);
        let generation = all.begin(0).unwrap();
        all.end(0, generation, false);
        assert_eq!(all.state(0).generation(), None);
        let again = all.begin(0).unwrap();
        all.end(0, again, true);
        assert_eq!(all.state(0).generation(), Some(again));
    }
}
