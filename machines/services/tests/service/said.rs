//! Answers of servers over TCP, and output of programs.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

/// Longest wait for an answer.
const ANSWER: Duration = Duration::from_secs(60);

pub(crate) fn connect(at: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect_timeout(&at, ANSWER).unwrap();
    stream.set_read_timeout(Some(ANSWER)).unwrap();
    stream
}

/// Sends a question and reads until `end` is in the answer, or the answer ends.
pub(crate) fn ask(stream: &mut TcpStream, question: &[u8], end: &str) -> String {
    stream.write_all(question).unwrap();
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    while !String::from_utf8_lossy(&answer).contains(end) {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(n) => answer.extend_from_slice(&piece[..n]),
            Err(error) => panic!("no `{end}` after {:?}: {error}", String::from_utf8_lossy(&answer)),
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// Returns head and body of the answer to a request, or the error.
pub(crate) fn http(at: SocketAddr, method: &str, path: &str, headers: &str) -> io::Result<(String, String)> {
    let mut stream = TcpStream::connect_timeout(&at, ANSWER)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.write_all(request(method, path, headers).as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    Ok((head.to_owned(), body.to_owned()))
}

/// Builds a request after whose answer the connection ends.
pub(crate) fn request(method: &str, path: &str, headers: &str) -> String {
    let length = if method == "POST" { "Content-Length: 0\r\n" } else { "" };
    format!("{method} {path} HTTP/1.1\r\nHost: front\r\nConnection: close\r\n{length}{headers}\r\n")
}

/// Returns the output of a program, which must succeed.
pub(crate) fn program(name: &str, args: &[&str]) -> String {
    let output = Command::new(name).args(args).output().unwrap_or_else(|error| panic!("{name}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} {args:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
