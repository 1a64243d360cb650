//! Work with many files, on a thread of its own.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

/// A thread that is stopped and joined when its result is no longer needed: it must not write into a folder
/// that is being removed.
struct Worker {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic shows as a missing answer.
            let _ = thread.join();
        }
    }
}

/// Runs blocking work on a thread. If this future is dropped, the work's flag is set and its end awaited.
pub(crate) async fn apart<T: Send + 'static>(
    work: impl FnOnce(&AtomicBool) -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let (tell, told) = oneshot::channel();
    let heard = Arc::clone(&stop);
    let thread = std::thread::Builder::new().name("files".to_owned()).spawn(move || {
        // The receiver is gone if the run was stopped.
        let _ = tell.send(work(&heard));
    })?;
    let _worker = Worker { stop, thread: Some(thread) };
    told.await.unwrap_or_else(|_| Err(io::Error::other("the work broke off")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_is_done_and_dropped_work_has_ended() {
        assert_eq!(apart(|_| Ok(7)).await.unwrap(), 7);
        let ended = Arc::new(AtomicBool::new(false));
        let tell = Arc::clone(&ended);
        let endless = apart(move |stop| {
            while !stop.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            tell.store(true, Ordering::Relaxed);
            Ok(())
        });
        tokio::select! {
            biased;
            _ = endless => unreachable!("it ends only when it is told to"),
            () = tokio::task::yield_now() => {}
        }
        assert!(ended.load(Ordering::Relaxed));
    }
}
