//! A server on a thread of its own that answers by heart.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread::JoinHandle;

use barograph_mysql::{Address, Client, Connection, Target};

/// The greeting, an answer for each message of the client, and the end after the last one.
pub(crate) type Script = Vec<Vec<u8>>;

/// A listening server.
pub(crate) struct Peer {
    url: String,
    thread: JoinHandle<()>,
}

impl Peer {
    /// Takes one connection and follows the script.
    pub(crate) fn start(script: Script) -> Self {
        Peer::doing(move |stream| follow(stream, &script))
    }

    /// Takes one connection and does `each` with it.
    pub(crate) fn doing(each: impl FnOnce(TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("mysql://me@{}/", listener.local_addr().unwrap());
        Peer { url, thread: std::thread::spawn(move || each(listener.accept().unwrap().0)) }
    }

    /// A client of it, with this query in the address.
    pub(crate) fn client(&self, query: &str) -> Client {
        client(&format!("{}?{query}", self.url))
    }

    /// A client of it that has a password.
    pub(crate) fn client_with_password(&self, query: &str) -> Client {
        client(&format!("{}?{query}", self.url.replace("me@", "me:pw@")))
    }

    /// A session of it.
    pub(crate) async fn session(&self) -> Connection {
        self.client("").connect(0).await.unwrap()
    }

    /// Waits for its end.
    pub(crate) fn join(self) {
        self.thread.join().unwrap();
    }
}

pub(crate) fn client(url: &str) -> Client {
    Client::new(&Target::resolve(Address::parse(url).unwrap(), &[]).unwrap())
}

/// Greets, answers messages, and then closes.
fn follow(mut stream: TcpStream, script: &[Vec<u8>]) {
    for (n, answer) in script.iter().enumerate() {
        if n > 0 && message(&mut stream).is_none() || stream.write_all(answer).is_err() {
            return;
        }
    }
    // What is under way is read, or a reset would overtake the answer.
    let _ = stream.shutdown(Shutdown::Write);
    let _ = stream.read_to_end(&mut Vec::new());
}

/// Reads a message of one packet; `None` at the end.
pub(crate) fn message(stream: &mut impl Read) -> Option<Vec<u8>> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).ok()?;
    let mut body = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
    stream.read_exact(&mut body).ok().map(|()| body)
}
