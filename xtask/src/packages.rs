//! Debian packages that some tests need: installed when they are missing and this process may, else a stated skip.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use crate::say::say;

/// A package and the tests that need it.
struct Package {
    name: &'static str,
    /// A program it installs; the package is there when one of these folders holds it.
    program: &'static str,
    needed_by: &'static str,
}

const PACKAGES: &[Package] = &[
    Package { name: "chromium", program: "chromium", needed_by: "the test that opens a report in a browser" },
    Package {
        name: "nginx-light",
        program: "nginx",
        needed_by: "the tests of `barograph http` against nginx",
    },
];

const FOLDERS: &[&str] = &["/usr/local/bin", "/usr/bin", "/usr/sbin", "/bin", "/snap/bin"];

/// Installs what is missing. Returns how many packages are still missing, each of which was said with its command.
pub(crate) fn install_missing() -> u32 {
    let missing: Vec<&Package> = PACKAGES.iter().filter(|package| !present(package.program)).collect();
    if missing.is_empty() {
        return 0;
    }
    if is_root() {
        let mut command = Command::new("apt-get");
        command.args(["install", "-y", "--no-install-recommends"]).args(missing.iter().map(|p| p.name));
        // A failure shows in what is still missing below; nothing else depends on it.
        let updated = Command::new("apt-get").args(["-q", "update"]).status();
        let installed = command.env("DEBIAN_FRONTEND", "noninteractive").status();
        if let Err(error) = updated.and(installed) {
            say(&format!("apt-get did not run: {error}"));
        }
    }
    let still: Vec<&Package> = missing.into_iter().filter(|package| !present(package.program)).collect();
    for package in &still {
        say(&format!(
            "skipped: {} needs {}; install it with: apt-get install -y {}",
            package.needed_by, package.program, package.name
        ));
    }
    u32::try_from(still.len()).expect("the list is short")
}

fn present(program: &str) -> bool {
    FOLDERS.iter().any(|folder| Path::new(folder).join(program).is_file())
}

/// The files of a process in /proc belong to its user.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|facts| facts.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_looked_for_in_the_usual_folders() {
        assert!(present("sh"));
        assert!(!present("no-such-program-anywhere"));
    }
}
