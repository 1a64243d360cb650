//! Block devices: other uses of them, and their queues.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, major, minor};
use rustix::io::Errno;
use serde_json::{Map, Value};

use crate::error::DiskError;
use crate::signature;

/// Settings of a queue on which figures depend.
const QUEUE: [&str; 8] = [
    "scheduler",
    "nr_requests",
    "write_cache",
    "rotational",
    "logical_block_size",
    "physical_block_size",
    "iostats",
    "wbt_lat_usec",
];

/// Claims a device for writes: while the result lives, nothing can mount it.
///
/// # Errors
/// [`DiskError::NotOurs`] where it is not named a second time, is in use, or holds anything that is known.
pub(crate) fn claim(path: &Path, again: &str) -> Result<File, DiskError> {
    let not_ours = |why: String| DiskError::NotOurs { path: path.to_owned(), why };
    if Path::new(again) != path {
        return Err(not_ours(format!(
            "is a device, and devices are named twice (disk.device_again = {:?})",
            path.display().to_string()
        )));
    }
    let exclusive = OFlags::EXCL.bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(exclusive).open(path);
    let device = opened.map_err(|why| match Errno::from_io_error(&why) {
        Some(Errno::BUSY) => {
            not_ours("is mounted, or in use as swap, volume or member of an array".to_owned())
        }
        _ => DiskError::file("open", path)(why),
    })?;
    let failed = || DiskError::file("read", path);
    let number = device.metadata().map_err(failed())?.rdev();
    let parts = partitions(number);
    if let Some(part) = parts.first() {
        return Err(not_ours(format!("has partitions ({part})")));
    }
    let length = length(&device).map_err(failed())?;
    match signature::find(&device, length).map_err(failed())? {
        Some(found) => Err(not_ours(format!("holds {found}"))),
        None => Ok(device),
    }
}

/// Bytes of an open file or device.
pub(crate) fn length(file: &File) -> std::io::Result<u64> {
    let end = rustix::fs::seek(file, rustix::fs::SeekFrom::End(0))?;
    Ok(end)
}

/// The loop device that has a file as its image.
pub(crate) fn loop_of(path: &Path) -> Option<PathBuf> {
    let path = path.canonicalize().ok()?;
    let devices = std::fs::read_dir("/sys/block").ok()?.flatten();
    let mut of_loops = devices.filter_map(|device| {
        let image = std::fs::read_to_string(device.path().join("loop/backing_file")).ok()?;
        (Path::new(image.trim_end_matches('\n')) == path).then(|| Path::new("/dev").join(device.file_name()))
    });
    of_loops.next()
}

/// Settings of the queue of the disk under a path, by name; nothing where the system does not tell.
pub(crate) fn queue(path: &Path) -> Map<String, Value> {
    let mut places = path.ancestors();
    let Some(facts) = places.find_map(|place| place.metadata().ok()) else { return Map::new() };
    let number = if facts.file_type().is_block_device() { facts.rdev() } else { facts.dev() };
    let disk = PathBuf::from(format!("/sys/dev/block/{}:{}", major(number), minor(number)));
    // A partition has the queue of its disk.
    let folder = [disk.join("queue"), disk.join("../queue")].into_iter().find(|folder| folder.is_dir());
    let read = |name: &&str| {
        let text = std::fs::read_to_string(folder.as_ref()?.join(name)).ok()?;
        Some(((*name).to_owned(), Value::from(text.trim())))
    };
    QUEUE.iter().filter_map(read).collect()
}

/// Names of the partitions of a device that the kernel knows.
fn partitions(number: u64) -> Vec<String> {
    let folder = format!("/sys/dev/block/{}:{}", major(number), minor(number));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let parts = entries.filter(|entry| entry.path().join("partition").exists());
    parts.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
