//! Programs other than services of the product.

use std::env;
use std::path::{Path, PathBuf};

use barograph_platform::MissingRequirement;

/// Folders of programs besides those of `PATH`, which lacks some of these for users other than root.
const FOLDERS: &[&str] = &["/usr/local/bin", "/usr/bin", "/usr/local/sbin", "/usr/sbin"];

/// The file of a program, in `PATH` or in the usual folders.
pub(crate) fn program(name: &str, hint: &str) -> Result<PathBuf, MissingRequirement> {
    let path = search_path();
    let folders = env::split_paths(&path).chain(FOLDERS.iter().map(PathBuf::from));
    let missing = || MissingRequirement { what: format!("no {name} on this machine"), hint: hint.to_owned() };
    folders.map(|folder| folder.join(name)).find(|file| file.is_file()).ok_or_else(missing)
}

/// A program that `cargo xtask tools` builds from its Go modules.
pub(crate) fn built(name: &str) -> Result<PathBuf, MissingRequirement> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools").join(name);
    let hint = "cargo xtask tools builds it when `go` is installed".to_owned();
    let missing = || MissingRequirement { what: format!("no {} on this machine", file.display()), hint };
    if file.is_file() { Ok(file) } else { Err(missing()) }
}

#[expect(clippy::disallowed_methods, reason = "where programs are is a matter of the machine, not of a plan")]
fn search_path() -> std::ffi::OsString {
    env::var_os("PATH").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_says_how_to_get_it() {
        assert!(program("sh", "").is_ok());
        let missing = program("no-such-program", "apt-get install -y nothing").unwrap_err();
        assert_eq!(missing.to_string(), "no no-such-program on this machine; apt-get install -y nothing");
    }
}
