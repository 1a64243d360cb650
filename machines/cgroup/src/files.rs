//! Reading and writing the small files of a control group, and waiting for the kernel.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::thread::nanosleep;
use rustix::time::Timespec;

use crate::Error;

/// Interval between polls for a change of a group.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Writes one value. Never creates a file, as the kernel creates all of them.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Error> {
    let failed = |source| Error::Write { path: path.to_owned(), text: text.to_owned(), source };
    let mut file = fs::OpenOptions::new().write(true).open(path).map_err(failed)?;
    std::io::Write::write_all(&mut file, text.as_bytes()).map_err(failed)
}

/// Reads a file without its last line end.
pub(crate) fn read(path: &Path) -> Result<String, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    Ok(text.trim_end().to_owned())
}

/// Polls until `done` returns true, for about `within`. Returns whether it did.
pub(crate) fn until(within: Duration, mut done: impl FnMut() -> Result<bool, Error>) -> Result<bool, Error> {
    for _ in 0..within.as_nanos() / LOOK_EVERY.as_nanos() {
        if done()? {
            return Ok(true);
        }
        if let Ok(wait) = Timespec::try_from(LOOK_EVERY) {
            // A signal may cut one wait short, which does little harm.
            let _ = nanosleep(&wait);
        }
    }
    done()
}
