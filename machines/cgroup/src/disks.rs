//! Rates of disks: a line for each disk in a file of a group.

use std::fs;
use std::path::Path;

use crate::{Error, files};

/// All block devices that are not parts of others, with loop devices.
const BLOCKS: &str = "/sys/block";

/// Limits reads and writes of each disk in version 1.
pub(crate) fn write_version_1(folder: &Path, rate: Option<u64>) -> Result<(), Error> {
    for file in ["blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"] {
        write(&folder.join(file), rate, &|rate| rate.unwrap_or(0).to_string())?;
    }
    Ok(())
}

/// Limits reads and writes of each disk in version 2.
pub(crate) fn write_version_2(folder: &Path, rate: Option<u64>) -> Result<(), Error> {
    write(&folder.join("io.max"), rate, &|rate| {
        let rate = rate.map_or("max".to_owned(), |rate| rate.to_string());
        format!("rbps={rate} wbps={rate}")
    })
}

/// Writes a line for each disk, or, where the limit ends, for each disk that has one.
fn write(file: &Path, rate: Option<u64>, words: &dyn Fn(Option<u64>) -> String) -> Result<(), Error> {
    let disks = match rate {
        Some(0) => return Err(Error::BadLimit { what: "the rate of disks", value: "0 bytes/s".to_owned() }),
        Some(_) => disks(Path::new(BLOCKS))?,
        None => limited(file)?,
    };
    for disk in disks {
        let written = files::write(file, &format!("{disk} {}", words(rate)));
        // A loop device may have been removed meanwhile.
        if written.is_err() && self::disks(Path::new(BLOCKS))?.contains(&disk) {
            return written;
        }
    }
    Ok(())
}

/// Numbers of the disks of this machine, such as `254:0`.
fn disks(blocks: &Path) -> Result<Vec<String>, Error> {
    let failed = |source| Error::Read { path: blocks.to_owned(), source };
    let mut disks = Vec::new();
    for entry in fs::read_dir(blocks).map_err(failed)? {
        // Paths of disks with several paths have no number.
        if let Ok(number) = files::read(&entry.map_err(failed)?.path().join("dev")) {
            disks.push(number);
        }
    }
    disks.sort_unstable();
    Ok(disks)
}

/// Numbers of the disks with a limit. Without the file the kernel has no such limits.
fn limited(file: &Path) -> Result<Vec<String>, Error> {
    if !file.exists() {
        return Ok(Vec::new());
    }
    let text = files::read(file)?;
    Ok(text.lines().filter_map(|line| line.split_ascii_whitespace().next()).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    #[test]
    fn disks_are_known_by_their_numbers() {
        let dir = TempDir::new().unwrap();
        for (name, number) in [("vda", Some("254:0\n")), ("loop0", Some("7:0\n")), ("nvme0c0n1", None)] {
            fs::create_dir(dir.path().join(name)).unwrap();
            if let Some(number) = number {
                fs::write(dir.path().join(name).join("dev"), number).unwrap();
            }
        }
        assert_eq!(disks(dir.path()).unwrap(), ["254:0", "7:0"]);
        let error = disks(&dir.path().join("none")).unwrap_err();
        assert!(error.to_string().starts_with("read `"), "{error}");
    }

    /// A plain file keeps the last line that was written.
    #[test]
    #[expect(clippy::print_stdout, reason = "a skipped test says why")]
    fn each_version_is_told_the_rate_in_its_own_words() {
        let dir = TempDir::new().unwrap();
        let of = |file: &str| fs::read_to_string(dir.path().join(file)).unwrap();
        for file in ["blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device", "io.max"] {
            fs::write(dir.path().join(file), "").unwrap();
        }
        if disks(Path::new(BLOCKS)).unwrap_or_default().is_empty() {
            println!("skipped: this machine has no disk");
            return;
        }
        write_version_1(dir.path(), Some(500_000)).unwrap();
        write_version_2(dir.path(), Some(500_000)).unwrap();
        let read = of("blkio.throttle.read_bps_device");
        assert!(
            read.split_once(' ').is_some_and(|(disk, rest)| disk.contains(':') && rest.starts_with("500000"))
        );
        assert_eq!(read, of("blkio.throttle.write_bps_device"));
        assert!(of("io.max").contains(" rbps=500000 wbps=500000"), "{}", of("io.max"));
    }

    #[test]
    fn without_a_limit_only_disks_that_have_one_are_written() {
        let dir = TempDir::new().unwrap();
        write_version_1(dir.path(), None).unwrap();
        write_version_2(dir.path(), None).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "no file is made");
        let file = dir.path().join("io.max");
        fs::write(&file, "").unwrap();
        write_version_2(dir.path(), None).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "");
        fs::write(&file, "254:0 rbps=1 wbps=1\n").unwrap();
        write_version_2(dir.path(), None).unwrap();
        assert!(fs::read_to_string(&file).unwrap().starts_with("254:0 rbps=max wbps=max"));
    }

    #[test]
    fn a_rate_of_nothing_is_refused() {
        let dir = TempDir::new().unwrap();
        let error = write_version_2(dir.path(), Some(0)).unwrap_err();
        assert_eq!(error.to_string(), "limit the rate of disks to 0 bytes/s");
    }
}
