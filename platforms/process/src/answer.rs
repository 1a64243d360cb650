//! Checks that a service answers in its protocol.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use barograph_platform::ReadinessCheck;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::bytes::{AMQP_HELLO, MONGODB_MESSAGE, mongodb_hello, postgres_startup};

/// Longest wait for an answer; a starting service may be slow.
const ANSWER: Duration = Duration::from_secs(2);

/// Interval between questions to a service that does not answer yet.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// Asks until the answer is right.
pub async fn until_answered(ask: &ReadinessCheck, address: SocketAddr) {
    while !matches!(timeout(ANSWER, answered(ask, address)).await, Ok(Ok(true))) {
        sleep(ASK_EVERY).await;
    }
}

async fn answered(ask: &ReadinessCheck, address: SocketAddr) -> io::Result<bool> {
    let mut stream = TcpStream::connect(address).await?;
    match ask {
        ReadinessCheck::Listens => Ok(true),
        ReadinessCheck::Http { path } => {
            let question = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
            let line = first::<12>(&mut stream, question.as_bytes()).await?;
            Ok(matches!(&line, b"HTTP/1.1 200" | b"HTTP/1.0 200"))
        }
        // `R`: authentication, without a password; an error would begin with `E`.
        ReadinessCheck::Postgres => Ok(first::<1>(&mut stream, &postgres_startup()).await? == *b"R"),
        // Three bytes of length and one of sequence precede the version of the protocol.
        ReadinessCheck::MySql => Ok(first::<5>(&mut stream, b"").await?[4] == 10),
        // A method on channel 0.
        ReadinessCheck::Amqp => Ok(first::<3>(&mut stream, AMQP_HELLO).await? == [1, 0, 0]),
        ReadinessCheck::Nats => Ok(first::<5>(&mut stream, b"").await? == *b"INFO "),
        ReadinessCheck::MongoDb => {
            let head = first::<16>(&mut stream, &mongodb_hello()).await?;
            Ok(head[12..] == MONGODB_MESSAGE.to_le_bytes())
        }
        ReadinessCheck::Redis => Ok(first::<5>(&mut stream, b"PING\r\n").await? == *b"+PONG"),
        ReadinessCheck::Memcached => Ok(first::<8>(&mut stream, b"version\r\n").await? == *b"VERSION "),
    }
}

/// Returns the first bytes of the answer to a question.
async fn first<const N: usize>(stream: &mut TcpStream, question: &[u8]) -> io::Result<[u8; N]> {
    stream.write_all(question).await?;
    let mut answer = [0; N];
    stream.read_exact(&mut answer).await?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use barograph_testkit::ClosedPort;
    use tokio::net::TcpListener;

    use super::*;

    /// A server that sends `text` to every client.
    async fn saying(text: &'static [u8]) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut question = [0; 4096];
                // MySQL and NATS send first; the others wait for a question.
                let _ = timeout(Duration::from_millis(20), stream.read(&mut question)).await;
                let _ = stream.write_all(text).await;
                // A question after the end of the connection would discard the answer.
                while stream.read(&mut question).await.is_ok_and(|count| count > 0) {}
            }
        });
        address
    }

    #[tokio::test]
    async fn each_question_knows_its_answer_from_others() {
        let http = || ReadinessCheck::Http { path: "/".to_owned() };
        let mongodb: &[u8] = b"\x40\0\0\0\x01\0\0\0\x01\0\0\0\xdd\x07\0\0";
        let cases: [(ReadinessCheck, &'static [u8], &'static [u8]); 8] = [
            (http(), b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 503 not yet\r\n\r\n"),
            (ReadinessCheck::Postgres, b"R\0\0\0\x08\0\0\0\0", b"E\0\0\0\x08starting up"),
            (ReadinessCheck::MySql, b"\x40\0\0\0\x0a10.11", b"\x40\0\0\0\xff too many"),
            (ReadinessCheck::Amqp, b"\x01\0\0\0\0\0\0", b"AMQP\0\0\x09\x01"),
            (ReadinessCheck::Nats, b"INFO {}\r\n", b"HTTP/1.1 200 OK\r\n\r\n"),
            (ReadinessCheck::MongoDb, mongodb, b"HTTP/1.1 200 OK\r\n\r\n"),
            (ReadinessCheck::Redis, b"+PONG\r\n", b"-LOADING the data\r\n"),
            (ReadinessCheck::Memcached, b"VERSION 1.6\r\n", b"ERROR\r\n........"),
        ];
        for (ask, right, wrong) in cases {
            assert!(answered(&ask, saying(right).await).await.unwrap(), "{ask:?}");
            let other = saying(wrong).await;
            assert!(!answered(&ask, other).await.unwrap(), "{ask:?}");
            assert!(answered(&ReadinessCheck::Listens, other).await.unwrap());
        }
    }

    #[tokio::test]
    async fn a_closed_port_does_not_answer() {
        let closed = ClosedPort::new().unwrap();
        assert!(answered(&ReadinessCheck::Listens, closed.addr()).await.is_err());
    }
}
