//! What `/proc` says about a process: whose child it is, where it lives, and whether it carries a mark of ours.

use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt;

use barograph_platform::{MARK, ProcessId};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use rustix::thread::nanosleep;
use rustix::time::Timespec;

/// How often processes are looked at that are just becoming their programs.
const BECOMING_LOOKS: u32 = 3_000;

/// How long between two looks.
const BECOMING_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

/// How often an environment is read that is there by now. It shows at once, unless its process has begun to become yet
/// another program; one that its process took out of its memory never does, and is not waited for.
const THERE_READS: u32 = 5;

/// Fields of `/proc/PID/stat`, numbered as in its manual.
const GROUP: usize = 5;
const FLAGS: usize = 9;
const THREADS: usize = 20;
const MEMORY: usize = 23;
const CODE_START: usize = 26;
const ENVIRON_START: usize = 50;
const ENVIRON_END: usize = 51;

/// The flag of a process that is on its way out (`PF_EXITING` of the kernel).
const ENDING: u64 = 0x4;

/// Processes that were waited for in vain: they are stuck on their way to a program, as behind a file system that does not
/// answer.
#[derive(Debug, Default)]
pub(crate) struct Stuck(Vec<ProcessId>);

impl Stuck {
    fn has(&self, pid: u32) -> bool {
        self.0.iter().any(|id| id.pid == pid && id.lives())
    }
}

/// All living processes that carry `mark`, this one apart. Those that are just becoming another program are waited for, all
/// of them together and for some seconds, or a process that was just started would be overlooked. So long this thread is
/// kept. Those that are stuck by then are not waited for again: whoever looks several times passes the same `stuck`.
pub(crate) fn marked(mark: &str, stuck: &mut Stuck) -> Vec<ProcessId> {
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
        // A signal that cuts one wait short does little harm.
        let _ = nanosleep(&BECOMING_WAIT);
    }
    stuck.0.extend(unsure.into_iter().filter_map(ProcessId::of));
    found
}

/// The process of this number, if it lives and carries this variable. `None` as long as that cannot be said.
fn carrier(pid: u32, variable: &str) -> Option<Option<ProcessId>> {
    let carries = || Some(environ(pid)?.split(|b| *b == 0).any(|one| one == variable.as_bytes()));
    if !carries()? {
        return Some(None);
    }
    // Again between two looks at which process it is, or the number may have been given to another one.
    let Some(id) = ProcessId::of(pid) else { return Some(None) };
    Some((carries()? && id.lives()).then_some(id))
}

/// The environment of a process; empty where it has none, has ended, or is another user's. One that is just becoming another
/// program shows none for an instant, which a busy machine makes long: `None`.
fn environ(pid: u32) -> Option<Vec<u8>> {
    match environ_in(&format!("/proc/{pid}")) {
        Ok(bytes) => Some(bytes),
        Err(Environment::OfOthers) => environ_of_others(pid),
        Err(Environment::Comes) => None,
        Err(Environment::Missing | Environment::There) => Some(Vec::new()),
    }
}

/// The same of a process whose first thread has ended, which other threads still have.
fn environ_of_others(pid: u32) -> Option<Vec<u8>> {
    for thread in threads(pid) {
        match environ_in(&format!("/proc/{pid}/task/{thread}")) {
            Ok(bytes) => return Some(bytes),
            Err(Environment::Comes) => return None,
            Err(_) => {}
        }
    }
    // A thread that begins another program takes the place of the first one, and is found there at the next look.
    let told = stat(pid).map(|stat| environment(&stat));
    (told == Some(Environment::OfOthers)).then(Vec::new)
}

/// The environment in a folder of a process or of a thread, or what is told of one that shows none.
fn environ_in(folder: &str) -> Result<Vec<u8>, Environment> {
    for _ in 0..THERE_READS {
        let is_refused = match fs::read(format!("{folder}/environ")) {
            Ok(bytes) if bytes.is_empty() => false,
            Ok(bytes) => return Ok(bytes),
            Err(_) => true,
        };
        // Only now: asked before, it could have begun to become another program meanwhile.
        let stat = fs::read_to_string(format!("{folder}/stat"));
        match stat.map_or(Environment::Missing, |stat| environment(&stat)) {
            // A thread that has ended cannot be read at all.
            Environment::OfOthers => return Err(Environment::OfOthers),
            _ if is_refused => return Err(Environment::Missing),
            Environment::There => {}
            told => return Err(told),
        }
    }
    Err(Environment::There)
}

/// What is told of the environment of a process, or of a thread, that showed none.
#[derive(Debug, PartialEq, Eq)]
enum Environment {
    /// It has none, or may not be looked at.
    Missing,
    /// Its program is not in its memory yet.
    Comes,
    /// It has one by now.
    There,
    /// This thread has ended and has none any more; others of its process go on.
    OfOthers,
}

/// Threads of the kernel and ended processes have no memory; those of other users tell another start of their program
/// than 0.
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

/// The living processes of a group that are on their way out. They have no environment any more that could tell whose they
/// are. The first process of a namespace of processes stays like that until all others of it have ended. One that has lost
/// its first thread alone is not on its way out.
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

/// A field of `/proc/PID/stat` from the fourth on, counted from behind the name, which may contain anything.
fn field(stat: &str, number: usize) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(number.checked_sub(3)?)?.parse().ok()
}

/// The name of the program of a process, as the kernel keeps it; empty for an ended one.
pub(crate) fn name(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned()
}

/// The numbers of all processes, this one apart.
fn numbers() -> Vec<u32> {
    numbers_in("/proc").into_iter().filter(|&pid| pid != std::process::id()).collect()
}

/// The numbers of the threads of a process; none when it is gone.
fn threads(pid: u32) -> Vec<u32> {
    numbers_in(&format!("/proc/{pid}/task"))
}

fn numbers_in(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).collect()
}

/// The children of a process that its first thread started.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect()
}

/// A namespace of processes that is not the one of this process. While this is held, the kernel gives the number of the
/// namespace to no other; it does so at once when nobody holds it and its last process has ended.
#[derive(Debug)]
pub(crate) struct Namespace {
    number: (u64, u64),
    _held: File,
}

impl Namespace {
    /// That of the children of `pid`, when they live in another than this process.
    pub(crate) fn of_children(pid: u32) -> Option<Self> {
        Self::open(&format!("/proc/{pid}/ns/pid_for_children"))
    }

    /// The one of which `pid` is the first process.
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

    /// All its living processes.
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

/// The number of the namespace behind a link of `/proc`.
fn number_at(path: &str) -> Option<(u64, u64)> {
    fs::metadata(path).ok().as_ref().map(number)
}

/// The numbers of a process are told from the outside to the inside: the first process of a namespace has the number 1 in
/// there.
fn is_first(status: &str) -> bool {
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
    numbers.split_ascii_whitespace().skip(1).last() == Some("1")
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
    use std::io::{Read, Write};
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// Without and with an environment; a program that answers is there.
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
        let stuck = Stuck(vec![id]);
        assert!(stuck.has(id.pid) && !stuck.has(std::process::id()));
        assert!(
            !Stuck(vec![ProcessId { start_ticks: id.start_ticks + 1, ..id }]).has(id.pid),
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

    /// A line with these fields, all others being 7.
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
