//! The mark of a file that Barograph made: a block after its data, which no load touches.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use serde_json::{Value, json};

/// Bytes of the mark.
pub(crate) const BYTES: u64 = 4_096;

/// What a mark begins with.
const MAGIC: &[u8] = b"barograph disk file\n";

/// The mark of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mark {
    /// Bytes of data.
    pub(crate) size: u64,
    /// The part of them that is random.
    pub(crate) entropy: f64,
    /// All of it was written.
    pub(crate) is_filled: bool,
}

impl Mark {
    /// The mark of a file; `None` for a file of others.
    pub(crate) fn of(file: &File) -> io::Result<Option<Mark>> {
        let Some(size) = file.metadata()?.len().checked_sub(BYTES) else { return Ok(None) };
        let mut block = vec![0; BYTES as usize];
        file.read_exact_at(&mut block, size)?;
        let Some(text) = block.strip_prefix(MAGIC) else { return Ok(None) };
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        let Ok(facts) = serde_json::from_slice::<Value>(text) else { return Ok(None) };
        let read = || {
            let (entropy, is_filled) = (facts["entropy"].as_f64()?, facts["filled"].as_bool()?);
            Some(Mark { size: facts["size"].as_u64()?, entropy, is_filled })
        };
        Ok(read().filter(|mark| mark.size == size))
    }

    /// Writes the mark.
    pub(crate) fn write(self, file: &File) -> io::Result<()> {
        let facts = json!({ "size": self.size, "entropy": self.entropy, "filled": self.is_filled });
        let mut block = [MAGIC, facts.to_string().as_bytes()].concat();
        block.resize(BYTES as usize, 0);
        file.write_all_at(&block, self.size)?;
        file.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_back_and_a_file_of_others_has_none() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(Mark::of(&file).unwrap(), None);
        file.set_len(65_536).unwrap();
        assert_eq!(Mark::of(&file).unwrap(), None);
        let mark = Mark { size: 65_536, entropy: 0.5, is_filled: true };
        mark.write(&file).unwrap();
        assert_eq!(Mark::of(&file).unwrap(), Some(mark));
    }

    #[test]
    fn a_file_of_another_length_is_not_ours() {
        let file = tempfile::tempfile().unwrap();
        Mark { size: 65_536, entropy: 1.0, is_filled: true }.write(&file).unwrap();
        file.set_len(65_536 + 2 * BYTES).unwrap();
        assert_eq!(Mark::of(&file).unwrap(), None);
        // The mark of a file that was cut, put to its new end.
        let mut block = vec![0; BYTES as usize];
        file.read_exact_at(&mut block, 65_536).unwrap();
        file.set_len(8_192).unwrap();
        file.write_all_at(&block, 4_096).unwrap();
        assert_eq!(Mark::of(&file).unwrap(), None);
    }
}
