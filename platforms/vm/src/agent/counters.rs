//! Counters of this guest's kernel. Their files stay open, so that reading is fast.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use barograph_cgroup::Meter;
use barograph_platform::{GuestCounters, UnitCounters, UnitHandle};
use barograph_probe::{process_cpu, whole_disks};
use rustix::time::{ClockId, clock_gettime};

/// Files below `/proc` that describe the use of a machine.
const FILES: [&str; 8] =
    ["stat", "meminfo", "diskstats", "net/dev", "net/snmp", "pressure/cpu", "pressure/memory", "pressure/io"];

pub(super) struct Counters {
    hz: u64,
    disks: Vec<String>,
    /// Accounts of units, by their numbers.
    units: Mutex<HashMap<u64, Meter>>,
}

impl Counters {
    pub(super) fn open() -> Counters {
        let hz = rustix::param::clock_ticks_per_second();
        Counters { hz, disks: whole_disks(), units: Mutex::default() }
    }

    /// Reads everything now; `running` are the running units, by their numbers.
    pub(super) fn read(&self, running: &[(u64, Arc<dyn UnitHandle>)]) -> GuestCounters {
        let read = |name: &str| {
            let text = fs::read_to_string(Path::new("/proc").join(name)).ok()?;
            Some((name.to_owned(), text))
        };
        let clock = clock_gettime(ClockId::Boottime);
        let at = Duration::new(clock.tv_sec.unsigned_abs(), u32::try_from(clock.tv_nsec).unwrap_or(0));
        let files = FILES.into_iter().filter_map(read).collect();
        let (disks, units) = (self.disks.clone(), self.of_units(running));
        GuestCounters { at, hz: self.hz, disks, files, agent: Duration::from(process_cpu()), units }
    }

    fn of_units(&self, running: &[(u64, Arc<dyn UnitHandle>)]) -> Vec<UnitCounters> {
        let mut meters = self.units.lock().unwrap_or_else(PoisonError::into_inner);
        meters.retain(|number, _| running.iter().any(|(known, _)| known == number));
        let each = running.iter().filter_map(|(number, unit)| {
            let meter = meters.entry(*number).or_insert_with(|| Meter::open(&unit.accounts().cgroups));
            (!meter.is_empty()).then(|| UnitCounters { unit: unit.name().to_owned(), files: meter.texts() })
        });
        each.collect()
    }
}
