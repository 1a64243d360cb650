//! Runs `ip` and `tc`, with many commands per process.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::SwitchError;

/// Folders of system tools. PATH is not used, as it often lacks the `sbin` folders for users other than root.
const FOLDERS: [&str; 6] = ["/usr/sbin", "/sbin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/local/bin"];

/// Returns the path of a tool; its bare name if it is not found, so that the error of starting it names it.
pub(crate) fn tool(name: &str) -> PathBuf {
    found(name).unwrap_or_else(|| PathBuf::from(name))
}

/// Returns the path of a tool.
pub(crate) fn found(name: &str) -> Option<PathBuf> {
    FOLDERS.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}

/// Commands for one tool in one namespace, executed in order by one process. It stops at the first failure.
pub(crate) struct Batch {
    tool: &'static str,
    namespace: Option<String>,
    text: String,
}

impl Batch {
    /// Starts a batch of `ip` commands in the namespace of this process.
    pub(crate) fn here() -> Self {
        Batch { tool: "ip", namespace: None, text: String::new() }
    }

    /// Starts a batch of `ip` commands in another namespace.
    pub(crate) fn ip(namespace: &str) -> Self {
        Batch { tool: "ip", namespace: Some(namespace.to_owned()), text: String::new() }
    }

    /// Starts a batch of `tc` commands in another namespace.
    pub(crate) fn tc(namespace: &str) -> Self {
        Batch { tool: "tc", namespace: Some(namespace.to_owned()), text: String::new() }
    }

    /// Adds a command, without the tool's name.
    pub(crate) fn then(mut self, command: &str) -> Self {
        self.text.push_str(command);
        self.text.push('\n');
        self
    }

    /// Executes the commands.
    pub(crate) fn run(self) -> Result<(), SwitchError> {
        if self.text.is_empty() {
            return Ok(());
        }
        let mut words: Vec<OsString> = Vec::new();
        if let Some(namespace) = &self.namespace {
            words.extend(["-n".into(), namespace.into()]);
        }
        words.extend(["-batch".into(), "-".into()]);
        let said = run(&tool(self.tool), &words, &self.text, at_work().map_or(Stdio::null(), Stdio::from))?;
        if said.success {
            return Ok(());
        }
        let failed = failed_line(&said.errors).and_then(|line| self.text.lines().nth(line - 1));
        let first = failed.or_else(|| self.text.lines().next()).unwrap_or_default();
        let place = self.namespace.map(|n| format!(" -n {n}")).unwrap_or_default();
        Err(SwitchError::Refused {
            command: format!("{}{place} {first}", self.tool),
            says: said.errors.lines().next().unwrap_or("it did not say why").to_owned(),
        })
    }
}

/// Parses `Command failed -:3`.
fn failed_line(errors: &str) -> Option<usize> {
    errors.lines().find_map(|line| line.strip_prefix("Command failed -:")?.trim().parse().ok())
}

/// Output of a tool.
struct ToolOutput {
    success: bool,
    output: String,
    errors: String,
}

/// File locked by every tool that creates or changes something, while it runs.
const WORK: &str = "/run/barograph-virtual-network.work";

/// Opens the stdout of a tool that changes something: a file that is locked until the tool has ended, even if
/// the driver is killed meanwhile. A sweep waits for that, as a tool could otherwise create things that the
/// sweep has just looked for. A user who cannot write the file cannot create namespaces either.
fn at_work() -> Option<File> {
    let file = OpenOptions::new().create(true).append(true).open(WORK).ok()?;
    file.lock_shared().ok()?;
    Some(file)
}

/// Waits until no tool of any switch runs, for a few milliseconds. None starts as long as the returned file
/// lives.
pub(crate) fn no_work() -> Option<File> {
    let file = OpenOptions::new().create(true).append(true).open(WORK).ok()?;
    file.lock().ok()?;
    Some(file)
}

/// Runs a tool to its end.
fn run(program: &Path, words: &[OsString], input: &str, output: Stdio) -> Result<ToolOutput, SwitchError> {
    let failed = |source| SwitchError::Run { program: program.to_owned(), source };
    let mut child = Command::new(program)
        .args(words)
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(output)
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    // The pipe is larger than any batch and closed after it; a tool that ended early reports the cause
    // itself.
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(failed)?;
    Ok(ToolOutput {
        success: output.status.success(),
        output: String::from_utf8_lossy(&output.stdout).into_owned(),
        errors: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Runs `ip` with these words and returns its output.
pub(crate) fn ask(words: &[&str]) -> Result<String, SwitchError> {
    let list: Vec<OsString> = words.iter().map(OsString::from).collect();
    let said = run(&tool("ip"), &list, "", Stdio::piped())?;
    if said.success {
        Ok(said.output)
    } else {
        Err(SwitchError::Refused { command: format!("ip {}", words.join(" ")), says: said.errors })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failed_line_is_found() {
        assert_eq!(failed_line("Error: Unknown device type.\nCommand failed -:7\n"), Some(7));
        assert_eq!(failed_line("Object \"x\" is unknown"), None);
    }

    #[test]
    fn a_refusal_names_the_command_and_the_reason() {
        let error = Batch::here().then("link show lo").then("link show no-such-device").run().unwrap_err();
        let text = error.to_string();
        assert!(text.contains("ip link show no-such-device") && text.contains("does not exist"), "{text}");
    }
}
