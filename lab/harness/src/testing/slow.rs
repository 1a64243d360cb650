//! Actions that take simulated time.

use std::time::Duration;

use barograph_engine::sim::Time;
use barograph_model::Nanos;
use barograph_platform::{
    Autoscaler, Autoscaling, BoxFuture, Fault, MachineOperation, Machines, ScaleDecision, ScaledTier,
    Standstill,
};

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

/// An autoscaler that decides at fixed times.
pub(crate) struct TimedAutoscaler {
    time: Time,
    first: u32,
}

/// Its decisions: instants, each with the units from then on.
const DECISIONS: [(Nanos, u32); 2] = [(Nanos::from_millis(1_500), 3), (Nanos::from_secs(3), 1)];

/// Time in which it cannot decide.
const UNABLE: std::ops::Range<Nanos> = Nanos::from_millis(500)..Nanos::from_millis(700);

impl Autoscaling for ActionDurations {
    fn follow<'a>(&'a self, tier: &'a ScaledTier) -> BoxFuture<'a, Result<Box<dyn Autoscaler>, Fault>> {
        let units = (1..=3).map(|unit| format!("application-{unit}")).collect();
        let (name, settle) = ("application".to_owned(), Duration::from_millis(500));
        let expected = ScaledTier { name, units, first: 1, cores: 0.3, least: 1, most: 3, settle };
        assert_eq!(*tier, expected);
        let autoscaler = TimedAutoscaler { time: self.time.clone(), first: tier.first };
        Box::pin(async { Ok(Box::new(autoscaler) as Box<dyn Autoscaler>) })
    }
}

impl Autoscaler for TimedAutoscaler {
    fn decision(&self) -> ScaleDecision {
        let now = self.time.now();
        let latest = DECISIONS.iter().rev().find(|(at, _)| *at <= now);
        let problem = UNABLE.contains(&now).then(|| "no metrics".to_owned());
        ScaleDecision { units: latest.map_or(self.first, |(_, units)| *units), problem }
    }
}

fn unable(why: &'static str) -> Fault {
    Fault::Site { act: "do it".to_owned(), source: why.into() }
}
