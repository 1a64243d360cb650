//! Where programs of services are found, and what to install when they are not.

use std::env;
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Folders of programs besides those of `PATH`, which leaves out some of these for users other than root.
const FOLDERS: &[&str] = &["/usr/local/bin", "/usr/bin", "/usr/local/sbin", "/usr/sbin"];

/// Debian keeps PostgreSQL below this folder, one folder for each version.
const POSTGRES: &str = "/usr/lib/postgresql";

/// A service cannot run here, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    what: String,
    remedy: &'static str,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.what, self.remedy)
    }
}

impl std::error::Error for Missing {}

/// The file of a program, in `PATH` or in the usual folders.
pub(super) fn program(name: &str, remedy: &'static str) -> Result<PathBuf, Missing> {
    let path = setting("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(FOLDERS.iter().map(PathBuf::from))
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
        .ok_or_else(|| Missing { what: format!("no {name} on this machine"), remedy })
}

/// RabbitMQ's server. Not the program of this name in the path, which changes the user and needs an account for it.
pub(super) fn of_rabbitmq() -> Result<PathBuf, Missing> {
    let file = PathBuf::from("/usr/lib/rabbitmq/bin/rabbitmq-server");
    let missing = || Missing {
        what: format!("no {} on this machine", file.display()),
        remedy: "apt-get install -y rabbitmq-server",
    };
    if file.is_file() { Ok(file) } else { Err(missing()) }
}

/// A program of PostgreSQL, of the newest version that is installed.
pub(super) fn of_postgres(name: &str) -> Result<PathBuf, Missing> {
    let versions = fs::read_dir(POSTGRES).into_iter().flatten().flatten().map(|entry| entry.path());
    let newest = versions
        .filter(|folder| folder.join("bin").join(name).is_file())
        .max_by_key(|folder| folder.file_name().and_then(|n| n.to_str()?.parse::<u32>().ok()));
    match newest {
        Some(folder) => Ok(folder.join("bin").join(name)),
        None => program(name, "apt-get install -y postgresql"),
    }
}

/// How programs come about that are built from their Go modules.
const BUILT: &str = "cargo xtask test builds it when `go` is installed";

/// FerretDB, which is in no package: `cargo xtask test` builds it.
pub(super) fn of_ferretdb() -> Result<PathBuf, Missing> {
    let built = target().join("tools/ferretdb");
    let told = setting("BAROGRAPH_FERRETDB").map(PathBuf::from);
    match told.into_iter().chain([built]).find(|file| file.is_file()) {
        Some(file) => Ok(file),
        None => program("ferretdb", BUILT),
    }
}

/// VictoriaMetrics, whose package is older than what it is used for: `cargo xtask test` builds it.
pub(super) fn of_victoria() -> Result<PathBuf, Missing> {
    let built = target().join("tools/victoria-metrics");
    let missing = || Missing { what: format!("no {} on this machine", built.display()), remedy: BUILT };
    if built.is_file() { Ok(built) } else { Err(missing()) }
}

/// Tells whether services can be started here at all: `unshare` is needed, and the right to use it.
pub(super) fn namespaces() -> Result<PathBuf, Missing> {
    static FOUND: OnceLock<Result<PathBuf, Missing>> = OnceLock::new();
    let look = || {
        let unshare = program("unshare", "apt-get install -y util-linux")?;
        let tried = Command::new(&unshare).args(user_flags(User::Own)).args(FLAGS).arg("true").output();
        match tried {
            Ok(output) if output.status.success() => Ok(unshare),
            _ => {
                let what = "no process namespaces for this user".to_owned();
                Err(Missing { what, remedy: "run as root, or allow user namespaces" })
            }
        }
    };
    FOUND.get_or_init(look).clone()
}

/// A namespace of processes that dies as a whole, and one of shared memory, which would outlive a killed PostgreSQL.
pub(super) const FLAGS: &[&str] = &["--pid", "--ipc", "--fork", "--kill-child=KILL"];

/// Who a service believes to be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum User {
    /// The user of this process.
    Own,
    /// Anybody but root: PostgreSQL refuses to run as root. Its files still belong to the user of this process.
    NotRoot,
}

/// What `unshare` needs to run something as that user. Namespaces are root's, and others' in a namespace of users.
pub(super) fn user_flags(user: User) -> Vec<String> {
    let (uid, gid) = ids();
    match (user, uid) {
        (User::Own, 0) => Vec::new(),
        (User::NotRoot, 0) => ["--user", "--map-user=1000", "--map-group=1000"].map(str::to_owned).to_vec(),
        _ => vec!["--user".to_owned(), format!("--map-user={uid}"), format!("--map-group={gid}")],
    }
}

/// Whether this process runs as root.
pub(super) fn is_root() -> bool {
    ids().0 == 0
}

/// The user and group of this process: those of its files in /proc.
fn ids() -> (u32, u32) {
    fs::metadata("/proc/self").map_or((0, 0), |facts| (facts.uid(), facts.gid()))
}

/// The folder `target` of the workspace.
pub(super) fn target() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target")
}

#[expect(clippy::disallowed_methods, reason = "where programs are is a matter of the machine, not of a plan")]
fn setting(name: &str) -> Option<std::ffi::OsString> {
    env::var_os(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_says_how_to_get_it() {
        assert!(program("sh", "?").is_ok());
        let missing = program("no-such-program", "apt-get install -y nothing").unwrap_err();
        assert_eq!(missing.to_string(), "no no-such-program on this machine (apt-get install -y nothing)");
    }
}
