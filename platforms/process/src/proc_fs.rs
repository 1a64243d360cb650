//! What `/proc` says about a process: whose child it is, where it lives, and whether it carries a mark of ours.

use std::fs;
use std::path::{Path, PathBuf};

use barograph_platform::{MARK, ProcessId};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// All living processes that carry `mark`, this one apart.
pub(crate) fn marked(mark: &str) -> Vec<u32> {
    let wanted = format!("{MARK}={mark}");
    let carries = |pid: &u32| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|b| *b == 0).any(|variable| variable == wanted.as_bytes())
    };
    numbers().into_iter().filter(carries).filter(|&pid| ProcessId::of(pid).is_some()).collect()
}

/// The numbers of all processes, this one apart.
fn numbers() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter(|&pid| pid != std::process::id()).collect()
}

/// The children of a process that its first thread started.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect()
}

/// The name of the namespace of processes in which `pid` lives; an ended process has none.
pub(crate) fn namespace(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/pid")).ok()
}

/// The same for its children, when they live in one of their own.
pub(crate) fn namespace_of_children(pid: u32) -> Option<PathBuf> {
    let inner = fs::read_link(format!("/proc/{pid}/ns/pid_for_children")).ok()?;
    (namespace(pid)? != inner).then_some(inner)
}

/// All living processes of a namespace.
pub(crate) fn in_namespace(name: &Path) -> Vec<u32> {
    let inside = |pid: &u32| namespace(*pid).as_deref() == Some(name) && ProcessId::of(*pid).is_some();
    numbers().into_iter().filter(inside).collect()
}

/// The words of the command that a process runs; none for an ended process.
pub(crate) fn command_line(pid: u32) -> Vec<Vec<u8>> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
    if bytes.is_empty() { Vec::new() } else { bytes.split(|b| *b == 0).map(<[u8]>::to_vec).collect() }
}

/// Signals the process group that `pid` leads. A group that is gone is fine.
pub(crate) fn signal_group(pid: u32, signal: Signal) -> std::io::Result<()> {
    forgive_gone(raw(pid).map_or(Err(Errno::SRCH), |pid| kill_process_group(pid, signal)))
}

/// Signals one process. One that is gone is fine.
pub(crate) fn signal_one(pid: u32, signal: Signal) -> std::io::Result<()> {
    forgive_gone(raw(pid).map_or(Err(Errno::SRCH), |pid| kill_process(pid, signal)))
}

/// Numbers 0 and 1 are never ours: 0 would be our own group, and as a group 1 would be everybody.
fn raw(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok().filter(|&n| n > 1)?)
}

fn forgive_gone(result: Result<(), Errno>) -> std::io::Result<()> {
    match result {
        Err(Errno::SRCH) => Ok(()),
        other => other.map_err(Into::into),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_never_signal_everybody() {
        assert_eq!((raw(0), raw(1), raw(u32::MAX)), (None, None, None));
        signal_group(0, Signal::KILL).unwrap();
    }
}
