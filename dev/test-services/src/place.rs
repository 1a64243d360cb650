//! A site of the process platform for one service, and the thread that runs it.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use barograph_platform::{HERE, Ledger, Platform, Site, SiteSpec, Unit, UnitHandle, ignore_lines};
use barograph_platform_process::ProcessPlatform;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::guard::Guard;

/// Site of one service. Fields are dropped in this order.
pub(crate) struct ServiceSite {
    site: Option<Arc<dyn Site>>,
    runtime: Option<Runtime>,
    _guard: Guard,
    folder: TempDir,
}

impl ServiceSite {
    pub(crate) fn make() -> Self {
        let folder = tempfile::Builder::new().prefix("barograph-").tempdir();
        let folder = folder.expect("temporary folders can be made");
        let guard = Guard::of(folder.path()).expect("every machine has /bin/sh");
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let mut place = ServiceSite {
            site: None,
            runtime: Some(runtime.expect("a thread can be started")),
            _guard: guard,
            folder,
        };
        let ledger = Ledger::open(place.folder.path().join("ledger")).expect("the folder is new");
        let spec = SiteSpec {
            id: "test".to_owned(),
            folder: place.folder.path().join("site"),
            // It ends with its first process, which the guard finds by its environment.
            options: vec![("hold".to_owned(), "namespace".to_owned())],
            ..SiteSpec::default()
        };
        let site = place.wait(async move { ProcessPlatform.open(&spec, &ledger).await });
        place.site = Some(site.expect("a site of this machine needs nothing").into());
        place
    }

    /// A folder for a unit of this name.
    pub(crate) fn folder(&self, unit: &str) -> std::path::PathBuf {
        self.folder.path().join("site").join(unit)
    }

    /// The whole folder.
    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// A free port of this machine, kept for this place.
    pub(crate) fn port(&self) -> u16 {
        self.site().port(HERE, 0).expect("some port is free")
    }

    /// Starts a unit and waits until it is ready.
    pub(crate) fn create(&self, unit: &Unit) -> Result<Arc<dyn UnitHandle>, String> {
        let (site, unit) = (self.site(), unit.clone());
        let made = self.wait(async move { site.create(&unit, ignore_lines()).await });
        made.map(Arc::from).map_err(|fault| {
            let mut says = fault.to_string();
            let mut cause = std::error::Error::source(&fault);
            while let Some(source) = cause {
                says.push_str(&format!(": {source}"));
                cause = source.source();
            }
            says
        })
    }

    /// Runs it to its end on the thread of this place, from inside or outside of any other runtime.
    pub(crate) fn wait<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> T {
        let (tell, told) = sync_channel(1);
        let runtime = self.runtime.as_ref().expect("only a drop takes it away");
        runtime.spawn(async move { drop(tell.send(work.await)) });
        told.recv().expect("the work does not panic")
    }

    fn site(&self) -> Arc<dyn Site> {
        self.site.clone().expect("only a drop takes it away")
    }
}

impl Drop for ServiceSite {
    fn drop(&mut self) {
        if let Some(site) = self.site.take() {
            // Dropped on its own thread, which ends all its units.
            self.wait(async move { drop(site) });
        }
        if let Some(runtime) = self.runtime.take() {
            // The test may drop it inside another runtime, in which blocking is not allowed.
            runtime.shutdown_background();
        }
    }
}
