//! A file of the kernel that is opened once and read for every sample.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::ProbeError;

/// Largest file in bytes, far beyond those read here: a bound on memory.
const LARGEST: usize = 4 << 20;

/// An open file with a buffer for its text.
#[derive(Debug)]
pub(crate) struct HotFile {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
}

impl HotFile {
    /// Opens `path`, which must exist.
    pub(crate) fn open(path: impl Into<PathBuf>) -> Result<Self, ProbeError> {
        let path = path.into();
        match File::open(&path) {
            Ok(file) => Ok(HotFile { path, file, buffer: vec![0; 4096] }),
            Err(source) => Err(ProbeError::Read { path, source }),
        }
    }

    /// Opens `path` if this kernel has it.
    pub(crate) fn open_if_present(path: impl Into<PathBuf>) -> Option<Self> {
        HotFile::open(path).ok()
    }

    /// Reads the whole current text.
    pub(crate) fn read(&mut self) -> io::Result<&str> {
        let mut length = 0;
        loop {
            if length == self.buffer.len() {
                if length >= LARGEST {
                    return Err(io::ErrorKind::FileTooLarge.into());
                }
                self.buffer.resize(length * 2, 0);
            }
            let offset = length as u64;
            match self.file.read_at(&mut self.buffer[length..], offset) {
                Ok(0) => break,
                Ok(n) => length += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        std::str::from_utf8(&self.buffer[..length]).map_err(|_| io::ErrorKind::InvalidData.into())
    }

    /// Reads and parses; `what` names the piece that `parse` searches for.
    pub(crate) fn parse<T>(
        &mut self,
        what: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, ProbeError> {
        let parsed = match self.read() {
            Ok(text) => parse(text),
            Err(source) => return Err(ProbeError::Read { path: self.path.clone(), source }),
        };
        parsed.ok_or_else(|| ProbeError::Malformed { path: self.path.clone(), what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_named() {
        let error = HotFile::open("/proc/no-such-file").unwrap_err();
        assert_eq!(error.to_string(), "read `/proc/no-such-file`");
        assert!(HotFile::open_if_present("/proc/no-such-file").is_none());
    }

    #[test]
    fn what_does_not_parse_is_malformed_and_names_the_piece() {
        let mut file = HotFile::open("/proc/self/stat").unwrap();
        let error = file.parse("unicorn", |_| None::<()>).unwrap_err();
        assert_eq!(error.to_string(), "no usable unicorn in `/proc/self/stat`");
    }

    #[test]
    fn a_file_larger_than_the_first_buffer_is_read_whole() {
        let text = HotFile::open("/proc/self/smaps").unwrap().read().unwrap().to_owned();
        assert!(text.len() > 4096, "smaps is long");
        assert!(text.ends_with('\n'));
    }
}
