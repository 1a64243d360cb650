//! Request to end a run, passed from Ctrl-C to every wait of the run.

use std::future::Future;

use tokio::sync::watch;

use crate::HarnessError;

/// Sender of the request.
#[derive(Clone, Debug)]
pub struct StopHandle(watch::Sender<bool>);

/// Receiver of the request.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Creates both ends.
    #[must_use]
    pub fn new() -> (StopHandle, Stop) {
        let (send, receive) = watch::channel(false);
        (StopHandle(send), Stop(receive))
    }

    /// Waits for the request.
    pub async fn wanted(&self) {
        let mut receive = self.0.clone();
        if receive.wait_for(|stop| *stop).await.is_err() {
            // The sender is gone, so no request can come.
            std::future::pending::<()>().await;
        }
    }

    /// Waits for `work`, or fails when the end is requested.
    pub async fn or<T>(&self, work: impl Future<Output = T>) -> Result<T, HarnessError> {
        tokio::select! {
            biased;
            () = self.wanted() => Err(HarnessError::Interrupted),
            done = work => Ok(done),
        }
    }
}

impl StopHandle {
    /// Requests the end. Further calls have no effect.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}
