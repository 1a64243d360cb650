//! Mounts and unmounting.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use barograph_cgroup::unescape;
use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use tokio::time::{sleep, timeout};

/// Time after which a busy file system is detached: it is removed with its last user.
const BUSY_WAIT: Duration = Duration::from_secs(5);

/// Interval between attempts until then.
const TRY_EVERY: Duration = Duration::from_millis(20);

/// Unmounts the file system at `path`; returns whether there was one.
pub(crate) async fn unmount(path: &Path) -> io::Result<bool> {
    let orderly = async {
        loop {
            match try_unmount(path, UnmountFlags::empty()) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => sleep(TRY_EVERY).await,
                done => return done,
            }
        }
    };
    match timeout(BUSY_WAIT, orderly).await {
        Ok(done) => done,
        Err(_) => try_unmount(path, UnmountFlags::DETACH),
    }
}

fn try_unmount(path: &Path, flags: UnmountFlags) -> io::Result<bool> {
    // Checked first: a user who may not unmount is refused even if nothing is mounted.
    if !is_mounted(path)? {
        return Ok(false);
    }
    match rustix::mount::unmount(path, flags) {
        Ok(()) => Ok(true),
        Err(Errno::INVAL | Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn is_mounted(path: &Path) -> io::Result<bool> {
    let text = fs::read_to_string("/proc/self/mountinfo")?;
    Ok(places(&text).any(|place| place == path))
}

/// Returns the mount points in a text of the kernel: the fifth word of each line.
fn places(mountinfo: &str) -> impl Iterator<Item = PathBuf> {
    mountinfo.lines().filter_map(|line| line.split(' ').nth(4)).map(unescape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_with_their_blanks() {
        let text =
            "36 25 0:32 / /a\\040b rw - tmpfs x rw\n37 25 7:0 / /c\\134d\\ rw - ext4 /dev/loop0 rw\nbroken\n";
        let found: Vec<PathBuf> = places(text).collect();
        assert_eq!(found, ["/a b", "/c\\d\\"].map(PathBuf::from));
    }

    #[tokio::test]
    async fn what_is_not_mounted_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!unmount(dir.path()).await.unwrap());
        assert!(!unmount(&dir.path().join("absent")).await.unwrap());
        assert!(is_mounted(Path::new("/proc")).unwrap());
    }
}
