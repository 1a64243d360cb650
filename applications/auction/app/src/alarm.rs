//! Supervision of the tasks beside the requests. None may end unnoticed: a node without its publisher would
//! accept bids for ever and decide none.

use std::sync::Arc;

use tokio::task::JoinHandle;

use crate::app::App;

/// Runs a part of the node beside the requests. A panic in it marks the node as broken: it gives up its
/// auctions, and other nodes take them.
pub(crate) fn spawn(
    app: &Arc<App>,
    part: &'static str,
    work: impl Future<Output = ()> + Send + 'static,
) -> JoinHandle<()> {
    let alarm = Alarm { app: Arc::clone(app), part };
    tokio::spawn(async move {
        let _alarm = alarm;
        work.await;
    })
}

struct Alarm {
    app: Arc<App>,
    part: &'static str,
}

impl Drop for Alarm {
    fn drop(&mut self) {
        // A part that ended by itself or was stopped has not failed.
        if std::thread::panicking() {
            tracing::error!(part = self.part, "a bug ended a part of the node");
            self.app.broken.set(format!("a bug ended the {}", self.part));
            self.app.channels.stop();
            self.app.look.notify_one();
        }
    }
}
