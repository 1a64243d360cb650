//! Network namespaces by name: where they are, how to work inside one, how to remove one.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::PathBuf;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::SwitchError;
use crate::ip::{Batch, tool};

/// Where `ip netns` keeps names.
const FOLDER: &str = "/run/netns";

/// The file that stands for a namespace.
pub(crate) fn path(namespace: &str) -> PathBuf {
    PathBuf::from(FOLDER).join(namespace)
}

/// Whether there is a namespace of this name.
pub(crate) fn exists(namespace: &str) -> bool {
    path(namespace).symlink_metadata().is_ok()
}

/// The words before a command that make it run in a namespace. Not `ip netns exec`: that mounts another `/sys` over the
/// machine's, and control groups are hidden.
#[must_use]
pub fn enter(namespace: &str) -> Vec<String> {
    vec![
        tool("nsenter").to_string_lossy().into_owned(),
        format!("--net={}", path(namespace).display()),
        "--".to_owned(),
    ]
}

/// Does `work` on a thread of its own inside a namespace, and waits for it: this blocks. Sockets that it makes belong to
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

/// Removes the name of a namespace, and with it the namespace, at once or when the last process in it has ended. Says
/// whether there was one.
pub(crate) fn remove(namespace: &str) -> Result<bool, SwitchError> {
    if !exists(namespace) {
        return Ok(false);
    }
    let removed = Batch::here().then(&format!("netns del {namespace}")).run();
    // A driver killed between making the file and mounting the namespace on it leaves a plain file behind, which
    // `ip` removes with a complaint.
    if exists(namespace) { removed.map(|()| true) } else { Ok(true) }
}
