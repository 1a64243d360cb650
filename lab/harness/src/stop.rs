//! The wish to stop, from Ctrl-C to whatever the run is waiting for.

use std::future::Future;

use tokio::sync::watch;

use crate::HarnessError;

/// Says stop.
#[derive(Clone, Debug)]
pub struct StopHandle(watch::Sender<bool>);

/// Hears stop.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

impl Stop {
    /// The two ends.
    #[must_use]
    pub fn new() -> (StopHandle, Stop) {
        let (send, receive) = watch::channel(false);
        (StopHandle(send), Stop(receive))
    }

    /// Ends when stop was said.
    pub async fn wanted(&self) {
        let mut receive = self.0.clone();
        if receive.wait_for(|stop| *stop).await.is_err() {
            // Nobody is left who could say stop.
            std::future::pending::<()>().await;
        }
    }

    /// Waits for `work` unless stop is said.
    pub async fn or<T>(&self, work: impl Future<Output = T>) -> Result<T, HarnessError> {
        tokio::select! {
            biased;
            () = self.wanted() => Err(HarnessError::Interrupted),
            done = work => Ok(done),
        }
    }
}

impl StopHandle {
    /// Says stop; more than once is fine.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}
