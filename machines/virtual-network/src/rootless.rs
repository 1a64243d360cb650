//! Switches without root: the whole program starts again inside a user namespace, in which it may make networks.
//!
//! There it is root over a network of its own, and over `/run`, where names of namespaces lie: it does not see the
//! machine's network, and what is left of its own goes with its last process.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::ip::tool;

/// What is done inside before the program starts: `ip netns` needs a `/run` to write to, and services on this machine
/// need its loopback device.
const PREPARE: &str = r#"mount -t tmpfs -o mode=755 tmpfs /run && "$0" link set lo up && exec "$@""#;

/// Whether this process may not make networks, and must be started again by [`command`].
#[must_use]
pub fn needed() -> bool {
    !rustix::process::geteuid().is_root()
}

/// Whether the namespace of [`command`] may be made by this user: it is tried.
#[must_use]
pub fn possible() -> bool {
    let mut command = command(&tool("true"), &[]);
    let tried = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}

/// The command that runs `program` with `args` inside a user namespace of its own. It replaces itself by the program, so
/// signals and the exit code are the program's.
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
