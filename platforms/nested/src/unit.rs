//! A unit in a container, of which this machine sees only the surrounding emulator or hypervisor.

use std::net::SocketAddr;
use std::time::Duration;

use barograph_platform::{Accounts, BoxFuture, Fault, Limit, Logs, Pause, UnitExit, UnitHandle};

/// The unit, with the accounts of its virtual machine: those of the container belong to the guest.
pub(crate) struct NestedUnit {
    pub(crate) unit: Box<dyn UnitHandle>,
    pub(crate) machine: Accounts,
}

impl UnitHandle for NestedUnit {
    fn name(&self) -> &str {
        self.unit.name()
    }

    fn pid(&self) -> Option<u32> {
        None
    }

    fn address(&self) -> Option<SocketAddr> {
        self.unit.address()
    }

    fn wait_exit(&self) -> BoxFuture<'_, UnitExit> {
        self.unit.wait_exit()
    }

    fn stop(&self, grace: Duration) -> BoxFuture<'_, Result<UnitExit, Fault>> {
        self.unit.stop(grace)
    }

    fn kill(&self) -> BoxFuture<'_, Result<UnitExit, Fault>> {
        self.unit.kill()
    }

    fn accounts(&self) -> Accounts {
        self.machine.clone()
    }

    fn pausing(&self) -> Option<&dyn Pause> {
        self.unit.pausing()
    }

    fn logs(&self) -> Option<&dyn Logs> {
        self.unit.logs()
    }

    fn limiting(&self) -> Option<&dyn Limit> {
        self.unit.limiting()
    }
}
