//! The keys of `[power]`: a meter, the time without load, and policies of the processors.

use std::path::PathBuf;

use barograph_model::Nanos;

use crate::settings_reader::SettingsReader;

/// Power of this machine during a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PowerPlan {
    /// A meter beside the sources of the machine.
    pub meter: Option<MeterPlan>,
    /// Time before the load in which the power of the idle machine is measured, if there is a source.
    pub idle: Nanos,
    /// The governor of all processors during the run.
    pub governor: Option<String>,
    /// The preference between speed and power of all processors during the run.
    pub energy_preference: Option<String>,
}

/// A meter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeterPlan {
    /// What its power goes to: `meter` for everything behind a plug, `chassis`, or `part`.
    pub scope: &'static str,
    /// Where its readings come from.
    pub readings: MeterReadings,
}

/// Source of a meter's readings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeterReadings {
    /// A file to which another program appends them.
    File(PathBuf),
    /// Standard output of a shell command that runs beside the load.
    Command(String),
}

/// Longest time without load, in seconds.
const LONGEST_IDLE_S: f64 = 3_600.0;

pub(crate) fn power(g: &mut SettingsReader) -> Option<PowerPlan> {
    let file = g.optional_word("power.meter_file", "a file to which a meter's readings are appended");
    let command = g.optional_word("power.meter_command", "a shell command that prints a meter's readings");
    let scope = g.choice("power.meter_scope", &["meter", "chassis", "part"], "meter");
    let idle = g.time("power.idle_s", 0.0..=LONGEST_IDLE_S, 5.0);
    let governor = g.optional_word("power.governor", "a governor of this machine, as in \"performance\"");
    let preference =
        g.optional_word("power.energy_preference", "a preference of this machine, as in \"balance_power\"");
    let (file, command) = (file?, command?);
    let remedy = "leave one of the two out";
    if file.is_some() && command.is_some() {
        g.refuse_asked("power.meter_command", "left out with power.meter_file", remedy);
    }
    if file.is_none() && command.is_none() {
        let allowed = "left out without power.meter_file or power.meter_command";
        g.refuse_asked("power.meter_scope", allowed, "name the meter, or leave it out");
    }
    let readings = file.map(|file| MeterReadings::File(file.into())).or(command.map(MeterReadings::Command));
    let scope = scope?;
    Some(PowerPlan {
        meter: readings.map(|readings| MeterPlan { scope, readings }),
        idle: idle?,
        governor: governor?,
        energy_preference: preference?,
    })
}

impl PowerPlan {
    /// Lines of the explanation of a plan.
    pub(crate) fn explain(&self) -> Vec<String> {
        let meter = self.meter.as_ref().map(|meter| {
            let readings = match &meter.readings {
                MeterReadings::File(file) => format!("from {}", file.display()),
                MeterReadings::Command(command) => format!("printed by `{command}`"),
            };
            format!("power     readings of a meter {readings}, scope {}", meter.scope)
        });
        let policies = [("governor", &self.governor), ("energy preference", &self.energy_preference)];
        let set = policies.into_iter().filter_map(|(name, value)| {
            let value = value.as_ref()?;
            Some(format!("power     {name} {value} on all processors until the run ends"))
        });
        meter.into_iter().chain(set).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;

    fn read(text: &str) -> Result<PowerPlan, String> {
        let plan = crate::read(Catalogue::default(), "p.toml", text, &[]);
        plan.map(|plan| plan.power).map_err(|refusals| refusals.to_string())
    }

    #[test]
    fn a_meter_is_a_file_or_a_command() {
        let nothing = read("").unwrap();
        assert_eq!((nothing.meter.clone(), nothing.idle), (None, Nanos::from_secs(5)));
        assert!(nothing.explain().is_empty());
        let text =
            "[power]\nmeter_command = \"read-meter\"\nmeter_scope = \"chassis\"\ngovernor = \"powersave\"\n";
        let plan = read(text).unwrap();
        assert_eq!(plan.meter.as_ref().unwrap().scope, "chassis");
        let lines = [
            "power     readings of a meter printed by `read-meter`, scope chassis",
            "power     governor powersave on all processors until the run ends",
        ];
        assert_eq!(plan.explain(), lines);
        for (text, key) in [
            ("[power]\nmeter_file = \"m.csv\"\nmeter_command = \"m\"\n", "`power.meter_command`"),
            ("[power]\nmeter_scope = \"chassis\"\n", "`power.meter_scope`"),
            ("[power]\nidle_s = 4000\n", "`power.idle_s`"),
        ] {
            let refused = read(text).unwrap_err();
            assert!(refused.contains(key), "{refused}");
        }
    }
}
