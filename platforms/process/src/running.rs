//! A running unit: its end, stop, pause, limits and log.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use barograph_platform::{
    Accounts, BoxFuture, Fault, Limit, Limits, LogTail, Logs, Pause, StopSignal, Unit, UnitExit, UnitHandle,
};
use rustix::process::Signal;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::containment::ProcessTree;

/// Longest wait for the end of a killed process; only a stuck disk takes longer.
const KILL_WAIT: Duration = Duration::from_secs(15);

/// A unit as a process.
#[derive(Debug)]
pub(crate) struct Process {
    name: String,
    held: Arc<ProcessTree>,
    log: PathBuf,
    stop: Signal,
    pub(crate) address: Option<SocketAddr>,
    ended: watch::Receiver<Option<UnitExit>>,
}

impl Process {
    pub(crate) fn new(unit: &Unit, held: Arc<ProcessTree>, ended: watch::Receiver<Option<UnitExit>>) -> Self {
        let stop = match unit.stop {
            StopSignal::Term => Signal::TERM,
            StopSignal::Int => Signal::INT,
            StopSignal::Quit => Signal::QUIT,
        };
        Process { name: unit.name.clone(), held, log: unit.log.clone(), stop, address: None, ended }
    }

    pub(crate) fn held(&self) -> &ProcessTree {
        &self.held
    }

    pub(crate) fn ended_already(&self) -> bool {
        self.ended.borrow().is_some()
    }

    /// Acts on a unit that has not ended.
    fn act(&self, act: &'static str, how: impl Fn(&ProcessTree) -> io::Result<()>) -> Result<(), Fault> {
        if self.ended_already() {
            return Ok(());
        }
        how(&self.held).map_err(|source| Fault::Signal { unit: self.name.clone(), act, source })
    }

    pub(crate) async fn until_ended(&self) -> UnitExit {
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await.map(|ended| ended.clone()) {
            Ok(Some(ended)) => ended,
            _ => UnitExit::Unknown("its watcher was stopped".to_owned()),
        }
    }

    pub(crate) async fn end_now(&self) -> Result<UnitExit, Fault> {
        self.act("kill", ProcessTree::kill)?;
        let late = |_| Fault::WillNotEnd { unit: self.name.clone(), after: KILL_WAIT };
        timeout(KILL_WAIT, self.until_ended()).await.map_err(late)
    }

    async fn end_with_grace(&self, grace: Duration) -> Result<UnitExit, Fault> {
        self.act("stop", |held| held.ask(self.stop))?;
        // A paused process does not react before it is resumed. One that cannot be resumed has ended
        // meanwhile, or is killed when its grace is over.
        let _ = self.act("resume", ProcessTree::resume);
        match timeout(grace, self.until_ended()).await {
            Ok(ended) => Ok(ended),
            Err(_) => self.end_now().await,
        }
    }
}

impl UnitHandle for Process {
    fn name(&self) -> &str {
        &self.name
    }

    fn pid(&self) -> Option<u32> {
        Some(self.held.program().unwrap_or(self.held.leader))
    }

    fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    fn wait_exit(&self) -> BoxFuture<'_, UnitExit> {
        Box::pin(self.until_ended())
    }

    fn stop(&self, grace: Duration) -> BoxFuture<'_, Result<UnitExit, Fault>> {
        Box::pin(self.end_with_grace(grace))
    }

    fn kill(&self) -> BoxFuture<'_, Result<UnitExit, Fault>> {
        Box::pin(self.end_now())
    }

    fn accounts(&self) -> Accounts {
        let cgroups = self.held.holding.group().map(|group| group.paths()).unwrap_or_default();
        Accounts { cgroups, pid: self.pid(), machine: false }
    }

    fn pausing(&self) -> Option<&dyn Pause> {
        Some(self)
    }

    fn logs(&self) -> Option<&dyn Logs> {
        Some(self)
    }

    fn limiting(&self) -> Option<&dyn Limit> {
        self.held.holding.group().is_some().then_some(self as &dyn Limit)
    }
}

impl Pause for Process {
    fn pause(&self) -> Result<(), Fault> {
        self.act("pause", ProcessTree::pause)
    }

    fn resume(&self) -> Result<(), Fault> {
        self.act("resume", ProcessTree::resume)
    }
}

impl Limit for Process {
    fn limit(&self, limits: &Limits) -> Result<(), Fault> {
        let failed = |source: barograph_cgroup::Error| Fault::Unit {
            unit: self.name.clone(),
            act: "limit".to_owned(),
            source: source.into(),
        };
        let Some(group) = self.held.holding.group().filter(|_| !self.ended_already()) else { return Ok(()) };
        group.set_limits(&to_group(limits)).map_err(failed)
    }
}

/// Converts limits to those of control groups.
pub(crate) fn to_group(limits: &Limits) -> barograph_cgroup::Limits {
    barograph_cgroup::Limits {
        cpus: limits.cpus,
        cpu_set: limits.cpu_set.clone(),
        memory_bytes: limits.memory_bytes,
        disk_bytes_s: limits.disk_bytes_s,
    }
}

impl Logs for Process {
    fn tail(&self, lines: usize) -> LogTail {
        LogTail::of(&self.log, lines)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A failure cannot be reported here; the ledger still names the process then.
        let _ = self.act("kill", ProcessTree::kill);
    }
}
