//! Peers, each on a thread of its own.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Accepts this number of connections, one after the other, and calls `each` with them.
pub(crate) fn serve(
    connections: usize,
    each: impl Fn(TcpStream) + Send + 'static,
) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let thread =
        std::thread::spawn(move || (0..connections).for_each(|_| each(listener.accept().unwrap().0)));
    (address, thread)
}

/// The same connection through TLS.
pub(crate) fn secured(
    config: &Arc<ServerConfig>,
    stream: TcpStream,
) -> StreamOwned<ServerConnection, TcpStream> {
    StreamOwned::new(ServerConnection::new(Arc::clone(config)).unwrap(), stream)
}

/// Echoes all input, to the end.
pub(crate) fn echo(mut stream: impl Read + Write) -> io::Result<()> {
    let mut room = [0; 4_096];
    loop {
        let n = stream.read(&mut room)?;
        if n == 0 {
            return Ok(());
        }
        stream.write_all(&room[..n])?;
        stream.flush()?;
    }
}
