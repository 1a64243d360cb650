//! One engine for all simultaneous tests; the last of them ends it.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;

use barograph_platform::Ledger;
use barograph_platform_container::{OwnEngine, OwnEngineOptions};
use barograph_virtual_network::RelayProgram;

/// Counter for unique names.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A name that is unique on this machine, even as a part of another: leftovers of a site are found by it.
pub(crate) fn fresh_id(prefix: &str) -> String {
    format!("{prefix}{}-{:02}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed))
}

/// Plain links need no relay.
pub(crate) fn no_relay() -> RelayProgram {
    RelayProgram { program: "/bin/false".into(), args: Vec::new() }
}

/// Prints figures and reasons, for readers of the tests' output.
#[expect(clippy::print_stdout, reason = "a skipped test says why, and a measured figure is shown")]
pub(crate) fn say(text: &str) {
    println!("{text}");
}

/// Whether an engine can be started here; prints `skipped: ...` with the reason if not.
pub(crate) fn can_have_an_engine() -> bool {
    let missing = OwnEngine::lacking();
    missing.iter().take(1).for_each(|missing| say(&format!("skipped: {missing}")));
    missing.is_empty()
}

/// A running engine.
pub(crate) struct SharedEngine {
    pub(crate) address: String,
    pub(crate) tcp: String,
    pub(crate) leg: IpAddr,
    subnet: String,
    given: AtomicU32,
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl SharedEngine {
    /// Returns a part of the engine's addresses, for one site.
    pub(crate) fn subnet(&self) -> String {
        let part = self.given.fetch_add(1, Ordering::Relaxed) % 16 * 16;
        format!("{}{part}/28", self.subnet.strip_suffix("0/24").unwrap())
    }
}

impl Drop for SharedEngine {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the engine did not end well");
        }
    }
}

/// Returns the engine; or `None` after the line `skipped: ...` if this machine cannot have one.
pub(crate) fn engine_or_skip() -> Option<Arc<SharedEngine>> {
    if !can_have_an_engine() {
        return None;
    }
    static CURRENT: Mutex<Weak<SharedEngine>> = Mutex::new(Weak::new());
    let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(shared) = current.upgrade() {
        return Some(shared);
    }
    let shared = Arc::new(start());
    *current = Arc::downgrade(&shared);
    Some(shared)
}

fn start() -> SharedEngine {
    let (stop, stopped) = sync_channel(1);
    let (tell, told) = sync_channel(1);
    let thread = std::thread::spawn(move || keep(&tell, &stopped));
    let (address, tcp, leg, subnet) = told.recv().expect("the engine has started");
    let given = AtomicU32::new(0);
    SharedEngine { address, tcp, leg, subnet, given, stop: Some(stop), thread: Some(thread) }
}

/// Addresses of an engine: its socket, its TCP address, the machine's address for containers, and the subnet.
type EngineInfo = (String, String, IpAddr, String);

/// Starts an engine, waits until it is no longer needed, ends it, and checks that nothing is left.
fn keep(tell: &SyncSender<EngineInfo>, stopped: &Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path().join("ledger.jsonl")).unwrap();
    // Longer than the path of a socket may be, as folders of runs inside studies are.
    let files = dir.path().join("engine".repeat(20));
    let wishes = OwnEngineOptions { id: fresh_id("cts"), folder: files.clone(), tcp: true };
    runtime.block_on(async {
        let begin = std::time::Instant::now();
        let engine = OwnEngine::start(&wishes, no_relay(), &ledger).await.unwrap();
        say(&format!("an engine of our own answered after {:?}", begin.elapsed()));
        let tcp = engine.tcp_address().unwrap();
        tell.send((engine.address(), tcp, engine.leg(), engine.subnet().to_owned())).unwrap();
        // Ends when the sender is dropped.
        assert!(stopped.recv().is_err());
        engine.close().await.unwrap();
    });
    assert!(ledger.left().is_empty(), "{:?}", ledger.left());
    assert!(!files.exists());
}
