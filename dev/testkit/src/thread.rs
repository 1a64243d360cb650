//! A thread with a runtime of its own for one target.

use std::io;
use std::sync::mpsc;
use std::thread::JoinHandle;

use crate::listener::{ListenOptions, TargetListener};

/// Opens the door in a new thread and runs `serve` there; returns when clients may connect.
///
/// The runtime is made in that thread too, so that a test with a runtime of its own can start targets.
pub(crate) fn start(
    name: &str,
    door: ListenOptions,
    serve: impl AsyncFnOnce(TargetListener) + Send + 'static,
) -> io::Result<TargetThread> {
    // One message: the address, or the reason for a failure.
    let (tell, told) = mpsc::sync_channel(1);
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        let opened = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .and_then(|runtime| runtime.block_on(door.open()).map(|listening| (runtime, listening)));
        match opened {
            Ok((runtime, listening)) => {
                let place = (listening.address().clone(), listening.origin());
                // If the test gave up, the receiver is gone and the end comes at once.
                if tell.send(Ok(place)).is_ok() {
                    runtime.block_on(serve(listening));
                }
            }
            Err(error) => {
                // As above.
                let _ = tell.send(Err(error));
            }
        }
    })?;
    let (address, origin) = told.recv().map_err(io::Error::other)??;
    Ok(TargetThread { address, origin, thread })
}

/// A listening target.
pub(crate) struct TargetThread {
    pub(crate) address: crate::Address,
    /// Its URL without a path.
    pub(crate) origin: String,
    pub(crate) thread: JoinHandle<()>,
}
