//! A running application with little data, and the browsers that show it.

use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{OnceLock, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use barograph_auction::fill::{FillPlan, fill};
use barograph_auction::sizes::{self, Factors};
use barograph_auction::{Limits, PictureLocation, Role, ServeConfig, ServeError, Stores, serve};
use barograph_test_services::{self as services, Service};
use tempfile::TempDir;
use tokio::sync::oneshot;

use crate::person::Person;

/// Longest wait for the server, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(150);

/// Room for some pictures.
const CACHE_BYTES: u64 = 16 << 20;

/// The application, until this is dropped.
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
    /// Removed last.
    _state: TempDir,
}

/// The data shared by all tests: the application only reads them.
pub(crate) fn data() -> &'static Path {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    DIR.get_or_init(|| {
        let all = Path::new(env!("CARGO_TARGET_TMPDIR"));
        // Each test is a process: the first one fills, and the others wait for it.
        let lock = File::create(all.join("browser-data.lock")).unwrap();
        lock.lock().unwrap();
        let dir = all.join("browser-data");
        let plan = FillPlan {
            dir,
            size: sizes::find("nano").unwrap(),
            factors: Factors::new(0.01, 0.02).unwrap(),
            seed: 1,
            threads: 2,
        };
        // The next test process finds them complete.
        fill(&plan, &mut |_| {}).unwrap();
        plan.dir
    })
}

impl Site {
    pub(crate) fn start() -> Site {
        let state = TempDir::new().unwrap();
        let config = ServeConfig {
            listener: TcpListener::bind("127.0.0.1:0").unwrap(),
            node: "node".to_owned(),
            role: Role::All,
            stores: Stores::Embedded { data_dir: data().to_owned(), state_dir: state.path().join("stores") },
            images: PictureLocation::Files {
                read: data().join("images"),
                write: Some(state.path().join("uploads")),
            },
            image_limits: Limits { cache_bytes: CACHE_BYTES, ..Limits::default() },
            peers: None,
            threads: 2,
            room_for: 0,
            max_connections: 1000,
        };
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = mpsc::sync_channel(1);
        let shutdown = async move {
            // Whether sent or dropped, the test is over.
            let _ = stopped.await.is_ok();
        };
        let thread = std::thread::spawn(move || {
            serve(config, shutdown, |address| tell.send(address).expect("the test waits"))
        });
        let address = told.recv_timeout(PATIENCE);
        // The thread of a server that did not start has the reason.
        let Ok(address) = address else { panic!("{:?}", thread.join()) };
        Site { address, stop: Some(stop), thread: Some(thread), _state: state }
    }

    /// Stops it like an operator.
    pub(crate) fn stop(mut self) {
        self.stop.take();
        self.thread.take().unwrap().join().unwrap().unwrap();
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // The test has failed already; the end of the server does not matter any more.
            let _ = thread.join();
        }
    }
}

/// The driver of browsers; `None` after a line that names what is missing.
pub(crate) fn browsers() -> Option<Service> {
    services::or_skip(services::browsers())
}

#[tokio::test]
async fn nothing_of_a_browser_is_left() {
    let Some(browsers) = browsers() else { return };
    let site = Site::start();
    let person = Person::open(&browsers, site.address).await;
    let folder = browsers.folder().to_owned();
    let processes = browsers.pids();
    // The driver, the browser, and at least one of its pages.
    assert!(processes.len() >= 3 && folder.exists());
    drop(person);
    drop(browsers);
    let left: Vec<&u32> =
        processes.iter().filter(|pid| Path::new("/proc").join(pid.to_string()).exists()).collect();
    assert!(left.is_empty() && !folder.exists(), "{left:?}");
}
