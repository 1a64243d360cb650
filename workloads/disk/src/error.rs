//! Errors of disk loads.

use std::io;
use std::path::{Path, PathBuf};

use barograph_nbd::{AddressError, NbdError};
use barograph_ring::RingError;

/// An error of a disk load.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DiskError {
    /// The target must not be written to.
    #[error("write to `{}`, which {why}", path.display())]
    NotOurs {
        /// The target.
        path: PathBuf,
        /// The reason, as a clause after `which`.
        why: String,
    },
    /// The target cannot be loaded as the plan says.
    #[error("load `{}`, which {why}", path.display())]
    Unfit {
        /// The target.
        path: PathBuf,
        /// The reason, as a clause after `which`.
        why: String,
    },
    /// Another run uses the target.
    #[error("use `{}`, which another load or run uses now", path.display())]
    InUse {
        /// The target.
        path: PathBuf,
    },
    /// The system does not grant direct access.
    #[error("load `{}` directly: {why}", path.display())]
    NotDirect {
        /// The target.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// Blocks do not suit direct access.
    #[error("load `{}` directly in blocks of {block} bytes: the system asks for multiples of {alignment}", path.display())]
    Misaligned {
        /// The target.
        path: PathBuf,
        /// Bytes of a block.
        block: u64,
        /// What the system asks for.
        alignment: u64,
    },
    /// There is no io_uring.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// The address of an export is wrong.
    #[error("load `{url}`: {why}")]
    Address {
        /// The address.
        url: String,
        /// The fault.
        why: AddressError,
    },
    /// The server of an export does not offer it.
    #[error("load `{url}`: {why}")]
    Server {
        /// Address of the export.
        url: String,
        /// The fault of the server, or of the way to it.
        why: NbdError,
    },
    /// The system refused.
    #[error("{what} `{}`", path.display())]
    File {
        /// What was attempted.
        what: &'static str,
        /// The target, or a folder.
        path: PathBuf,
        /// Why not.
        #[source]
        why: io::Error,
    },
    /// The run was stopped.
    #[error("fill a target in a run that was stopped")]
    Stopped,
}

impl DiskError {
    /// Makes an error of one of the system.
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |why| DiskError::File { what, path: path.to_owned(), why }
    }

    /// The key of the plan that is at fault, and the remedy; `None` for what the plan cannot mend.
    pub(crate) fn blame(&self) -> Option<(&'static str, &'static str)> {
        match self {
            DiskError::NotOurs { .. } => Some((
                "target.url",
                "name another file, remove this one if nothing needs it, or only read (disk.mix.Read = 1)",
            )),
            DiskError::Unfit { .. } | DiskError::InUse { .. } => Some(("target.url", "name another target")),
            DiskError::Address { .. } => Some(("target.url", "correct it")),
            DiskError::NotDirect { .. } => {
                Some(("disk.direct", "name a target on another file system, or set disk.direct = false"))
            }
            DiskError::Misaligned { .. } => Some(("disk.block", "name another size of blocks")),
            DiskError::Ring(RingError::SetUp { .. }) => {
                Some(("disk.engine", "set disk.engine = \"threads\", or allow io_uring"))
            }
            DiskError::Ring(_) => Some(("disk.engine", "raise the limit, or lower disk.block or the users")),
            DiskError::File { .. } | DiskError::Server { .. } | DiskError::Stopped => None,
        }
    }
}
