//! Actions that take simulated time.

use std::time::Duration;

use barograph_engine::sim::Time;
use barograph_model::Nanos;
use barograph_platform::{BoxFuture, Fault, MachineOperation, Machines, Standstill};

/// Durations of actions on a unit and on its machine.
#[derive(Clone)]
pub(crate) struct ActionDurations {
    pub(crate) time: Time,
    /// From the request to stop until the end.
    pub(crate) stop: Nanos,
    /// From the start until the unit is ready, while the load is on.
    pub(crate) start: Nanos,
    /// Duration of a move.
    pub(crate) move_: Nanos,
}

/// End of the window in tests.
const LOAD_ENDS: Nanos = Nanos::from_secs(4);

/// Time for which a guest does nothing while it is moved.
pub(crate) const STANDSTILL: Duration = Duration::from_millis(30);

impl ActionDurations {
    pub(crate) async fn stop(&self) {
        // Time stands still before and after the load.
        if (Nanos(1)..LOAD_ENDS).contains(&self.time.now()) {
            self.time.until(self.time.now() + self.stop).await;
        }
    }

    /// Waits for the start; time stands still before the load.
    pub(crate) async fn start(&self) {
        if self.time.now() > Nanos::ZERO {
            self.time.until(self.time.now() + self.start).await;
        }
    }
}

impl Machines for ActionDurations {
    fn migrate<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<MachineOperation, Fault>> {
        Box::pin(async {
            self.time.until(self.time.now() + self.move_).await;
            let standstill = Some(Standstill { length: STANDSTILL, error: Duration::from_millis(1) });
            Ok(MachineOperation { took: self.move_.into(), downtime: STANDSTILL, standstill, bytes: 3 << 20 })
        })
    }

    fn relocate<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<MachineOperation, Fault>> {
        self.migrate(host)
    }

    fn mirror<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<MachineOperation, Fault>> {
        Box::pin(async { Err(unable("its disk is fixed")) })
    }

    fn snapshot<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<MachineOperation, Fault>> {
        Box::pin(async { Ok(MachineOperation::default()) })
    }

    fn restore<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<MachineOperation, Fault>> {
        Box::pin(async { Err(unable("it has no such snapshot")) })
    }

    fn clone_host<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<MachineOperation, Fault>> {
        Box::pin(async { Ok(MachineOperation::default()) })
    }
}

fn unable(why: &'static str) -> Fault {
    Fault::Site { act: "do it".to_owned(), source: why.into() }
}
