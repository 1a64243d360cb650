//! Tells whether a service answers in its protocol.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::bytes::{AMQP_HELLO, MONGODB_MESSAGE, mongodb_hello, postgres_startup};

/// An answer to one question is waited for this long; a service that starts up may be slow to give it.
const ANSWER: Duration = Duration::from_secs(2);

/// What a service does when it is ready.
#[derive(Clone, Copy)]
pub(super) enum Ready {
    /// It lets a user in.
    Postgres,
    /// It greets with version 10 of its protocol.
    MariaDb,
    /// It answers the protocol's name with its first method.
    RabbitMq,
    /// It greets with `INFO`.
    Nats,
    /// It answers `hello`.
    MongoDb,
    /// It says that it is ready to be written to.
    Prometheus,
    /// It accepts connections.
    Listens,
}

impl Ready {
    /// Asks once.
    pub(super) fn ask(self, port: u16) -> bool {
        self.answer(port).unwrap_or(false)
    }

    fn answer(self, port: u16) -> io::Result<bool> {
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let mut stream = TcpStream::connect_timeout(&address, ANSWER)?;
        stream.set_read_timeout(Some(ANSWER))?;
        match self {
            Ready::Listens => Ok(true),
            // `R`: about the password, which is none; an error would begin with `E`.
            Ready::Postgres => Ok(first::<1>(&mut stream, &postgres_startup())? == *b"R"),
            // Three bytes of length and one of sequence come before the version.
            Ready::MariaDb => Ok(first::<5>(&mut stream, b"")?[4] == 10),
            // A method on channel 0.
            Ready::RabbitMq => Ok(first::<3>(&mut stream, AMQP_HELLO)? == [1, 0, 0]),
            Ready::Nats => Ok(first::<5>(&mut stream, b"")? == *b"INFO "),
            Ready::Prometheus => {
                let question = b"GET /-/ready HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
                Ok(first::<12>(&mut stream, question)? == *b"HTTP/1.1 200")
            }
            Ready::MongoDb => {
                let head = first::<16>(&mut stream, &mongodb_hello())?;
                Ok(head[12..] == MONGODB_MESSAGE.to_le_bytes())
            }
        }
    }
}

/// The first bytes of the answer to a question.
fn first<const N: usize>(stream: &mut TcpStream, question: &[u8]) -> io::Result<[u8; N]> {
    stream.write_all(question)?;
    let mut answer = [0; N];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_port_that_is_closed_or_says_something_else_is_not_ready() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let answers = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"HTTP/1.1 400 no").unwrap();
        });
        assert!(!Ready::Nats.ask(port));
        answers.join().unwrap();
        assert!(!Ready::Listens.ask(port));
    }
}
