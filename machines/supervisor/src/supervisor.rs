//! The supervisor of a command: a process between the driver and the command.
//!
//! It exists for three reasons. The account of its children is that of the command alone. The peak memory of a process includes
//! that of the process that started it, and this one is small. It is the parent of all descendants of the command whose own
//! parents have ended, so it can end them, and it does so when the driver is gone.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, ioctl_fionbio, retry_on_intr};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getgid, getpid, kill_process, kill_process_group, pidfd_open,
    set_child_subreaper, wait,
};

use crate::report::{End, Report};
use crate::usage::Usage;

/// Bytes of output that are kept: the last ones.
const MOST_OUTPUT: usize = 64 * 1024;

/// Supervises one command: writes an empty line to standard output when it is ready, starts the command at the first byte on
/// standard input, and writes a report to standard output when it has ended. The end of standard input ends the command with all its descendants.
///
/// # Errors
/// Failing calls of the system.
pub fn supervise(words: &[String]) -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    say("")?;
    if io::stdin().read(&mut [0])? == 0 {
        return Ok(());
    }
    let report = match RunningCommand::start(words) {
        Err(why) => Some(Report {
            end: End::NotStarted(why.to_string()),
            elapsed_us: 0,
            usage: Usage::default(),
            output: String::new(),
            output_bytes: 0,
            left_behind: 0,
        }),
        Ok(running) => running.follow(&io::stdin())?,
    };
    let Some(report) = report else { return Ok(()) };
    say(&serde_json::to_string(&report)?)
}

/// Writes a line for the driver.
fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout();
    out.write_all(line.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// A running command.
struct RunningCommand {
    child: Child,
    begun: Instant,
    /// Readable when the command has ended.
    ended: OwnedFd,
    output: io::PipeReader,
    kept: Vec<u8>,
    output_bytes: u64,
}

impl RunningCommand {
    /// Starts a command as the leader of a process group, without input.
    fn start(words: &[String]) -> io::Result<Self> {
        let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let (output, writer) = io::pipe()?;
        ioctl_fionbio(&output, true)?;
        let begun = Instant::now();
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .process_group(0)
            // The group stays the same. With this setting the child is made by `fork` and not by `vfork`, after which the peak
            // memory of the command would include the pages of this program's file.
            .gid(getgid().as_raw())
            .spawn()?;
        let ended = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
        Ok(RunningCommand { child, begun, ended, output, kept: Vec::new(), output_bytes: 0 })
    }

    /// Follows the command to its end; `None` if `driver` has ended before.
    fn follow(mut self, driver: &impl AsFd) -> io::Result<Option<Report>> {
        let mut has_output = true;
        loop {
            let mut watched =
                vec![PollFd::new(driver, PollFlags::IN), PollFd::new(&self.ended, PollFlags::IN)];
            if has_output {
                watched.push(PollFd::new(&self.output, PollFlags::IN));
            }
            retry_on_intr(|| poll(&mut watched, None))?;
            let happened: Vec<bool> = watched.iter().map(|fd| !fd.revents().is_empty()).collect();
            if happened.get(2) == Some(&true) {
                has_output = self.read_output()?;
            }
            if happened[1] {
                break;
            }
            if happened[0] {
                self.end_all()?;
                return Ok(None);
            }
        }
        let status = self.child.wait()?;
        let elapsed_us = u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        let left_behind = self.end_rest()?;
        // Nothing that could write is left, unless it was given away.
        self.read_output()?;
        let end = match (status.code(), status.signal()) {
            (Some(code), _) => End::Exited(code),
            (None, signal) => End::Killed(signal.unwrap_or_default()),
        };
        let output = String::from_utf8_lossy(&self.kept).into_owned();
        let usage = Usage::of_children()?;
        let output_bytes = self.output_bytes;
        Ok(Some(Report { end, elapsed_us, usage, output, output_bytes, left_behind }))
    }

    /// Reads what is there; false at the end of the output.
    fn read_output(&mut self) -> io::Result<bool> {
        let mut room = [0; 16 * 1024];
        loop {
            match self.output.read(&mut room) {
                Ok(0) => {
                    self.shorten();
                    return Ok(false);
                }
                Ok(n) => {
                    self.output_bytes += n as u64;
                    self.kept.extend_from_slice(&room[..n]);
                    // Twice the bound, so that bytes are moved once for as many that come.
                    if self.kept.len() > 2 * MOST_OUTPUT {
                        self.shorten();
                    }
                }
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                    self.shorten();
                    return Ok(true);
                }
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
            }
        }
    }

    fn shorten(&mut self) {
        let beyond = self.kept.len().saturating_sub(MOST_OUTPUT);
        self.kept.drain(..beyond);
    }

    fn end_all(&mut self) -> io::Result<()> {
        self.kill_group();
        self.child.wait()?;
        self.end_rest().map(|_| ())
    }

    fn kill_group(&self) {
        // A group without processes is gone.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
    }

    /// Kills the living descendants of the command that has ended, and returns their number. Each becomes a child of this process
    /// when its parent ends.
    fn end_rest(&mut self) -> io::Result<u32> {
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        let mut ended = 0;
        loop {
            self.kill_group();
            for child in children()? {
                // It may have ended by itself.
                let _ = kill_process(child, Signal::KILL);
            }
            match retry_on_intr(|| wait(WaitOptions::empty())) {
                Ok(_) => ended += 1,
                Err(Errno::CHILD) => return Ok(ended),
                Err(why) => return Err(why.into()),
            }
        }
    }
}

/// Children of this process, which has one thread.
fn children() -> io::Result<Vec<Pid>> {
    let list = std::fs::read_to_string("/proc/thread-self/children")?;
    Ok(list.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect())
}
