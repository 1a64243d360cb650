//! Power of this machine: policies of its processors, and its sources without load and beside it.

use std::fs;
use std::io;

use barograph_model::Nanos;
use barograph_model::words::span;
use barograph_platform::{Readiness, Resource, Site, Unit, UnitHandle, ignore_lines};
use barograph_probe::{CpuPolicy, Meter, PowerProbe};
use barograph_record::{ProbeRow, power_of};
use barograph_spec::{MeterPlan, MeterReadings, PowerPlan};

use crate::HarnessError;
use crate::run::{GRACE, Run};

/// Shell of the command of a meter.
const SHELL: &str = "/bin/sh";

/// Sources of power of a run.
#[derive(Default)]
pub(crate) struct Power {
    probe: PowerProbe,
    /// The command of a meter, with its site.
    command: Option<(Box<dyn UnitHandle>, Box<dyn Site>)>,
}

/// The policies of a plan: key, policy and value.
pub(crate) fn policies(plan: &PowerPlan) -> impl Iterator<Item = (&'static str, CpuPolicy, &str)> {
    let all = [
        ("power.governor", CpuPolicy::Governor, &plan.governor),
        ("power.energy_preference", CpuPolicy::EnergyPreference, &plan.energy_preference),
    ];
    all.into_iter().filter_map(|(key, policy, value)| Some((key, policy, value.as_deref()?)))
}

impl Run<'_> {
    /// Sets the policies of the plan and reads them back. The ledger has their former values, which the
    /// removal at the end of the run sets back.
    pub(crate) fn set_policies(&mut self) -> Result<(), HarnessError> {
        let plan = self.plan.power.clone();
        for (_, policy, value) in policies(&plan) {
            let mut former: Vec<String> = Vec::new();
            for path in policy.places(self.clock.sys()) {
                let failed = |why| HarnessError::SetPolicy { path: path.clone(), why };
                let read = || fs::read_to_string(&path).map(|text| text.trim().to_owned());
                let before = read().map_err(failed)?;
                self.ledger.will(Resource::Setting { path: path.clone(), before: before.clone() })?;
                fs::write(&path, value).map_err(failed)?;
                let now = read().map_err(failed)?;
                if now != value {
                    return Err(failed(io::Error::other(format!("the kernel keeps `{now}`"))));
                }
                if !former.contains(&before) {
                    former.push(before);
                }
            }
            self.note(format!("{} {value} instead of {}", policy.name(), former.join(", ")))?;
        }
        Ok(())
    }

    /// Opens the sources of power, and measures them without load.
    pub(crate) async fn begin_power(&mut self) -> Result<(), HarnessError> {
        let plan = self.plan.power.clone();
        let meter = match plan.meter {
            Some(meter) => Some(self.meter(meter).await?),
            None => None,
        };
        self.power.probe = PowerProbe::open(self.clock.sys(), meter);
        if let [first, ..] = self.power.probe.refused() {
            let (first, count) = (first.display().to_string(), self.power.probe.refused().len());
            self.note(format!("power: {count} sources of this machine are for root alone, such as {first}"))?;
        }
        if self.power.probe.is_empty() {
            return Ok(());
        }
        let (clock, stop) = (self.clock.clone(), self.world.stop.clone());
        let end = clock.now() + plan.idle;
        self.say(&format!("power without load, for {}", span(plan.idle)));
        self.keep_power()?;
        while clock.now() < end {
            let rest = (end - clock.now()).min(self.plan.driver.interval);
            stop.or(clock.sleep(rest)).await?;
            self.keep_power()?;
        }
        Ok(())
    }

    /// The meter of the plan; its command is started.
    async fn meter(&mut self, meter: MeterPlan) -> Result<Meter, HarnessError> {
        let path = match meter.readings {
            MeterReadings::File(file) => self.plan.file_of("power.meter_file", &file),
            MeterReadings::Command(command) => {
                let log = self.record.services_dir().join("meter.log");
                let unit = Unit {
                    args: vec!["-c".to_owned(), command],
                    workdir: std::path::absolute(".").unwrap_or_else(|_| "/".into()),
                    log: log.clone(),
                    ..Unit::new("meter", SHELL.into(), Readiness::Runs)
                };
                let (site, stop) = (self.home().await?, self.world.stop.clone());
                let running = stop.or(site.create(&unit, ignore_lines())).await??;
                self.power.command = Some((running, site));
                log
            }
        };
        Ok(Meter::new(meter.scope, path, self.clock.began_s()))
    }

    /// Records a sample of every source.
    pub(crate) fn keep_power(&mut self) -> Result<(), HarnessError> {
        for sample in self.power.probe.sample(self.clock.now()) {
            let row = ProbeRow {
                at_s: sample.at.as_secs_f64(),
                subject: power_of(&sample.source),
                watts: sample.watts,
                energy_j: sample.joules,
                ..ProbeRow::default()
            };
            self.record.probe(&row)?;
        }
        Ok(())
    }

    /// Ends the command of the meter, and notes what was wrong with its readings.
    pub(crate) async fn end_power(&mut self) -> Result<(), HarnessError> {
        self.keep_power()?;
        let Power { probe, command } = std::mem::take(&mut self.power);
        if let Some((running, site)) = command {
            let ended = tokio::time::timeout(Nanos::ZERO.into(), running.wait_exit()).await;
            running.stop(GRACE).await?;
            drop(running);
            site.close().await?;
            if let Ok(ended) = ended {
                self.note(format!("power: the command of the meter ended before the load: {ended}"))?;
            }
        }
        match probe.meter() {
            Some(meter) if !meter.has_readings() => {
                self.note("power: the meter had no reading during the run".to_owned())
            }
            Some(meter) if meter.skipped() > 0 => {
                self.note(format!("power: {} lines of the meter have no usable reading", meter.skipped()))
            }
            _ => Ok(()),
        }
    }
}
