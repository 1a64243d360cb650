//! A switch for a test, and traffic on it.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use barograph_platform::{Ledger, LinkSpec};
use barograph_virtual_network::{Host, RelayProgram, Switch, inside, lacking, rootless};
use tempfile::TempDir;

pub(crate) const LONG: Duration = Duration::from_secs(30);

/// Largest number of measurements: a machine that takes the processor away spoils some of them, a wrong link
/// all.
pub(crate) const TRIES: usize = 5;

/// Largest number of end marks after a group of packets, one for each wait of `QUIET`: four seconds of them.
const MARKS: usize = 100;

/// Time without a packet after which the next end mark is sent.
const QUIET: Duration = Duration::from_millis(40);

/// Number from which packets are end marks.
const FIRST_MARK: u64 = 1 << 63;

/// Serialises tests that measure the time of packets.
static TIMED: Mutex<()> = Mutex::new(());

pub(crate) fn one_at_a_time() -> MutexGuard<'static, ()> {
    TIMED.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) struct TestSwitch {
    _dir: TempDir,
    pub(crate) ledger: Ledger,
    pub(crate) id: String,
    pub(crate) switch: Switch,
}

/// Prints figures and reasons, for readers of the tests' output.
#[expect(clippy::print_stdout, reason = "a skipped test says why, a measurement what it found")]
pub(crate) fn tell(text: &str) {
    println!("{text}");
}

/// Whether this user can create switches here; prints the reason if not.
pub(crate) fn possible() -> bool {
    let missing = lacking(true, false);
    for lacks in &missing {
        tell(&format!("skipped: {lacks}"));
    }
    if rootless::needed() {
        tell("skipped: needs root; tests without root run under it");
    }
    missing.is_empty() && !rootless::needed()
}

/// A name unique to this test.
pub(crate) fn new_id() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("t{:x}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The program for tests. Tests are in `deps`, examples beside it.
pub(crate) fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    tests.parent().unwrap().parent().unwrap().join("examples/switch_program")
}

pub(crate) fn relay() -> RelayProgram {
    RelayProgram { program: program(), args: vec!["relay".to_owned()] }
}

impl TestSwitch {
    pub(crate) async fn new() -> Option<Self> {
        if !possible() {
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(dir.path().join("ledger.jsonl")).unwrap();
        let id = new_id();
        let switch = Switch::open(&id, relay(), &ledger).await.unwrap();
        Some(TestSwitch { _dir: dir, ledger, id, switch })
    }

    pub(crate) async fn host(&self, name: &str) -> Host {
        self.switch.host(name, &LinkSpec::default()).await.unwrap()
    }
}

/// Starts a server that sends back what it receives, one connection after another, in a namespace or on the
/// machine.
pub(crate) fn echo(namespace: Option<&str>, address: IpAddr) -> SocketAddr {
    let listen = move || TcpListener::bind((address, 0)).unwrap();
    let listener = match namespace {
        Some(namespace) => inside(namespace, listen).unwrap(),
        None => listen(),
    };
    let at = listener.local_addr().unwrap();
    // It ends with the test's process.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(n @ 1..) = stream.read(&mut bytes) {
                    if stream.write_all(&bytes[..n]).is_err() {
                        break;
                    }
                }
            });
        }
    });
    at
}

/// Connects from a namespace, or from the machine.
pub(crate) fn connect(namespace: Option<&str>, to: SocketAddr, wait: Duration) -> std::io::Result<TcpStream> {
    let dial = move || TcpStream::connect_timeout(&to, wait);
    let stream = match namespace {
        Some(namespace) => inside(namespace, dial).unwrap()?,
        None => dial()?,
    };
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Sends a word, waits for it to come back, and returns the time.
pub(crate) fn ask(stream: &mut TcpStream, word: &[u8], wait: Duration) -> std::io::Result<Duration> {
    let start = Instant::now();
    stream.set_read_timeout(Some(wait))?;
    stream.write_all(word)?;
    let mut answer = vec![0; word.len()];
    stream.read_exact(&mut answer)?;
    assert_eq!(answer, word);
    Ok(start.elapsed())
}

pub(crate) fn talks(from: Option<&str>, to: SocketAddr) {
    ask(&mut connect(from, to, LONG).unwrap(), b"hello", LONG).unwrap();
}

/// Sends as much as possible for `time` over one connection. Returns bits per second at the receiver, between
/// the first and the last byte, without the first tenth; 0 if nothing arrived after that.
pub(crate) fn throughput(from: &Host, to: &Host, time: Duration) -> f64 {
    let address = to.address;
    let listener = inside(&to.namespace, move || TcpListener::bind((address, 0)).unwrap()).unwrap();
    let at = listener.local_addr().unwrap();
    let receiver: JoinHandle<f64> = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let (start, mut bytes) = (Instant::now(), vec![0; 1 << 16]);
        let (mut counted, mut from) = (0_usize, None);
        let mut last = start;
        while let Ok(n @ 1..) = stream.read(&mut bytes) {
            last = Instant::now();
            if start.elapsed() > time / 10 {
                match from {
                    None => from = Some(last),
                    Some(_) => counted += n,
                }
            }
        }
        from.map_or(0.0, |from| counted as f64 * 8.0 / (last - from).as_secs_f64())
    });
    let mut stream = connect(Some(&from.namespace), at, LONG).unwrap();
    let (end, block) = (Instant::now() + time, vec![7; 1 << 14]);
    while Instant::now() < end {
        stream.write_all(&block).unwrap();
    }
    drop(stream);
    receiver.join().unwrap()
}

/// Sends `count` packets from one host to another and returns the number that arrive.
pub(crate) fn packets(from: &Host, to: &Host, count: u64) -> u64 {
    let (here, there) = (from.address, to.address);
    let receiver = inside(&to.namespace, move || UdpSocket::bind((there, 0)).unwrap()).unwrap();
    let sender = inside(&from.namespace, move || UdpSocket::bind((here, 0)).unwrap()).unwrap();
    receiver.set_read_timeout(Some(QUIET)).unwrap();
    sender.connect(receiver.local_addr().unwrap()).unwrap();
    let mut seen = 0;
    for number in 0..count {
        sender.send(&number.to_le_bytes()).unwrap();
        if number % 50 == 49 || number + 1 == count {
            // In groups, so that no queue overflows: lost packets are lost by the link.
            seen += arrived(&sender, &receiver, FIRST_MARK + number);
        }
    }
    seen
}

/// Counts the packets that arrive before this end mark. A link keeps their order, so packets sent before a
/// mark and not received before it are lost, however late everything is. Marks get lost too, so there are
/// many; if none arrives, nothing does.
fn arrived(sender: &UdpSocket, receiver: &UdpSocket, mark: u64) -> u64 {
    let (mut seen, mut packet) = (0, [0; 8]);
    for _ in 0..MARKS {
        // A mark that cannot be sent, as the other end was silent for so long, counts as lost.
        let _ = sender.send(&mark.to_le_bytes());
        let mut marked = false;
        while receiver.recv(&mut packet).is_ok() {
            let number = u64::from_le_bytes(packet);
            marked |= number == mark;
            // Marks of the previous group may still arrive.
            seen += u64::from(number < FIRST_MARK);
        }
        if marked {
            break;
        }
    }
    seen
}

/// Polls until `condition` holds; fails after a while.
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LONG, "waited too long for: {what}");
        std::thread::yield_now();
    }
}

pub(crate) fn is_silence(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
