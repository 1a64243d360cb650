//! A machine in simulated time: clocks and accounts.

use std::path::{Path, PathBuf};

use barograph_engine::sim::Time;
use barograph_model::Nanos;
use barograph_platform::BoxFuture;
use barograph_probe::{CpuTimes, HostSample, Memory, ProbeError, ProcessSample};

use crate::HarnessError;
use crate::clock::HostView;
use crate::probes::Accounts;

/// A machine with two cores that is mostly idle.
#[derive(Clone, Default)]
pub(crate) struct SimulatedHost {
    pub(crate) time: Time,
    /// Time at which its wall clock is set, and seconds it is set ahead.
    pub(crate) wall_is_set: Option<(Nanos, f64)>,
    /// Percent of one core that its hypervisor gives to others.
    pub(crate) stolen: u64,
    /// Folder of its kernel's devices; empty for a machine without any.
    pub(crate) sys: PathBuf,
}

/// Wall clock at the start of its runs, in seconds since 1970.
pub(crate) const BEGAN_S: f64 = 1_900_000_000.0;

impl HostView for SimulatedHost {
    fn now(&self) -> Nanos {
        self.time.now()
    }

    fn wall_ahead_s(&self) -> f64 {
        self.wall_is_set.filter(|(at, _)| self.now() >= *at).map_or(0.0, |(_, by)| by)
    }

    fn began_s(&self) -> f64 {
        BEGAN_S
    }

    fn sys(&self) -> &Path {
        &self.sys
    }

    fn sleep(&self, span: Nanos) -> BoxFuture<'_, ()> {
        Box::pin(self.time.until(self.now() + span))
    }

    fn accounts(&self) -> Result<Box<dyn Accounts>, HarnessError> {
        Ok(Box::new(SteadyAccounts { stolen: self.stolen }))
    }
}

/// Accounts of a machine with constant use: a tenth of a core for the driver, as much for the rest.
struct SteadyAccounts {
    stolen: u64,
}

impl Accounts for SteadyAccounts {
    fn sample(&mut self, now: Nanos) -> Result<(HostSample, ProcessSample), ProbeError> {
        let percent = |of_a_core: u64| Nanos(now.0 / 100 * of_a_core);
        let cpu = CpuTimes {
            user: percent(15),
            system: percent(5),
            idle: percent(180 - self.stolen),
            steal: percent(self.stolen),
            ..CpuTimes::default()
        };
        let memory = Memory { total_bytes: 4 << 30, available_bytes: 3 << 30, ..Memory::default() };
        let process = ProcessSample {
            at: now,
            cpu_user: percent(8),
            cpu_system: percent(2),
            resident_bytes: 8 << 20,
            threads: 2,
            ..ProcessSample::default()
        };
        Ok((HostSample { at: now, cores: 2, cpu, memory, ..HostSample::default() }, process))
    }
}
