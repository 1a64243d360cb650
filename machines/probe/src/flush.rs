//! Time until a disk has stored data durably, which a durable commit waits for.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{fdatasync, major, minor};

/// Bytes written before each flush: a page of most databases' logs.
const BYTES: usize = 8192;

/// Largest number of flushes.
const TRIES: u64 = 50;

/// Time from the first flush after which no other one begins.
const LONGEST: Duration = Duration::from_millis(300);

/// The disk below a folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Disk {
    /// Kind of its file system, as named by the kernel; `None` if unknown.
    pub file_system: Option<String>,
    /// Durations of overwriting 8 KiB followed by `fdatasync`, in seconds, sorted; never empty.
    pub flushes: Vec<f64>,
}

impl Disk {
    /// Flushes an unnamed file on the disk of `folder`, at most 50 times and for at most a third of a second
    /// unless one flush takes longer.
    pub fn measure(folder: &Path) -> io::Result<Self> {
        // If the file system supports it, the file never has a name, so it cannot be left behind by a killed
        // program.
        let file = tempfile::tempfile_in(folder)?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let file_system = file_system(&mounts, file.metadata()?.dev());
        Ok(Disk { file_system, flushes: flushes(&file)? })
    }

    /// Returns the median flush, in seconds.
    #[must_use]
    pub fn median(&self) -> f64 {
        self.flushes[self.flushes.len() / 2]
    }

    /// Returns the slowest flush, in seconds.
    #[must_use]
    pub fn slowest(&self) -> f64 {
        self.flushes[self.flushes.len() - 1]
    }
}

/// Databases write logs into preallocated space, so that a flush need not store an allocation as well; so
/// does this.
fn flushes(file: &File) -> io::Result<Vec<f64>> {
    let page = [1; BYTES];
    let place = |at: u64| at * BYTES as u64;
    for at in 0..TRIES {
        file.write_all_at(&[0; BYTES], place(at))?;
    }
    file.sync_all()?;
    let mut took = Vec::new();
    let begun = Instant::now();
    while (took.len() as u64) < TRIES && (took.is_empty() || begun.elapsed() < LONGEST) {
        let from = Instant::now();
        file.write_all_at(&page, place(took.len() as u64))?;
        fdatasync(file)?;
        took.push(from.elapsed().as_secs_f64());
    }
    took.sort_by(f64::total_cmp);
    Ok(took)
}

/// Kind of the file system on a device, from the lines of `/proc/self/mountinfo`: the device number is the
/// third word, the kind the first one after a lone hyphen (proc(5)).
fn file_system(mounts: &str, device: u64) -> Option<String> {
    let number = format!("{}:{}", major(device), minor(device));
    let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some(&number))?;
    let kind = line.split(' ').skip_while(|word| *word != "-").nth(1)?;
    Some(kind.to_owned())
}

#[cfg(test)]
mod tests {
    use rustix::fs::makedev;

    use super::*;

    #[test]
    fn a_disk_is_measured_and_nothing_of_it_stays() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::measure(folder.path()).unwrap();
        assert!((1..=50).contains(&disk.flushes.len()));
        assert!(0.0 < disk.flushes[0] && disk.flushes[0] <= disk.median() && disk.median() <= disk.slowest());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(Disk::measure(&folder.path().join("none")).is_err());
    }

    #[test]
    fn the_kind_of_a_file_system_is_that_of_its_device() {
        let mounts = "29 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw\n\
                      31 29 0:25 / /dev/shm rw - tmpfs tmpfs rw\n\
                      32 29 0:26 / /odd rw\n";
        let kind = |major, minor| file_system(mounts, makedev(major, minor));
        assert_eq!(kind(254, 0).as_deref(), Some("ext4"));
        assert_eq!(kind(0, 25).as_deref(), Some("tmpfs"));
        assert_eq!((kind(0, 26), kind(8, 1)), (None, None));
    }
}
