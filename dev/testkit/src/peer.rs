//! A server on a thread of its own that follows a script.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread::JoinHandle;

/// A step: what must have arrived since the last one, and the answer.
pub type Step = (&'static str, Vec<u8>);

/// A step whose answer is text.
#[must_use]
pub fn step(wanted: &'static str, answer: &str) -> Step {
    (wanted, answer.as_bytes().to_vec())
}

/// A listening server.
pub struct Peer {
    /// Address and port.
    pub host: String,
    thread: JoinHandle<()>,
}

impl Peer {
    /// Takes one connection, follows the script, and closes.
    #[must_use]
    pub fn start(script: Vec<Step>) -> Self {
        Peer::doing(move |mut stream| {
            if follow(&mut stream, &script) {
                // Bytes in flight are read, or a reset would overtake the answer.
                let _ = stream.shutdown(Shutdown::Write);
                let _ = stream.read_to_end(&mut Vec::new());
            }
        })
    }

    /// Takes one connection and passes it on.
    #[must_use]
    pub fn doing(each: impl FnOnce(TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        Peer { host, thread: std::thread::spawn(move || each(listener.accept().unwrap().0)) }
    }

    /// Waits for its end.
    pub fn join(self) {
        self.thread.join().unwrap();
    }
}

/// Follows a script; false if the client left before its end.
pub fn follow(stream: &mut (impl Read + Write), script: &[Step]) -> bool {
    script.iter().all(|(wanted, answer)| {
        let mut seen = Vec::new();
        let has = |seen: &[u8]| seen.windows(wanted.len().max(1)).any(|part| part == wanted.as_bytes());
        while !wanted.is_empty() && !has(&seen) {
            let mut byte = [0];
            if !matches!(stream.read(&mut byte), Ok(1)) {
                return false;
            }
            seen.push(byte[0]);
        }
        stream.write_all(answer).and_then(|()| stream.flush()).is_ok()
    })
}
