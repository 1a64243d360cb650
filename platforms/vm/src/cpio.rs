//! Archives that the kernel unpacks at its start (`newc` cpio), not compressed, as an emulated guest unpacks
//! slowly.

/// An archive in progress.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

/// Mode of a folder.
const FOLDER: u32 = 0o040_755;
/// Type bits of a file's mode.
const FILE: u32 = 0o100_000;
/// Mode of a character device.
const CHARACTER_DEVICE: u32 = 0o020_600;

impl Archive {
    /// Adds a folder; its parents must have been added.
    pub(crate) fn folder(&mut self, name: &str) {
        self.entry(name, FOLDER, (0, 0), &[]);
    }

    /// Adds a file.
    pub(crate) fn file(&mut self, name: &str, permissions: u32, content: &[u8]) {
        self.entry(name, FILE | permissions, (0, 0), content);
    }

    /// Adds a character device.
    pub(crate) fn device(&mut self, name: &str, major: u32, minor: u32) {
        self.entry(name, CHARACTER_DEVICE, (major, minor), &[]);
    }

    /// Returns the whole archive.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, (0, 0), &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, device: (u32, u32), content: &[u8]) {
        self.entries += 1;
        // Archives are held in a guest's memory, so no file has 4 GiB or more.
        let size = u32::try_from(content.len()).unwrap_or(u32::MAX);
        let name_size = u32::try_from(name.len() + 1).unwrap_or(u32::MAX);
        let fields = [self.entries, mode, 0, 0, 1, 0, size, 0, 0, device.0, device.1, name_size, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend_from_slice(content);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_aligned_entries_and_an_end() {
        let mut archive = Archive::default();
        archive.folder("m");
        archive.file("m/x", 0o644, b"hello");
        archive.device("console", 5, 1);
        let bytes = archive.finish();
        assert_eq!(bytes.len() % 4, 0);
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(text.matches("070701").count(), 4);
        let file = text.find("m/x\0").unwrap() - 110;
        assert_eq!(&text[file..file + 22], "07070100000002000081a4");
        assert_eq!(&text[file + 54..file + 62], "00000005", "the size");
        assert_eq!(
            &bytes[file + 116..file + 121],
            b"hello",
            "header and name take 114, and content begins at a multiple of 4"
        );
    }
}
