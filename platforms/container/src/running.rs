//! A unit running in a container: its end, stop, pause, limits and log.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use barograph_cgroup::groups_of;
use barograph_platform::{
    Accounts, BoxFuture, Fault, Limit, Limits, LogTail, Logs, Pause, StopSignal, UnitExit, UnitHandle,
};
use tokio::time::timeout;

use crate::at_once::at_once;
use crate::container_process::ContainerProcess;
use crate::limits::{Machine, of_running};

/// A unit in its container.
pub(crate) struct InContainer {
    contained: ContainerProcess,
    stop: StopSignal,
    log: PathBuf,
    pub(crate) address: Option<SocketAddr>,
    machine: Machine,
    accounts: Accounts,
}

impl InContainer {
    pub(crate) fn new(contained: ContainerProcess, stop: StopSignal, log: PathBuf, machine: Machine) -> Self {
        // Read now: an ended container has no groups.
        let cgroups = contained.pid.map(groups_of).unwrap_or_default();
        let accounts = Accounts { cgroups, pid: contained.pid, machine: false };
        InContainer { contained, stop, log, address: None, machine, accounts }
    }

    pub(crate) fn contained(&self) -> &ContainerProcess {
        &self.contained
    }

    async fn end_with_grace(&self, grace: Duration) -> Result<UnitExit, Fault> {
        let signal = match self.stop {
            StopSignal::Term => "SIGTERM",
            StopSignal::Int => "SIGINT",
            StopSignal::Quit => "SIGQUIT",
        };
        if !self.contained.has_ended() {
            // A paused unit does not react before it is resumed. One that has just ended cannot be.
            let _ = self.contained.engine.resume(&self.contained.container).await;
        }
        self.contained.signal(signal, "stop").await?;
        match timeout(grace, self.contained.until_ended()).await {
            Ok(ended) => Ok(ended),
            Err(_) => self.contained.end_now().await,
        }
    }

    /// Makes one call of the engine and waits for it. Succeeds if the unit has ended already.
    fn ask<T: Send>(
        &self,
        act: &'static str,
        call: impl Future<Output = Result<T, bollard::errors::Error>> + Send,
    ) -> Result<(), Fault> {
        if self.contained.has_ended() {
            return Ok(());
        }
        let done = at_once(call).and_then(|answer| answer.map_err(io::Error::other));
        match done {
            Err(source) if !self.contained.has_ended() => {
                Err(Fault::Signal { unit: self.contained.unit.clone(), act, source })
            }
            _ => Ok(()),
        }
    }
}

impl UnitHandle for InContainer {
    fn name(&self) -> &str {
        &self.contained.unit
    }

    fn pid(&self) -> Option<u32> {
        self.contained.pid
    }

    fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    fn wait_exit(&self) -> BoxFuture<'_, UnitExit> {
        Box::pin(self.contained.until_ended())
    }

    fn stop(&self, grace: Duration) -> BoxFuture<'_, Result<UnitExit, Fault>> {
        Box::pin(self.end_with_grace(grace))
    }

    fn kill(&self) -> BoxFuture<'_, Result<UnitExit, Fault>> {
        Box::pin(self.contained.end_now())
    }

    fn accounts(&self) -> Accounts {
        self.accounts.clone()
    }

    fn pausing(&self) -> Option<&dyn Pause> {
        Some(self)
    }

    fn logs(&self) -> Option<&dyn Logs> {
        Some(self)
    }

    fn limiting(&self) -> Option<&dyn Limit> {
        Some(self)
    }
}

impl Pause for InContainer {
    fn pause(&self) -> Result<(), Fault> {
        self.ask("pause", self.contained.engine.pause(&self.contained.container))
    }

    fn resume(&self) -> Result<(), Fault> {
        self.ask("resume", self.contained.engine.resume(&self.contained.container))
    }
}

impl Limit for InContainer {
    fn limit(&self, limits: &Limits) -> Result<(), Fault> {
        let body = of_running(limits, self.machine);
        self.ask("limit", self.contained.engine.update(&self.contained.container, body))
    }
}

impl Logs for InContainer {
    fn tail(&self, lines: usize) -> LogTail {
        LogTail::of(&self.log, lines)
    }
}
