//! Whether this machine has the policies that a plan sets.

use std::path::Path;

use barograph_model::Refusal;
use barograph_platform::MissingRequirement;
use barograph_spec::Plan;

use crate::clock;
use crate::power::policies;

/// Policies of a plan that the kernel of this machine does not have at all.
#[must_use]
pub fn missing_policies(plan: &Plan) -> Vec<MissingRequirement> {
    absent(plan, Path::new(clock::SYS))
}

fn absent(plan: &Plan, sys: &Path) -> Vec<MissingRequirement> {
    let absent = policies(&plan.power).filter(|(_, policy, _)| policy.values(sys).is_empty());
    let missing = absent.map(|(key, policy, value)| MissingRequirement {
        what: format!("`{key}` = {value:?}: this machine has no {}", policy.name()),
        hint: "take a machine whose kernel has it, or leave the key out".to_owned(),
    });
    missing.collect()
}

/// Refuses values that the processors below `sys` do not take.
pub(super) fn wrong(plan: &Plan, sys: &Path) -> Vec<Refusal> {
    let refused = policies(&plan.power).filter_map(|(key, policy, value)| {
        let values = policy.values(sys);
        let (allowed, remedy) = match &values[..] {
            [] => return None,
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
        let refused: Vec<String> = wrong(&plan, sys.path()).iter().map(ToString::to_string).collect();
        let wanted = [
            "p.toml:2: `power.governor` = \"turbo\"\n  allowed: one of performance, powersave\n  to do:   name one of them, \
             or leave it out",
        ];
        assert_eq!(refused, wanted);
        let lacking: Vec<String> =
            absent(&plan, sys.path()).into_iter().map(|missing| missing.what).collect();
        assert_eq!(
            lacking,
            ["`power.energy_preference` = \"power\": this machine has no energy_performance_preference"]
        );
        let list = folder.join("energy_performance_available_preferences");
        std::fs::write(list, "power performance\n").unwrap();
        assert_eq!((wrong(&plan, sys.path()).len(), absent(&plan, sys.path()).len()), (1, 0));
    }
}
