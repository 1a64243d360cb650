//! A unit inside a guest, as controlled from this machine.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use barograph_platform::{
    Accounts, BoxFuture, Fault, Limit, Limits, LogTail, Logs, OnLine, Pause, Readiness, Unit, UnitExit,
    UnitHandle,
};
use tokio::sync::watch;

use crate::host::Host;
use crate::port::{UnitEnd, open_log};
use crate::wire::{AgentCommand, AgentReply};

/// Added to a unit's own time limits: the round trip, and a kill after a stop.
const WAY: Duration = Duration::from_secs(30);

/// Longest duration of the steps before a unit's start, which have no limit of their own.
const STEPS: Duration = Duration::from_secs(300);

/// A unit in a guest.
pub(crate) struct GuestUnit {
    name: String,
    number: u64,
    host: Arc<Host>,
    log: PathBuf,
    address: Option<SocketAddr>,
    ended: watch::Receiver<Option<UnitExit>>,
}

impl GuestUnit {
    /// Has the agent create it, and waits until it is ready.
    pub(crate) async fn create(host: Arc<Host>, unit: &Unit, on_line: OnLine) -> Result<GuestUnit, Fault> {
        let number = host.port.number();
        let (tell, ended) = watch::channel(None);
        let log = open_log(&unit.name, &unit.log)?;
        host.port.register(number, UnitEnd { on_line, log: Some(log), ended: tell });
        // From here on dropping it ends the unit, even before it is ready.
        let mut made =
            GuestUnit { name: unit.name.clone(), number, host, log: unit.log.clone(), address: None, ended };
        let steps = if unit.prepare.is_empty() { Duration::ZERO } else { STEPS };
        let limit = unit.ready.timeout() + steps + WAY;
        let ask = AgentCommand::Create { unit: number, what: unit.clone() };
        let reply = made.host.port.ask(ask, &unit.name, limit).await?;
        if let AgentReply::Created { address } = reply {
            made.address = address;
        }
        if matches!(unit.ready, Readiness::Exit { .. }) {
            // Its last lines and the end of its log precede its end.
            made.until_ended().await;
        }
        Ok(made)
    }

    async fn until_ended(&self) -> UnitExit {
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await.map(|ended| ended.clone()) {
            Ok(Some(ended)) => ended,
            _ => UnitExit::Unknown(format!("the site of host `{}` was closed", self.host.name)),
        }
    }

    fn has_ended(&self) -> bool {
        self.ended.borrow().is_some()
    }

    /// The end is reported after the last of the log, so that a stopped unit has its whole log here.
    async fn end(&self, ask: AgentCommand, limit: Duration) -> Result<UnitExit, Fault> {
        if !self.has_ended() {
            let asked = self.host.port.ask(ask, &self.name, limit).await;
            // The guest may have ended, and the unit with it.
            if let Err(fault) = asked
                && !self.has_ended()
            {
                return Err(fault);
            }
        }
        let late = |_| Fault::WillNotEnd { unit: self.name.clone(), after: limit };
        tokio::time::timeout(limit, self.until_ended()).await.map_err(late)
    }

    fn ask_now(&self, ask: AgentCommand) -> Result<(), Fault> {
        if self.has_ended() {
            return Ok(());
        }
        self.host.port.ask_now(ask, &self.name).map(drop)
    }
}

impl UnitHandle for GuestUnit {
    fn name(&self) -> &str {
        &self.name
    }

    /// Its processes belong to the guest.
    fn pid(&self) -> Option<u32> {
        None
    }

    fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    fn wait_exit(&self) -> BoxFuture<'_, UnitExit> {
        Box::pin(self.until_ended())
    }

    fn stop(&self, grace: Duration) -> BoxFuture<'_, Result<UnitExit, Fault>> {
        Box::pin(self.end(AgentCommand::Stop { unit: self.number, grace }, grace + WAY))
    }

    fn kill(&self) -> BoxFuture<'_, Result<UnitExit, Fault>> {
        Box::pin(self.end(AgentCommand::Kill { unit: self.number }, WAY))
    }

    fn accounts(&self) -> Accounts {
        self.host.accounts()
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

impl Pause for GuestUnit {
    fn pause(&self) -> Result<(), Fault> {
        self.ask_now(AgentCommand::Pause { unit: self.number })
    }

    fn resume(&self) -> Result<(), Fault> {
        self.ask_now(AgentCommand::Resume { unit: self.number })
    }
}

impl Limit for GuestUnit {
    fn limit(&self, limits: &Limits) -> Result<(), Fault> {
        self.ask_now(AgentCommand::Limit { unit: self.number, limits: limits.clone() })
    }
}

impl Logs for GuestUnit {
    fn tail(&self, lines: usize) -> LogTail {
        LogTail::of(&self.log, lines)
    }
}

impl Drop for GuestUnit {
    fn drop(&mut self) {
        if !self.has_ended() {
            self.host.port.tell(AgentCommand::Kill { unit: self.number });
        }
        self.host.port.forget(self.number);
    }
}
