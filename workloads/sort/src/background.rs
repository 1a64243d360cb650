//! Work that blocks, in a thread of its own, awaited on the event loop of a worker.

use std::future::poll_fn;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use barograph_reactor::Descriptor;

/// Requests the end of the work when it is dropped.
struct StopAtEnd(Arc<AtomicBool>);

impl Drop for StopAtEnd {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Does the work in a thread. If the future is dropped, the work sees `stop` set.
///
/// # Errors
/// The thread cannot be made, or panics.
pub(crate) async fn in_thread<T: Send + 'static>(
    work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
) -> io::Result<T> {
    let (mut here, there) = UnixStream::pair()?;
    here.set_nonblocking(true)?;
    let events = Descriptor::new(here.try_clone()?.into())?;
    let stop = StopAtEnd(Arc::default());
    let stopped = Arc::clone(&stop.0);
    let thread = thread::Builder::new().name("sort".to_owned()).spawn(move || {
        let done = work(&stopped);
        // Its end is what the other side waits for.
        drop(there);
        done
    })?;
    loop {
        match here.read(&mut [0]) {
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => poll_fn(|cx| events.poll_event(cx)).await,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            _ => break,
        }
    }
    thread.join().map_err(|_| io::Error::other("its thread panicked"))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[test]
    fn the_result_of_the_thread_is_awaited() {
        let done = barograph_reactor::block_on(in_thread(|_| 7));
        assert_eq!(done.unwrap().unwrap(), 7);
        assert!(barograph_reactor::block_on(in_thread(|_| panic!("on purpose"))).unwrap().is_err());
    }

    #[test]
    fn work_that_nothing_waits_for_is_stopped() {
        let (tell, told) = sync_channel(1);
        let work = move |stop: &AtomicBool| {
            while !stop.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            tell.send(()).unwrap();
        };
        barograph_reactor::block_on(async {
            let mut waiting = Box::pin(in_thread(work));
            let mut cx = Context::from_waker(Waker::noop());
            assert!(matches!(waiting.as_mut().poll(&mut cx), Poll::Pending));
        })
        .unwrap();
        told.recv().unwrap();
    }
}
