//! What can go wrong with control groups.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// No control group can be made here, and what a person can do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    /// `/proc` could not be read.
    #[error("`{}` cannot be read: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        reason: String,
    },
    /// No control group file system is mounted.
    #[error("no control groups are mounted; `mount -t cgroup2 none /sys/fs/cgroup` mounts them")]
    NotMounted,
    /// They are mounted and belong to somebody else, or may only be read.
    #[error(
        "no group below `{}` may be written; run as root, or under `systemd-run --user --scope -p Delegate=yes`",
        mount.display()
    )]
    NotWritable {
        /// Where they are mounted.
        mount: PathBuf,
    },
}

/// A control group could not be made, changed or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A group could not be made.
    #[error("make control group `{}`", path.display())]
    Make {
        /// Its folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file of a group could not be written.
    #[error("write `{text}` to `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What was to be written.
        text: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file of a group could not be read.
    #[error("read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A limit was asked for whose controller cannot be used here.
    #[error("limit {what}: this machine's control groups do not offer controller `{controller}` to us")]
    NoController {
        /// What was to be limited.
        what: &'static str,
        /// The controller.
        controller: &'static str,
    },
    /// A limit makes no sense.
    #[error("limit {what} to {value}")]
    BadLimit {
        /// What was to be limited.
        what: &'static str,
        /// The value.
        value: String,
    },
    /// A process could not be killed.
    #[error("kill process {pid} of control group `{}`", path.display())]
    Kill {
        /// The group.
        path: PathBuf,
        /// The process.
        pid: u32,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A group could not be removed.
    #[error("remove control group `{}`", path.display())]
    Remove {
        /// Its folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Something did not come to pass in time.
    #[error("{act} control group `{}`: not done within {within:?}", path.display())]
    Late {
        /// What was attempted.
        act: &'static str,
        /// The group.
        path: PathBuf,
        /// How long was waited.
        within: Duration,
    },
}
