//! Switches without root: the whole program starts again inside a user namespace, in which it may create
//! networks.
//!
//! There it is root over a network of its own, and over `/run` with the names of namespaces. It does not see
//! the machine's network, and its leftovers disappear with its last process.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::ip::tool;

/// Preparation inside, before the program starts: `ip netns` needs a writable `/run`, and services on this
/// machine need its loopback device.
const PREPARE: &str = r#"mount -t tmpfs -o mode=755 tmpfs /run && "$0" link set lo up && exec "$@""#;

/// Whether this process may not create networks, and must be started again by [`command`].
#[must_use]
pub fn needed() -> bool {
    !rustix::process::geteuid().is_root()
}

/// Whether this user can create the namespace of [`command`], by trying.
#[must_use]
pub fn possible() -> bool {
    let mut command = command(&tool("true"), &[]);
    let tried = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}

/// Returns the command that runs `program` with `args` inside a user namespace of its own. It is replaced by
/// the program, so signals and the exit code are the program's.
#[must_use]
pub fn command(program: &Path, args: &[String]) -> Command {
    let mut command = Command::new(tool("unshare"));
    command
        .args(["--user", "--map-root-user", "--net", "--mount", "--", "/bin/sh", "-c", PREPARE])
        .arg(tool("ip"))
        .arg(program)
        .args(args);
    command
}
