//! The guest's end of the serial port.

use std::convert::Infallible;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde::Serialize;
use tokio::sync::mpsc;

use super::AgentError;
use crate::wire::{Frames, Message, PORT_NAME, Request, frame};

/// Bound of the queue of messages to a host process that does not read. Beyond it units wait, too, at their
/// next line.
const OUTGOING: usize = 1024;

/// Bound of the queue of requests to the agent.
const INCOMING: usize = 256;

/// Bytes per read.
const PIECE: usize = 64 << 10;

/// Folder in which the kernel names its ports.
const PORTS: &str = "/sys/class/virtio-ports";

/// Opens both directions of the port.
pub(super) fn open_port() -> Result<(File, File), AgentError> {
    let failed = |error| AgentError::Port(PORT_NAME.to_owned(), error);
    let path = find_port().map_err(failed)?;
    let from = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
    let to = from.try_clone().map_err(failed)?;
    Ok((from, to))
}

fn find_port() -> io::Result<PathBuf> {
    for item in fs::read_dir(PORTS)? {
        let path = item?.path();
        let name = fs::read_to_string(path.join("name")).unwrap_or_default();
        if name.trim() == PORT_NAME
            && let Some(device) = path.file_name()
        {
            return Ok(PathBuf::from("/dev").join(device));
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

/// Work of the writing thread.
enum WriteJob {
    Frame(Vec<u8>),
    /// Writes this, then nothing until the other end of the channel is dropped.
    Last(Vec<u8>, Receiver<Infallible>),
}

/// Sends messages to the host process, in order.
#[derive(Clone)]
pub(super) struct AgentWriter {
    out: SyncSender<WriteJob>,
    /// While it is set, nothing is sent.
    silence: Arc<Mutex<Option<SyncSender<Infallible>>>>,
}

impl AgentWriter {
    /// Sends a message, and waits while the queue is full. A message that cannot be sent is lost with the
    /// port.
    pub(super) fn say(&self, message: &Message, raw: &[u8]) {
        if let Ok(bytes) = framed(message, raw) {
            let _ = self.out.send(WriteJob::Frame(bytes));
        }
    }

    /// Sends a message, and then nothing until [`AgentWriter::go_on`]; later messages wait.
    pub(super) fn say_last(&self, message: &Message) {
        let (silence, wait) = sync_channel(0);
        // An earlier silence that was not ended would keep this message from being sent.
        self.set_silence(Some(silence));
        if let Ok(bytes) = framed(message, &[]) {
            let _ = self.out.send(WriteJob::Last(bytes, wait));
        }
    }

    /// Sends the waiting messages. A silence that has not begun is cancelled.
    pub(super) fn go_on(&self) {
        self.set_silence(None);
    }

    fn set_silence(&self, silence: Option<SyncSender<Infallible>>) {
        *self.silence.lock().unwrap_or_else(PoisonError::into_inner) = silence;
    }
}

fn framed(message: &impl Serialize, raw: &[u8]) -> io::Result<Vec<u8>> {
    Ok(frame(message, raw)?)
}

/// Starts the two threads of the port.
pub(super) fn speak(from: File, to: File) -> Result<(mpsc::Receiver<Request>, AgentWriter), AgentError> {
    let failed = |error| AgentError::Begin("start the threads of the serial port", error);
    let (out, messages) = sync_channel(OUTGOING);
    let (requests, incoming) = mpsc::channel(INCOMING);
    thread::Builder::new().name("port-out".to_owned()).spawn(move || write(&messages, to)).map_err(failed)?;
    thread::Builder::new().name("port-in".to_owned()).spawn(move || read(from, &requests)).map_err(failed)?;
    Ok((incoming, AgentWriter { out, silence: Arc::default() }))
}

fn write(messages: &Receiver<WriteJob>, mut to: File) {
    while let Ok(out) = messages.recv() {
        let (bytes, wait) = match out {
            WriteJob::Frame(bytes) => (bytes, None),
            WriteJob::Last(bytes, wait) => (bytes, Some(wait)),
        };
        if to.write_all(&bytes).is_err() {
            return;
        }
        if let Some(wait) = wait {
            // Nothing ever arrives: the channel closes.
            let _ = wait.recv();
        }
    }
}

/// Reads until the port closes. A port without a process at its other end returns nothing at once, and none
/// returns to it, so the agent ends. While a guest moves, the other end exists at the new place.
fn read(mut from: File, requests: &mpsc::Sender<Request>) {
    let mut frames = Frames::default();
    let mut piece = vec![0; PIECE];
    loop {
        let count = match from.read(&mut piece) {
            Ok(0) => return,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        frames.push(&piece[..count]);
        loop {
            match frames.next::<Request>() {
                Ok(Some((request, _))) => {
                    if requests.blocking_send(request).is_err() {
                        return;
                    }
                }
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn line(text: &str) -> Message {
        Message::Line { unit: 1, text: text.to_owned() }
    }

    /// Reads the texts of the next `count` lines.
    fn hear(from: &mut UnixStream, frames: &mut Frames, count: usize) -> Vec<String> {
        let (mut texts, mut piece) = (Vec::new(), [0; 1000]);
        while texts.len() < count {
            match frames.next::<Message>().unwrap() {
                Some((Message::Line { text, .. }, _)) => texts.push(text),
                Some(other) => panic!("{other:?}"),
                None => {
                    let read = from.read(&mut piece).unwrap();
                    assert!(read > 0, "it ended behind {texts:?}");
                    frames.push(&piece[..read]);
                }
            }
        }
        texts
    }

    #[test]
    fn what_is_said_in_a_silence_comes_behind_it_in_order() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let to = File::from(OwnedFd::from(theirs));
        let (_requests, voice) = speak(to.try_clone().unwrap(), to).unwrap();
        let mut frames = Frames::default();
        voice.say(&line("before"), &[]);
        voice.say_last(&line("last"));
        assert_eq!(hear(&mut ours, &mut frames, 2), ["before", "last"]);
        let waiting: Vec<String> = (0..OUTGOING).map(|number| number.to_string()).collect();
        waiting.iter().for_each(|text| voice.say(&line(text), &[]));
        let full = voice.out.try_send(WriteJob::Frame(Vec::new()));
        assert!(full.is_err(), "nothing of it was taken to be said");
        voice.go_on();
        assert_eq!(hear(&mut ours, &mut frames, OUTGOING), waiting);
        // A silence that ends before its turn has no effect.
        voice.say_last(&line("last"));
        voice.go_on();
        voice.say(&line("after"), &[]);
        assert_eq!(hear(&mut ours, &mut frames, 2), ["last", "after"]);
    }
}
