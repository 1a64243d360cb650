//! Commands on this machine that prepare a site, each as a unit: recorded before it starts, killed when its
//! future is dropped, swept if this process was killed.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use barograph_platform::{Fault, HERE, Ledger, Readiness, Site, Unit};
use barograph_platform_process::Local;

/// The machine itself, and a folder for the output of commands.
#[derive(Clone)]
pub(crate) struct HostCommands {
    pub(crate) here: Arc<Local>,
    pub(crate) ledger: Ledger,
    /// The site's folder for sockets, archives and output.
    pub(crate) folder: PathBuf,
    count: Arc<AtomicU64>,
}

/// A command, its arguments, and its time limit.
pub(crate) struct Job<'a> {
    pub(crate) program: &'a str,
    pub(crate) args: Vec<String>,
    pub(crate) workdir: &'a Path,
    pub(crate) limit: Duration,
}

impl HostCommands {
    pub(crate) fn new(here: Arc<Local>, ledger: Ledger, folder: PathBuf) -> HostCommands {
        HostCommands { here, ledger, folder, count: Arc::new(AtomicU64::new(0)) }
    }

    /// Runs a command, which must succeed, and returns its lines.
    pub(crate) async fn run(&self, job: Job<'_>) -> Result<Vec<String>, Fault> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let name = format!("vm-{number}-{}", job.program);
        let mut unit =
            Unit::new(&name, crate::settings::program(job.program), Readiness::Exit { timeout: job.limit });
        unit.host = HERE.to_owned();
        unit.args = job.args;
        unit.env = vec![("LC_ALL".to_owned(), "C".to_owned())];
        unit.workdir = job.workdir.to_owned();
        unit.log = self.folder.join(format!("{name}.log"));
        let lines = Arc::new(Mutex::new(Vec::new()));
        let keep = lines.clone();
        let on_line =
            move |line: &str| keep.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned());
        drop(self.here.create(&unit, Arc::new(on_line)).await?);
        let lines = std::mem::take(&mut *lines.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(lines)
    }

    /// Runs blocking work (a walk through many files, a copy) on another thread. The thread holds the ledger,
    /// so that the files it writes are not removed meanwhile if this future is dropped.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        act: &str,
        work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
    ) -> Result<T, Fault> {
        let held = self.ledger.clone();
        let done = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(held);
            done
        });
        match done.await {
            Ok(result) => result.map_err(|error| failed(act, error)),
            Err(error) => Err(failed(act, error)),
        }
    }
}

/// Makes a fault: a part of a site could not be created or changed.
pub(crate) fn failed(
    act: impl Into<String>,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Fault {
    Fault::Site { act: act.into(), source: source.into() }
}

/// Quotes a literal word for a shell script.
pub(crate) fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Quotes a path for a shell script.
pub(crate) fn quote_path(path: &Path) -> String {
    quote(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_quoted_word_is_one_word() {
        assert_eq!(super::quote("a b'c $d"), r"'a b'\''c $d'");
    }
}
