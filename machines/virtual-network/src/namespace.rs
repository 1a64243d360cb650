//! Named network namespaces: their paths, work inside of them, and removal.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::PathBuf;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::SwitchError;
use crate::ip::{Batch, tool};

/// Folder in which `ip netns` keeps names.
const FOLDER: &str = "/run/netns";

/// Returns the file of a namespace.
pub(crate) fn path(namespace: &str) -> PathBuf {
    PathBuf::from(FOLDER).join(namespace)
}

/// Whether a namespace of this name exists.
pub(crate) fn exists(namespace: &str) -> bool {
    path(namespace).symlink_metadata().is_ok()
}

/// Returns the words that run a command in a namespace. `ip netns exec` is not used, as it mounts another
/// `/sys` over the machine's, which hides control groups.
#[must_use]
pub fn enter(namespace: &str) -> Vec<String> {
    vec![
        tool("nsenter").to_string_lossy().into_owned(),
        format!("--net={}", path(namespace).display()),
        "--".to_owned(),
    ]
}

/// Runs `work` on a thread inside a namespace and waits for it: this blocks. Sockets created there belong to
/// the namespace wherever they are used.
pub fn inside<T: Send + 'static>(
    namespace: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, SwitchError> {
    let failed = |source| SwitchError::Enter { namespace: namespace.to_owned(), source };
    let file = File::open(path(namespace)).map_err(failed)?;
    let entered = move || -> std::io::Result<T> {
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
        Ok(work())
    };
    let thread =
        std::thread::Builder::new().name("in-namespace".to_owned()).spawn(entered).map_err(failed)?;
    match thread.join() {
        Ok(done) => done.map_err(failed),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Removes the name of a namespace, and with it the namespace, at once or when its last process has ended.
/// Returns whether it existed.
pub(crate) fn remove(namespace: &str) -> Result<bool, SwitchError> {
    if !exists(namespace) {
        return Ok(false);
    }
    let removed = Batch::here().then(&format!("netns del {namespace}")).run();
    // A driver killed between creating the file and mounting the namespace on it leaves a plain file behind,
    // which `ip` removes with a complaint.
    if exists(namespace) { removed.map(|()| true) } else { Ok(true) }
}
