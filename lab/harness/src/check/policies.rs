//! Whether this machine has the policies that a plan sets.

use std::path::Path;

use barograph_model::Refusal;
use barograph_spec::Plan;

use crate::power::policies;

/// Refuses values that the processors below `sys` do not take.
pub(super) fn missing(plan: &Plan, sys: &Path) -> Vec<Refusal> {
    let refused = policies(&plan.power).filter_map(|(key, policy, value)| {
        let values = policy.values(sys);
        let (allowed, remedy) = match &values[..] {
            [] => (format!("left out: this machine has no {}", policy.name()), "leave it out"),
            values if values.iter().any(|known| known == value) => return None,
            values => (format!("one of {}", values.join(", ")), "name one of them, or leave it out"),
        };
        Some(Refusal {
            place: plan.place(key).to_owned(),
            key: key.to_owned(),
            value: format!("{value:?}"),
            allowed,
            remedy: remedy.to_owned(),
        })
    });
    refused.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_refused_with_what_the_machine_has() {
        let text = "[power]\ngovernor = \"turbo\"\nenergy_preference = \"power\"\n";
        let plan = barograph_spec::read(crate::testing::CATALOGUE, "p.toml", text, &[]).unwrap();
        let sys = tempfile::tempdir().unwrap();
        let folder = sys.path().join("devices/system/cpu/cpufreq/policy0");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("scaling_available_governors"), "performance powersave\n").unwrap();
        let refused: Vec<String> = missing(&plan, sys.path()).iter().map(ToString::to_string).collect();
        let wanted = [
            "p.toml:2: `power.governor` = \"turbo\"\n  allowed: one of performance, powersave\n  to do:   name one of them, \
             or leave it out",
            "p.toml:3: `power.energy_preference` = \"power\"\n  allowed: left out: this machine has no \
             energy_performance_preference\n  to do:   leave it out",
        ];
        assert_eq!(refused, wanted);
        let list = folder.join("energy_performance_available_preferences");
        std::fs::write(list, "power performance\n").unwrap();
        assert_eq!(missing(&plan, sys.path()).len(), 1);
    }
}
