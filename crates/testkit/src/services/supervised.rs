//! One run of a service: its processes, and a shell that kills them when the process of the test is gone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal};

use super::plan::Launch;
use super::programs::{FLAGS, User, user_flags};

/// Starts the service and waits for a word, or for the end of the process that would say it. Then it kills the first
/// process of the namespace, and with it all of them; `unshare`, whose child that is, ends after the last one. Without
/// a word nobody wants the folder any longer.
const SHELL: &str = r#"
folder=$1; shift
"$@" &
main=$!
exec >/dev/null 2>&1
read -r word; said=$?
read -r first < "/proc/$main/task/$main/children"
if [ -n "$first" ]; then kill -9 "$first"; else kill -9 "$main"; fi
wait "$main"
[ "$said" = 0 ] || rm -rf -- "$folder"
"#;

/// The first process of the namespace tells its number as others see it, which /proc knows, and becomes the service.
const FIRST: &str = r#"read -r pid rest </proc/self/stat; echo "$pid"; exec "$@" >&2"#;

/// Killed processes are gone within this; a database with much memory takes a while to give it back.
const END: Duration = Duration::from_secs(20);

/// Processes that run. They are killed when this is dropped.
pub(super) struct Supervised {
    shell: Child,
    shell_ends: OwnedFd,
    first: Pid,
    first_ends: OwnedFd,
}

impl Supervised {
    /// Starts it in `folder`, with its output at the end of the file `log` there. Fails also when it ends at once.
    pub(super) fn start(unshare: &Path, user: User, launch: &Launch, folder: &Path) -> io::Result<Self> {
        let log = OpenOptions::new().create(true).append(true).open(folder.join(LOG))?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SHELL, "sh"]).arg(folder).arg(unshare).args(user_flags(user)).args(FLAGS);
        command.args(["/bin/sh", "-c", FIRST, "sh"]).arg(&launch.program).args(&launch.arguments);
        command.envs(launch.environment.iter().map(|(name, value)| (name, value))).current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        // A key that interrupts the test ends the test; the shell sees that, and can still clean up.
        let mut shell = command.process_group(0).spawn()?;
        let said = BufReader::new(shell.stdout.take().expect("it is piped")).lines().next();
        let first = said.and_then(|line| line.ok()?.parse::<i32>().ok()).and_then(Pid::from_raw);
        let opened = first.map(|first| Ok::<_, io::Error>((first, watch(first)?)));
        let Some(Ok((first, first_ends))) = opened else {
            drop(shell.stdin.take());
            shell.wait()?;
            return Err(io::Error::other("it ended at once"));
        };
        Ok(Supervised { shell_ends: watch(Pid::from_child(&shell))?, shell, first, first_ends })
    }

    /// The process that was started first.
    pub(super) fn pid(&self) -> u32 {
        u32::try_from(self.first.as_raw_nonzero().get()).expect("numbers of processes are positive")
    }

    /// All processes of the service.
    pub(super) fn pids(&self) -> Vec<u32> {
        let Some(namespace) = namespace(self.pid()) else { return Vec::new() };
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        numbers.filter(|&pid| self::namespace(pid).as_ref() == Some(&namespace)).collect()
    }

    /// Waits for the end of the first process, so long at most. Tells whether it came.
    pub(super) fn ends_within(&self, time: Duration) -> bool {
        ends_within(&self.first_ends, time)
    }

    /// Kills all processes and returns when they are gone. The folder stays.
    pub(super) fn kill(mut self) {
        if let Some(mut shell) = self.shell.stdin.take() {
            // It fails only when somebody killed the shell; the signal below then does all there is to do.
            let _ = shell.write_all(b"keep\n");
        }
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        // It fails when the process is gone already.
        let _ = rustix::process::pidfd_send_signal(&self.first_ends, Signal::KILL);
        drop(self.shell.stdin.take());
        if ends_within(&self.shell_ends, END) {
            // It ended, so this takes no time; it leaves no dead entry behind.
            let _ = self.shell.wait();
        }
    }
}

/// The name of the file that takes what the service writes.
pub(super) const LOG: &str = "log";

/// The lines at the end of a log.
pub(super) fn tail(folder: &Path) -> String {
    /// Enough for the reason of a failed start, and not a screen too many.
    const LINES: usize = 40;
    let whole = File::open(folder.join(LOG)).and_then(io::read_to_string).unwrap_or_default();
    let lines: Vec<&str> = whole.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

/// The namespace of a process; `None` when it is gone, or dead and not yet buried.
fn namespace(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/pid")).ok()
}

fn watch(pid: Pid) -> io::Result<OwnedFd> {
    Ok(rustix::process::pidfd_open(pid, PidfdFlags::empty())?)
}

fn ends_within(process: &OwnedFd, time: Duration) -> bool {
    let time = Timespec::try_from(time).expect("waits here are short");
    let ended = rustix::event::poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&time));
    ended.is_ok_and(|ended| ended > 0)
}
