//! A server on a thread of its own that answers by heart.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread::JoinHandle;

use barograph_postgres::{Address, Client, Connection, Target};

/// What a connection is answered with: an answer for each request, and the end after the last one.
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
        let url = format!("postgres://me@{}/d", listener.local_addr().unwrap());
        Peer { url, thread: std::thread::spawn(move || each(listener.accept().unwrap().0)) }
    }

    /// A client of it, with this query in the address.
    pub(crate) fn client(&self, query: &str) -> Client {
        client(&format!("{}?{query}", self.url))
    }

    /// A client of it that has a password.
    pub(crate) fn client_with_password(&self) -> Client {
        client(&self.url.replace("me@", "me:pw@"))
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

fn client(url: &str) -> Client {
    Client::new(&Target::resolve(Address::parse(url).unwrap(), &[]).unwrap())
}

/// Answers requests, each whole, and then closes.
fn follow(mut stream: TcpStream, script: &[Vec<u8>]) {
    let mut first = true;
    for answer in script {
        if !request(&mut stream, first) || stream.write_all(answer).is_err() {
            return;
        }
        first = false;
    }
    // What is under way is read, or a reset would overtake the answer.
    let _ = stream.shutdown(Shutdown::Write);
    let _ = stream.read_to_end(&mut Vec::new());
}

/// Reads up to the end of a request: a Sync, a query, a password or what a session begins with; false at the end.
pub(crate) fn request(stream: &mut TcpStream, first: bool) -> bool {
    loop {
        let mut tag = [b'Q'];
        if !first && stream.read_exact(&mut tag).is_err() {
            return false;
        }
        let mut length = [0; 4];
        if stream.read_exact(&mut length).is_err() {
            return false;
        }
        let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
        if stream.read_exact(&mut body).is_err() {
            return false;
        }
        if matches!(tag[0], b'S' | b'Q' | b'p' | b'c') {
            return true;
        }
    }
}
