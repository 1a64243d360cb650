//! The guest's end of the serial port.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use serde::Serialize;
use tokio::sync::mpsc;

use super::AgentError;
use crate::wire::{Frames, Message, PORT_NAME, Request, frame};

/// Messages that wait for a host process that does not read. Then units wait too, at their next line.
const OUTGOING: usize = 1024;

/// Requests that wait for the agent.
const INCOMING: usize = 256;

/// What is read at once.
const PIECE: usize = 64 << 10;

/// Where the kernel names its ports.
const PORTS: &str = "/sys/class/virtio-ports";

/// Both directions of the port.
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

/// Says things to the host process, in order.
#[derive(Clone)]
pub(super) struct Voice {
    out: SyncSender<Vec<u8>>,
}

impl Voice {
    /// Says it, and waits while too much is still to be said. What cannot be said is lost with the port.
    pub(super) fn say(&self, message: &Message, raw: &[u8]) {
        if let Ok(bytes) = framed(message, raw) {
            let _ = self.out.send(bytes);
        }
    }
}

fn framed(message: &impl Serialize, raw: &[u8]) -> io::Result<Vec<u8>> {
    Ok(frame(message, raw)?)
}

/// Starts the two threads at the port.
pub(super) fn speak(from: File, to: File) -> Result<(mpsc::Receiver<Request>, Voice), AgentError> {
    let failed = |error| AgentError::Begin("start the threads of the serial port", error);
    let (out, messages) = sync_channel(OUTGOING);
    let (requests, incoming) = mpsc::channel(INCOMING);
    thread::Builder::new().name("port-out".to_owned()).spawn(move || write(&messages, to)).map_err(failed)?;
    thread::Builder::new().name("port-in".to_owned()).spawn(move || read(from, &requests)).map_err(failed)?;
    Ok((incoming, Voice { out }))
}

fn write(messages: &Receiver<Vec<u8>>, mut to: File) {
    while let Ok(bytes) = messages.recv() {
        if to.write_all(&bytes).is_err() {
            return;
        }
    }
}

/// A port without somebody at its other end gives nothing at once, and nobody comes back to it: then all is over.
/// While a guest moves, the other end is there, at the new place.
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
