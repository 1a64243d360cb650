//! Fill of a target that does not exist, on a thread of its own.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};

use barograph_platform::BoxFuture;
use barograph_record::{Count, Fill};
use barograph_workload::{FillProgress, LoadError, OnProgress};

use crate::StopHandle;

/// A fill through an address, with the number of fills begun.
#[derive(Clone)]
pub(crate) struct FakeFill {
    pub(crate) course: FillCourse,
    pub(crate) begun: Arc<AtomicU32>,
}

/// Course of the fill.
#[derive(Clone)]
pub(crate) enum FillCourse {
    /// All keys are written.
    Whole,
    /// The target has no room.
    Full,
    /// The run is stopped in the middle; the thread reports that it has noticed.
    Stopped(StopHandle, mpsc::SyncSender<()>),
}

impl FakeFill {
    pub(crate) fn new(course: FillCourse) -> Self {
        FakeFill { course, begun: Arc::default() }
    }

    /// Fills the target; the stamp is its URL.
    pub(crate) fn fill<'a>(
        &'a self,
        url: &'a str,
        progress: OnProgress,
    ) -> BoxFuture<'a, Result<Fill, LoadError>> {
        let course = self.course.clone();
        Box::pin(async move {
            self.begun.fetch_add(1, Ordering::Relaxed);
            let (waited_for, given_up) = mpsc::sync_channel::<()>(1);
            let filling = tokio::task::spawn_blocking(move || {
                progress(FillProgress { stage: "keys".to_owned(), done: 340_000, total: 1_000_000 });
                match course {
                    FillCourse::Whole => Ok(()),
                    FillCourse::Full => Err("no room"),
                    FillCourse::Stopped(stop, noticed) => {
                        stop.stop();
                        // Nothing is ever sent: this ends when the future is dropped.
                        assert!(given_up.recv().is_err());
                        noticed.send(()).unwrap();
                        Ok(())
                    }
                }
            });
            let filled = filling.await.unwrap();
            drop(waited_for);
            filled.map_err(|why| LoadError::Fill { url: url.to_owned(), why: why.into() })?;
            let rows = vec![Count::new("keys", 1_000_000)];
            Ok(Fill { rows, seconds: 2.5, stamp: url.to_owned(), ..Fill::default() })
        })
    }
}
