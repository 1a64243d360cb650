//! The driver's side of a supervisor.

use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use barograph_reactor::Descriptor;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::time::Timespec;

use crate::report::Report;

/// Longest wait for a supervisor that ends a command: a killed process with much memory takes seconds.
const END_WAIT: Timespec = Timespec { tv_sec: 30, tv_nsec: 0 };

/// The program that supervises, with its first words.
#[derive(Clone, Debug)]
pub struct SupervisorProgram {
    program: PathBuf,
    words: Vec<String>,
}

impl SupervisorProgram {
    /// This program, whose hidden command `supervise` calls [`crate::supervise`].
    #[must_use]
    pub fn own() -> Self {
        let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe"));
        SupervisorProgram { program, words: vec!["supervise".to_owned(), "--".to_owned()] }
    }

    /// Another program that calls [`crate::supervise`] with its arguments.
    #[must_use]
    pub fn other(program: PathBuf) -> Self {
        SupervisorProgram { program, words: Vec::new() }
    }
}

/// A supervisor with its command. Dropping it ends both and waits for their end.
pub struct SupervisedCommand {
    child: Child,
    stream: UnixStream,
    events: Descriptor,
}

impl SupervisedCommand {
    /// Starts a supervisor and waits until it is ready, so that its start is not in the time of the command.
    ///
    /// # Errors
    /// Failing calls of the system, and a supervisor that ends at once.
    pub async fn start(by: &SupervisorProgram, words: &[String]) -> io::Result<Self> {
        let (stream, theirs) = UnixStream::pair()?;
        stream.set_nonblocking(true)?;
        let events = Descriptor::new(stream.try_clone()?.into())?;
        let child = Command::new(&by.program)
            .args(&by.words)
            .args(words)
            .stdin(OwnedFd::from(theirs.try_clone()?))
            .stdout(OwnedFd::from(theirs))
            .stderr(Stdio::null())
            // An interrupt at the terminal reaches the driver alone.
            .process_group(0)
            .spawn()?;
        let mut supervised = SupervisedCommand { child, stream, events };
        supervised.line().await?;
        Ok(supervised)
    }

    /// Runs the command to its end.
    ///
    /// # Errors
    /// A supervisor that ended without a report.
    pub async fn run(&mut self) -> io::Result<Report> {
        self.stream.write_all(b"\n")?;
        Ok(serde_json::from_slice(&self.line().await?)?)
    }

    /// Reads a line of the supervisor.
    async fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            let mut room = [0; 4096];
            match self.stream.read(&mut room) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => line.extend_from_slice(&room[..n]),
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                    poll_fn(|cx| self.events.poll_event(cx)).await;
                }
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
            }
        }
        Ok(line)
    }
}

impl Drop for SupervisedCommand {
    fn drop(&mut self) {
        // The supervisor ends its command at the end of its input.
        let _ = self.stream.shutdown(Shutdown::Both);
        let ended = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty());
        let in_time =
            ended.and_then(|ended| poll(&mut [PollFd::new(&ended, PollFlags::IN)], Some(&END_WAIT)));
        if !in_time.is_ok_and(|events| events > 0) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}
