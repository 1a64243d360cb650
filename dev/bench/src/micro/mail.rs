//! `cargo xtask bench mail`: submissions beside Postfix's smtp-source at the same servers, reading beside imaptest, and the
//! memory of users with IDLE.

mod letter;
mod reading;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use barograph_test_services::{self as services, Service};
use clap::Parser;
use rustix::time::Timespec;

use self::reading::IMAPTEST;
use super::wanted::{Bound, Cell, Wanted};
use super::{
    Case, Contender, Contest, FINE, Figure, OURS, Ratio, head, json, need_good, number, options, ours,
};
use crate::contest::process::ProgramResult;
use crate::contest::server::free_port;
use crate::contest::{DRIVER_CPU, PinnedProgram, Server, TARGET_CPU, need_two_cores, pin, programs};

/// The compared tool, and the server that takes mail and drops it.
const SMTP_SOURCE: &str = "smtp-source";
const SMTP_SINK: &str = "smtp-sink";

/// The command that installs both.
const INSTALL: &str = "apt-get install postfix";

/// Bytes of a mail without its header.
const BYTES: u32 = 4_096;

/// Mails of one run over one session and over several: to the sink, to the embedded server, and to Postfix,
/// which waits for its disk.
const TO_SINK: Mails = Mails { one: 10_000, several: 40_000 };
const TO_EMBEDDED: Mails = TO_SINK;
const TO_POSTFIX: Mails = Mails { one: 1_000, several: 10_000 };

/// The mail server that keeps its queue on the disk.
const POSTFIX: &str = "Postfix";

/// Accounts of the users who hold IDLE: none of them has mail of other drivers.
const WATCHERS: &str = "w{n}@barograph.test";

/// Sender and recipient of all mail.
const ADDRESS: &str = "u0@barograph.test";

/// The mail server of this product.
const EMBEDDED: &str = "barograph serve mail";

/// Connections that the sink takes at once, and its backlog.
const BACKLOG: &str = "1024";

/// Users of the case with IDLE, and their factor on the rates of a working day.
const WATCHING: u32 = 1_000;
const COMPRESSION: u32 = 20;

/// Longest run of submissions, s.
const LONGEST_S: u64 = 240;

/// Looks at the queue of Postfix until it must be empty, and the interval between two: a minute.
const LOOKS: u32 = 600;
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Folders of Postfix's queue with mail that is not delivered.
const QUEUES: [&str; 4] = ["maildrop", "incoming", "active", "deferred"];

/// Measures submissions beside smtp-source, reading beside imaptest, and the memory of users who hold IDLE. It installs
/// nothing
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench mail")]
struct Options {
    #[command(flatten)]
    common: options::CommonOptions,
    /// Length of a run that reads, and of one with IDLE, in seconds
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1_000), value_name = "N")]
    seconds: u64,
}

const FIGURES: [Figure; 4] = [
    Figure { id: "mails_per_s", title: "mails/s", digits: 1 },
    Figure { id: "driver_us", title: "driver CPU us/mail", digits: 1 },
    Figure { id: "p95_ms", title: "p95 ms", digits: 2 },
    Figure { id: "kib_per_user", title: "driver KiB/user", digits: 1 },
];

const RATIOS: [Ratio; 4] = [
    Ratio { figure: 0, base: SMTP_SOURCE, wanted: "-" },
    Ratio { figure: 1, base: SMTP_SOURCE, wanted: "-" },
    Ratio { figure: 0, base: IMAPTEST, wanted: "-" },
    Ratio { figure: 1, base: IMAPTEST, wanted: "-" },
];

/// What is wanted of submissions, and of users who hold IDLE.
const OF_SUBMISSIONS: &[Wanted] = &[Wanted { of: Cell::Ratio(0), bound: Bound::AtLeast(1.0) }];
const OF_IDLE: &[Wanted] = &[Wanted { of: Cell::Figure(3), bound: Bound::AtMost(64.0) }];

/// Mails of a run.
#[derive(Clone, Copy, Debug)]
struct Mails {
    /// Those over one session.
    one: u32,
    /// Those over several.
    several: u32,
}

impl Mails {
    fn over(self, sessions: Sessions) -> u32 {
        if sessions.count == 1 { self.one } else { self.several }
    }

    fn words(self) -> String {
        format!("{} over one session and {} over several", self.one, self.several)
    }
}

/// Sessions of a case, and whether each sends all of its mail over one connection.
#[derive(Clone, Copy, Debug)]
struct Sessions {
    count: u32,
    are_kept: bool,
}

impl Sessions {
    const ALL: [Sessions; 4] = [
        Sessions { count: 1, are_kept: false },
        Sessions { count: 16, are_kept: false },
        Sessions { count: 100, are_kept: false },
        Sessions { count: 16, are_kept: true },
    ];

    fn name(self, server: &str) -> String {
        let kept = if self.are_kept { "kept " } else { "" };
        let sessions = if self.count == 1 { "session" } else { "sessions" };
        format!("{server}, {} {kept}{sessions}", self.count)
    }
}

/// The programs of a measurement.
struct Stand {
    ours: PathBuf,
    smtp_source: Option<PathBuf>,
    /// A mail of this product, which smtp-source sends.
    letter: PathBuf,
    imaptest: Option<PathBuf>,
    seconds: u64,
}

/// The servers that all contenders load. They end when this is dropped.
struct Servers {
    sink: Option<Server>,
    /// Postfix, and the sink behind it, which takes its deliveries.
    postfix: Option<(Service, Server)>,
    /// The mail server of this product, with its port for IMAP.
    embedded: (Server, u16),
    dovecot: Option<Service>,
}

/// Measures as the arguments say; true if every program gave figures in every round.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<bool> {
    let Some(options) = options::read::<Options>("mail", words)? else { return Ok(true) };
    need_two_cores()?;
    let ours = ours(&options.common)?;
    let folder = tempfile::tempdir().context("make a folder for outputs")?;
    let folders = programs::folders();
    let find = |name: &str| programs::find(name, &folders);
    let smtp_source = find(SMTP_SOURCE);
    let servers = Servers::start(&ours, find(SMTP_SINK).as_deref(), folder.path())?;
    let (mut versions, mut missing) = (Vec::new(), Vec::new());
    match &smtp_source {
        Some(_) => versions.push((SMTP_SOURCE.to_owned(), version(&folders))),
        None => missing.push((SMTP_SOURCE.to_owned(), INSTALL.to_owned())),
    }
    let imaptest = find(IMAPTEST);
    if imaptest.is_none() {
        missing.push((IMAPTEST.to_owned(), reading::INSTALL.to_owned()));
    }
    let head = head(&ours, versions, missing);
    let letter = folder.path().join("letter");
    if smtp_source.is_some() {
        letter::write(&ours, |port| our_words(port, Sessions::ALL[0], 1), &letter)?;
    }
    let stand = Stand { ours, smtp_source, letter, imaptest, seconds: options.seconds };
    let cases = stand.cases(&servers);
    if let Some(dovecot) = &servers.dovecot {
        let reads = |case: &Case| case.name.starts_with(reading::DOVECOT) && options.common.wants(&case.name);
        if cases.iter().any(reads) {
            reading::fill(&stand.ours, dovecot, folder.path())?;
        }
    }
    if !cases.iter().any(|case| options.common.wants(&case.name)) {
        bail!("no case has this in its name");
    }
    let contest = Contest {
        name: "mail",
        title: "What submissions of mail cost beside smtp-source, and reading beside imaptest",
        about: about(),
        figures: &FIGURES,
        ratios: &RATIOS,
        cases,
        head,
    };
    contest.measure(&options.common, folder.path())
}

/// The version of Postfix, of which smtp-source is a part and which does not say its own.
fn version(folders: &[PathBuf]) -> String {
    let postconf = programs::find("postconf", folders);
    let said = postconf.map(|file| programs::version_by(&file, &["-d", "mail_version"]));
    said.and_then(|line| Some(format!("Postfix {}", line.split_once('=')?.1.trim())))
        .unwrap_or_else(|| "of an unknown version".to_owned())
}

/// Sentences below the title.
fn about() -> String {
    format!(
        "Servers are on core {TARGET_CPU}, and each driver is on core {DRIVER_CPU} and speaks to them by TCP over loopback.\n\
         Mail has {BYTES} bytes and one recipient; smtp-source sends one mail of Barograph again and again (`-F`), Barograph writes each anew, with a hash of its text.\n\
         smtp-sink takes mail and drops it; `barograph serve mail` keeps it so that it survives a killed server (`--durability system`); Postfix keeps each mail on its disk before it answers, and passes it on by LMTP to a sink.\n\
         A session connects for each mail, or keeps its connection (`--keep-session`, `-d`).\n\
         Both send the same number of mails, {}; to Postfix {}. smtp-source is measured from its start to its end, Barograph in its window.\n\
         All mail is from one address to itself, as processes of Postfix look the last address up only once.\n\
         Before the next turn the queue of Postfix is empty.\n\
         smtp-source waits for the reply to each command; Barograph sends the envelope in one piece where the server offers PIPELINING, as all servers here do.\n\
         Driver CPU is user and system time of the whole process, divided by its mails.\n\
         The case of IDLE has {WATCHING} users with two connections each, of which one holds IDLE, at {COMPRESSION} times the rate of a working day on the embedded server: its memory is that by which the driver grew with its users.\n\
         In the cases of reading both fetch one mail of INBOX after another from Dovecot, over connections that they keep and one command at a time on each: Barograph whole mails, which it compares with their hashes, imaptest a mail, its text or its header by chance.\n\
         CPU of Barograph is there that of its window by its own account, since its process also reads all mail before and after.\n\
         imaptest is in no Debian package; it is built from its source.\n\
         Behind a cell stands what is wanted of it, and whether its median keeps it.\n",
        TO_SINK.words(),
        TO_POSTFIX.words(),
    )
}

impl Servers {
    fn start(ours: &Path, sink: Option<&Path>, folder: &Path) -> anyhow::Result<Self> {
        let sinks = |port, arguments: &[&str]| match sink {
            Some(file) => start_sink(file, port, (arguments, folder)).map(Some),
            None => Ok(None),
        };
        let first = sinks(free_port()?, &[])?;
        let postfix = match sinks(free_port()?, &["-L"])? {
            None => None,
            Some(store) => {
                let address = format!("127.0.0.1:{}", store.port());
                let postfix = services::or_skip(services::product("postfix", &[("store", &address)]));
                postfix.map(|postfix| (postfix, store))
            }
        };
        if let Some((postfix, _)) = &postfix {
            pin(postfix)?;
        }
        let (smtp, imap) = (free_port()?, free_port()?);
        let mail = folder.join("mail");
        let line = format!(
            "serve mail --listen 127.0.0.1:{smtp} --listen-imap 127.0.0.1:{imap} --durability system --folder"
        );
        let mut arguments = programs::words(&line);
        arguments.push(mail.display().to_string());
        let serve = PinnedProgram { program: ours.to_owned(), arguments, cpu: TARGET_CPU, fine: &[0] };
        let embedded = (Server::start(&serve, smtp, &folder.join("server.log"))?, imap);
        let dovecot = services::or_skip(services::product("dovecot", &[]));
        if let Some(dovecot) = &dovecot {
            pin(dovecot)?;
        }
        Ok(Servers { sink: first, postfix, embedded, dovecot })
    }
}

/// Starts a sink at a port.
fn start_sink(file: &Path, port: u16, (arguments, folder): (&[&str], &Path)) -> anyhow::Result<Server> {
    let address = format!("127.0.0.1:{port}");
    // It refuses to stay root, and nothing else to begin with.
    let user: &[&str] = if rustix::process::getuid().is_root() { &["-u", "nobody"] } else { &[] };
    let words = [user, &["-m", BACKLOG], arguments, &[address.as_str(), BACKLOG]].concat();
    let arguments = words.into_iter().map(str::to_owned).collect();
    let sink = PinnedProgram { program: file.to_owned(), arguments, cpu: TARGET_CPU, fine: &[0] };
    Server::start(&sink, port, &folder.join("sink.log"))
}

impl Stand {
    fn cases(&self, servers: &Servers) -> Vec<Case> {
        let sink = servers.sink.iter().flat_map(|sink| {
            Sessions::ALL
                .map(|sessions| self.submissions((SMTP_SINK, sink.port()), (sessions, TO_SINK), None))
        });
        let postfix = servers.postfix.iter().flat_map(|(postfix, _)| {
            let queue = postfix.folder().join("queue");
            Sessions::ALL.map(|sessions| {
                self.submissions((POSTFIX, postfix.port()), (sessions, TO_POSTFIX), Some(queue.clone()))
            })
        });
        let (embedded, imap) = &servers.embedded;
        let own = Sessions::ALL
            .map(|sessions| self.submissions((EMBEDDED, embedded.port()), (sessions, TO_EMBEDDED), None));
        let idle = Case {
            name: format!("IDLE, {WATCHING} users"),
            contenders: vec![self.watching(embedded.port(), *imap)],
            wanted: OF_IDLE,
        };
        let dovecot = servers.dovecot.iter();
        let read = dovecot
            .flat_map(|dovecot| reading::cases((&self.ours, self.imaptest.as_ref()), dovecot, self.seconds));
        sink.chain(own).chain(postfix).chain(read).chain([idle]).collect()
    }

    /// Mail to a server, whose queue is empty before the next turn.
    fn submissions(
        &self,
        (server, port): (&str, u16),
        (sessions, mails): (Sessions, Mails),
        queue: Option<PathBuf>,
    ) -> Case {
        let (mails, emptied) = (mails.over(sessions), queue.clone());
        let ours = Contender {
            name: OURS,
            pinned: pinned_program(&self.ours, our_words(port, sessions, mails), FINE),
            seconds: LONGEST_S,
            read: Box::new(move |used| {
                emptied.as_deref().map_or(Ok(()), wait_until_empty)?;
                read_ours(used)
            }),
        };
        let theirs = self.smtp_source.as_deref().map(|program| Contender {
            name: SMTP_SOURCE,
            pinned: pinned_program(program, their_words(port, sessions, mails, &self.letter), &[0]),
            seconds: LONGEST_S,
            read: Box::new(move |used| {
                queue.as_deref().map_or(Ok(()), wait_until_empty)?;
                Ok(read_theirs(used, mails))
            }),
        });
        let contenders = std::iter::once(ours).chain(theirs).collect();
        Case { name: sessions.name(server), contenders, wanted: OF_SUBMISSIONS }
    }

    /// Users who hold IDLE, and do what users do in a working day.
    fn watching(&self, smtp: u16, imap: u16) -> Contender {
        let line = format!(
            "mail smtp://127.0.0.1:{smtp} --imap imap://127.0.0.1:{imap} --user {WATCHERS} -c {WATCHING} \
             --messages 5 --size 0.05 --compression {COMPRESSION} --set mail.idle=1.0 -d {}s --workers 1 -q --json",
            self.seconds
        );
        let arguments = programs::words(&line);
        let pinned = pinned_program(&self.ours, arguments, FINE);
        Contender { name: OURS, pinned, seconds: self.seconds + LONGEST_S, read: Box::new(read_watching) }
    }
}

/// A driver on its core.
fn pinned_program(program: &Path, arguments: Vec<String>, fine: &'static [i32]) -> PinnedProgram {
    PinnedProgram { program: program.to_owned(), arguments, cpu: DRIVER_CPU, fine }
}

fn our_words(port: u16, sessions: Sessions, mails: u32) -> Vec<String> {
    let kept = if sessions.are_kept { " --keep-session" } else { "" };
    programs::words(&format!(
        "mail smtp://127.0.0.1:{port} --bytes {BYTES} --user {ADDRESS} -c {} -n {mails} --warm-up 0s --workers 1 -q --json{kept}",
        sessions.count
    ))
}

fn their_words(port: u16, sessions: Sessions, mails: u32, letter: &Path) -> Vec<String> {
    let kept = if sessions.are_kept { "-d " } else { "" };
    let mut words =
        programs::words(&format!("{kept}-s {} -m {mails} -f {ADDRESS} -t {ADDRESS} -F", sessions.count));
    words.extend([letter.display().to_string(), format!("127.0.0.1:{port}")]);
    words
}

/// The figures of this product's submissions.
fn read_ours(used: &ProgramResult) -> anyhow::Result<Vec<Option<f64>>> {
    let json = json(used)?;
    need_good(&json)?;
    let of = |key: &str| number(&json, key).with_context(|| format!("no number at {key}"));
    let mails = of("/requests")?;
    let driver_us = (mails > 0.0).then(|| used.cpu_s * 1e6 / mails);
    Ok(vec![Some(of("/requests_per_s")?), driver_us, Some(of("/p95_ms")?), None])
}

/// The figures of smtp-source, which says nothing and fails where a mail is refused.
fn read_theirs(used: &ProgramResult, mails: u32) -> Vec<Option<f64>> {
    let mails = f64::from(mails);
    vec![Some(mails / used.elapsed_s), Some(used.cpu_s * 1e6 / mails), None, None]
}

/// The memory of this product's users.
fn read_watching(used: &ProgramResult) -> anyhow::Result<Vec<Option<f64>>> {
    let json = json(used)?;
    need_good(&json)?;
    let bytes = number(&json, "/bytes_per_user").context("it does not say its memory")?;
    Ok(vec![None, None, None, Some(bytes / 1024.0)])
}

/// Waits until a queue of Postfix has no mail.
fn wait_until_empty(queue: &Path) -> anyhow::Result<()> {
    for _ in 0..LOOKS {
        if QUEUES.iter().all(|name| is_empty(&queue.join(name))) {
            return Ok(());
        }
        rustix::event::poll(&mut [], Some(&LOOK))?;
    }
    bail!("the queue of Postfix was not empty after a minute")
}

/// Whether no file is below a folder: queues with many mails have folders of their own for parts of them.
fn is_empty(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).all(|path| path.is_dir() && is_empty(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_drivers_send_the_same_mail_in_as_many_sessions() {
        let [one, .., kept] = Sessions::ALL;
        assert_eq!(one.name("Postfix"), "Postfix, 1 session");
        assert_eq!(kept.name(SMTP_SINK), "smtp-sink, 16 kept sessions");
        let ours = our_words(2525, kept, 99).join(" ");
        assert!(
            ours.starts_with("mail smtp://127.0.0.1:2525 --bytes 4096 --user u0@barograph.test -c 16 -n 99 "),
            "{ours}"
        );
        assert!(ours.ends_with(" --keep-session"), "{ours}");
        let theirs = their_words(2525, kept, 99, Path::new("letter")).join(" ");
        assert!(
            theirs.starts_with("-d -s 16 -m 99 ") && theirs.ends_with(" -F letter 127.0.0.1:2525"),
            "{theirs}"
        );
        assert!(!their_words(1, one, 1, Path::new("letter")).contains(&"-d".to_owned()));
        assert_eq!((TO_POSTFIX.over(one), TO_POSTFIX.over(kept)), (1_000, 10_000));
    }

    #[test]
    fn figures_are_those_of_whole_runs() {
        let text = "{\"errors\":0,\"requests\":2000,\"requests_per_s\":200.0,\"p95_ms\":4.5,\"bytes_per_user\":20480}";
        let used = ProgramResult { stdout: text.to_owned(), cpu_s: 0.5, peak_rss_mib: 9.0, elapsed_s: 8.0 };
        assert_eq!(read_ours(&used).unwrap(), [Some(200.0), Some(250.0), Some(4.5), None]);
        assert_eq!(read_theirs(&used, 1_000), [Some(125.0), Some(500.0), None, None]);
        assert_eq!(read_watching(&used).unwrap(), [None, None, None, Some(20.0)]);
        let failed = ProgramResult { stdout: "{\"errors\":1}".to_owned(), ..used };
        assert!(read_ours(&failed).is_err() && read_watching(&failed).is_err());
    }

    #[test]
    fn a_queue_is_empty_without_files_at_any_depth() {
        let queue = tempfile::tempdir().unwrap();
        wait_until_empty(queue.path()).unwrap();
        let deep = queue.path().join("deferred/4");
        fs::create_dir_all(&deep).unwrap();
        assert!(is_empty(&queue.path().join("deferred")));
        fs::write(deep.join("4F1"), "mail").unwrap();
        assert!(!is_empty(&queue.path().join("deferred")));
    }
}
