//! A shell that ends a service and removes its folder after the end of the test's process.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Waits for a word, or for the end of the process that would send it. Without a word it kills all processes
/// with the folder in their environment, the mark of the platform; namespaces of processes end with their
/// first one.
const SHELL: &str = r#"
read -r word && exit 0
for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    for file in $(grep -lsF -- "$1" /proc/[0-9]*/environ); do
        pid=${file#/proc/}; kill -9 "${pid%/environ}"
    done
    rm -rf -- "$1" && [ -z "$(grep -lsF -- "$1" /proc/[0-9]*/environ)" ] && exit 0
    sleep 0.2
done
"#;

/// The shell. It does nothing if this is dropped in order.
pub(crate) struct Guard(Child);

impl Guard {
    pub(crate) fn of(folder: &Path) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SHELL, "sh"]).arg(folder).stdin(Stdio::piped());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        // A key that interrupts the test must not end the shell.
        command.process_group(0).spawn().map(Guard)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(mut shell) = self.0.stdin.take() {
            // It fails only if the shell was killed.
            let _ = shell.write_all(b"done\n");
        }
        let _ = self.0.wait();
    }
}
