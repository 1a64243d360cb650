//! Real services: they start, answer, die as a whole, restart with their data, and leave nothing behind.

mod ends;
mod mongodb;
mod proxies;
mod queues;
mod rows;

use std::path::{Path, PathBuf};
use std::time::Duration;

use barograph_test_services::Service;

/// Kills it, checks that all is gone, restarts it and checks that it is the same one.
fn kill_and_restart(service: &mut Service) {
    let (pids, url) = (service.pids(), service.url().to_owned());
    assert!(pids.contains(&service.pid()), "{pids:?}");
    service.kill();
    gone(&pids);
    assert!(service.pids().is_empty() && service.folder().is_dir());
    assert!(std::net::TcpStream::connect(("127.0.0.1", service.port())).is_err(), "nobody listens");
    service.restart();
    assert_eq!(service.url(), url);
    assert!(!service.pids().is_empty());
}

/// Drops it and checks that neither processes nor files are left.
fn drop_and_look(service: Service) {
    let (pids, folder) = (service.pids(), service.folder().to_owned());
    assert!(!pids.is_empty());
    drop(service);
    gone(&pids);
    assert!(!folder.exists());
}

/// Waits until none of these processes runs. A dead process that is not yet reaped does not run.
fn gone(pids: &[u32]) {
    for pid in pids {
        let kind = process(*pid);
        assert!(kind.is_none(), "{pid} still runs: {kind:?}");
    }
}

/// The program of a running process.
fn process(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(Path::new("/proc").join(pid.to_string()).join("exe")).ok()
}

/// Waits until `look` returns a value.
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    /// 30 s.
    const LOOKS: u32 = 3_000;
    let (_hold, never) = std::sync::mpsc::sync_channel::<()>(0);
    for _ in 0..LOOKS {
        if let Some(found) = look() {
            return found;
        }
        let _ = never.recv_timeout(Duration::from_millis(10));
    }
    panic!("waited in vain until {what}");
}
