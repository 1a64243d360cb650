//! Facts from `/proc` about a process: its parent, its groups and namespaces, and whether it carries a mark.

use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt;

use barograph_platform::{MARK, ProcessId};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use rustix::thread::nanosleep;
use rustix::time::Timespec;

/// Largest number of looks at processes that are just executing their programs.
const BECOMING_LOOKS: u32 = 3_000;

/// Time between two looks.
const BECOMING_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

/// Largest number of reads of an environment that should be there by now. It shows at once, unless its
/// process has begun to execute another program; an environment that its process has unmapped never does, and
/// is not awaited.
const THERE_READS: u32 = 5;

/// Process group. This and the following are fields of `/proc/PID/stat`, numbered as in its manual.
const GROUP: usize = 5;
/// Flags of the process.
const FLAGS: usize = 9;
/// Number of threads.
const THREADS: usize = 20;
/// Size of virtual memory.
const MEMORY: usize = 23;
/// Start address of the program's code.
const CODE_START: usize = 26;
/// Start address of the environment.
const ENVIRON_START: usize = 50;
/// End address of the environment.
const ENVIRON_END: usize = 51;

/// Flag of an exiting process (`PF_EXITING` of the kernel).
const ENDING: u64 = 0x4;

/// Processes for which a search waited in vain: they are stuck while executing a program, for instance from a
/// file system that does not answer.
#[derive(Debug, Default)]
pub(crate) struct StuckProcesses(Vec<ProcessId>);

impl StuckProcesses {
    fn has(&self, pid: u32) -> bool {
        self.0.iter().any(|id| id.pid == pid && id.lives())
    }
}

/// Lists all living processes with `mark`, except this one. Processes that are just executing another program
/// are awaited, all together and for some seconds, as a process that was just started would otherwise be
/// missed. This blocks the thread. Processes stuck by then are not awaited again if the next search gets the
/// same `stuck`.
pub(crate) fn marked(mark: &str, stuck: &mut StuckProcesses) -> Vec<ProcessId> {
    let wanted = format!("{MARK}={mark}");
    let (mut found, mut unsure) = (Vec::new(), numbers());
    for _ in 0..BECOMING_LOOKS {
        unsure.retain(|pid| match carrier(*pid, &wanted) {
            Some(carrier) => {
                found.extend(carrier);
                false
            }
            None => !stuck.has(*pid),
        });
        if unsure.is_empty() {
            break;
        }
        // A signal may cut one wait short, which does little harm.
        let _ = nanosleep(&BECOMING_WAIT);
    }
    stuck.0.extend(unsure.into_iter().filter_map(ProcessId::of));
    found
}

/// Returns the process of this number, if it lives and has this variable. `None` as long as that is unknown.
fn carrier(pid: u32, variable: &str) -> Option<Option<ProcessId>> {
    let carries = || Some(environ(pid)?.split(|b| *b == 0).any(|one| one == variable.as_bytes()));
    if !carries()? {
        return Some(None);
    }
    // Between two reads of the process's identity, as the number may be reused.
    let Some(id) = ProcessId::of(pid) else { return Some(None) };
    Some((carries()? && id.lives()).then_some(id))
}

/// Returns the environment of a process; empty if it has none, has ended, or belongs to another user. A
/// process that is just executing another program has none for an instant, longer on a busy machine: `None`.
fn environ(pid: u32) -> Option<Vec<u8>> {
    match environ_in(&format!("/proc/{pid}")) {
        Ok(bytes) => Some(bytes),
        Err(Environment::OfOthers) => environ_of_others(pid),
        Err(Environment::Comes) => None,
        Err(Environment::Missing | Environment::There) => Some(Vec::new()),
    }
}

/// As `environ`, for a process whose first thread has ended: reads that of other threads.
fn environ_of_others(pid: u32) -> Option<Vec<u8>> {
    for thread in threads(pid) {
        match environ_in(&format!("/proc/{pid}/task/{thread}")) {
            Ok(bytes) => return Some(bytes),
            Err(Environment::Comes) => return None,
            Err(_) => {}
        }
    }
    // A thread that executes another program takes the place of the first one, and is found there at the next
    // look.
    let told = stat(pid).map(|stat| environment(&stat));
    (told == Some(Environment::OfOthers)).then(Vec::new)
}

/// Returns the environment in a folder of a process or thread, or the state of one that shows none.
fn environ_in(folder: &str) -> Result<Vec<u8>, Environment> {
    for _ in 0..THERE_READS {
        let is_refused = match fs::read(format!("{folder}/environ")) {
            Ok(bytes) if bytes.is_empty() => false,
            Ok(bytes) => return Ok(bytes),
            Err(_) => true,
        };
        // Read only now: before, the process might have begun to execute another program in between.
        let stat = fs::read_to_string(format!("{folder}/stat"));
        match stat.map_or(Environment::Missing, |stat| environment(&stat)) {
            // The folder of an ended thread cannot be read at all.
            Environment::OfOthers => return Err(Environment::OfOthers),
            _ if is_refused => return Err(Environment::Missing),
            Environment::There => {}
            told => return Err(told),
        }
    }
    Err(Environment::There)
}

/// State of a process or thread that shows no environment.
#[derive(Debug, PartialEq, Eq)]
enum Environment {
    /// It has none, or may not be read.
    Missing,
    /// Its program is not loaded yet.
    Comes,
    /// It is loaded by now.
    There,
    /// This thread has ended and has none; others of its process continue.
    OfOthers,
}

/// Kernel threads and ended processes have no memory; for processes of other users the kernel reports a start
/// address of the program other than 0.
fn environment(stat: &str) -> Environment {
    let [memory, code, from, to] =
        [MEMORY, CODE_START, ENVIRON_START, ENVIRON_END].map(|number| field(stat, number).unwrap_or(0));
    match code {
        _ if memory == 0 && field(stat, THREADS).is_some_and(|threads| threads > 1) => Environment::OfOthers,
        _ if memory == 0 => Environment::Missing,
        0 => Environment::Comes,
        _ if to > from => Environment::There,
        _ => Environment::Missing,
    }
}

/// Lists the living but exiting processes of a group. Their environment, which would show whose they are, is
/// gone. The first process of a process namespace stays exiting until all others in it have ended. A process
/// that has lost only its first thread is not exiting.
pub(crate) fn ending_in_group(group: u32) -> Vec<ProcessId> {
    let is_ending = |path: String| fs::read_to_string(path).is_ok_and(|stat| is_ending_in(&stat, group));
    let ending = |pid: &u32| {
        is_ending(format!("/proc/{pid}/stat"))
            && threads(*pid).into_iter().all(|thread| is_ending(format!("/proc/{pid}/task/{thread}/stat")))
    };
    numbers().into_iter().filter(ending).filter_map(ProcessId::of).collect()
}

fn is_ending_in(stat: &str, group: u32) -> bool {
    field(stat, GROUP) == Some(u64::from(group))
        && field(stat, FLAGS).is_some_and(|flags| flags & ENDING != 0)
}

fn stat(pid: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/stat")).ok()
}

/// Returns a field of `/proc/PID/stat` from the fourth on, counted from behind the name, which may contain
/// anything.
fn field(stat: &str, number: usize) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(number.checked_sub(3)?)?.parse().ok()
}

/// Returns the name of a process's program, as known to the kernel; empty for an ended process.
pub(crate) fn name(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned()
}

/// Lists the numbers of all processes except this one.
fn numbers() -> Vec<u32> {
    numbers_in("/proc").into_iter().filter(|&pid| pid != std::process::id()).collect()
}

/// Lists the threads of a process; empty if it is gone.
fn threads(pid: u32) -> Vec<u32> {
    numbers_in(&format!("/proc/{pid}/task"))
}

fn numbers_in(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).collect()
}

/// Lists the children started by the first thread of a process.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect()
}

/// A process namespace other than that of this process. While this value lives, the kernel does not reuse the
/// namespace's number; otherwise it may do so as soon as the last process has ended.
#[derive(Debug)]
pub(crate) struct Namespace {
    number: (u64, u64),
    _held: File,
}

impl Namespace {
    /// Returns the namespace of the children of `pid`, if it differs from that of this process.
    pub(crate) fn of_children(pid: u32) -> Option<Self> {
        Self::open(&format!("/proc/{pid}/ns/pid_for_children"))
    }

    /// Returns the namespace whose first process is `pid`.
    pub(crate) fn led_by(pid: u32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        if !is_first(&status) {
            return None;
        }
        Self::open(&format!("/proc/{pid}/ns/pid"))
    }

    fn open(path: &str) -> Option<Self> {
        let held = File::open(path).ok()?;
        let number = number(&held.metadata().ok()?);
        let own = number_at("/proc/self/ns/pid")?;
        (number != own).then_some(Namespace { number, _held: held })
    }

    /// Lists all its living processes.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let inside = |pid: &u32| {
            number_at(&format!("/proc/{pid}/ns/pid")) == Some(self.number) && ProcessId::of(*pid).is_some()
        };
        numbers().into_iter().filter(inside).collect()
    }
}

fn number(of: &Metadata) -> (u64, u64) {
    (of.dev(), of.ino())
}

/// Returns the number of the namespace behind a link of `/proc`.
fn number_at(path: &str) -> Option<(u64, u64)> {
    fs::metadata(path).ok().as_ref().map(number)
}

/// The numbers of a process are listed from the outermost namespace to the innermost: the first process of a
/// namespace has the number 1 there.
fn is_first(status: &str) -> bool {
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
    numbers.split_ascii_whitespace().skip(1).last() == Some("1")
}

/// Returns the words of a process's command line; empty for an ended process.
pub(crate) fn command_line(pid: u32) -> Vec<Vec<u8>> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
    if bytes.is_empty() { Vec::new() } else { bytes.split(|b| *b == 0).map(<[u8]>::to_vec).collect() }
}

/// Signals the process group led by `pid`. Succeeds if the group is gone.
pub(crate) fn signal_group(pid: u32, signal: Signal) -> std::io::Result<()> {
    forgive_gone(raw(pid).map_or(Err(Errno::SRCH), |pid| kill_process_group(pid, signal)))
}

/// Signals one process. Succeeds if it is gone.
pub(crate) fn signal_one(pid: u32, signal: Signal) -> std::io::Result<()> {
    forgive_gone(raw(pid).map_or(Err(Errno::SRCH), |pid| kill_process(pid, signal)))
}

/// Refuses 0 and 1: 0 would be this process's own group, and group 1 would mean all processes.
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
    use std::io::{Read, Write};
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// Without and with an environment; a program that has answered is loaded.
    fn started(variable: Option<(&str, &str)>) -> Child {
        let mut command = Command::new("/bin/cat");
        command.env_clear().envs(variable).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        child
    }

    #[test]
    fn an_environment_is_told_and_that_there_is_none() {
        for (variable, wanted) in [(Some(("COLOUR", "green")), "COLOUR=green\0"), (None, "")] {
            let mut child = started(variable);
            assert_eq!(environ(child.id()).unwrap(), wanted.as_bytes());
            let told = if wanted.is_empty() { Environment::Missing } else { Environment::There };
            assert_eq!(environment(&stat(child.id()).unwrap()), told);
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(environ(child.id()).unwrap(), b"");
        }
        assert_eq!(environ(u32::MAX).unwrap(), b"");
    }

    #[test]
    fn what_is_stuck_is_known_as_long_as_it_lives() {
        let mut child = started(None);
        let id = ProcessId::of(child.id()).unwrap();
        let stuck = StuckProcesses(vec![id]);
        assert!(stuck.has(id.pid) && !stuck.has(std::process::id()));
        assert!(
            !StuckProcesses(vec![ProcessId { start_ticks: id.start_ticks + 1, ..id }]).has(id.pid),
            "another process"
        );
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!stuck.has(id.pid));
    }

    #[test]
    fn threads_of_a_process_are_listed() {
        let own = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        assert!(threads(std::process::id()).contains(&own));
        assert!(threads(u32::MAX).is_empty());
    }

    /// A line with these fields, and 7 in all others.
    fn line(fields: &[(usize, u64)]) -> String {
        let value = |number| fields.iter().find(|(field, _)| *field == number).map_or(7, |(_, value)| *value);
        let rest: Vec<String> = (4..=52).map(|number| value(number).to_string()).collect();
        format!("712 (a) 1 b) S {}\n", rest.join(" "))
    }

    #[test]
    fn the_environment_of_a_process_that_is_becoming_its_program_comes() {
        let with = |threads, memory, code, from, to| {
            let place = [(ENVIRON_START, from), (ENVIRON_END, to)];
            let fields = [&[(THREADS, threads), (MEMORY, memory), (CODE_START, code)][..], &place].concat();
            environment(&line(&fields))
        };
        let told = |memory, code, from, to| with(1, memory, code, from, to);
        assert_eq!(told(4096, 0, 0, 0), Environment::Comes, "nothing is in its memory yet");
        assert_eq!(told(4096, 0, 900, 900), Environment::Comes, "it is being put there");
        assert_eq!(told(4096, 500, 900, 950), Environment::There);
        assert_eq!(told(4096, 500, 900, 900), Environment::Missing, "it has none");
        assert_eq!(told(4096, 1, 0, 0), Environment::Missing, "another user's");
        assert_eq!(told(0, 0, 0, 0), Environment::Missing, "it is ending, or a thread of the kernel");
        assert_eq!(with(2, 0, 0, 0, 0), Environment::OfOthers, "its first thread has ended");
        assert_eq!(with(2, 4096, 500, 900, 950), Environment::There);
        for text in ["", "712 (a", "712 (a) S 1 2"] {
            assert_eq!(environment(text), Environment::Missing, "{text:?}");
        }
    }

    #[test]
    fn only_what_is_on_its_way_out_in_the_group_is_ending_there() {
        let ending = |group, flags| is_ending_in(&line(&[(GROUP, group), (FLAGS, flags)]), 712);
        assert!(ending(712, 0x0040_040c));
        assert!(!ending(712, 0x0040_0408) && !ending(711, 0x0040_040c) && !is_ending_in("712 (a) S 1", 712));
    }

    #[test]
    fn the_first_process_of_another_namespace_is_known_by_its_numbers() {
        assert!(is_first("Name:\tsh\nNSpid:\t712\t1\nNSpgid:\t712\t1\n"));
        for not in ["NSpid:\t1\n", "NSpid:\t712\n", "NSpid:\t712\t1\t9\n", "Name:\tNSpid: 3 1\n", ""] {
            assert!(!is_first(not), "{not:?}");
        }
    }

    #[test]
    fn our_own_namespace_is_never_one_to_act_on() {
        let own = std::process::id();
        assert!(Namespace::of_children(own).is_none() && Namespace::led_by(own).is_none());
        assert!(Namespace::of_children(u32::MAX).is_none());
    }

    #[test]
    fn we_never_signal_everybody() {
        assert_eq!((raw(0), raw(1), raw(u32::MAX)), (None, None, None));
        signal_group(0, Signal::KILL).unwrap();
    }
}
