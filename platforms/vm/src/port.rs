//! The way to the agent in a guest: a virtio serial port, which no fault of the network touches.
//!
//! Threads, not tasks: pausing and limiting a unit must not need the runtime that calls them.

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

use barograph_platform::{Ended, Fault, OnLine};
use tokio::sync::{oneshot, watch};

use crate::wire::{Ask, Frames, Message, Refused, Reply, Request, frame};
use crate::work::failed;

/// Requests that wait for a guest that does not read.
const QUEUE: usize = 256;

/// A request that is made without a runtime is small, and answered in milliseconds.
const SOON: Duration = Duration::from_secs(10);

/// What is read at once.
const PIECE: usize = 64 << 10;

type Answer = Result<Reply, Refused>;

/// Where an answer goes.
type Waiter = Box<dyn FnOnce(Option<Answer>) + Send>;

/// What comes of a unit, and where it goes.
pub(crate) struct UnitEnd {
    pub(crate) on_line: OnLine,
    pub(crate) log: Option<File>,
    pub(crate) ended: watch::Sender<Option<Ended>>,
}

/// Work for the writing thread.
enum Out {
    Frame(Vec<u8>),
    /// Writes this, then nothing until it is told where to go on: at another socket, or the same.
    Hold(Vec<u8>, Receiver<Option<UnixStream>>),
}

struct Shared {
    host: String,
    waiting: Mutex<HashMap<u64, Waiter>>,
    units: Mutex<HashMap<u64, UnitEnd>>,
    hello: watch::Sender<Option<Duration>>,
    gone: watch::Sender<bool>,
    /// The socket that is read, to be shut from outside.
    reading: Mutex<Option<UnixStream>>,
    /// Where to read on when the socket ends.
    next: Mutex<Option<UnixStream>>,
}

/// A port of a running guest. Dropping it closes it.
pub(crate) struct Port {
    shared: Arc<Shared>,
    out: SyncSender<Out>,
    count: AtomicU64,
}

/// A port whose writing is held while its guest moves.
pub(crate) struct Held<'a> {
    port: &'a Port,
    resume: SyncSender<Option<UnixStream>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Port {
    /// Begins to read and write at the socket.
    pub(crate) fn open(host: &str, stream: UnixStream) -> io::Result<Port> {
        let shared = Arc::new(Shared {
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
        let reader = shared.clone();
        thread::Builder::new().name("guest-in".to_owned()).spawn(move || read(&reader, stream))?;
        thread::Builder::new().name("guest-out".to_owned()).spawn(move || write(&work, writing))?;
        Ok(Port { shared, out, count: AtomicU64::new(1) })
    }

    /// A number for a unit or a request.
    pub(crate) fn number(&self) -> u64 {
        self.count.fetch_add(1, Ordering::Relaxed)
    }

    /// Waits for the agent's first word: how long the guest had been up. `None` when the guest ended.
    pub(crate) async fn hello(&self) -> Option<Duration> {
        let (mut hello, mut gone) = (self.shared.hello.subscribe(), self.shared.gone.subscribe());
        tokio::select! {
            biased;
            up = hello.wait_for(Option::is_some) => up.ok().and_then(|up| *up),
            _ = gone.wait_for(|gone| *gone) => None,
        }
    }

    /// Says where what comes of a unit goes. Before it is created.
    pub(crate) fn register(&self, unit: u64, end: UnitEnd) {
        lock(&self.shared.units).insert(unit, end);
        if *self.shared.gone.borrow() {
            end_all(&self.shared);
        }
    }

    /// Nothing of this unit is of interest any more.
    pub(crate) fn forget(&self, unit: u64) {
        lock(&self.shared.units).remove(&unit);
    }

    /// Asks, and waits for the answer. `about` is the unit a fault is about, or the host.
    pub(crate) async fn ask(&self, ask: Ask, about: &str, limit: Duration) -> Result<Reply, Fault> {
        let (tell, told) = oneshot::channel();
        // A caller that has gone does not want the answer.
        let waiter = Box::new(move |answer| drop(tell.send(answer)));
        let id = self.send(ask, waiter)?;
        let told = tokio::time::timeout(limit, told).await;
        if told.is_err() {
            lock(&self.shared.waiting).remove(&id);
        }
        self.understand(told.map(|answer| answer.ok().flatten()).ok(), about, limit)
    }

    /// Asks, and holds this thread until the answer is there.
    pub(crate) fn ask_now(&self, ask: Ask, about: &str) -> Result<Reply, Fault> {
        let (tell, told) = sync_channel(1);
        let waiter = Box::new(move |answer| drop(tell.try_send(answer)));
        let id = self.send(ask, waiter)?;
        let answer = match told.recv_timeout(SOON) {
            Ok(answer) => Some(answer),
            Err(RecvTimeoutError::Disconnected) => Some(None),
            Err(RecvTimeoutError::Timeout) => {
                lock(&self.shared.waiting).remove(&id);
                None
            }
        };
        self.understand(answer, about, SOON)
    }

    /// Asks without waiting, for a caller that is being dropped.
    pub(crate) fn tell(&self, ask: Ask) {
        // A guest that is gone has no units any more.
        let _ = self.send(ask, Box::new(drop));
    }

    fn send(&self, ask: Ask, waiter: Waiter) -> Result<u64, Fault> {
        let id = self.number();
        let act = || format!("ask the agent of host `{}`", self.shared.host);
        let bytes = frame(&Request { id, ask }, &[]).map_err(|error| failed(act(), error))?;
        lock(&self.shared.waiting).insert(id, waiter);
        let sent = match self.out.try_send(Out::Frame(bytes)) {
            Ok(()) if *self.shared.gone.borrow() => Err("the virtual machine is gone"),
            Ok(()) => Ok(id),
            Err(TrySendError::Full(_)) => Err("it does not read: too many requests wait"),
            Err(TrySendError::Disconnected(_)) => Err("the virtual machine is gone"),
        };
        sent.map_err(|why| {
            lock(&self.shared.waiting).remove(&id);
            failed(act(), why)
        })
    }

    /// The outer `None`: too late; the inner: the guest is gone.
    fn understand(
        &self,
        answer: Option<Option<Answer>>,
        about: &str,
        limit: Duration,
    ) -> Result<Reply, Fault> {
        let act = || format!("ask the agent of host `{}`", self.shared.host);
        match answer {
            Some(Some(answer)) => answer.map_err(|refused| refused.into_fault(about)),
            Some(None) => Err(failed(act(), "the virtual machine is gone")),
            None => Err(failed(act(), format!("no answer within {limit:?}"))),
        }
    }

    /// Lets the guest read all that was written, and writes nothing more until [`Held::go_on`]. Dropped without that,
    /// it goes on where it was.
    pub(crate) async fn hold(&self, limit: Duration) -> Result<Held<'_>, Fault> {
        let (resume, wait) = sync_channel(1);
        let (tell, told) = oneshot::channel();
        let id = self.number();
        lock(&self.shared.waiting).insert(id, Box::new(move |answer| drop(tell.send(answer))));
        let act = || format!("hold the port of host `{}`", self.shared.host);
        let bytes = frame(&Request { id, ask: Ask::Ping }, &[]).map_err(|error| failed(act(), error))?;
        let mut sent = self.out.try_send(Out::Hold(bytes, wait)).map_err(|error| error.to_string());
        let held = Held { port: self, resume };
        // Nobody would answer.
        if *self.shared.gone.borrow() {
            sent = Err("the virtual machine is gone".to_owned());
        }
        if let Err(why) = sent {
            lock(&self.shared.waiting).remove(&id);
            return Err(failed(act(), why));
        }
        let told = tokio::time::timeout(limit, told).await;
        self.understand(told.map(|answer| answer.ok().flatten()).ok(), &self.shared.host, limit)?;
        Ok(held)
    }
}

impl Held<'_> {
    /// Writes on at the socket of the guest's new place, and reads there once the old socket has ended: two handles of
    /// one socket.
    pub(crate) fn go_on(self, reading: UnixStream, writing: UnixStream) {
        *lock(&self.port.shared.next) = Some(reading);
        // The writer waits for exactly this.
        let _ = self.resume.try_send(Some(writing));
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        *lock(&self.shared.next) = None;
        if let Some(stream) = lock(&self.shared.reading).take() {
            // Already shut is shut.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn write(work: &Receiver<Out>, mut stream: UnixStream) {
    // An error of writing means that the guest is gone, which the reader finds too, and tells.
    while let Ok(out) = work.recv() {
        match out {
            Out::Frame(bytes) => {
                let _ = stream.write_all(&bytes);
            }
            Out::Hold(bytes, wait) => {
                let _ = stream.write_all(&bytes);
                if let Ok(Some(next)) = wait.recv() {
                    stream = next;
                }
            }
        }
    }
}

fn read(shared: &Shared, mut stream: UnixStream) {
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
                // Whoever speaks there is not our agent: as good as gone.
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

fn take_in(shared: &Shared, message: Message, raw: &[u8]) {
    match message {
        Message::Hello { up } => {
            shared.hello.send_replace(Some(up));
        }
        Message::Answer { id, answer } => {
            let waiter = lock(&shared.waiting).remove(&id);
            if let Some(waiter) = waiter {
                waiter(Some(answer));
            }
        }
        Message::Line { unit, text } => {
            let on_line = lock(&shared.units).get(&unit).map(|end| end.on_line.clone());
            if let Some(on_line) = on_line {
                on_line(&text);
            }
        }
        Message::Log { unit } => {
            if let Some(log) = lock(&shared.units).get_mut(&unit).and_then(|end| end.log.as_mut()) {
                // A full disk here must not end the unit there; its log is cut then.
                let _ = log.write_all(raw);
            }
        }
        Message::Ended { unit, end } => {
            if let Some(known) = lock(&shared.units).remove(&unit) {
                known.ended.send_replace(Some(end.into()));
            }
        }
    }
}

fn end_all(shared: &Shared) {
    let waiting: Vec<_> = lock(&shared.waiting).drain().collect();
    waiting.into_iter().for_each(|(_, waiter)| waiter(None));
    let units: Vec<_> = lock(&shared.units).drain().collect();
    for (_, unit) in units {
        let why = format!("the virtual machine `{}` is gone", shared.host);
        unit.ended.send_replace(Some(Ended::Unknown(why)));
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
