//! A unit in a container, of which this machine sees only the surrounding emulator or hypervisor.

use std::net::SocketAddr;
use std::time::Duration;

use barograph_platform::{Accounts, Ended, Fault, Later, Limit, Logs, Pause, Running};

/// The unit, with the accounts of its virtual machine: those of the container belong to the guest.
pub(crate) struct Contained {
    pub(crate) unit: Box<dyn Running>,
    pub(crate) machine: Accounts,
}

impl Running for Contained {
    fn name(&self) -> &str {
        self.unit.name()
    }

    fn pid(&self) -> Option<u32> {
        None
    }

    fn address(&self) -> Option<SocketAddr> {
        self.unit.address()
    }

    fn wait_exit(&self) -> Later<'_, Ended> {
        self.unit.wait_exit()
    }

    fn stop(&self, grace: Duration) -> Later<'_, Result<Ended, Fault>> {
        self.unit.stop(grace)
    }

    fn kill(&self) -> Later<'_, Result<Ended, Fault>> {
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
