//! The connection to the agent in a guest: a virtio serial port, which network faults do not affect.
//!
//! It has threads, not tasks: pausing and limiting a unit must not need the runtime that calls them.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use barograph_platform::{Fault, OnLine, UnitExit};
use tokio::sync::{oneshot, watch};

use crate::host_commands::failed;
use crate::wire::{AgentCommand, AgentReply, Frames, Message, Request, WireFault, frame};

/// Bound of the queue of requests to a guest that does not read.
const QUEUE: usize = 256;

/// Longest wait of a request without a runtime, which is small and answered in milliseconds.
const SOON: Duration = Duration::from_secs(30);

/// Bytes per read.
const PIECE: usize = 64 << 10;

/// Reason for the lack of an answer from a guest that has ended.
const GONE: &str = "the virtual machine is gone";

/// An answer, or the reason for its absence.
type Answer = Result<Result<AgentReply, WireFault>, String>;

/// Receiver of an answer.
type Waiter = Box<dyn FnOnce(Answer) + Send>;

/// Receivers of a unit's lines, log and end.
pub(crate) struct UnitEnd {
    pub(crate) on_line: OnLine,
    pub(crate) log: Option<File>,
    pub(crate) ended: watch::Sender<Option<UnitExit>>,
}

/// Work of the writing thread.
enum WriteJob {
    Frame {
        id: u64,
        /// Number of the unit that this creates.
        creates: Option<u64>,
        bytes: Vec<u8>,
    },
    /// Writes these bytes, then nothing until told how to continue; then the bytes `go_on` come first.
    Hold { bytes: Vec<u8>, wait: Receiver<Resume>, go_on: Vec<u8> },
}

/// Continuation of writing.
#[derive(Default)]
struct Resume {
    /// New socket; `None` for the same.
    stream: Option<UnixStream>,
    /// Bytes that precede everything that waits.
    first: Vec<u8>,
}

/// A request from this side, and whether it was written: requests not written yet are not lost when the guest
/// is restored.
struct PendingRequest<T> {
    by: T,
    written: bool,
}

struct PortState {
    host: String,
    waiting: Mutex<HashMap<u64, PendingRequest<Waiter>>>,
    units: Mutex<HashMap<u64, PendingRequest<UnitEnd>>>,
    hello: watch::Sender<Option<Duration>>,
    gone: watch::Sender<bool>,
    /// Socket that is read, to be shut down by another thread.
    reading: Mutex<Option<UnixStream>>,
    /// Socket to read after the present one ends.
    next: Mutex<Option<UnixStream>>,
}

/// A port of a running guest. Dropping it closes it.
pub(crate) struct Port {
    shared: Arc<PortState>,
    out: SyncSender<WriteJob>,
    count: AtomicU64,
}

/// Sides that send nothing while a port is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SilentSide {
    /// This side. Messages from the guest still arrive.
    Here,
    /// The agent as well: nothing is in transit in either direction, and both are between two frames.
    Both,
}

/// A port whose writing is held during an operation on its guest.
pub(crate) struct PausedPort<'a> {
    port: &'a Port,
    resume: SyncSender<Resume>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Port {
    /// Starts to read and write at the socket.
    pub(crate) fn open(host: &str, stream: UnixStream) -> io::Result<Port> {
        let shared = Arc::new(PortState {
            host: host.to_owned(),
            waiting: Mutex::default(),
            units: Mutex::default(),
            hello: watch::Sender::new(None),
            gone: watch::Sender::new(false),
            reading: Mutex::new(Some(stream.try_clone()?)),
            next: Mutex::new(None),
        });
        let writing = stream.try_clone()?;
        let (out, work) = sync_channel(QUEUE);
        let (reader, writer) = (shared.clone(), shared.clone());
        thread::Builder::new().name("guest-in".to_owned()).spawn(move || read(&reader, stream))?;
        thread::Builder::new().name("guest-out".to_owned()).spawn(move || write(&writer, &work, writing))?;
        Ok(Port { shared, out, count: AtomicU64::new(1) })
    }

    /// Returns a new number for a unit or a request.
    pub(crate) fn number(&self) -> u64 {
        self.count.fetch_add(1, Ordering::Relaxed)
    }

    /// Waits for the agent's first message with the guest's uptime. `None` if the guest ended.
    pub(crate) async fn hello(&self) -> Option<Duration> {
        let (mut hello, mut gone) = (self.shared.hello.subscribe(), self.shared.gone.subscribe());
        tokio::select! {
            biased;
            up = hello.wait_for(Option::is_some) => up.ok().and_then(|up| *up),
            _ = gone.wait_for(|gone| *gone) => None,
        }
    }

    /// Registers the receivers of a unit, before it is created.
    pub(crate) fn register(&self, unit: u64, end: UnitEnd) {
        lock(&self.shared.units).insert(unit, PendingRequest { by: end, written: false });
        if *self.shared.gone.borrow() {
            end_all(&self.shared);
        }
    }

    /// Removes the receivers of a unit.
    pub(crate) fn forget(&self, unit: u64) {
        lock(&self.shared.units).remove(&unit);
    }

    /// Sends a request, and waits for the answer. `about` is the unit or host named in a fault.
    pub(crate) async fn ask(
        &self,
        ask: AgentCommand,
        about: &str,
        limit: Duration,
    ) -> Result<AgentReply, Fault> {
        let (tell, told) = oneshot::channel();
        // A caller that has gone does not need the answer.
        let waiter = Box::new(move |answer| drop(tell.send(answer)));
        let id = self.send(ask, waiter)?;
        self.answer(id, told, (about, limit)).await
    }

    async fn answer(
        &self,
        id: u64,
        told: oneshot::Receiver<Answer>,
        (about, limit): (&str, Duration),
    ) -> Result<AgentReply, Fault> {
        let told = tokio::time::timeout(limit, told).await;
        if told.is_err() {
            lock(&self.shared.waiting).remove(&id);
        }
        let told = told.map(|answer| answer.unwrap_or_else(|_| Err(GONE.to_owned())));
        self.understand(told.ok(), about, limit)
    }

    /// Sends a request, and blocks this thread until the answer arrives.
    pub(crate) fn ask_now(&self, ask: AgentCommand, about: &str) -> Result<AgentReply, Fault> {
        let (tell, told) = sync_channel(1);
        let waiter = Box::new(move |answer| drop(tell.try_send(answer)));
        let id = self.send(ask, waiter)?;
        let answer = match told.recv_timeout(SOON) {
            Ok(answer) => Some(answer),
            Err(RecvTimeoutError::Disconnected) => Some(Err(GONE.to_owned())),
            Err(RecvTimeoutError::Timeout) => {
                lock(&self.shared.waiting).remove(&id);
                None
            }
        };
        self.understand(answer, about, SOON)
    }

    /// Sends a request without waiting, for a caller that is being dropped.
    pub(crate) fn tell(&self, ask: AgentCommand) {
        // A guest that has ended has no units.
        let _ = self.send(ask, Box::new(drop));
    }

    fn send(&self, ask: AgentCommand, waiter: Waiter) -> Result<u64, Fault> {
        let id = self.number();
        let creates = match &ask {
            AgentCommand::Create { unit, .. } => Some(*unit),
            _ => None,
        };
        let bytes = self.framed(id, ask)?;
        self.wait_for(id, waiter, || self.queue(WriteJob::Frame { id, creates, bytes }))?;
        Ok(id)
    }

    fn act(&self) -> String {
        format!("ask the agent of host `{}`", self.shared.host)
    }

    fn framed(&self, id: u64, ask: AgentCommand) -> Result<Vec<u8>, Fault> {
        frame(&Request { id, ask }, &[]).map_err(|error| failed(self.act(), error))
    }

    fn queue(&self, out: WriteJob) -> Result<(), &'static str> {
        self.out.try_send(out).map_err(|error| match error {
            TrySendError::Full(_) => "it does not read: too many requests wait",
            TrySendError::Disconnected(_) => GONE,
        })
    }

    /// Registers a receiver for the answer to a request, if it can be sent.
    fn wait_for(
        &self,
        id: u64,
        waiter: Waiter,
        send: impl FnOnce() -> Result<(), &'static str>,
    ) -> Result<(), Fault> {
        lock(&self.shared.waiting).insert(id, PendingRequest { by: waiter, written: false });
        let sent = match send() {
            // No answer would come.
            Ok(()) if *self.shared.gone.borrow() => Err(GONE),
            sent => sent,
        };
        sent.map_err(|why| {
            lock(&self.shared.waiting).remove(&id);
            failed(self.act(), why)
        })
    }

    /// Interprets an answer; `None` means that it is late.
    fn understand(&self, answer: Option<Answer>, about: &str, limit: Duration) -> Result<AgentReply, Fault> {
        match answer {
            Some(Ok(answer)) => answer.map_err(|refused| refused.into_fault(about)),
            Some(Err(why)) => Err(failed(self.act(), why)),
            None => Err(failed(self.act(), format!("no answer within {limit:?}"))),
        }
    }

    /// Lets the guest read everything written, and writes nothing more until told how to continue. Requests
    /// wait meanwhile, for as long as each would wait for its answer. If dropped, writing continues at the
    /// same socket.
    pub(crate) async fn hold(&self, silence: SilentSide, limit: Duration) -> Result<PausedPort<'_>, Fault> {
        let (resume, wait) = sync_channel(1);
        let (tell, told) = oneshot::channel();
        let id = self.number();
        let (ask, go_on) = match silence {
            SilentSide::Here => (AgentCommand::Ping, Vec::new()),
            // Numbers begin at 1: this one has no receiver.
            SilentSide::Both => (AgentCommand::Hold, self.framed(0, AgentCommand::GoOn)?),
        };
        let out = WriteJob::Hold { bytes: self.framed(id, ask)?, wait, go_on };
        self.wait_for(id, Box::new(move |answer| drop(tell.send(answer))), || self.queue(out))?;
        self.answer(id, told, (&self.shared.host, limit)).await?;
        Ok(PausedPort { port: self, resume })
    }
}

impl PausedPort<'_> {
    /// Reads at this socket once the present one has ended; `None` takes that back.
    pub(crate) fn read_next(&self, reading: Option<UnixStream>) {
        *lock(&self.port.shared.next) = reading;
    }

    /// Continues writing at this socket, which is that of [`PausedPort::read_next`].
    pub(crate) fn write_on(self, writing: UnixStream) {
        // The writer waits for exactly this.
        let _ = self.resume.try_send(Resume { stream: Some(writing), first: Vec::new() });
    }

    /// Continues writing at the socket of the guest's new place, and reads there once the old socket has
    /// ended. Both arguments are handles of one socket.
    pub(crate) fn go_on(self, reading: UnixStream, writing: UnixStream) {
        self.read_next(Some(reading));
        self.write_on(writing);
    }

    /// Continues with a guest that was restored to an earlier state, at which [`SilentSide::Both`] was kept,
    /// too. Requests that it has received and not answered fail with the reason `why`; requests not written
    /// yet are still sent. Units created after that state have ended; units that exist only in the guest are
    /// killed there. `writing` is the socket of the restored guest; `None` for the same.
    pub(crate) async fn went_back(
        self,
        (why, writing): (&str, Option<UnixStream>),
        limit: Duration,
    ) -> Result<(), Fault> {
        let PausedPort { port, resume } = self;
        let shared = &*port.shared;
        let lost: Vec<_> = lock(&shared.waiting).extract_if(|_, asked| asked.written).collect();
        lost.into_iter().for_each(|(_, asked)| (asked.by)(Err(why.to_owned())));
        let mut units: Vec<u64> =
            lock(&shared.units).iter().filter(|(_, asked)| asked.written).map(|(unit, _)| *unit).collect();
        units.sort_unstable();
        let (tell, told) = oneshot::channel();
        let id = port.number();
        let first = port.framed(id, AgentCommand::Keep(units.clone()))?;
        port.wait_for(id, Box::new(move |answer| drop(tell.send(answer))), || {
            resume.try_send(Resume { stream: writing, first }).map_err(|_| GONE)
        })?;
        let AgentReply::Kept(there) = port.answer(id, told, (&shared.host, limit)).await? else {
            return Err(failed(port.act(), "it answers something else than which units it has"));
        };
        for unit in units.into_iter().filter(|unit| !there.contains(unit)) {
            if let Some(asked) = lock(&shared.units).remove(&unit) {
                let why = format!("{why}, taken before this unit was created");
                asked.by.ended.send_replace(Some(UnitExit::Unknown(why)));
            }
        }
        Ok(())
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        *lock(&self.shared.next) = None;
        if let Some(stream) = lock(&self.shared.reading).take() {
            // It may be shut down already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn write(shared: &PortState, work: &Receiver<WriteJob>, mut stream: UnixStream) {
    // A failure to write means that the guest has ended, which the reader detects and reports.
    while let Ok(out) = work.recv() {
        match out {
            WriteJob::Frame { id, creates, bytes } => {
                note_written(shared, id, creates);
                let _ = stream.write_all(&bytes);
            }
            WriteJob::Hold { bytes, wait, go_on } => {
                let _ = stream.write_all(&bytes);
                let Resume { stream: next, first } = wait.recv().unwrap_or_default();
                stream = next.unwrap_or(stream);
                let _ = stream.write_all(&go_on);
                let _ = stream.write_all(&first);
            }
        }
    }
}

fn note_written(shared: &PortState, id: u64, creates: Option<u64>) {
    if let Some(asked) = lock(&shared.waiting).get_mut(&id) {
        asked.written = true;
    }
    let mut units = lock(&shared.units);
    if let Some(asked) = creates.and_then(|unit| units.get_mut(&unit)) {
        asked.written = true;
    }
}

fn read(shared: &PortState, mut stream: UnixStream) {
    let mut frames = Frames::default();
    let mut piece = vec![0; PIECE];
    loop {
        let count = match stream.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.unwrap_or(0),
        };
        if count == 0 {
            let Some(next) = lock(&shared.next).take() else { break };
            *lock(&shared.reading) = next.try_clone().ok();
            stream = next;
            continue;
        }
        frames.push(&piece[..count]);
        loop {
            match frames.next::<Message>() {
                Ok(Some((message, raw))) => take_in(shared, message, &raw),
                Ok(None) => break,
                // The sender is not the agent: treated as ended.
                Err(_) => {
                    let _ = stream.shutdown(Shutdown::Both);
                    break;
                }
            }
        }
    }
    shared.gone.send_replace(true);
    end_all(shared);
}

fn take_in(shared: &PortState, message: Message, raw: &[u8]) {
    match message {
        Message::Hello { up } => {
            shared.hello.send_replace(Some(up));
        }
        Message::Answer { id, answer } => {
            let asked = lock(&shared.waiting).remove(&id);
            if let Some(asked) = asked {
                (asked.by)(Ok(answer));
            }
        }
        Message::Line { unit, text } => {
            let on_line = lock(&shared.units).get(&unit).map(|asked| asked.by.on_line.clone());
            if let Some(on_line) = on_line {
                on_line(&text);
            }
        }
        Message::Log { unit } => {
            if let Some(log) = lock(&shared.units).get_mut(&unit).and_then(|asked| asked.by.log.as_mut()) {
                // A full disk here must not end the unit there; its log is truncated then.
                let _ = log.write_all(raw);
            }
        }
        Message::Ended { unit, end } => {
            if let Some(known) = lock(&shared.units).remove(&unit) {
                known.by.ended.send_replace(Some(end.into()));
            }
        }
    }
}

fn end_all(shared: &PortState) {
    let waiting: Vec<_> = lock(&shared.waiting).drain().collect();
    waiting.into_iter().for_each(|(_, asked)| (asked.by)(Err(GONE.to_owned())));
    let units: Vec<_> = lock(&shared.units).drain().collect();
    for (_, unit) in units {
        let why = format!("the virtual machine `{}` is gone", shared.host);
        unit.by.ended.send_replace(Some(UnitExit::Unknown(why)));
    }
}

/// Opens the log of a unit on this machine.
pub(crate) fn open_log(unit: &str, path: &Path) -> Result<File, Fault> {
    let opened = OpenOptions::new().append(true).create(true).open(path);
    opened.map_err(|source| Fault::OpenLog { unit: unit.to_owned(), path: path.to_owned(), source })
}

#[cfg(test)]
#[path = "port_tests.rs"]
mod tests;
