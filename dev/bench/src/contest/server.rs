//! Servers that run while contenders take turns.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};

use anyhow::{Context, bail};
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal};
use rustix::time::Timespec;

use super::process::{self, PinnedProgram};

/// Checks of the port before a server counts as failed.
const LOOKS: u32 = 250;
/// Interval between two checks.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// A running server. It ends when this is dropped.
pub(crate) struct Server {
    child: Child,
    port: u16,
}

/// A port that is free on loopback.
pub(crate) fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

impl Server {
    /// Starts a program that listens at `port`, and waits until it does. The error contains the last line of
    /// `log`.
    pub(crate) fn start(pinned: &PinnedProgram, port: u16, log: &Path) -> anyhow::Result<Server> {
        let mut command = pinned.command();
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let server = Server { child, port };
        server.wait_until_it_answers(pinned, log)?;
        Ok(server)
    }

    fn wait_until_it_answers(&self, pinned: &PinnedProgram, log: &Path) -> anyhow::Result<()> {
        let end = rustix::process::pidfd_open(self.pid(), PidfdFlags::empty())?;
        for _ in 0..LOOKS {
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return Ok(());
            }
            if rustix::event::poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&LOOK))? > 0 {
                break;
            }
        }
        let said = fs::read_to_string(log).unwrap_or_default();
        bail!(
            "{} did not start on port {}: {}",
            pinned.program.display(),
            self.port,
            said.lines().last().unwrap_or("it says nothing")
        )
    }

    /// Its port on loopback.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// User and system time used so far, s.
    pub(crate) fn cpu_s(&self) -> anyhow::Result<f64> {
        process::cpu_s(self.child.id()).context("read what a server used")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A main process stops its workers; a process that has ended needs nothing.
        let _ = rustix::process::kill_process(self.pid(), Signal::TERM);
        let _ = self.child.wait();
    }
}
