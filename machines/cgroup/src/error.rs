//! Errors of control groups.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Reason why no control group can be created here, with a remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnavailableReason {
    /// `/proc` could not be read.
    #[error("`{}` cannot be read: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the kernel.
        reason: String,
    },
    /// No control group file system is mounted.
    #[error("no control groups are mounted; `mount -t cgroup2 none /sys/fs/cgroup` mounts them")]
    NotMounted,
    /// They are mounted, but belong to another user or are read-only.
    #[error(
        "no group below `{}` may be written; run as root, or under `systemd-run --user --scope -p Delegate=yes`",
        mount.display()
    )]
    NotWritable {
        /// Mount point.
        mount: PathBuf,
    },
}

/// A failure to create, change or remove a control group.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A group could not be created.
    #[error("make control group `{}`", path.display())]
    Make {
        /// Its folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A file of a group could not be written.
    #[error("write `{text}` to `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The text to be written.
        text: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A file of a group could not be read.
    #[error("read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A limit needs a controller that cannot be used here.
    #[error("limit {what}: this machine's control groups do not offer controller `{controller}` to us")]
    NoController {
        /// Name of the limit.
        what: &'static str,
        /// The controller.
        controller: &'static str,
    },
    /// A limit is invalid.
    #[error("limit {what} to {value}")]
    BadLimit {
        /// Name of the limit.
        what: &'static str,
        /// The value.
        value: String,
    },
    /// A process could not be killed.
    #[error("kill process {pid} of control group `{}`", path.display())]
    Kill {
        /// Folder of the group.
        path: PathBuf,
        /// The process.
        pid: u32,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A group could not be removed.
    #[error("remove control group `{}`", path.display())]
    Remove {
        /// Its folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A change did not take effect in time.
    #[error("{act} control group `{}`: not done within {within:?}", path.display())]
    Late {
        /// The attempted change.
        act: &'static str,
        /// Folder of the group.
        path: PathBuf,
        /// Length of the wait.
        within: Duration,
    },
}
