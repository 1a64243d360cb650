//! The switch's control of a relay.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use barograph_platform::{Entry, Ledger, LinkSpec, MARK, Resource};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::SwitchError;
use crate::ip::tool;
use crate::namespace::enter;
use crate::relay::RelayCount;

/// Longest wait for a reply in seconds. A relay replies within microseconds, unless the machine is out of
/// memory.
const ANSWER_WAIT_SECONDS: i64 = 10;

/// Command of a relay: the program's path, and the words that make it call [`crate::relay_main`] with the
/// rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayProgram {
    /// Absolute path.
    pub program: PathBuf,
    /// First words, as `["relay"]`.
    pub args: Vec<String>,
}

/// Place of a relay: between two taps of a namespace, for a host.
pub(crate) struct RelayPosition<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) host: &'a str,
    /// The tap towards the host.
    pub(crate) inner: &'a str,
    /// Tap towards the others.
    pub(crate) outer: &'a str,
    /// Words from [`priority`].
    pub(crate) first: &'a [String],
    /// Seed of its draws.
    pub(crate) seed: u64,
}

/// Returns the words before a relay that let it run as soon as it is ready, as the kernel's own queues do: on
/// a machine with busy processors it would be late by milliseconds. Empty if this user may not request that;
/// the relay then requests what it can get by itself.
pub(crate) fn priority() -> Vec<String> {
    let words = [tool("chrt").to_string_lossy().into_owned(), "--fifo".to_owned(), "1".to_owned()];
    let tried = Command::new(&words[0])
        .args(&words[1..])
        .arg("true")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if tried.is_ok_and(|status| status.success()) { words.to_vec() } else { Vec::new() }
}

/// A running relay, ended when dropped.
#[derive(Debug)]
pub(crate) struct Relay {
    host: String,
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    ledger: Ledger,
    entry: Entry,
}

impl Relay {
    /// Starts a relay and waits until it has opened its taps.
    pub(crate) fn start(
        program: &RelayProgram,
        place: &RelayPosition<'_>,
        link: &LinkSpec,
        ledger: &Ledger,
    ) -> Result<Self, SwitchError> {
        let entry = ledger.will(Resource::Process { program: program.program.clone(), id: None })?;
        let enter = enter(place.namespace);
        let (first, rest) = enter.split_first().map_or(("nsenter", &[][..]), |(f, r)| (f.as_str(), r));
        let spawned = Command::new(first)
            .args(rest)
            .args(place.first)
            .arg(&program.program)
            .args(&program.args)
            .args([place.inner, place.outer, &hold_ns(link), &link.loss.to_string(), &place.seed.to_string()])
            .env(MARK, ledger.mark(entry))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = match spawned {
            Ok(child) => child,
            Err(source) => {
                ledger.removed(entry)?;
                return Err(SwitchError::Run { program: program.program.clone(), source });
            }
        };
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            // Both were requested two lines above.
            return Err(SwitchError::Stopped("a relay without pipes".to_owned()));
        };
        let host = place.host.to_owned();
        let mut relay =
            Relay { host, child, stdin, stdout: BufReader::new(stdout), ledger: ledger.clone(), entry };
        let ready = relay.answer("start")?;
        if ready.starts_with("{\"ready\":true") { Ok(relay) } else { Err(relay.wrong("start", ready)) }
    }

    /// Returns its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Replaces its delay and loss; frames that wait keep theirs.
    pub(crate) fn set(&mut self, link: &LinkSpec) -> Result<(), SwitchError> {
        let answer = self.ask("change", &format!("set {} {}\n", hold_ns(link), link.loss))?;
        if answer == "done" { Ok(()) } else { Err(self.wrong("change", answer)) }
    }

    /// Returns its counts since its start.
    pub(crate) fn count(&mut self) -> Result<RelayCount, SwitchError> {
        let answer = self.ask("ask", "count\n")?;
        serde_json::from_str(&answer).map_err(|error| self.wrong("ask", format!("{answer} ({error})")))
    }

    fn ask(&mut self, act: &'static str, wish: &str) -> Result<String, SwitchError> {
        if let Err(error) = self.stdin.write_all(wish.as_bytes()) {
            return Err(self.failed(act, &error));
        }
        self.answer(act)
    }

    /// Reads one line, within the time limit.
    fn answer(&mut self, act: &'static str) -> Result<String, SwitchError> {
        let read = self.read_line();
        match read {
            Ok(line) => Ok(line),
            Err(error) => Err(self.failed(act, &error)),
        }
    }

    fn read_line(&mut self) -> io::Result<String> {
        if self.stdout.buffer().is_empty() {
            let limit = Timespec { tv_sec: ANSWER_WAIT_SECONDS, tv_nsec: 0 };
            let mut waited = [PollFd::from_borrowed_fd(self.stdout.get_ref().as_fd(), PollFlags::IN)];
            if poll(&mut waited, Some(&limit))? == 0 {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        let mut line = String::new();
        // A relay writes whole lines.
        if self.stdout.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }

    /// Ends it, so that its last messages can be read.
    fn failed(&mut self, act: &'static str, error: &io::Error) -> SwitchError {
        // It may have ended already, which is why this failed.
        let _ = self.child.kill();
        let mut words = String::new();
        if let Some(stderr) = self.child.stderr.as_mut() {
            let _ = stderr.take(4096).read_to_string(&mut words);
        }
        let words = words.trim();
        self.wrong(act, if words.is_empty() { error.to_string() } else { words.to_owned() })
    }

    fn wrong(&self, act: &'static str, says: String) -> SwitchError {
        SwitchError::Relay { host: self.host.clone(), act, says }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // It holds nothing worth keeping, so it is killed at once; it may have ended already.
        let _ = self.child.kill();
        if self.child.wait().is_ok() {
            // An entry that cannot be updated stays in the ledger, and the next sweep finds the process gone.
            let _ = self.ledger.removed(self.entry);
        }
    }
}

fn hold_ns(link: &LinkSpec) -> String {
    link.delay.as_nanos().to_string()
}
