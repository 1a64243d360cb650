//! Writes picture files: `images/{thumbnail|preview|full}/{id / 1000}/{id}.jpg`.

use super::FillError;
use super::layout::Layout;
use barograph_data::pictures::{PictureSize, Pictures};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Images per folder: file systems and people dislike folders with a million entries.
const PER_FOLDER: u64 = 1_000;

fn size_name(size: PictureSize) -> &'static str {
    match size {
        PictureSize::Thumbnail => "thumbnail",
        PictureSize::Preview => "preview",
        PictureSize::Full => "full",
    }
}

/// Makes all folders first, so that writers of files need not check for them.
pub(super) fn make_folders(root: &Path, layout: &Layout) -> Result<(), FillError> {
    let (with_full, all) = layout.last_images();
    for size in PictureSize::ALL {
        let last = if size == PictureSize::Full { with_full } else { all };
        for folder in 0..=last / PER_FOLDER {
            let path = root.join(size_name(size)).join(folder.to_string());
            std::fs::create_dir_all(&path).map_err(FillError::file("make folder", &path))?;
        }
    }
    Ok(())
}

/// Writer of picture files, one per thread.
pub(super) struct Writer<'a> {
    pictures: &'a Pictures,
    root: &'a Path,
    /// Highest image id with a full picture.
    with_full: u64,
    file: Vec<u8>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(pictures: &'a Pictures, root: &'a Path, layout: &Layout) -> Self {
        Self { pictures, root, with_full: layout.last_images().0, file: Vec::new() }
    }

    /// Writes all files of an image; returns their number and bytes.
    pub(super) fn write(&mut self, id: u64) -> Result<(u64, u64), FillError> {
        let (mut files, mut bytes) = (0, 0);
        for size in PictureSize::ALL {
            if size == PictureSize::Full && id > self.with_full {
                continue;
            }
            self.pictures.compose(id, size, &mut self.file);
            write_file(&path(self.root, size, id), &self.file)?;
            files += 1;
            bytes += self.file.len() as u64;
        }
        Ok((files, bytes))
    }
}

fn path(root: &Path, size: PictureSize, id: u64) -> PathBuf {
    root.join(format!("{}/{}/{id}.jpg", size_name(size), id / PER_FOLDER))
}

fn write_file(path: &Path, content: &[u8]) -> Result<(), FillError> {
    let write = || std::fs::File::create(path)?.write_all(content);
    write().map_err(FillError::file("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_named_with_the_path() {
        // Every write to this device answers that there is no space left.
        let failed = write_file(Path::new("/dev/full"), b"picture").unwrap_err();
        assert!(matches!(&failed, FillError::DiskFull { path } if path == Path::new("/dev/full")));
        assert_eq!(failed.to_string(), "write /dev/full: the disk is full");
    }
}
