//! A service in a guest that sends back what it receives, and a client outside that sends without pause.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use barograph_platform::{Readiness, UnitHandle, ignore_lines};

use crate::site::{LIMIT, TestSite, program};

/// Longest standstill of a guest that keeps its connections, even on a busy machine.
const LONGEST: Duration = Duration::from_secs(120);

/// Starts it on a host.
pub(crate) async fn start(opened: &TestSite, host: &str) -> Box<dyn UnitHandle> {
    let mut unit = opened.unit(&format!("echo-{host}"), host, program().to_str().unwrap(), &["echo", "7000"]);
    unit.ready = Readiness::StdoutLine { timeout: LIMIT };
    opened.create(&unit, ignore_lines()).await
}

/// As [`once`], on a network that was healed. A guest on a busy machine may need longer to resolve its
/// hardware address than the kernel tries.
pub(crate) fn found_again(address: SocketAddr, text: &str) -> String {
    let begun = Instant::now();
    loop {
        match once(address, text, LIMIT) {
            Ok(back) => return back,
            Err(why) if why.kind() == ErrorKind::HostUnreachable && begun.elapsed() < LIMIT => {}
            Err(why) => panic!("{why}"),
        }
    }
}

/// Sends `text` on a new connection, and reads it back.
pub(crate) fn once(address: SocketAddr, text: &str, limit: Duration) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, limit)?;
    stream.set_read_timeout(Some(limit))?;
    stream.write_all(text.as_bytes())?;
    let mut back = vec![0; text.len()];
    stream.read_exact(&mut back)?;
    Ok(String::from_utf8(back).unwrap())
}

/// A connection in constant use.
pub(crate) struct EchoLoop {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<(u64, Duration)>,
}

impl EchoLoop {
    pub(crate) fn begin(address: SocketAddr) -> EchoLoop {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = stop.clone();
        let mut stream = TcpStream::connect_timeout(&address, LONGEST).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(LONGEST)).unwrap();
        let thread = thread::spawn(move || {
            let (mut count, mut longest) = (0_u64, Duration::ZERO);
            while !asked.load(Ordering::Relaxed) {
                let begun = Instant::now();
                stream.write_all(&count.to_le_bytes()).unwrap();
                let mut back = [0; 8];
                stream.read_exact(&mut back).unwrap();
                assert_eq!(u64::from_le_bytes(back), count);
                longest = longest.max(begun.elapsed());
                count += 1;
            }
            (count, longest)
        });
        EchoLoop { stop, thread }
    }

    /// Returns the number of answers, and the longest time for one.
    pub(crate) fn end(self) -> (u64, Duration) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}
